"""Keys: which keys of a record are probably misspelt, as far as the score hangs on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .limits import MAX_KEYS
from .strict import Refused

NEAR = 0.9  # similarity from which an unknown key counts as a misspelt one; retrieved_docs is none of retrieved_ids


class Keys:
    """The keys of one kind of record, and what was found out about the unknown ones while a file was read."""

    def __init__(
        self,
        known: Iterable[str],
        decisive: Iterable[str],
        ordinary: Iterable[str] = (),
        inner: Mapping[str, Keys] | None = None,
    ) -> None:
        self._decisive = tuple(decisive)  # those whose loss could change a verdict
        self._harmless = {*known, *ordinary}
        self._meant: dict[str, str] = {}  # misspelt key → the known one
        self._inner = inner or {}  # the keys of a field that is an object

    def suspect(self, objects: list[dict[str, object]]) -> bool:
        """Whether any of the objects may have a misspelt key: a quick look, and `check` decides."""
        names = set[str]().union(*objects)
        if not names <= self._harmless and any(map(self.meant, names - self._harmless)):
            return True
        for field, keys in self._inner.items():
            if field in names and keys.suspect([part for one in objects if type(part := one.get(field)) is dict]):
                return True
        return False

    def check(self, value: Mapping[str, object]) -> None:
        """Refuse an object with a misspelt key, unless it has the well-spelt one too."""
        for name in value:
            if name not in self._harmless and (meant := self.meant(name)) and meant not in value:
                what, hint = f"unknown key {name!r}", f"Did you mean {meant}? Rename it."
                raise Refused(what, "unknown-key", hint)
        for field, keys in self._inner.items():
            if isinstance(part := value.get(field), Mapping):
                keys.check(part)

    def meant(self, name: str) -> str:
        """The known key that was probably meant; nothing where the key is one of the user's own."""
        if name in self._harmless or not isinstance(name, str):
            return ""
        if name not in self._meant:
            if len(self._harmless) + len(self._meant) > MAX_KEYS:  # a file that makes up keys is not looked at for ever
                return ""
            if not (near := self._nearest(name)):
                self._harmless.add(name)
                return ""
            self._meant[name] = near
        return self._meant[name]

    def _nearest(self, name: str) -> str:
        from difflib import get_close_matches

        if len(name) > 2 * max(map(len, self._decisive)):
            return ""
        plain = _plain(name)
        same = [known for known in self._decisive if _plain(known) == plain]
        return (same or get_close_matches(name, self._decisive, 1, NEAR) or [""])[0]


def _plain(name: str) -> str:
    """Without case and separators: goldCitations and gold-citations are gold_citations."""
    return "".join(filter(str.isalnum, name.casefold()))
