"""Grounding on answers that people labelled, beside naive baselines; the controls; the time that scoring takes.

    python benchmarks/reasoning.py

Reads SHIPWORTHY_DATA (default: ../shared/data beside the checkout). Sets are split by the hash of the question: one
half was for building, the other is reported. A set that is absent is skipped by name.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from shipworthy import evaluate
from shipworthy.language.reader import names_of
from shipworthy.language.spelling import spelled
from shipworthy.language.words import content_stems, tokens
from shipworthy.stats import auc, wilson
from shipworthy.suites.reasoning.contracts import Fixture, read_fixture
from shipworthy.suites.reasoning.controls import BAD, GOOD, control_answers

DATA = Path(os.environ.get("SHIPWORTHY_DATA", Path(__file__).parents[2] / "shared" / "data"))
HARD = ("fabrication", "misbound", "denied", "forbidden", "invented", "evidence_dump", "no_grammar", "off_topic")
RESAMPLES, SEED = 1000, 20_011


class Row(NamedTuple):
    """An answer with its passages, and whether people found fault with it."""

    question: str
    evidence: list[str]
    answer: str
    bad: bool


def main() -> None:
    print_grounding()
    print_written()
    fixture = read_fixture()
    print_controls(fixture)
    print_time(fixture)


# --- answers that people labelled ---


def print_grounding() -> None:
    print("Area under the curve on the reporting half, and grounding minus baseline, with bootstrap intervals of 95 %")
    hits: Counter[tuple[str, bool]] = Counter()
    clean: list[float] = []
    for name, rows in labelled_sets().items():
        if rows is None:
            print(f"{name:<16} skipped: not in {DATA}")
            continue
        clean += clean_grounding(rows)
        chosen = [row for row in rows if is_reported(row.question)]
        results = judged(chosen)
        report(name, chosen, results)
        hits.update((kind, row.bad) for row, result in zip(chosen, results, strict=True) for kind in hard(result))
    print(f"per cent of {len(clean)} clean answers below 0, .05, … 1: {percent_below(clean)}")
    print("rule: faulty answers hit, clean answers hit")
    for kind in HARD:
        print(f"  {kind:<16}{hits[kind, True]:>4}{hits[kind, False]:>4}")


def clean_grounding(rows: Sequence[Row]) -> list[float]:
    """The grounding of the answers of a whole set that nobody found fault with."""
    scores = (result["dimension_scores"]["factual_grounding"] for result in judged([r for r in rows if not r.bad]))
    return [score for score in scores if score is not None]


def percent_below(scores: Sequence[float]) -> list[int]:
    """What `CLEAN_BELOW` of the reasoning suite has."""
    return (
        [round(100 * sum(score < step / 20 for score in scores) / len(scores)) for step in range(21)] if scores else []
    )


def is_reported(question: str) -> bool:
    """Whether a question is of the half that nothing was built on."""
    return int(hashlib.sha256(question.encode()).hexdigest(), 16) % 2 == 1


def hard(result: dict[str, Any]) -> list[str]:
    """The hard failures of a result that a rule about its text found."""
    return [kind for kind in result["hard_failures"] if kind in HARD]


def report(name: str, rows: Sequence[Row], results: Sequence[dict[str, Any]]) -> None:
    bad = [row.bad for row in rows]
    grounding = [result["dimension_scores"]["factual_grounding"] or 0.0 for result in results]
    baselines = {
        "new words (evidence and question)": [-new_share(row, [*row.evidence, row.question]) for row in rows],
        "new words (evidence alone)": [-new_share(row, row.evidence) for row in rows],
        "unknown numbers and names": [-unknown_names(row) for row in rows],
    }
    clean = [result for result, row in zip(results, rows, strict=True) if not row.bad]
    stopped = sum(bool(hard(result)) for result in clean)
    print(f"{name}: {len(rows)} answers, {len(clean)} clean; clean ones with a hard failure: {stopped}")
    print(f"  {'grounding':<36}{shown(resampled(grounding, None, bad))}")
    for title, values in baselines.items():
        apart = shown(resampled(grounding, values, bad), sign=True)
        print(f"  {title:<36}{shown(resampled(values, None, bad))}   grounding {apart}")


# --- answers that were written for this, with bindings ---


def print_written() -> None:
    """Sets 1 and 2 corrected the rules; set 3 was written and scored afterwards and is what counts."""
    print("\nWritten cases with bindings: answers that pass, with intervals of 95 %")
    for number, use in ((1, "building"), (2, "building"), (3, "reporting")):
        folder = Path(__file__).parent / "reasoning_sets"
        fixture = json.loads((folder / f"set{number}.json").read_text("utf-8"))
        rows = list(_lines(folder / f"set{number}.jsonl"))
        results = [_judged_alone(fixture, row) for row in rows]
        good = [row["good"] for row in rows]
        passed = [result["passed"] for result in results]
        naive = [_script_passes(fixture, row) for row in rows]
        overall = [result["overall_score"] or 0.0 for result in results]
        area = _area(overall, [not one for one in good]) or 0
        print(f"set {number} ({use}): {len(fixture['cases'])} cases, {len(rows)} answers, area {area:.3f}")
        print(f"  these rules: correct {_share(good, passed, True)}, wrong {_share(good, passed, False)}")
        print(f"  the script:  correct {_share(good, naive, True)}, wrong {_share(good, naive, False)}")
        kinds = [one["hard_failures"] + one["below_minimum"] for one in results]
        hits = Counter((kind, label) for label, found in zip(good, kinds, strict=True) for kind in found)
        counted = [
            f"{kind} {hits[kind, False]}, {hits[kind, True]}" for kind in dict.fromkeys(kind for kind, _ in hits)
        ]
        print(f"  rule (wrong, correct): {'; '.join(counted)}")


def _share(good: Sequence[bool], passed: Sequence[bool], wanted: bool) -> str:
    chosen = [one for label, one in zip(good, passed, strict=True) if label is wanted]
    low, high = wilson(sum(chosen), len(chosen)) or (0, 1)
    return f"{sum(chosen)} of {len(chosen)} ({low:.2f}-{high:.2f})"


def _judged_alone(fixture: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    cases = [case for case in fixture["cases"] if case["id"] == row["id"]]
    answers = {row["id"]: row["content"]}
    result: dict[str, Any] = evaluate("reasoning", fixture={"cases": cases}, answers=answers).report()["results"][0]
    return result


def _script_passes(fixture: dict[str, Any], row: dict[str, Any]) -> bool:
    """The naive baseline: every bound value is there, and no number that neither notes nor question have."""
    case = next(case for case in fixture["cases"] if case["id"] == row["id"])
    said = spelled(row["content"])
    if not case.get("answerable", True):
        return any(phrase in row["content"].lower() for phrase in _LACKING)
    notes = " ".join(
        f"{note['text']} {note['id']} {note['source']} {note.get('line', '')}" for note in case["evidence"]
    )
    known = set(_DIGITS.findall(spelled(f"{notes} {case['prompt']}")))
    values = [spelled(binding["value"]) for binding in case.get("bindings", [])]
    return all(value in said for value in values) and known.issuperset(_DIGITS.findall(said))


_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_LACKING = (
    *("not provided", "no information", "don't know", "do not know", "not mention", "cannot", "can't", "couldn't"),
    *("unable", "not available", "not found", "does not say", "doesn't say", "not in the"),
)


def judged(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The results of the rows, through the suite as users run it."""
    cases = [
        {
            "id": f"{n:05d}",
            "prompt": row.question or "?",
            "evidence": [{"id": f"p{k}", "source": "passage", "text": text} for k, text in enumerate(row.evidence, 1)],
        }
        for n, row in enumerate(rows)
    ]
    answers = {f"{n:05d}": row.answer for n, row in enumerate(rows)}
    results: list[dict[str, Any]] = evaluate("reasoning", fixture={"cases": cases}, answers=answers).report()["results"]
    return results


def resampled(
    scores: Sequence[float], minus: Sequence[float] | None, bad: Sequence[bool]
) -> tuple[float, float, float]:
    """The area, or the difference of two areas, and the middle 95 % of it over resampled answers."""

    def value(places: Sequence[int]) -> float | None:
        labels = [bad[n] for n in places]
        areas = [_area([one[n] for n in places], labels) for one in (scores, minus) if one is not None]
        return None if None in areas else areas[0] - sum(areas[1:])  # type: ignore[operator,arg-type]

    source, places = random.Random(SEED), range(len(scores))
    drawn = (value(source.choices(places, k=len(scores))) for _ in range(RESAMPLES))
    values = sorted(one for one in drawn if one is not None)
    return value(places) or 0.0, values[len(values) // 40], values[-1 - len(values) // 40]


def shown(found: tuple[float, float, float], sign: bool = False) -> str:
    value, low, high = found
    return f"{value:+.3f} ({low:+.3f} to {high:+.3f})" if sign else f"{value:.3f} ({low:.2f}-{high:.2f})"


def _area(scores: Sequence[float], bad: Sequence[bool]) -> float | None:
    pairs = list(zip(scores, bad, strict=True))
    value = auc([score for score, is_bad in pairs if not is_bad], [score for score, is_bad in pairs if is_bad])
    return None if value is None else float(value)


def new_share(row: Row, sources: Sequence[str]) -> float:
    """The first baseline: content words of the answer that the sources lack."""
    known = {word for text in sources for word in content_stems(text)}
    words = content_stems(row.answer)
    return sum(word not in known for word in words) / len(words) if words else 1.0


def unknown_names(row: Row) -> float:
    """The second: how many numbers and names of the answer neither passages nor question have."""
    known = {word for text in (*row.evidence, row.question) for word in content_stems(text)}
    numbers = {token.number for token in tokens(row.answer) if token.number}
    return float(len((numbers | names_of(row.answer)) - known))


def labelled_sets() -> dict[str, list[Row] | None]:
    return {"begin_cmu_dev": _begin("begin_cmu_dev"), "begin_tc_dev": _begin("begin_tc_dev"), "clapnq_rag": _clapnq()}


def _begin(name: str) -> list[Row] | None:
    path = DATA / "grounding" / f"{name}.jsonl"
    if not path.exists():
        return None
    return [Row(row["question"], row["evidence"], row["answer"], row["bad"]) for row in _lines(path)]


def _clapnq() -> list[Row] | None:
    """Answers of three models; faulty where two of three people rate faithfulness 2 or less; refusals left out."""
    folder = DATA / "clapnq_rag"
    if not folder.exists():
        return None
    texts = {chunk["id"]: chunk["text"] for chunk in _lines(folder / "chunks.jsonl")}
    answers = {
        (name, trace["qid"]): trace
        for name in ("gpt", "llama", "mistral", "target")
        for trace in _lines(folder / f"trace.{name}.jsonl")
    }
    rows = []
    for rating in _lines(folder / "human_ratings.jsonl"):
        trace = answers.get((rating["model"], rating["qid"]))
        if trace is None or rating["answerability_accuracy"] in ("False Negative", "True Negative"):
            continue
        faithful = sorted(rating["faithfulness"].values())[1]
        evidence = [texts[id_] for id_ in trace["retrieved_ids"]]
        rows.append(Row(trace["q"], evidence, trace["answer_json"]["claim"], faithful <= 2))
    return rows


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


# --- controls and time ---


def print_controls(fixture: Fixture) -> None:
    answerable = replace(fixture, cases=tuple(case for case in fixture.cases if case.answerable))
    print(
        f"\n{'control':<34} {'truth':<5} {'signals':>8} {'passed':>7} {'grounded':>9} {'passed':>7}  ships in grounded"
    )
    for control in (*BAD, *GOOD):
        cells = []
        for profile in ("signals", "grounded"):
            answers = control_answers(answerable, control)
            decision = evaluate("reasoning", fixture=answerable, answers=answers, profile=profile)
            mean = decision.measures["average_overall"].value
            cells.append((float(mean or 0), decision.counts["passed"], "yes" if decision.ships else "no"))
        (s_mean, s_passed, _), (g_mean, g_passed, ships) = cells
        truth = "good" if control in GOOD else "bad"
        print(f"{control:<34} {truth:<5} {s_mean:>8.4f} {s_passed:>4}/25 {g_mean:>9.4f} {g_passed:>4}/25  {ships}")


def print_time(fixture: Fixture, copies: int = 100) -> None:
    """`reason score` of 3,000 answers: the shipped cases a hundred times over, each with its own id."""
    body = json.loads((Path(str(_data())) / "reason-v1.json").read_text("utf-8"))
    cases = [case | {"id": f"{case['id']}-{n}"} for n in range(copies) for case in body["cases"]]
    answers = control_answers(fixture, "prose right answers")
    with tempfile.TemporaryDirectory() as folder:
        paths = {"fixture": Path(folder) / "cases.json", "answers": Path(folder) / "answers.jsonl"}
        paths["fixture"].write_text(json.dumps(body | {"cases": cases}), encoding="utf-8")
        paths["answers"].write_text("".join(_written(case["id"], answers) for case in cases), encoding="utf-8")
        spent = min(_seconds(paths) for _ in range(3))  # the best of three: other programs only add to it
    print(
        f"\nscoring {len(cases)} answers: {spent:.2f} s of processor time, {1000 * spent / len(cases):.2f} ms an answer"
    )


def _seconds(paths: Mapping[str, Path]) -> float:
    start = time.process_time()
    evaluate("reasoning", **paths)
    return time.process_time() - start


def _written(id_: str, answers: Mapping[str, Any]) -> str:
    return json.dumps({"id": id_, "content": answers[id_.rpartition("-")[0]].content}) + "\n"


def _data() -> Path:
    import shipworthy.suites.reasoning

    return Path(shipworthy.suites.reasoning.__file__).parent / "data"


if __name__ == "__main__":
    main()
