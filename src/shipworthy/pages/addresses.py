"""Addresses: names of projects, branches, questions and gates as parts of paths, safe on any disk and in any URL.

Letters, digits, `-`, `_` and dots inside a name stay; everything else is `~` and two hex digits for each byte. A name
that is too long for a file system is cut and gets a digest. No name leaves its folder, and no two share an address.
"""

from __future__ import annotations

import hashlib
import posixpath
import re

LONGEST = 100  # characters of a part that are kept
_SPELLED = re.compile(r"~([0-9A-F]{2})")
EMPTY = "~"  # the part of a name that is blank


def part(name: str) -> str:
    """A name as one part of an address."""
    if not name:
        return EMPTY
    text = "".join(
        char if _is_plain(char, place, len(name)) else "".join(f"~{byte:02X}" for byte in _bytes(char))
        for place, char in enumerate(name)
    )
    if len(text) <= LONGEST:
        return text
    sign = hashlib.sha256(_bytes(name)).hexdigest()[:16]
    return f"{re.sub('~[0-9A-F]?$', '', text[:60])}~~{sign}"


def _is_plain(char: str, place: int, length: int) -> bool:
    if char == ".":
        return 0 < place < length - 1
    return char.isascii() and (char.isalnum() or char in "_-")


def name_of(text: str) -> str | None:
    """The name that a part stands for; None where it is not written as `part` writes it, or was cut."""
    if text == EMPTY:
        return ""
    try:
        spelled = re.sub(r"(?:~[0-9A-F]{2})+", lambda found: _decoded(found[0]), text)
    except UnicodeDecodeError:
        return None
    return spelled if part(spelled) == text else None


def is_cut(text: str) -> bool:
    return "~~" in text


def _decoded(text: str) -> str:
    return bytes(int(found, 16) for found in _SPELLED.findall(text)).decode("utf-8", "surrogatepass")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def link(here: str, there: str) -> str:
    """The way from one page to another, both as paths from the root: the same from a server and from a disk."""
    target, sign, place = there.partition("#")
    return posixpath.relpath(target, posixpath.dirname(here) or ".") + sign + place
