"""The demo reasoner: answers a prompt from a small store of notes, without a model, the same way every time.

    python -m shipworthy.demo.reasoner [--db NOTES] reason PROMPT --json [--preset P] [--project P] …

It knows the notes and the prompt, nothing else: it looks up, extracts, lets the newer or surer note win where two
notes of one topic differ, repeats what the notes say is to be done, and refuses where the notes don't cover the
question.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..language.refusal import TOKEN
from ..language.words import content_stems, tokens

NOTES = Path(__file__).with_name("notes.jsonl")
COVERED = 0.28  # share of the question's weight that the best topic must carry
NEAR_BEST = 0.6  # a topic that scores so much of the best one is told as well
SURER = 0.2  # a note that is so much surer beats a newer one
# What prompts are made of rather than about.
_PROMPT_WORDS = frozenset(
    content_stems("""
    digest today this morning note notes daily weekly deep dive week audit check review claim cite say number
    numbers conflict disagree inconsistent mismatch resolve hold holds current currently force show tell know happen do
    done change next step action propose go what who how many long large should would must""")
)


@dataclass(frozen=True)
class StoredNote:
    """One remembered sentence, where it stands and how sure it is."""

    id: str
    project: str
    source: str
    line: int
    date: str
    confidence: float
    kind: str
    topic: str
    text: str

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(content_stems(f"{self.topic} {self.text}"))


def load_notes(path: Path = NOTES, project: str | None = None) -> list[StoredNote]:
    """The notes of a store, of one project or of all."""
    with open(path, encoding="utf-8") as file:
        notes = [StoredNote(**json.loads(line)) for line in file if line.strip()]
    return [note for note in notes if project in (None, "", note.project)]


def reason(prompt: str, notes: Sequence[StoredNote], max_context: int = 8) -> dict[str, object]:
    """What the notes have to say to a prompt."""
    asked = frozenset(content_stems(prompt)) - _PROMPT_WORDS
    ranked = _ranked(asked, notes)
    context = [note for note, value in ranked[:max_context] if value > 0]
    facts = [(note, value) for note, value in ranked if note.kind == "fact" and value > 0]
    if not facts or _coverage(asked, facts[0][0].topic, notes) < COVERED:
        return _output(prompt, TOKEN, context, 0)
    topics = _topics(facts)
    told, lines = _tell(topics, notes)
    task = _task(asked, topics, told, notes)
    if task:
        lines.append(f"{_sentence(task)} [{task.id}].")
    evidence = list({note.id: note for note in [*context, *told, *([task] if task else [])]}.values())
    return _output(prompt, " ".join(lines), evidence, len(told))


def _ranked(asked: frozenset[str], notes: Sequence[StoredNote]) -> list[tuple[StoredNote, float]]:
    """The notes by the weight of the words that they share with the question; ties by id."""
    weights = _weights(notes)
    scored = [(note, sum(weights[word] for word in sorted(asked & note.words))) for note in notes]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0].id))


def _weights(notes: Sequence[StoredNote]) -> defaultdict[str, float]:
    """Rare words weigh more than common ones."""
    seen = Counter(word for note in notes for word in note.words)
    return defaultdict(float, {word: math.log(1 + len(notes) / count) for word, count in seen.items()})


def _coverage(asked: frozenset[str], topic: str, notes: Sequence[StoredNote]) -> float:
    """The share of the question's weight that the notes of a topic carry; words of no note weigh most."""
    weights = _weights(notes)
    most = math.log(1 + len(notes))
    known = frozenset(word for note in notes if note.topic == topic for word in note.words)
    total = sum(weights[word] or most for word in sorted(asked))
    return sum(weights[word] for word in sorted(asked & known)) / total if total else 0.0


def _topics(facts: Sequence[tuple[StoredNote, float]]) -> list[str]:
    best = facts[0][1]
    return list(dict.fromkeys(note.topic for note, value in facts if value >= NEAR_BEST * best))[:2]


def _tell(topics: Sequence[str], notes: Sequence[StoredNote]) -> tuple[list[StoredNote], list[str]]:
    """The notes told, and a line for each topic and for each note that gave way."""
    told: list[StoredNote] = []
    lines: list[str] = []
    for topic in topics:
        held, *gone = _by_standing([note for note in notes if note.topic == topic and note.kind == "fact"])
        told += [held, *gone]
        lines.append(f"{_sentence(held)} [{held.id}].")
        lines += [f"What {note.source}:{note.line} says is superseded by {held.id}, which is newer." for note in gone]
    return told, lines


def _by_standing(notes: Sequence[StoredNote]) -> list[StoredNote]:
    """The note that holds first: the newest, unless an older one is much surer."""
    newest_first = sorted(notes, key=lambda note: (note.date, note.confidence, note.id), reverse=True)
    surest = max(newest_first, key=lambda note: note.confidence)
    if surest.confidence - newest_first[0].confidence > SURER:
        newest_first.remove(surest)
        newest_first.insert(0, surest)
    return newest_first


def _task(
    asked: frozenset[str], topics: Sequence[str], told: Sequence[StoredNote], notes: Sequence[StoredNote]
) -> StoredNote | None:
    """What is to be done: the task of a told topic, else the task nearest to question and facts."""
    tasks = [note for note in notes if note.kind == "task"]
    own = next((note for topic in topics for note in tasks if note.topic == topic), None)
    if own is not None:
        return own
    about = asked | frozenset(word for note in told for word in note.words)
    ranked = _ranked(about, tasks)
    return ranked[0][0] if ranked and ranked[0][1] > 0 else None


def _sentence(note: StoredNote) -> str:
    return note.text.rstrip(".")


def _output(prompt: str, answer: str, evidence: Sequence[StoredNote], facts: int) -> dict[str, object]:
    return {
        "content": answer,
        "model": "note-store",
        "provider": "offline",
        "memories_used": len(evidence),
        "facts_used": facts,
        "tokens_in": len(tokens(prompt)) + sum(len(tokens(note.text)) for note in evidence),
        "tokens_out": len(tokens(answer)),
        "evidence": [
            {"id": n.id, "source": n.source, "line": n.line, "text": n.text, "confidence": n.confidence}
            for n in evidence
        ],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="shipworthy.demo.reasoner", description=__doc__)
    parser.add_argument("--db", type=Path, default=NOTES, help="a store of notes, one JSON object a line")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("reason", help="answer one prompt")
    verb.add_argument("prompt")
    verb.add_argument("--json", action="store_true", help="print the answer as a JSON object")
    verb.add_argument("--recursive", action="store_true")
    for name in ("preset", "project", "model", "embed"):
        verb.add_argument(f"--{name}")
    for name in ("max-iterations", "max-depth", "max-context", "max-tokens"):
        verb.add_argument(f"--{name}", type=int)
    chosen = parser.parse_args(arguments)
    output = reason(chosen.prompt, load_notes(chosen.db, chosen.project), chosen.max_context or 8)
    print(json.dumps(output, ensure_ascii=False) if chosen.json else output["content"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
