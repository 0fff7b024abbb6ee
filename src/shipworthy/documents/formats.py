"""HTML and PDF as plain text: headings, lists and tables as in Markdown; scripts, styles and comments are no text."""

from __future__ import annotations

import logging
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


_WRAPPED = re.compile(r"(?<=[^\n.!?:;])[ \t]*\n(?=[a-z0-9(])")
_HYPHEN = re.compile(r"(?<=[a-z])-\n(?=[a-z])")


def pages_of(path: str) -> list[str]:
    """The text of each page, lines that a page's width broke put together. ValueError: why it can't be read."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of what it mends
    try:
        reader = PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):
            raise ValueError("it is encrypted; save it without a password")
        return [_unwrapped(page.extract_text()) for page in reader.pages]
    except ValueError:
        raise
    except (PyPdfError, ImportError) as error:
        if isinstance(error, ImportError):  # the package for an unusual cipher
            raise ValueError("it is encrypted; save it without a password") from None
        raise ValueError(f"it is not a readable PDF: {error}") from None
    except (OSError, KeyError, TypeError, AttributeError, IndexError, RecursionError, ZeroDivisionError) as error:
        raise ValueError(f"it is not a readable PDF: {type(error).__name__}") from None


def _unwrapped(text: str) -> str:
    lines = "\n".join(line.strip() for line in text.replace("\r\n", "\n").split("\n"))
    return _WRAPPED.sub(" ", _HYPHEN.sub("", lines)).strip()
