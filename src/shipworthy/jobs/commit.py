"""Commit: what was judged, for the first lines of a report and for history; and how a file was in earlier commits."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime

from ..core.board import Board
from ..core.decision import Decision
from ..documents import Documents, read_documents
from ..errors import ShipworthyError, UsageError
from ..reading.lock import locks_of, read_lock

_BASES = ("GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "CHANGE_TARGET")
_ADDRESS = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9._~:/?#@!$&*+,;=%-]{0,400}")
MOST_VERSIONS = 100  # of a file that are looked at


def where_from(folder: str = ".", *, ask_git: bool = True) -> dict[str, str]:
    """Commit and branch, from the CI's environment or from git; blank where neither knows."""
    env = os.environ
    commit = env.get("GITHUB_SHA") or env.get("CI_COMMIT_SHA") or ""
    branch = env.get("GITHUB_HEAD_REF") or env.get("GITHUB_REF_NAME") or env.get("CI_COMMIT_REF_NAME") or ""
    if ask_git:
        commit = commit or _git(folder, "rev-parse", "HEAD")
        branch = branch or _git(folder, "rev-parse", "--abbrev-ref", "HEAD")
    return {"commit": commit, "branch": branch}


def about_commit(commit: str, folder: str = ".", *, author: bool = False) -> dict[str, str]:
    """What history keeps of a commit besides: the project, when it was made, its subject, parent and perhaps author."""
    env = os.environ
    project = env.get("GITHUB_REPOSITORY") or env.get("CI_PROJECT_PATH") or ""
    project = project or os.path.basename(_git(folder, "rev-parse", "--show-toplevel"))
    form = "--format=%cI%n%P%n%an%n%s"
    lines = _git(folder, "show", "--no-patch", form, commit).split("\n", 3) if commit else []
    committed_at, parents, name, subject = lines if len(lines) == 4 else ("", "", "", "")
    about = {"project": project, "committed_at": committed_at, "subject": subject, "parent": parents.split(" ")[0]}
    return about | ({"author": name} if author else {})


def known_of_run(folder: str = ".", label: str = "", *, author: bool = False) -> dict[str, str]:
    """All that history keeps of where a run comes from."""
    place = where_from(folder)
    commit = place["commit"]
    return {**place, **about_commit(commit, folder, author=author), **links(commit), "label": label}


def base_branch() -> str:
    """The branch that a pull request goes to, as the CI says; blank where this is none."""
    return next((os.environ[name] for name in _BASES if os.environ.get(name)), "")


def links(commit: str) -> dict[str, str]:
    """The addresses of the commit, the CI run and the pull request, as far as the CI's environment tells."""
    env = os.environ
    found = {"commit_url": "", "run_url": "", "pull_url": ""}
    if (host := env.get("GITHUB_SERVER_URL")) and (repository := env.get("GITHUB_REPOSITORY")):
        place = f"{host}/{repository}"
        pull = re.fullmatch(r"refs/pull/(\d+)/\w+", env.get("GITHUB_REF", ""))
        run = env.get("GITHUB_RUN_ID")
        found["run_url"] = f"{place}/actions/runs/{run}" if run else ""
        found["pull_url"] = f"{place}/pull/{pull[1]}" if pull else ""
        found["commit_url"] = f"{place}/commit/{commit}" if commit else ""
    elif place := env.get("CI_PROJECT_URL", ""):
        request = env.get("CI_MERGE_REQUEST_IID")
        found["run_url"] = env.get("CI_JOB_URL") or env.get("CI_PIPELINE_URL") or ""
        found["pull_url"] = f"{place}/-/merge_requests/{request}" if request else ""
        found["commit_url"] = f"{place}/-/commit/{commit}" if commit else ""
    else:
        found["run_url"] = env.get("BUILD_URL") or env.get("CIRCLE_BUILD_URL") or ""
        found["pull_url"] = env.get("CHANGE_URL") or env.get("CIRCLE_PULL_REQUEST") or ""
    return {name: url for name, url in found.items() if _ADDRESS.fullmatch(url)}


def git_user() -> str:
    """The name that git signs commits with, or nothing."""
    return _git(".", "config", "user.name")


def earlier_versions(path: str) -> Iterator[bytes]:
    """A file as the commits have it, the newest first; nothing where git does not know it."""
    folder, name = os.path.split(os.path.abspath(path))
    for commit in _git(folder, "log", f"-{MOST_VERSIONS}", "--format=%H", "--", name).split():
        if content := _output(folder, "show", f"{commit}:./{name}"):
            yield content


def documents_at(documents: Documents, commit: str) -> Documents:
    """The documents as a commit has them; those that are the same since are taken as they are."""
    import tempfile

    folder = documents.path if os.path.isdir(documents.path) else os.path.dirname(documents.path) or "."
    if commit.startswith("-") or not _git(folder, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
        hint = "Check its name, and that the documents are in a git repository."
        raise UsageError(f"git knows no commit {commit!r}", where="--since", hint=hint, code="coverage-since")
    edited = set(_listed(folder, "diff", "--name-only", "-z", "--relative", commit, "--", "."))
    edited |= set(_listed(folder, "ls-files", "--others", "-z", "--", "."))
    same = {name: document for name, document in documents.by_name.items() if name not in edited}
    with tempfile.TemporaryDirectory() as old:
        for name in edited:
            if content := _output(folder, "show", f"{commit}:./{name}"):
                path = os.path.join(old, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as stream:
                    stream.write(content)
        one = "" if os.path.isdir(documents.path) else os.path.basename(documents.path)
        try:
            before = read_documents(os.path.join(old, one) if one else old)
        except ShipworthyError:  # all of them are new
            return Documents(documents.path, same)
    return Documents(documents.path, same | before.by_name)


def _listed(folder: str, *words: str) -> list[str]:
    return [name.decode("utf-8", "surrogateescape") for name in _output(folder, *words).split(b"\0") if name]


def _git(folder: str, *words: str) -> str:
    return _output(folder, *words).decode("utf-8", "replace").strip()


def _output(folder: str, *words: str) -> bytes:
    import subprocess  # scoring starts no process

    try:
        done = subprocess.run(["git", "-C", folder, *words], capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 else b""


def stamp(
    shown: Decision | Board, folder: str = ".", label: str = "", *, judged_here: bool = True, ask_git: bool = True
) -> None:
    """Note the build under `run.build`, outside the digest; once, so that every report of a run says the same.

    `judged_here` is False where what was judged is not in this folder: then its commit says nothing. Scoring starts no
    process, so there the commit is known only from the CI's environment.
    """
    if "build" in shown.run:
        return
    where = where_from(folder, ask_git=ask_git) if judged_here else {}
    more = links(where["commit"]) if where else {}
    known = {**where, "time": _now(), "label": label, "gold_release": release_of(shown), **more}
    shown.run = shown.run | {"build": {name: value for name, value in known.items() if value}}


def _now() -> str:
    """The time in UTC; SOURCE_DATE_EPOCH fixes it for reports that must not change."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    when = datetime.fromtimestamp(int(fixed), UTC) if fixed.isdecimal() and len(fixed) < 12 else datetime.now(UTC)
    return when.strftime("%Y-%m-%d %H:%M UTC")


def release_of(shown: Decision | Board) -> str:
    """The release that the gold set was frozen for, where a lock lies beside it."""
    decisions = shown.decisions if isinstance(shown, Board) else [shown]
    paths = dict.fromkeys(path for one in decisions if isinstance(path := one.run.get("gold"), str))
    found: list[str] = []
    for path in paths:
        with suppress(ShipworthyError, OSError):
            found += [read_lock(lock).release for lock in locks_of(path)]
    return ", ".join(dict.fromkeys(found))
