"""Search: the sections of the documents that have the words of a question. Enough for a reviewer to look things up."""

from __future__ import annotations

import math
import re
from collections import Counter

from ..documents import Document, Documents, Section
from ..language.words import stem

_WORD = re.compile(r"\w{2,}")


class Index:
    """Words of sections, in memory, and how rare each word is."""

    def __init__(self, documents: Documents) -> None:
        self._sections: list[tuple[Document, Section]] = []
        self._having: dict[str, dict[int, int]] = {}
        for document in documents:
            for section in document.sections:
                number = len(self._sections)
                self._sections.append((document, section))
                words = Counter(_words(document.text[section.start : section.end]))
                for word, count in words.items():
                    self._having.setdefault(word, {})[number] = count

    def best(self, question: str, most: int = 5) -> list[tuple[Document, Section]]:
        """The sections that share most with a question, rare words counting more."""
        scores: Counter[int] = Counter()
        for word in set(_words(question)):
            having = self._having.get(word, {})
            weight = math.log(1 + len(self._sections) / (1 + len(having)))
            for number, count in having.items():
                scores[number] += round(1000 * weight * (1 + math.log(count)))
        ranked = sorted(scores.items(), key=lambda one: (-one[1], one[0]))
        return [self._sections[number] for number, _ in ranked[:most]]


def _words(text: str) -> list[str]:
    return [stem(word) for word in _WORD.findall(text.casefold())]
