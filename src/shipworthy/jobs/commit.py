"""Commit: which commit and branch are judged."""

from __future__ import annotations

import os


def where_from(folder: str = ".", *, ask_git: bool = True) -> dict[str, str]:
    """Commit and branch, from the CI's environment or from git; blank where neither knows."""
    env = os.environ
    commit = env.get("GITHUB_SHA") or env.get("CI_COMMIT_SHA") or ""
    branch = env.get("GITHUB_HEAD_REF") or env.get("GITHUB_REF_NAME") or env.get("CI_COMMIT_REF_NAME") or ""
    if ask_git:
        commit = commit or _git(folder, "rev-parse", "HEAD")
        branch = branch or _git(folder, "rev-parse", "--abbrev-ref", "HEAD")
    return {"commit": commit, "branch": branch}


def _git(folder: str, *words: str) -> str:
    import subprocess  # scoring starts no process

    try:
        done = subprocess.run(["git", "-C", folder, *words], capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""
