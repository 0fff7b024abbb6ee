"""Secrets: read from the environment for a request, kept out of everything that is written."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from ..errors import UsageError

MASK = "[redacted]"
SHORTEST = 4  # masking shorter values would eat ordinary words, and they protect nothing

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
SENSITIVE_NAME = re.compile(r"auth|cookie|token|secret|passw|key|credential|session", re.IGNORECASE)
_USER_INFO = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30}://)[^/?#\r\n]{0,500}@")
_SCHEMES = {"bearer", "basic", "token", "apikey", "digest"}


class Secrets:
    """The values that must not be seen again."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: list[str] = []
        self._bytes: tuple[bytes, ...] = ()
        for value in values:
            self.add(value)

    def add(self, value: str) -> None:
        if len(value) >= SHORTEST and value not in self._values:
            forms = {value, quote(value, safe="", errors="replace")}  # also as it stands in a URL
            self._values = sorted({*self._values, *forms}, key=len, reverse=True)  # a longer one may hold a shorter
            written = [form for known in self._values for form in (known, json.dumps(known)[1:-1])]
            self._bytes = tuple(dict.fromkeys(form.encode("utf-8", "surrogatepass") for form in written))

    def hide(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, MASK)
        return text

    def hide_bytes(self, raw: bytes) -> bytes:
        """What came over the wire, before it is parsed."""
        for form in self._bytes:
            raw = raw.replace(form, MASK.encode())
        return raw

    def within(self, line: bytes) -> bool:
        """Whether an encoded line holds a secret: a quick look, so that most records need no walk."""
        return any(form in line for form in self._bytes)

    def hide_all(self, value: object) -> Any:
        """Plain data with every string masked, keys too."""
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, Mapping):
            return {self.hide(str(key)): self.hide_all(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.hide_all(inner) for inner in value]
        if isinstance(value, int) and self.hide(str(value)) != str(value):
            return MASK
        return value

    def filled(self, template: str, where: str) -> str:
        """`${NAME}` replaced from the environment; what was put in is a secret from then on."""

        def value_of(match: re.Match[str]) -> str:
            value = os.environ.get(match[1], "")
            if not value or not value.isprintable():
                what = "is not set" if not value else "contains a line break or a control character"
                raise UsageError(
                    f"the environment variable {match[1]} {what}",
                    where=where,
                    hint=f"export {match[1]}=… before the run.",
                    code="env-unset",
                )
            self.add(value)
            return value

        return _VARIABLE.sub(value_of, template)


def without_password(address: str) -> str:
    """An address that could not be used, as it may be shown: a password may hold any character, `@` and blanks too."""
    if "@" not in address:
        return address
    scheme, mark, _ = address.partition("://")
    host = address.rpartition("@")[2]
    return f"{scheme}://{MASK}@{host}" if mark and "@" not in scheme else MASK


def without_passwords(text: str) -> str:
    """A text in which URLs don't show their user and password."""
    return _USER_INFO.sub(rf"\1{MASK}@", text) if "://" in text and "@" in text else text


def headers_from(given: Mapping[str, str], secrets: Secrets) -> dict[str, str]:
    """Headers with `${NAME}` filled in. What a sensitive header says literally is treated as a secret too."""
    headers: dict[str, str] = {}
    for name, template in given.items():
        value = secrets.filled(template, f"header {name}")
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) or not value.isprintable():
            raise UsageError(
                "is not a header that can be sent", where=f"header {name!r}", hint="Write NAME=VALUE.", code="header"
            )
        if SENSITIVE_NAME.search(name):
            for part in value.split():
                if part.lower() not in _SCHEMES:
                    secrets.add(part)
        headers[name] = value
    return headers
