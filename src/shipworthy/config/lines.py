"""Lines: where in a TOML text a key stands, which the standard library's parser does not tell."""

from __future__ import annotations

import re
from collections.abc import Iterator

Path = tuple[str | int, ...]

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_PART = r"(?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')"
_KEY = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=")
_WORD = re.compile(_PART)


def line_of(text: str, path: Path) -> int:
    """The line of the key at `path`, or of the nearest table or key above it that the text names."""
    places = dict(_places(text.splitlines()))
    for length in range(len(path), 0, -1):
        if found := places.get(path[:length]):
            return _within(text.splitlines(), found, path[length:])
    return 1


def _places(lines: list[str]) -> Iterator[tuple[Path, int]]:
    """Each key and table header with its line, the later ones first to be overwritten by the earlier."""
    found: dict[Path, int] = {}
    table: Path = ()
    repeats: dict[Path, int] = {}
    for number, line in enumerate(lines, 1):
        if header := _HEADER.match(line):
            table = _parts(header[2])
            if header[1] == "[[":
                repeats[table] = repeats.get(table, -1) + 1
                found.setdefault(table, number)
                table = (*table, repeats[table])
            for length in range(1, len(table) + 1):
                found.setdefault(table[:length], number)
        elif key := _KEY.match(line):
            parts = _parts(key[1])
            for length in range(1, len(parts) + 1):
                found.setdefault((*table, *parts[:length]), number)
    yield from found.items()


def _parts(dotted: str) -> Path:
    return tuple(part.strip("\"'") for part in _WORD.findall(dotted))


def _within(lines: list[str], start: int, rest: Path) -> int:
    """Further down in an array or an inline table: the element's line by counting, the key's by its name."""
    line = start
    for step in rest:
        if isinstance(step, int):
            line = _element(lines, line, step)
        else:
            named = re.compile(rf"(?<![\w-]){re.escape(step)}\s*=")
            line = next((number for number in range(line, len(lines) + 1) if named.search(lines[number - 1])), line)
    return line


def _element(lines: list[str], start: int, index: int) -> int:
    """The line of an array's element, by counting commas outside of quotes and inner brackets."""
    depth, seen, quote = 0, 0, ""
    for number in range(start, len(lines) + 1):
        line = lines[number - 1]
        column = line.index("=") + 1 if number == start and "=" in line else 0
        while column < len(line):
            char = line[column]
            if quote:
                column += 1 if char == "\\" and quote == '"' else 0
                quote = "" if char == quote else quote
            elif char == "#":
                break
            elif char == "," and depth == 1:
                seen += 1
            else:
                if depth == 1 and seen == index and not char.isspace():
                    return number
                quote = char if char in "\"'" else ""
                depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(char, 0)
            column += 1
    return start
