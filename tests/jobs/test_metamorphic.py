"""Metamorphic properties: what may happen to a file on its way to the gate never turns a non-SHIP into SHIP.

Each world is a suite under one profile, on a few generated questions whose runs are drawn: right, wrong, refused,
failed, slow. What is expected is named by a frozen gold set, a fixture, or a journal's plan. Then lines are deleted,
repeated, shuffled, cut at any byte, or joined by runs that failed; or a bar is raised. If the first verdict was not
SHIP, the second must not be either. Exceptions are listed where they stand, with their reason.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import EFFORT, gold, planned, refusal, trace, unanswerable, write_lines
from shipworthy import ShipworthyError, evaluate
from shipworthy.reading.lock import freeze
from shipworthy.suites.guard.suite import BARS
from shipworthy.suites.reasoning.contracts import read_fixture
from shipworthy.suites.reasoning.controls import control_answers

EXAMPLES = 2 * EFFORT  # of each world and change
QUESTIONS = 8
ITEMS = [gold(f"a{n}", relevant=["d1"]) for n in range(5)] + [unanswerable(f"u{n}", relevant=["d1"]) for n in range(3)]
KINDS = ("right", "right", "right", "wrong", "refused", "miscited", "failed")
FIXTURE = read_fixture()
CASES = 6  # of the fixture
_RIGHT = {name: answer.content for name, answer in control_answers(FIXTURE, "terse right answers").items()}
RIGHT = {case.id: _RIGHT[case.id] for case in FIXTURE.cases[:CASES]}

Row = dict[str, Any]


def run_of(item: Row, kind: str) -> Row:
    """A run of a question, as good or bad as its kind says."""
    qid = item["qid"]
    if kind == "failed":
        return {"qid": qid, "error": "timeout"}
    if kind == "refused" or (kind == "right" and not item["answerable"]):
        return refusal(qid)
    if kind == "miscited":
        return trace(qid, cite=("d2",))
    return trace(qid, "The right answer." if kind == "right" else "Something else.")


def traces(kinds: list[str]) -> list[Row]:
    return [run_of(item, kind) for item, kind in zip(ITEMS, kinds, strict=True)]


def swept(kinds: list[str]) -> list[Row]:
    """Three runs of each question; the kind is that of the last one."""
    rows = []
    for item, kind in zip(ITEMS, kinds, strict=True):
        rows += [{**run_of(item, "right" if seed < 2 else kind), "seed": seed, "jitter": "none"} for seed in range(3)]
    return rows


def timed(kinds: list[str], arm: str = "") -> list[Row]:
    named = {"arm": arm} if arm else {}
    took = {"right": 100, "refused": 90, "wrong": 3000, "miscited": 1900, "failed": 50}
    return [
        {**row, "e2e_ms": took[kind] + place, **named}
        for place, (row, kind) in enumerate(zip(traces(kinds), kinds, strict=True))
    ]


def two_arms(kinds: list[str]) -> list[Row]:
    return [*timed(kinds, "deep"), *timed(kinds[1:] + kinds[:1], "quick")]


def logged(kinds: list[str]) -> list[Row]:
    found = {"right": ["d1", "d2", "d3"], "refused": ["d2", "d1"], "wrong": ["d2", "d3"], "miscited": ["d3", "d1"]}
    return [
        {"qid": item["qid"], "error": "timeout"}
        if kind == "failed"
        else {
            "qid": item["qid"],
            "topk": [{"id": name} for name in found[kind]],
            "answer_citations": found[kind][:1],
            "delta_s": [0.1 if name == "d1" else 0.9 for name in found[kind]],
        }
        for item, kind in zip(ITEMS, kinds, strict=True)
    ]


def paired(kinds: list[str]) -> list[Row]:
    labels = {"right": ("VALID", "VALID"), "wrong": ("REJECT", "REJECT"), "refused": ("NOT_IN_CONTEXT",) * 2}
    return [
        {"qid": f"p{place}", "scholar": {"label": one}, "auditor": {"label": other}}
        for place, kind in enumerate(kinds)
        for one, other in [labels.get(kind, ("VALID", "REJECT"))]
    ]


def side(kinds: list[str], role: str) -> list[Row]:
    return [{"qid": row["qid"], "label": row[role]["label"]} for row in paired(kinds)]


def reasoned(kinds: list[str]) -> list[Row]:
    bad: dict[str, Row] = {"failed": {"error": "timeout"}, "refused": {"content": "not in context"}}
    names = list(RIGHT)
    return [
        {"id": name, **({"content": RIGHT[name]} if kind == "right" else bad.get(kind, {"content": "Perhaps."}))}
        for name, kind in zip(names, (kinds * len(names))[: len(names)], strict=True)
    ]


def used(kinds: list[str]) -> list[Row]:
    return [
        {
            "timestamp": f"2026-11-{place + 1:02}T10:00:00Z",
            "prompt_id": f"p{place}",
            "accepted_without_edits": kind == "right",
            "action_taken": kind in ("right", "miscited"),
        }
        for place, kind in enumerate(kinds)
    ]


def rated(kinds: list[str]) -> list[Row]:
    return [
        {"qid": f"i{place}", "rater": rater, "label": "yes" if kind == "right" or rater == "ana" else "no"}
        for place, kind in enumerate(kinds)
        for rater in ("ana", "ben")
    ] + [{"qid": "i-no", "rater": rater, "label": "no"} for rater in ("ana", "ben")]


class World(NamedTuple):
    """A suite under one profile: the files that are drawn, and the gates that are tried on them."""

    suite: str
    rows: dict[str, Callable[[list[str]], list[Row]]]  # input → its lines
    gates: tuple[str, ...]  # each alone; "" for the defaults
    options: Row = {}
    gold: bool = True  # a frozen gold set names the questions
    planned: bool = False  # each line says how many there are
    failing: Row | None = None  # a run that failed, to be added under a name
    lenient: bool = True
    tells_repeats: bool = True  # a line that stands twice counts once, or is refused


FAILED = {"error": "timeout"}
WORLDS = {
    "answers": World(
        "answers",
        {"trace": traces},
        ("", "precision>=0.8", "chr>=0.7", "over_refusal<=0.2", "under_refusal<=0.2", "recall@5>=0.8"),
        failing=FAILED,
    ),
    "answers-reference": World(
        "answers",
        {"trace": traces},
        ("", "precision>=0.8,chr>=0.1,over=1,under=1", "precision>=0.1,chr>=0.1,over=0.2,under=1"),
        {"profile": "reference"},
        failing=FAILED,
    ),
    "answers-worst": World(
        "answers", {"trace": traces}, ("precision>=0.7", "over_refusal<=0.3"), {"on_duplicate": "worst"}, failing=FAILED
    ),
    "stability": World(
        "stability",
        {"runs": swept},
        ("", "mean_acr>=0.9", "mean_ned50<=0.2", "mean_css>=0.9", "pass^3>=0.9", "mean_refusal_rate>=0.9"),
        planned=True,
        failing={**FAILED, "seed": 2, "jitter": "none", "answer_json": None},
    ),
    "stability-seeds": World(
        "stability", {"runs": swept}, ("", "mean_ned50<=0.2"), {"seeds": [0, 1, 2], "jitters": ["none"]}
    ),
    "stability-reference": World(
        "stability",
        {"runs": swept},
        ("", "acr=0.6", "ned50=0.9,css=0,acr=0,cghc=0"),
        {"profile": "reference"},
        planned=True,
        failing={**FAILED, "seed": 2, "answer_json": None},
    ),
    # A run that stands twice is timed twice: latency can't tell it from a question that was asked again.
    "latency": World(
        "latency",
        {"trace": timed},
        ("", "p95<=2000", "p50<=1000", "precision>=0.8", "over_refusal<=0.2"),
        planned=True,
        failing={**FAILED, "e2e_ms": 10},
        tells_repeats=False,
    ),
    "latency-arms": World(
        "latency",
        {"trace": two_arms},
        ("", "p95<=2000", "precision>=0.6", "p95<=2500,precision>=0.7"),
        planned=True,
        tells_repeats=False,
    ),
    "retrieval": World(
        "retrieval",
        {"shadow": logged},
        ("recall@5>=0.9", "coverage>=0.9", "delta_s_median<=0.4", "citation_accuracy>=0.9", "mrr>=0.9"),
        failing=FAILED,
    ),
    "retrieval-skip": World(
        "retrieval", {"shadow": logged}, ("recall@5>=0.9", "mrr>=0.9"), {"missing_query": "skip"}, failing=FAILED
    ),
    "retrieval-live": World(
        "retrieval",
        {"shadow": logged, "live": lambda kinds: logged(["right"] * QUESTIONS)},
        ("recall@5>=baseline-0.02", "mrr>=baseline-0.02", "coverage>=0.9"),
        failing=FAILED,
    ),
    "retrieval-reference": World(
        "retrieval",
        {"shadow": logged, "live": lambda kinds: logged(["right"] * QUESTIONS)},
        ("recall@5>=baseline-0.02", "coverage>=0.9", "delta_s_median<=0.4"),
        {"profile": "reference"},
        failing=FAILED,
    ),
    "retrieval-lists": World("retrieval", {"shadow": logged}, ("R@5>=0.9", "MRR>=0.9"), {"metrics": "R@5,MRR"}),
    "agreement-derived": World(
        "agreement",
        {"trace": traces},
        ("", "percent_agreement>=0.9", "kappa>=0.7", "abstain_rate<=0.1"),
        failing=FAILED,
    ),
    "agreement-derived-reference": World(
        "agreement",
        {"trace": traces},
        ("pa=0.9,kappa=0,abstain=1", "pa=0,kappa=0.7,abstain=1"),
        {"profile": "reference"},
        failing=FAILED,
    ),
    "agreement-pairs": World(
        "agreement", {"pairs": paired}, ("", "percent_agreement>=0.9", "kappa>=0.7"), gold=False, planned=True
    ),
    "agreement-files": World(
        "agreement",
        {"scholar": lambda kinds: side(kinds, "scholar"), "auditor": lambda kinds: side(kinds, "auditor")},
        ("", "percent_agreement>=0.9", "kappa>=0.7"),
        gold=False,
        planned=True,
    ),
    "reasoning": World(
        "reasoning",
        {"answers": reasoned},
        ("", "usefulness>=0.8", "average_overall>=0.8", "pass_rate>=0.9"),
        {"max_cases": CASES},
        gold=False,
        lenient=False,
        failing=FAILED,
    ),
    "reasoning-signals": World(
        "reasoning",
        {"answers": reasoned},
        ("average_overall>=0.3", "usefulness>=0.3"),
        {"profile": "signals", "max_cases": CASES},
        gold=False,
        lenient=False,
        failing=FAILED,
    ),
    "outcomes": World(
        "outcomes",
        {"outcomes": used},
        ("accept_rate>=0.7", "action_rate>=0.8"),
        gold=False,
        planned=True,
        lenient=False,
    ),
    "raters": World("raters", {"ratings": rated}, ("percent_agreement>=0.9", "kappa>=0.7"), gold=False, planned=True),
}


class Scene:
    """A world on disk with one draw of its runs."""

    def __init__(self, world: World, folder: Path, kinds: list[str]) -> None:
        self.world, self.folder = world, folder
        self.lines = {name: self.written(make(kinds)) for name, make in world.rows.items()}
        self.inputs: Row = {}
        self.before: dict[tuple[str, bool], str] = {}  # verdicts before the change
        if world.gold:
            self.inputs["gold"] = write_lines(folder / "gold.jsonl", ITEMS)
            freeze(self.inputs["gold"], "1.0", "Ada")
        elif world.suite == "retrieval":
            self.inputs["gold"] = write_lines(folder / "gold.jsonl", DETAILED)
        if world.suite == "reasoning":
            self.inputs["fixture"] = FIXTURE

    def written(self, rows: list[Row]) -> list[bytes]:
        return _lines(planned(rows, len(rows)) if self.world.planned else rows)

    def verdict(self, gates: str, files: dict[str, bytes] | None = None, **more: Any) -> str:
        """The verdict on these bytes; an error is none."""
        paths = dict(self.inputs)
        for name, lines in self.lines.items():
            paths[name] = self.folder / f"{name}.jsonl"
            paths[name].write_bytes((files or {}).get(name, b"".join(lines)))
        chosen = {"only_gates": True, "gates": gates} if gates else {}
        if self.world.options.get("profile") == "reference" and self.world.suite == "stability":
            chosen.pop("only_gates", None)
        try:
            return evaluate(self.world.suite, **paths, **chosen, **self.world.options, **more).verdict
        except ShipworthyError as error:
            assert error.exit_code in (2, 3)
            return error.code


def _lines(rows: list[Row]) -> list[bytes]:
    return [json.dumps(row).encode() + b"\n" for row in rows]


@contextmanager
def scene(name: str, kinds: list[str]) -> Iterator[Scene]:
    with tempfile.TemporaryDirectory() as folder:
        yield Scene((WORLDS | RICHER)[name], Path(folder), kinds)


KINDS_DRAWN = st.lists(st.sampled_from(KINDS), min_size=QUESTIONS, max_size=QUESTIONS)
DRAWN = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
every_world = pytest.mark.parametrize("name", sorted(WORLDS))


def lenient_or_not(world: World) -> list[Row]:
    return [{}, {"lenient": True}] if world.lenient else [{}]


def must_not_ship(drawn: Scene, files: dict[str, bytes], what: str, leniently: bool = True) -> None:
    """Whatever did not ship before the change does not ship after it, strictly read and leniently."""
    for gates in drawn.world.gates:
        for more in lenient_or_not(drawn.world) if leniently else [{}]:
            key = gates, bool(more)
            if key not in drawn.before:
                drawn.before[key] = drawn.verdict(gates, **more)
            if drawn.before[key] != "SHIP":
                assert drawn.verdict(gates, files, **more) != "SHIP", f"{what} ships under {gates or 'the defaults'}"


@every_world
@DRAWN
@given(kinds=KINDS_DRAWN, seed=st.integers(0, 999))
def test_deleting_lines_never_makes_a_run_ship(name: str, kinds: list[str], seed: int) -> None:
    """First the worst ones, which is what a flattering loss would take; then any."""
    chance = random.Random(seed)
    with scene(name, kinds) as drawn:
        for source, lines in drawn.lines.items():
            good = set(drawn.written(drawn.world.rows[source](["right"] * QUESTIONS)))
            flattering = [line for line in lines if line in good]
            some = [line for line in lines if chance.random() < 0.7]
            for kept in (flattering, some):
                must_not_ship(drawn, {source: b"".join(kept)}, f"{source} without {len(lines) - len(kept)} lines")


# --- fields ---


def detailed(kinds: list[str]) -> list[Row]:
    """A log with everything that a canary gate can read: places, distances, what the answer cites."""
    rows = []
    for item, kind in zip(DETAILED, kinds, strict=True):
        wrong = kind in ("wrong", "miscited")
        place = {"id": "S.4.2.p.Bk001", "offsets": [900, 950] if wrong else [100, 150], "section_id": "4.2"}
        found = [place, {"id": "S.9.p.Bk009", "offsets": [5, 9], "section_id": "9"}]
        cited = [] if kind == "refused" else [{"id": place["id"], "offsets": place["offsets"], "section_id": "4.2"}]
        row = {
            "qid": item["qid"],
            "topk": found[::-1] if wrong else found,
            "delta_s": [0.8, 0.7] if wrong else [0.1, 0.9],
            "answer_citations": cited,
            "answer_json": {"claim": "The right answer.", "citations": [place["id"]] if cited else []},
        }
        rows.append({"qid": item["qid"], "error": "timeout"} if kind == "failed" else row)
    return rows


def staged(kinds: list[str], total: bool = True) -> list[Row]:
    """Runs with stages, cost and load, of which the wrong ones are slow and dear."""
    rows = []
    for place, row in enumerate(timed(kinds)):
        slow = row["e2e_ms"] >= 1000
        stages = {"retrieval": 30 + place, "llm": row["e2e_ms"] - 30}
        more = {"stage_ms": stages, "cost_usd": 0.5 if slow else 0.01, "load_rps": 5 if place % 2 else 1}
        rows.append({name: value for name, value in (row | more).items() if total or name != "e2e_ms"})
    return rows


def flagged(kinds: list[str]) -> list[Row]:
    marks = {"wrong": (True, False), "miscited": (False, True)}
    rows = paired(["right" if kind in marks else kind for kind in kinds])
    for row, kind in zip(rows, kinds, strict=True):
        row["flags"] = dict(zip(FLAGS, marks.get(kind, (False, False)), strict=True))
        row["answer_json"] = {"claim": "x", "citations": ["d1"]}
        row["retrieved_ids"] = ["d1", "d2"]
    return rows


def judged_by_score(kinds: list[str]) -> list[Row]:
    return [
        {**row, "scores": {"faithful": 0.9 if kind == "right" else 0.1}, "score_sources": {"faithful": "CODE"}}
        for row, kind in zip(traces(kinds), kinds, strict=True)
    ]


DETAILED = [
    gold(f"r{n}", relevant=[{"id": "S.4.2.p.Bk001", "offsets": [100, 200]}], anchor_section="4.2")
    for n in range(QUESTIONS)
]
FAITHFUL = {"faithful": {"from": "scores.faithful", "at_least": 0.5, "source": "code", "among": "items"}}
FLAGS = ("provenance_violation", "constraints_mismatch")
COUNTS = ("denied_claims<=0", "out_of_scope_citations<=0", "near_refusals<=0", "refusal_drift<=0", "errors<=0")
STAGES = ("", "p95<=2000", "llm_p95<=1900", "p95[load=5]<=2000", "cost_per_correct<=0.05", "tail_amplification<=3")
CANARIES = ("", "coverage>=0.7", "citation_accuracy>=0.9", "delta_s_median<=0.4", "delta_s_p90<=0.55", "bad_qids<=0")
RICHER = {
    "answers-counts": World("answers", {"trace": traces}, COUNTS),
    "answers-custom": World("answers", {"trace": judged_by_score}, ("faithful>=0.8",), {"custom_metrics": FAITHFUL}),
    "latency-stages": World("latency", {"trace": staged}, STAGES, planned=True),
    "latency-summed": World("latency", {"trace": lambda kinds: staged(kinds, False)}, STAGES[:3], planned=True),
    "retrieval-canary": World("retrieval", {"shadow": detailed}, CANARIES, gold=False),
    "retrieval-canary-live": World(
        "retrieval",
        {"shadow": detailed, "live": lambda kinds: detailed(["right"] * QUESTIONS)},
        ("", "recall@1>=baseline-0.02", "coverage>=baseline", "citation_accuracy>=baseline"),
        gold=False,
    ),
    "retrieval-canary-offsets": World(
        "retrieval",
        {"shadow": detailed, "live": lambda kinds: detailed(["right"] * QUESTIONS)},
        ("recall@1>=baseline-0.02", "mrr>=baseline"),
        {"match": "offsets"},
        gold=False,
    ),
    "agreement-flags": World("agreement", {"pairs": flagged}, ("", "flagged_agreements<=0"), gold=False, planned=True),
}


def paths_of(row: Row) -> Iterator[tuple[str, ...]]:
    """Every field of a row and of the objects in it, whatever list they are in; and each name wherever it stands."""
    for name, value in row.items():
        yield (name,)
        parts = value if isinstance(value, list) else [value]
        for inner in {inner for part in parts if isinstance(part, dict) for inner in part}:
            yield from ((name, inner), (ANYWHERE, inner))


def without(row: Row, path: tuple[str, ...]) -> Row:
    """The row without a field; an object in a list loses it in every element."""
    name, *inner = path
    if not inner:
        return {key: value for key, value in row.items() if key != name}
    left = without(row, (*inner,)) if name == ANYWHERE else row
    for key in left if name == ANYWHERE else [name]:
        value = left[key]
        if isinstance(value, list):
            left = left | {key: [without(part, (*inner,)) if isinstance(part, dict) else part for part in value]}
        elif isinstance(value, dict):
            left = left | {key: without(value, (*inner,))}
    return left


ANYWHERE = "*"


@pytest.mark.parametrize("kind", ["wrong", "refused", "miscited"])
@pytest.mark.parametrize("name", sorted(WORLDS | RICHER))
def test_losing_a_field_never_makes_a_run_ship(name: str, kind: str) -> None:
    """Every field, first where it counts against the run, then on any lines; what all lines lose, nobody recorded.

    Nothing but the one fault is wrong with the run: a run that failed would hide what the loss of a field does.
    """
    chance, kinds = random.Random(f"{name} {kind}"), [kind] * 3 + ["right"] * (QUESTIONS - 3)
    with scene(name, kinds) as drawn:
        for source, lines in drawn.lines.items():
            rows = [json.loads(line) for line in lines]
            right = [json.loads(line) for line in drawn.written(drawn.world.rows[source](["right"] * QUESTIONS))]
            worse = [place for place, row in enumerate(rows) if row != right[place]]
            for path in sorted({path for row in rows for path in paths_of(row)}):
                holders = [place for place, row in enumerate(rows) if path in set(paths_of(row))]
                bad = [place for place in holders if place in worse]
                subsets = [bad, *([one for one in holders if chance.random() < 0.5] for _ in range(EFFORT))]
                for losing in subsets:
                    if not losing or len(losing) == len(holders):
                        continue
                    left = [without(row, path) if place in losing else row for place, row in enumerate(rows)]
                    what = f"{source} without {'.'.join(path)} on {losing} of {kinds}"
                    must_not_ship(drawn, {source: b"".join(_lines(left))}, what, leniently=losing is bad)


@every_world
@DRAWN
@given(kinds=KINDS_DRAWN, seed=st.integers(0, 999))
def test_shuffling_lines_never_makes_a_run_ship(name: str, kinds: list[str], seed: int) -> None:
    with scene(name, kinds) as drawn:
        files = {}
        for source, lines in drawn.lines.items():
            files[source] = b"".join(random.Random(seed).sample(lines, len(lines)))
        must_not_ship(drawn, files, "a shuffled file")


@every_world
@DRAWN
@given(kinds=KINDS_DRAWN, seed=st.integers(0, 999))
def test_repeating_lines_never_makes_a_run_ship(name: str, kinds: list[str], seed: int) -> None:
    chance = random.Random(seed)
    with scene(name, kinds) as drawn:
        for source, lines in drawn.lines.items():
            some = [chance.choice(lines) for _ in range(5)] if drawn.world.tells_repeats else lines
            must_not_ship(drawn, {source: b"".join([*lines, *some])}, f"{source} with lines twice")
            again = [line for line in lines for _ in range(2)]
            must_not_ship(drawn, {source: b"".join(again)}, f"{source} with every line twice")


@pytest.mark.parametrize("name", sorted(name for name, world in WORLDS.items() if world.failing))
@DRAWN
@given(kinds=KINDS_DRAWN, place=st.integers(0, QUESTIONS - 1), at_the_end=st.booleans())
def test_adding_failed_runs_never_makes_a_run_ship(name: str, kinds: list[str], place: int, at_the_end: bool) -> None:
    with scene(name, kinds) as drawn:
        source = next(iter(drawn.lines))
        key = "id" if drawn.world.suite == "reasoning" else "qid"
        names = list(RIGHT) * 2 if drawn.world.suite == "reasoning" else [item["qid"] for item in ITEMS]
        lines = drawn.lines[source]
        for known in (names[place], "stranger"):
            added = json.dumps({key: known, **(drawn.world.failing or {})}).encode() + b"\n"
            cut = len(lines) if at_the_end else 0
            must_not_ship(drawn, {source: b"".join([*lines[:cut], added, *lines[cut:]])}, f"a failed run of {known}")


@pytest.mark.parametrize("name", sorted(name for name, world in WORLDS.items() if world.planned))
@DRAWN
@given(kinds=KINDS_DRAWN, seed=st.integers(0, 999))
def test_a_journal_that_ended_early_never_ships_whatever_becomes_of_its_lines(
    name: str, kinds: list[str], seed: int
) -> None:
    """Shuffled, repeated, or both: lines that stand twice are not the runs that are missing."""
    chance = random.Random(seed)
    with scene(name, kinds) as drawn:
        for source, lines in drawn.lines.items():
            short = _lines([{**json.loads(line), "planned_runs": len(lines) + 3} for line in lines])
            repeated = [*short, *(chance.choice(short) for _ in range(4))]
            for changed in (short, repeated, chance.sample(short, len(short)), chance.sample(repeated, len(repeated))):
                for gates in drawn.world.gates:
                    for more in lenient_or_not(drawn.world):
                        assert drawn.verdict(gates, {source: b"".join(changed)}, **more) != "SHIP"


@every_world
@DRAWN
@given(kinds=KINDS_DRAWN, share=st.floats(0, 1))
def test_cutting_a_file_at_any_byte_never_makes_a_run_ship(name: str, kinds: list[str], share: float) -> None:
    """At the byte that was drawn, and around the ends of the line that it is in."""
    with scene(name, kinds) as drawn:
        for source, lines in drawn.lines.items():
            whole = b"".join(lines)
            at = int(share * len(whole))
            end = whole.find(b"\n", at) + 1 or len(whole)
            for cut in {at, max(end - 2, 0), end - 1, end}:
                must_not_ship(drawn, {source: whole[:cut]}, f"{source} cut after {cut} of {len(whole)} bytes")


@pytest.mark.parametrize("name", sorted(name for name, world in WORLDS.items() if world.gold))
@DRAWN
@given(kinds=KINDS_DRAWN, share=st.floats(0, 1), at_a_line=st.booleans())
def test_cutting_a_frozen_gold_set_never_makes_a_run_ship(
    name: str, kinds: list[str], share: float, at_a_line: bool
) -> None:
    with scene(name, kinds) as drawn:
        path = drawn.inputs["gold"]
        whole = path.read_bytes()
        at = int(share * (len(whole) - 1))
        for gates in drawn.world.gates:
            for more in lenient_or_not(drawn.world):
                path.write_bytes(whole)
                before = drawn.verdict(gates, **more)
                path.write_bytes(whole[: whole.find(b"\n", at) + 1 if at_a_line else at])
                after = drawn.verdict(gates, **more)
                assert before == "SHIP" or after != "SHIP", f"gold cut after {at} bytes ships"


@pytest.mark.parametrize("name", sorted(WORLDS))
@DRAWN
@given(kinds=KINDS_DRAWN, by=st.sampled_from([0.01, 0.1, 0.3]))
def test_raising_a_bar_never_makes_a_run_ship(name: str, kinds: list[str], by: float) -> None:
    with scene(name, kinds) as drawn:
        for gates in filter(None, drawn.world.gates):
            before = drawn.verdict(gates)
            for raised in stricter(gates, by):
                assert before == "SHIP" or drawn.verdict(raised) != "SHIP", f"{raised} ships and {gates} does not"


def stricter(gates: str, by: float) -> Iterator[str]:
    """The gates with one of their bars raised, each in turn."""
    parts = gates.split(",")
    for place, part in enumerate(parts):
        sign = next(sign for sign in (">=", "<=", "=") if sign in part)
        metric, bound = part.split(sign)
        if "baseline" in bound:
            yield ",".join([*parts[:place], f"{metric}{sign}baseline", *parts[place + 1 :]])
            continue
        lower = sign == "<=" or metric in ("over", "under", "ned50", "abstain")
        value = float(bound)
        moved = value * (1 - by) if lower else min(1.0, value + by)
        yield ",".join([*parts[:place], f"{metric}{sign}{moved:.6f}", *parts[place + 1 :]])


# --- the properties themselves: without the invariant they fail ---


@pytest.mark.parametrize("name", ["answers", "stability-reference", "retrieval-skip", "reasoning", "agreement-pairs"])
def test_without_the_invariant_the_properties_would_not_hold(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that can't fail shows nothing: with the invariant switched off, deleting the worst lines ships."""
    for module in ("evaluate", "measuring"):  # the reference profile's, and everybody else's
        monkeypatch.setattr(f"shipworthy.core.{module}.lost_data", lambda suite, findings, gates: [])
    kinds = ["wrong", "miscited", *["right"] * (QUESTIONS - 2)]
    with scene(name, kinds) as drawn, pytest.raises(AssertionError, match="ships under"):
        for source, lines in drawn.lines.items():
            good = set(drawn.written(drawn.world.rows[source](["right"] * QUESTIONS)))
            kept = [line for line in lines if line in good]
            must_not_ship(drawn, {source: b"".join(kept)}, "a flattering loss")


# --- a finished report, and TREC files: other shapes of the same promise ---


@DRAWN
@given(kinds=KINDS_DRAWN, share=st.floats(0, 1), drop=st.integers(0, CASES - 1))
def test_a_reasoning_report_that_lost_results_is_never_relied_on(kinds: list[str], share: float, drop: int) -> None:
    made = evaluate(
        "reasoning",
        fixture=FIXTURE,
        answers={row.pop("id"): row for row in reasoned(kinds)},
        max_cases=CASES,
    ).report()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"

        def guard(content: bytes) -> str:
            path.write_bytes(content)
            try:
                return evaluate("guard", report=path, min_cases=1).verdict
            except ShipworthyError as error:
                return error.code

        whole = json.dumps(made).encode()
        before = guard(whole)
        assert guard(whole[: int(share * (len(whole) - 1))]) not in ("SHIP", "MEASURED")
        results = [result for place, result in enumerate(made["results"]) if place != drop]
        assert before == "SHIP" or guard(json.dumps({**made, "results": results}).encode()) != "SHIP"


@pytest.mark.parametrize("averages", [True, False])
@pytest.mark.parametrize("poor", ["not in context", "", "It is so [n999]."])
def test_a_reasoning_report_whose_bad_results_lost_a_field_is_never_relied_on(poor: str, averages: bool) -> None:
    """A report as the original script writes it, without a digest; its summary may have no averages."""
    names = list(RIGHT)
    answers = RIGHT | dict.fromkeys(names[:2], poor)
    made = evaluate("reasoning", fixture=FIXTURE, answers=answers, max_cases=CASES).report()
    summary = made["summary"] if averages else {**made["summary"], "dimension_averages": {}}
    results: list[Row] = json.loads(json.dumps(made["results"]))

    def guard(told: list[Row], gate: str) -> str:
        try:
            return evaluate("guard", report={"summary": summary, "results": told}, only_gates=True, gates=gate).verdict
        except ShipworthyError as error:
            return error.code

    bars = [f"{metric}{op}{0.95 if op == '>=' else 0}" for metric, op, _ in BARS.values() if metric != "cases"]
    missed = [gate for gate in bars if guard(results, gate) != "SHIP"]
    assert missed
    paths = {path for row in results for path in paths_of(row) if path[1:] == () or path[0] == "dimension_scores"}
    for path in sorted(paths):
        lost = [row if row["passed"] or path not in set(paths_of(row)) else without(row, path) for row in results]
        assert all(guard(lost, gate) != "SHIP" for gate in missed), f"without {path}"


TREC_QRELS = "".join(f"q{n} 0 d{n}{m} 1\n" for n in range(5) for m in range(2)).encode()


@DRAWN
@given(ranks=st.lists(st.integers(1, 6), min_size=5, max_size=5), share=st.floats(0, 1), seed=st.integers(0, 99))
def test_a_trec_run_that_was_cut_or_shuffled_never_ships(ranks: list[int], share: float, seed: int) -> None:
    lines = [
        f"q{n} Q0 {f'd{n}0' if at == rank else f'x{at}'} {at} {1 - at / 10:.2f} tag\n".encode()
        for n, rank in enumerate(ranks)
        for at in range(1, 7)
    ]
    whole = b"".join(lines)
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = Path(folder) / "qrels.txt", Path(folder) / "run.txt"
        qrels.write_bytes(TREC_QRELS)

        def verdict(content: bytes, gates: str) -> str:
            run.write_bytes(content)
            try:
                return evaluate("retrieval", qrels=qrels, run=run, metrics="P@5,R@5,MRR", gates=gates).verdict
            except ShipworthyError as error:
                return error.code

        changed = [
            whole[: int(share * len(whole))],
            b"".join(random.Random(seed).sample(lines, len(lines))),
            b"".join(line for line in lines if not line.startswith(b"q%d " % (seed % 5))),
        ]
        for gates in ("P@5>=0.2", "R@5>=0.4", "MRR>=0.5"):
            if verdict(whole, gates) != "SHIP":
                assert all(verdict(content, gates) != "SHIP" for content in changed), gates
