"""PDF as text, one text a page, by pypdf (the extra `docs`)."""

from __future__ import annotations

import logging
import re

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
