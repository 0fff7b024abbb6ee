"""Commit: which commit and branch are judged, and how a file was in earlier ones."""

from __future__ import annotations

import os
from collections.abc import Iterator

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


def about_commit(commit: str, folder: str = ".") -> dict[str, str]:
    """What history keeps of a commit besides: the project, when it was made, its subject and its parent."""
    env = os.environ
    project = env.get("GITHUB_REPOSITORY") or env.get("CI_PROJECT_PATH") or ""
    project = project or os.path.basename(_git(folder, "rev-parse", "--show-toplevel"))
    lines = _git(folder, "show", "--no-patch", "--format=%cI%n%P%n%s", commit).split("\n") if commit else []
    committed_at, parents, subject = lines if len(lines) == 3 else ("", "", "")
    parent = parents.split(" ")[0]
    return {"project": project, "committed_at": committed_at, "subject": subject, "parent": parent}


def git_user(folder: str = ".") -> str:
    """The name that git signs commits with, or nothing."""
    return _git(folder, "config", "user.name")


def earlier_versions(path: str) -> Iterator[bytes]:
    """A file as the commits have it, the newest first; nothing where git does not know it."""
    folder, name = os.path.split(os.path.abspath(path))
    for commit in _git(folder, "log", f"-{MOST_VERSIONS}", "--format=%H", "--", name).split():
        if content := _output(folder, "show", f"{commit}:./{name}"):
            yield content


def _git(folder: str, *words: str) -> str:
    return _output(folder, *words).decode("utf-8", "replace").strip()


def _output(folder: str, *words: str) -> bytes:
    import subprocess  # scoring starts no process

    try:
        done = subprocess.run(["git", "-C", folder, *words], capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 else b""
