"""Site: all pages as files below a folder, for an artifact, for any web server, or for a browser without one.

The same history gives the same bytes. A page that is as it was is not written again; one that follows from runs alone
is not even made again. Each file is whole or as it was, what is linked to comes before what links to it, and pages that
are no more go last: who reads meanwhile, or after a kill, finds no dead link.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from .._version import __version__
from ..errors import EnvironmentFailure, UsageError
from ..reading.files import unwritable, write_whole
from ..runner.journal import held
from ..text import visible
from .data import bring_up_to_date, reading
from .render import ASSETS, asset
from .routes import every

MANIFEST = "shipworthy-site.json"
FORMAT = 1
_LOCK = ".shipworthy-site.lock"
_PARTIAL = ".shipworthy-page-"  # begins the name of a file that is being written


class Written(NamedTuple):
    """What became of the files of a site."""

    pages: int
    files: int
    changed: int
    removed: int
    size: int  # bytes


def write_site(url: str, out: str | os.PathLike[str], *, redact: bool = False) -> Written:
    """Write every page of the history at a URL below a folder that is empty, absent, or a site of ours."""
    folder = Path(out)
    _check_folder(folder)
    bring_up_to_date(url)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentFailure(
            f"can't be made: {error.strerror}", where=visible(os.fspath(out)), code="unwritable"
        ) from None
    with held(folder / _LOCK, "another `shipworthy site` is writing it"):
        try:
            return _write(url, folder, redact)
        except OSError as error:
            raise unwritable(folder, error, "Run it again; pages that were written are kept.") from None


def _write(url: str, folder: Path, redact: bool) -> Written:
    made_by = f"{__version__} {_own_digest()} {'redacted' if redact else 'whole'}"
    old = _manifest(folder)
    known: dict[str, Any] = old["pages"] if old.get("made_by") == made_by else {}
    pages: dict[str, Any] = {}
    changed = 0
    with reading(url, redact) as source:
        if not old.get("shipworthy_site"):  # whose folder it is, also where this call is killed
            write_whole(folder / MANIFEST, _encoded({}, ""))
        for left in folder.rglob(f"{_PARTIAL}*"):
            left.unlink()
        for name in ASSETS:
            changed += _put(folder, name, asset(name))
        for path, sign, make in every(source):
            before = known.get(path)
            if sign and before and before["from"] == sign and _there(folder, before["files"]):
                pages[path] = before
                continue
            page = make()
            if page is None:
                continue
            for name, data in page.files.items():
                changed += _put(folder, name, data)
            pages[path] = {"from": sign, "files": {name: len(data) for name, data in page.files.items()}}
    files = {name: size for entry in pages.values() for name, size in entry["files"].items()}
    files |= {name: len(asset(name)) for name in ASSETS}
    gone = {name for entry in old["pages"].values() for name in entry["files"]} - files.keys()
    for name in sorted(gone):
        _remove(folder, name)
    write_whole(folder / MANIFEST, _encoded(pages, made_by))
    return Written(len(pages), len(files), changed, len(gone), sum(files.values()))


def _encoded(pages: dict[str, Any], made_by: str) -> bytes:
    body = {"shipworthy_site": FORMAT, "made_by": made_by, "pages": dict(sorted(pages.items()))}
    return json.dumps(body, separators=(",", ":")).encode() + b"\n"


def _check_folder(folder: Path) -> None:
    """A folder with anything in it that is not a site of ours is left alone."""
    if not folder.exists():
        return
    where = visible(os.fspath(folder))
    if not folder.is_dir():
        raise UsageError("is not a folder", where=where, hint="Give -o another folder.", code="site-folder")
    names = {path.name for path in folder.iterdir()} - {_LOCK}
    if names and _manifest(folder).get("shipworthy_site") != FORMAT:
        raise UsageError(
            "holds files that are not a site of ours",
            where=where,
            hint="Give -o an empty or a new folder; nothing was changed.",
            code="site-folder",
        )


def _manifest(folder: Path) -> dict[str, Any]:
    """What an earlier call wrote; a manifest that somebody edited is none."""
    try:
        found = json.loads((folder / MANIFEST).read_bytes())
        assert isinstance(found, dict) and isinstance(found["pages"], dict)
        for entry in found["pages"].values():
            assert isinstance(entry["from"], str)
            assert all(isinstance(size, int) and _inside(name) for name, size in entry["files"].items())
        return found
    except (OSError, ValueError, KeyError, TypeError, AttributeError, AssertionError, RecursionError):
        return {"pages": {}}


def _inside(name: str) -> bool:
    """Whether a name from a manifest may be the name of a page: nothing else is ever removed."""
    parts = name.split("/")
    return name.endswith((".html", ".json", ".xml")) and not any(
        part in ("", ".", "..") or "\\" in part for part in parts
    )


def _there(folder: Path, files: dict[str, int]) -> bool:
    try:
        return all((folder / name).stat().st_size == size for name, size in files.items())
    except OSError:
        return False


def _put(folder: Path, name: str, data: bytes) -> bool:
    """Write a file whole, unless it is there already; whether it was written."""
    path = folder / name
    with suppress(OSError):
        if path.stat().st_size == len(data) and path.read_bytes() == data:
            return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=_PARTIAL, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return True


def _remove(folder: Path, name: str) -> None:
    path = folder / name
    with suppress(OSError):
        path.unlink()
        while (path := path.parent) != folder:
            path.rmdir()  # fails where there is anything left in it


def _own_digest() -> str:
    """What pages look like: changes with style and templates, so that a new version writes all of them anew."""
    from importlib.resources import files

    from ..report.html import source

    found = hashlib.sha256(source("content.html.j2").encode())
    for part in sorted(files(__package__).joinpath("templates").iterdir(), key=lambda one: one.name):
        found.update(part.read_bytes())
    return found.hexdigest()[:12]
