"""HTML as plain text: headings, lists and tables as in Markdown; scripts, styles and comments are no text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_SILENT = ("script", "style", "template", "noscript", "head", "svg", "iframe", "object", "select")
_BLOCKS = (
    *("p", "div", "section", "article", "ul", "ol", "dl", "dt", "dd", "blockquote", "pre", "main", "header", "footer"),
    *("nav", "aside", "figure", "figcaption", "form", "fieldset", "hr", "table", "details", "summary", "address"),
)


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._silent: list[str] = []  # open elements whose text is none, outermost first
        self._row: list[str] | None = None
        self._rows = 0  # of the table that is open
        self._pre = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._silent or tag in _SILENT:
            if tag in _SILENT:
                self._silent.append(tag)
            return
        if tag == "table":
            self._rows = 0
        if tag == "tr":
            self._end_row()
            self._row = []
        elif tag in ("td", "th") and self._row is not None:
            self._row.append("")
        elif re.fullmatch("h[1-6]", tag):
            self._write("\n\n" + "#" * int(tag[1]) + " ")
        elif tag == "li":
            self._write("\n- ")
        elif tag == "br":
            self._write("\n")
        elif tag in _BLOCKS:
            self._pre += tag == "pre"
            self._write("\n\n")

    def handle_endtag(self, tag: str) -> None:
        if self._silent:
            if tag in self._silent:
                del self._silent[self._silent.index(tag) :]
            return
        if tag in ("tr", "table", "thead", "tbody"):
            self._end_row()
        elif tag in _BLOCKS or re.fullmatch("h[1-6]", tag):
            self._pre -= tag == "pre" and self._pre > 0
            self._write("\n\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self._write(data if self._pre else re.sub(r"\s+", " ", data))

    def _write(self, text: str) -> None:
        if self._row is None:
            self.parts.append(text)
        elif self._row:
            self._row[-1] += text.replace("\n", " ")

    def _end_row(self) -> None:
        row, self._row = self._row, None
        if not row:
            return
        line = "| " + " | ".join(re.sub(r"\s+", " ", cell).strip().replace("|", "\\|") for cell in row) + " |\n"
        self._rows += 1
        self.parts.append("\n" + line if self._rows == 1 else line)
        if self._rows == 1:
            self.parts.append("|" + "---|" * len(row) + "\n")

    def finish(self) -> str:
        self.close()
        self._end_row()
        lines = (line.strip() for line in "".join(self.parts).split("\n"))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def text_of(page: str) -> str:
    """The text that a reader of the page sees."""
    parser = _Text()
    parser.feed(page)
    return parser.finish()
