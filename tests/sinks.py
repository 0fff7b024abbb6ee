"""Sinks: what a reader of a stream or a file would be fooled by, looked for as that reader does."""

from __future__ import annotations

import json
import re
import unicodedata
from html.parser import HTMLParser
from xml.etree import ElementTree

HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
FORGED = re.compile(r"\s*(SHIP  forged|shipworthy: forged)")


def commands(text: str) -> list[str]:
    """The lines that a CI system would obey: GitHub's runner splits at every line end and cuts leading blanks."""
    lines = re.split(r"\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]", text)
    return [line for line in lines if line.strip().startswith("::") or re.search(r"##\w*\[", line)]


def hidden(text: str, but: str = "\n") -> set[str]:
    return {f"U+{ord(char):04X}" for char in text if char not in but and unicodedata.category(char) in HIDDEN}


def check_text(text: str, but: str = "\n") -> None:
    """Text for people: nothing hidden, no command, and no line that came out of data."""
    assert not hidden(text, but)
    assert not commands(text)
    assert not [line for line in text.split("\n") if FORGED.match(line)]


def check_format(name: str, content: bytes) -> None:
    """A report as a file or in a log, read by a real parser too."""
    text = content.decode("utf-8")
    if name == "github":
        lines = text.splitlines()
        assert all(re.fullmatch(r"::(error|warning|notice) title=[^:,]*::[^\r\n]*", line) for line in lines)
        return
    assert not commands(text), name
    assert not hidden(text, {"tsv": "\n\t", "markdown": "\n\u200b"}.get(name, "\n")), name
    if name == "json":
        json.loads(text)
    if name == "tsv":
        assert len({line.count("\t") for line in text.splitlines()}) <= 1
    if name == "junit":
        ElementTree.fromstring(content)
    if name == "html":
        assert _scripts(text) == 2  # the rows and our own script


def _scripts(page: str) -> int:
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.append(tag)
            assert not any(name.startswith("on") for name, _ in attrs)

    Reader().feed(page)
    return found.count("script")
