"""Material: right, wrong and invented answers to the questions of a gold set, as traces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from ...core.contracts import Gold, ids_of
from ...core.evidence import Row
from ...language.refusal import TOKEN, load_rule
from ...text import fold
from .judge import Judging, contained, expect

DISTRACTORS = 4  # other ids retrieved beside the right ones
# What no gold set says. The second is for a gold set that says the first.
INVENTED = ("The harbour keeps forty blue lanterns in its east tower.", "Qzxvj wkqzx vjqwz.")
UNKNOWN = "control-unknown-block"  # cited, never retrieved
OTHER = "control-other-block"  # retrieved where the gold set has no other id


class ControlAnswers:
    """A gold set, and the answers that one can make of it without asking anybody."""

    def __init__(self, items: Iterable[Gold], min_substr: int = 5) -> None:
        self._judging = Judging(rule=load_rule("natural"), min_substr=min_substr)
        # A regular expression does not say what would match it: such an item takes part only with a gold_claim.
        self.items = [item for item in items if item.match != "regex" or self.sayable(item)]
        self.answerable = [item for item in self.items if item.answerable]
        self.unanswerable = [item for item in self.items if not item.answerable]
        self.ids = list(dict.fromkeys(name for item in self.items for name in evidence_of(item)))
        self._places = {name: place for place, name in enumerate(self.ids)}

    def sayable(self, item: Gold) -> bool:
        return contained(expect(item, self._judging), item.gold_claim)

    def right(self, item: Gold, **more: object) -> Row:
        """What a perfect pipeline says: the gold claim with its citation, or the refusal."""
        if not item.answerable:
            return self.refusal(item, **more)
        return self.trace(item, self.claim(item), evidence_of(item), **more)

    def wrong(self, item: Gold, **more: object) -> Row:
        """An invented claim under a citation that looks well."""
        return self.trace(item, self.invented(item), evidence_of(item) or self.others(item)[:1], **more)

    def refusal(self, item: Gold, **more: object) -> Row:
        return self.trace(item, TOKEN, [], **more)

    def trace(self, item: Gold, claim: str, cited: Sequence[str], **more: object) -> Row:
        """A trace; the right evidence is among what was retrieved, whatever is cited."""
        answer = {"claim": claim, "citations": list(cited), "constraints_echo": list(item.constraints)}
        retrieved = [*evidence_of(item), *self.others(item)]
        return {"qid": item.qid, "q": item.question, "retrieved_ids": retrieved, "answer_json": answer} | more

    def claim(self, item: Gold) -> str:
        """The gold claim where it will do; else the gold substring, or all of them where the item asks for all."""
        if item.gold_claim and self.sayable(item):
            return item.gold_claim
        texts = [text for text in item.substrings if fold(text)]
        return ("; ".join(texts) if item.match == "all" else next(iter(texts), "")) or INVENTED[0]

    def invented(self, item: Gold) -> str:
        expected = expect(item, self._judging)
        return next((text for text in INVENTED if not contained(expected, text)), INVENTED[-1])

    def others(self, item: Gold, most: int = DISTRACTORS) -> list[str]:
        """A few ids of the gold set that are no evidence for this question: those that follow its own."""
        own = {*item.citations, *ids_of(item.relevant)}
        start = max((self._places.get(name, 0) for name in own), default=0)
        following = (self.ids[(start + step) % len(self.ids)] for step in range(len(self.ids)))
        return list(islice((name for name in following if name not in own), most)) or [OTHER]

    def everything(self, item: Gold) -> list[str]:
        """Its evidence among so much else that one id in ten is evidence; where the gold set has too few, made up."""
        most = 9 * len(item.citations)
        others = self.others(item, most)
        return [*item.citations, *others, *(f"{OTHER}-{number}" for number in range(most - len(others)))]

    def can_be_wrong(self, item: Gold) -> bool:
        """Whether this gold item can tell an invented claim from a right one."""
        return not contained(expect(item, self._judging), self.invented(item))

    def claims_wrong(self, every: int = 1) -> tuple[list[Row], str]:
        """Invented claims to every so many answerable questions, and why that would not be a bad run."""
        spoilt = {item.qid for item in [one for one in self.answerable if self.can_be_wrong(one)][::every]}
        rows = [self.wrong(item) if item.qid in spoilt else self.right(item) for item in self.items]
        return rows, self.too_few(len(spoilt) * every, "have a claim that can be missed")

    def too_few(self, spoilt: int, what: str) -> str:
        """A run that is wrong on less than half of the answerable questions is not known to be bad."""
        total = len(self.answerable)
        if not total:
            return "the gold set has no answerable question"
        return "" if 2 * spoilt >= total else f"only {spoilt} of {total} answerable questions {what}"


def evidence_of(item: Gold) -> list[str]:
    """The ids that answer the question: its citations, or the relevant blocks where it names no citation."""
    return item.citations or ids_of(item.relevant)


def least_length(options: Mapping[str, Any]) -> int:
    return int(options.get("min_substr") or 5)
