"""Starter: the files that a new project begins with; what is there already is never touched."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.resources import files
from typing import NamedTuple

from ..reading.files import create_new

# where it goes → the bundled file that goes there
FILES = {
    "shipworthy.toml": "shipworthy.toml",
    "eval/gold.jsonl": "gold.jsonl",
    "eval/trace.jsonl": "trace.jsonl",
    ".github/workflows/shipworthy.yml": "workflow.yml",
}
# what is written only where it is asked for
EXTRAS = {
    "gitlab": (".gitlab-ci.yml", "gitlab.yml"),
    "pre-commit": (".pre-commit-config.yaml", "pre-commit.yaml"),
}


class Written(NamedTuple):
    path: str
    created: bool  # False: something was there already


def write_starter(
    folder: str | os.PathLike[str] = ".", extras: Iterable[str] = (), *, starter: bool = True
) -> list[Written]:
    """A config, a starter gold set with traces, and a CI workflow; also keeps .shipworthy out of version control.

    Without `starter`, only the extras: a service that was connected has a config already.
    """
    bundled = files("shipworthy.config") / "data" / "init"
    written = []
    for path, name in [*(FILES.items() if starter else ()), *(EXTRAS[extra] for extra in extras)]:
        place = os.path.join(folder, *path.split("/"))
        written.append(Written(place, create_new(place, (bundled / name).read_bytes())))
    create_new(os.path.join(folder, ".shipworthy", ".gitignore"), b"*\n")
    return written
