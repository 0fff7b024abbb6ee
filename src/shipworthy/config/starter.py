"""Starter: the files that a new project begins with; what is there already is never touched."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple
from urllib.parse import urlsplit

from ..reading.files import create_new, write_whole
from . import _VARIABLE, DEFAULT, Config

WORKFLOW = ".github/workflows/shipworthy.yml"
# where it goes → the bundled file that goes there
FILES = {
    "shipworthy.toml": "shipworthy.toml",
    "eval/gold.jsonl": "gold.jsonl",
    "eval/trace.jsonl": "trace.jsonl",
    WORKFLOW: "workflow.yml",
}
# what is written only where it is asked for
EXTRAS = {
    "gitlab": (".gitlab-ci.yml", "gitlab.yml"),
    "pre-commit": (".pre-commit-config.yaml", "pre-commit.yaml"),
}

_LOOPBACK = ("localhost", "::1", "0.0.0.0")


class Written(NamedTuple):
    path: str
    created: bool  # False: something was there already


def write_starter(
    folder: str | os.PathLike[str] = ".", extras: Iterable[str] = (), *, starter: bool = True
) -> list[Written]:
    """A config, a starter gold set with traces, and a CI workflow; also keeps .shipworthy out of version control.

    Without `starter`, only the extras: a service that was connected has a config already.
    """
    bundled, written = _bundled(), []
    for path, name in [*(FILES.items() if starter else ()), *(EXTRAS[extra] for extra in extras)]:
        place = os.path.join(folder, *path.split("/"))
        written.append(Written(place, create_new(place, (bundled / name).read_bytes())))
    create_new(os.path.join(folder, ".shipworthy", ".gitignore"), b"*\n")
    return written


def write_workflow(config: Config) -> Written:
    """The CI workflow of a connected service, where there is none yet or only the starter's."""
    place, text = os.path.join(config.folder, *WORKFLOW.split("/")), _workflow(config).encode()
    if os.path.isfile(place):
        with open(place, "rb") as stream:
            starter = stream.read(10_000) == (_bundled() / FILES[WORKFLOW]).read_bytes()
        if starter:
            write_whole(place, text)
        return Written(place, starter)
    return Written(place, create_new(place, text))


def _workflow(config: Config) -> str:
    """Starts a service of the same machine first, and has the secrets that the config names."""
    text = (_bundled() / "service.yml").read_text("utf-8")
    head, secrets, steps, start, check = re.split(r"^# --- .*\n", text, flags=re.MULTILINE)
    target = config.targets[DEFAULT]
    names = sorted(set(_VARIABLE.findall(f"{target.spec} {target.options}")))
    secrets += "".join(f"      {name}: ${{{{ secrets.{name} }}}}\n" for name in names)
    address = urlsplit(target.spec)
    local = address.hostname in _LOOPBACK or (address.hostname or "").startswith("127.")
    start = start.replace("@URL@", f"{address.scheme}://{address.netloc.rpartition('@')[2]}/")
    return head + secrets * bool(names) + steps + start * local + check


def _bundled() -> Traversable:
    return files("shipworthy.config") / "data" / "init"
