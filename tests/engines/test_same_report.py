"""Any split, order and engine gives the same bytes, for every suite and every pinned case, or the same error."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scattered import scattered
from under import ENGINES, use_engine

from conftest import EFFORT, Cli, gold, planned, refusal, trace, unanswerable, write_lines
from golden.runner import Case, load_cases, produce
from shipworthy import evaluate
from shipworthy.core.decision import report
from shipworthy.engines import disk
from shipworthy.errors import ShipworthyError
from shipworthy.jobs import evaluate as door

SCORING = ("score", "stability", "latency", "retrieval", "agreement", "reason", "outcomes", "check")
CASES = [case for case in load_cases() if case.run.split()[0] in SCORING and not case.plain]

_whole: dict[str, dict[str, str]] = {}


@pytest.fixture
def whole(case: Case) -> dict[str, str]:
    """What one process makes of a case."""
    if case.name not in _whole:
        _whole[case.name] = produce(case)
    return _whole[case.name]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reports_do_not_depend_on_the_engine(
    case: Case, whole: dict[str, str], engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_engine(engine, monkeypatch)
    assert produce(case) == whole


# --- one process and several, on whatever there may be in files ---


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[Path, Path]:
    items = [gold(f"q{n:03}") if n % 5 else unanswerable(f"q{n:03}") for n in range(40)]
    rows = [
        trace(f"q{n % 50:03}", "The right answer." if n % 3 else "something else", ts=n)
        if n % 7
        else refusal(f"q{n % 50:03}", ts=n)
        for n in range(400)
    ]
    return write_lines(tmp_path / "gold.jsonl", items), write_lines(tmp_path / "trace.jsonl", rows)


def both(run: Callable[..., Any]) -> tuple[Any, Any]:
    """What one process gives in memory, and what several give from disk: a report without its `run`, or an error."""

    def outcome() -> Any:
        try:
            found = report(run())
        except ShipworthyError as error:
            return type(error), str(error)
        return {name: value for name, value in found.items() if name != "run"}

    one = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(door, "engine_named", lambda _name, **settings: partial(disk.run, jobs=2, part=3_000, piles=3))
        return one, outcome()


@pytest.mark.parametrize("keep", ["last", "first", "worst", "error"])
def test_which_trace_counts_is_decided_by_its_place(inputs: tuple[Path, Path], keep: str) -> None:
    one, several = both(lambda: evaluate(*inputs, on_duplicate=keep))
    assert one == several


@pytest.mark.parametrize("lenient", [False, True])
def test_bad_lines_keep_their_numbers(inputs: tuple[Path, Path], lenient: bool) -> None:
    lines = inputs[1].read_text().splitlines()
    for place in range(5, 400, 9):
        lines[place] = "{broken"
    inputs[1].write_text("\n".join(lines))
    one, several = both(lambda: evaluate(*inputs, lenient=lenient))
    assert one == several
    assert ":6: " in str(several if not lenient else several["inputs"]["trace"]["problems"])


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("bad", [60, 399])
def test_odd_lines_are_the_same_decoded_when_they_are_read_or_when_they_are_judged(
    inputs: tuple[Path, Path], bad: int, lenient: bool
) -> None:
    """A line that can't be read is an error only where no later one of its question replaces it."""
    lines = inputs[1].read_bytes().splitlines()
    lines[0] = b"\xef\xbb\xbf" + lines[0]
    lines[10] += b"\r"
    lines[20] = lines[20].replace(b'"qid"', b'"q_id"')
    lines[30] = lines[30].replace(b"{", b'{"session": {"user": 7}, ', 1)
    lines[40] = b"  "
    lines[50] = b'{"qid": 7, "answer_json": {"claim": "seven"}}'
    lines[bad] = lines[bad].replace(b"{", b'{"e2e_ms": "soon", ', 1)
    inputs[1].write_bytes(b"\n".join(lines))
    one, several = both(lambda: evaluate(*inputs, lenient=lenient))
    assert one == several
    assert isinstance(one, dict) == (lenient or bad == 60)
    if isinstance(one, dict):
        assert one["inputs"]["trace"]["records"] == 399 - lenient and one["inputs"]["trace"]["bad"] == lenient
        assert {"qid-number", "bom"} <= {text.rpartition("[")[2].rstrip("]") for text in one["warnings"]}
    else:
        assert "trace.jsonl:400: e2e_ms" in str(one)


def test_journals_count_their_runs_once(inputs: tuple[Path, Path]) -> None:
    rows = planned([trace(f"q{n % 50:03}", ts=n) for n in range(400)], 405)
    write_lines(inputs[1], [*rows, *rows[:3]])
    one, several = both(lambda: evaluate(*inputs))
    assert one == several
    assert "trace has 400 of 405 planned runs" in str(several)


def test_a_folder_a_glob_and_archives_are_one_input(tmp_path: Path, inputs: tuple[Path, Path]) -> None:
    gold_file, whole = inputs
    lines = whole.read_text().splitlines(keepends=True)
    folder = tmp_path / "logs"
    for number, start in enumerate(range(0, 400, 100)):
        part = folder / f"day={number}" / f"part.jsonl{'.gz' if number % 2 else ''}"
        part.parent.mkdir(parents=True)
        text = "".join(lines[start : start + 100]).encode()
        part.write_bytes(gzip.compress(text) if number % 2 else text)
    (folder / "_SUCCESS").touch()
    expected = report(evaluate(gold_file, whole))
    for source in (folder, f"{folder}/day=*/*.jsonl*", f"{folder}/**"):
        one, several = both(lambda source=source: evaluate(gold_file, source))
        assert one == several
        assert several["metrics"] == expected["metrics"]
        assert several["items"] == expected["items"]
        assert several["inputs"]["trace"]["records"] == 400


@pytest.mark.parametrize(("first", "second", "precision"), [(1, 2, 1), (2, 1, 0)])
def test_the_later_of_two_files_wins_and_is_named(tmp_path: Path, first: int, second: int, precision: int) -> None:
    gold_file = write_lines(tmp_path / "gold.jsonl", [gold("q1")])
    write_lines(tmp_path / "b.jsonl", [trace("q1", ts=second)])
    write_lines(tmp_path / "a.jsonl", [trace("q1", "wrong", ts=first), trace("q1", "wrong again", ts=first)])
    pattern = str(tmp_path / "[ab].jsonl")
    one, several = both(lambda: evaluate(gold_file, pattern))
    assert one == several
    assert several["metrics"]["precision"]["value"] == precision
    with (tmp_path / "b.jsonl").open("a") as out:
        out.write(json.dumps(trace("q2")) + "\n")
    one, several = both(lambda: evaluate(gold_file, pattern, closed=True))
    assert one == several
    assert "line 2 of file 2 has qid 'q2'" in several[1]


def test_of_two_files_without_times_neither_wins(tmp_path: Path) -> None:
    gold_file = write_lines(tmp_path / "gold.jsonl", [gold("q1")])
    write_lines(tmp_path / "b.jsonl", [trace("q1")])
    write_lines(tmp_path / "a.jsonl", [trace("q1", "wrong"), trace("q1", "wrong again")])
    one, several = both(lambda: evaluate(gold_file, str(tmp_path / "[ab].jsonl")))
    assert one == several
    assert "a.jsonl:2 and " in several[1] and "b.jsonl:1 are both about qid 'q1'" in several[1]
    assert "[trace-order]" in several[1]


def test_a_damaged_archive_among_many_is_an_error(tmp_path: Path, inputs: tuple[Path, Path], cli: Cli) -> None:
    gold_file, whole = inputs
    for name in "abc":
        (tmp_path / f"part-{name}.jsonl.gz").write_bytes(gzip.compress(whole.read_bytes()))
    cut = tmp_path / "part-b.jsonl.gz"
    cut.write_bytes(cut.read_bytes()[:-30])
    ran = [
        cli("score", "--gold", gold_file, "--trace", tmp_path / "part-*.jsonl.gz", "--engine", engine, "--lenient")
        for engine in ("memory", "disk")
    ]
    assert ran[0] == ran[1]
    assert ran[0].code == 3
    assert "part-b.jsonl.gz:" in ran[0].err
    assert "the archive is cut off" in ran[0].err


def test_a_file_of_something_else_among_many_is_an_error(tmp_path: Path, inputs: tuple[Path, Path]) -> None:
    gold_file, whole = inputs
    whole.rename(tmp_path / "log-1.jsonl")
    write_lines(tmp_path / "log-2.jsonl", [{"qid": f"q{n}", "answer": "not where it belongs"} for n in range(30)])
    one, several = both(lambda: evaluate(gold_file, tmp_path / "log-*.jsonl"))
    assert one == several
    assert "log-2.jsonl" in several[1]
    assert "[trace-fields]" in several[1]


def test_mapped_fields_may_match_in_any_part(inputs: tuple[Path, Path]) -> None:
    rows = [{"qid": f"q{n % 50:03}", "reply": "The right answer."} for n in range(300)]
    rows += [{"qid": "q001", "reply": "The right answer.", "docs": ["d1"]}]
    write_lines(inputs[1], rows)
    chosen = ("claim=reply", "retrieved_ids=docs")
    one, several = both(lambda: evaluate(*inputs, map=chosen))
    assert one == several
    assert "metrics" in several
    one, several = both(lambda: evaluate(*inputs, map=("claim=nowhere", "retrieved_ids=docs")))
    assert one == several
    assert "[map-nothing]" in several[1]


def test_row_groups_of_parquet(tmp_path: Path, inputs: tuple[Path, Path]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [json.loads(line) for line in inputs[1].read_text().splitlines()]
    path = tmp_path / "trace.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=37)
    one, several = both(lambda: evaluate(inputs[0], path))
    assert one == several
    assert several["inputs"]["trace"]["records"] == 400
    parquet.write_table(pyarrow.Table.from_pylist([{"name": "x"}] * 90), path, row_group_size=37)
    one, several = both(lambda: evaluate(inputs[0], path))
    assert one == several
    assert "[trace-fields]" in several[1]


def test_records_and_pipes_are_read_in_one_process(inputs: tuple[Path, Path]) -> None:
    rows = [json.loads(line) for line in inputs[1].read_text().splitlines()]
    one, several = both(lambda: evaluate(inputs[0], rows))
    assert one == several


@pytest.mark.parametrize("engine", ["auto", "memory", "disk"])
def test_standard_input_gives_the_report_of_the_file(inputs: tuple[Path, Path], cli: Cli, engine: str) -> None:
    call = [sys.executable, "-m", "shipworthy", "score", "--gold", str(inputs[0]), "--json", "--engine", engine]
    with inputs[1].open("rb") as file, subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as cat:
        piped = subprocess.run([*call, "--trace", "-"], stdin=cat.stdout, capture_output=True, check=False)
    whole = cli("score", "--gold", inputs[0], "--trace", inputs[1], "--json").json
    assert json.loads(piped.stdout)["digest"] == whole["digest"], piped.stderr


@pytest.mark.parametrize("pattern", ["none-*.jsonl", "empty"])
def test_a_pattern_without_files_is_an_error(tmp_path: Path, inputs: tuple[Path, Path], cli: Cli, pattern: str) -> None:
    (tmp_path / "empty").mkdir()
    ran = cli("score", "--gold", inputs[0], "--trace", tmp_path / pattern)
    assert ran.code == 2
    assert "[no-match]" in ran.err


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(
    tmp_path: Path, inputs: tuple[Path, Path], cli: Cli
) -> None:
    odd = inputs[1].rename(tmp_path / "run[1].jsonl")
    assert cli("score", "--gold", inputs[0], "--trace", odd, "--json").json["inputs"]["trace"]["records"] == 400


def test_reports_over_many_files_can_be_verified(tmp_path: Path, inputs: tuple[Path, Path], cli: Cli) -> None:
    inputs[1].rename(tmp_path / "log-1.jsonl")
    write_lines(tmp_path / "log-2.jsonl", [trace("q001", ts=400)])
    made = tmp_path / "report.json"
    assert cli("score", "--gold", inputs[0], "--trace", tmp_path / "log-*.jsonl", "-o", made).code == 1
    assert cli("verify", made).code == 0
    (tmp_path / "log-3.jsonl").symlink_to("/etc/hosts")
    assert "[receipt-trust]" in cli("verify", made).out


@pytest.mark.parametrize("lacking", ["qid", "answer_json"])
def test_a_parquet_file_without_a_column_that_is_needed_is_an_error(
    tmp_path: Path, inputs: tuple[Path, Path], lacking: str
) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [json.loads(line) for line in inputs[1].read_text().splitlines()]
    bare = [{name: value for name, value in row.items() if name != lacking} for row in rows]
    parquet.write_table(pyarrow.Table.from_pylist(bare), tmp_path / "t.parquet", row_group_size=50)
    one, several = both(lambda: evaluate(inputs[0], tmp_path / "t.parquet"))
    assert one == several and isinstance(one, tuple)
    assert "t.parquet" in one[1] and ("qid" if lacking == "qid" else "answer") in one[1]


# --- options, and suites that need all records of a question ---

GOLD = [gold(f"q{number:03}") for number in range(90)] + [unanswerable(f"u{number:03}") for number in range(20)]
TRACES = [trace(item["qid"]) if item["answerable"] else refusal(item["qid"]) for item in GOLD]


def file(path: Path, rows: list[dict[str, Any]]) -> str:
    return str(write_lines(path, rows))


def alike(suite: str, **given: Any) -> tuple[Any, Any]:
    one, several = both(lambda: evaluate(suite, **given))
    return tuple(found[1] if isinstance(found, tuple) else found for found in (one, several))  # type: ignore[return-value]


@pytest.mark.parametrize("duplicates", ["last", "first", "worst", "error"])
@pytest.mark.parametrize("closed", [False, True])
def test_repeated_and_unknown_questions_are_told_alike(tmp_path: Path, duplicates: str, closed: bool) -> None:
    more = [trace("q003", "wrong"), trace("x2"), trace("q001", "wrong"), trace("x1"), trace("x2")]
    rows = [row for row in TRACES if row["qid"] != "q007"] + more
    random.Random(3).shuffle(rows)
    given = {"gold": file(tmp_path / "g.jsonl", GOLD), "trace": file(tmp_path / "t.jsonl", rows)}
    whole, limited = alike("answers", **given, on_duplicate=duplicates, closed=closed)
    assert limited == whole
    assert isinstance(whole, str) == (closed or duplicates == "error")


@pytest.mark.parametrize("lenient", [False, True])
def test_bad_lines_repeated_and_blank_gold_are_named_in_the_order_of_the_file(tmp_path: Path, lenient: bool) -> None:
    rows = [*GOLD, GOLD[3], gold("blank", gold_claim_substr=[" "]), *GOLD[20:50]]
    path = tmp_path / "g.jsonl"
    file(path, rows)
    path.write_text(path.read_text() + '{"qid": []}\nnot json\n' + json.dumps(gold("late")) + "\n")
    whole, limited = alike("answers", gold=str(path), trace=file(tmp_path / "t.jsonl", TRACES), lenient=lenient)
    assert limited == whole and isinstance(whole, dict) == lenient
    assert isinstance(whole, dict) or whole.count("gold-repeated") > 5


def test_gold_of_odd_names_has_the_same_digest(tmp_path: Path) -> None:
    for odd in ("naïve", "\u2028", "lone \ud800", 'quo"te\n'):
        golds = [gold(f"{odd}{number}", match="any") for number in range(9)]
        traces = [trace(item["qid"]) for item in golds]
        whole, limited = alike("answers", gold=golds, trace=traces)
        assert limited == whole and isinstance(whole, dict) and whole["inputs"]["gold"]["content"]


SOME: list[dict[str, Any]] = [{"where": ["type=table"]}, {"quarantine": ("q001", "q002")}, {"profile": "reference"}]


@pytest.mark.parametrize("given", SOME)
def test_subsets_quarantine_and_the_reference_profile(given: dict[str, Any]) -> None:
    golds = [item | {"type": "table" if number % 3 else "text"} for number, item in enumerate(GOLD)]
    whole, limited = alike("answers", gold=golds, trace=TRACES, **given)
    assert limited == whole and isinstance(whole, dict)


def runs(**more: Any) -> list[dict[str, Any]]:
    return [row | {"seed": seed, "jitter": "none", **more} for row in TRACES for seed in range(3)]


@pytest.mark.parametrize("profile", ["strict", "reference"])
def test_stability_needs_all_runs_of_a_question_and_has_them(profile: str) -> None:
    rows = [row for number, row in enumerate(runs()) if number % 50]
    random.Random(1).shuffle(rows)
    whole, limited = alike("stability", gold=GOLD, runs=rows, profile=profile)
    assert limited == whole and isinstance(whole, dict) and whole["counts"].get("holes", 5) > 0


def test_runs_that_do_not_say_which_they_are() -> None:
    rows = [row for row in TRACES for _ in range(3)][4:]
    whole, limited = alike("stability", gold=GOLD, runs=rows)
    assert limited == whole and isinstance(whole, dict) and whole["counts"]["holes"] == 1


def test_latency_retrieval_and_agreement() -> None:
    timed = [row | {"e2e_ms": 100 + number, "arm": f"a{number % 2}"} for number, row in enumerate(TRACES * 2)]
    cases: list[dict[str, Any]] = [
        {"suite": "latency", "gold": GOLD, "trace": timed},
        {"suite": "retrieval", "gold": GOLD[:60], "run": TRACES[:60]},
        {"suite": "retrieval", "gold": GOLD[:60], "run": TRACES[:40] + TRACES[50:60], "missing_query": "error"},
        {"suite": "agreement", "gold": GOLD, "trace": TRACES[5:]},
    ]
    for one in cases:
        whole, limited = alike(**one)
        assert limited == whole, one["suite"]


# --- any cut, any order ---

LINES = st.lists(
    st.one_of(
        st.builds(trace, st.sampled_from(["q0", "q1", "q2", "q3", "unknown"]), ts=st.integers(0, 9)),
        st.builds(refusal, st.sampled_from(["q0", "q1", "q2", "q3"])),
        st.sampled_from(["", "not json", "[]", '{"qid": 7, "q": "Straße 東京", "claim": 5}']),
    ),
    min_size=1,
    max_size=30,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("split")
    write_lines(made / "gold.jsonl", [gold(f"q{number}") for number in range(4)])
    yield made


@settings(max_examples=25 * EFFORT)
@given(
    lines=LINES,
    files=st.integers(1, 3),
    ends=st.sampled_from(["\n", "\r\n"]),
    part=st.integers(1, 2_000),
    piles=st.integers(1, 9),
    seed=st.integers(0, 99),
    keep=st.sampled_from(["last", "first", "worst"]),
)
def test_any_cut_and_any_order_of_reading_gives_the_same_report(
    folder: Path, lines: list[Any], files: int, ends: str, part: int, piles: int, seed: int, keep: str
) -> None:
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    for number in range(3):
        some = texts[number * len(texts) // files : (number + 1) * len(texts) // files]
        (folder / f"{number}.log.jsonl").write_bytes(ends.join(some).encode())  # the last line has no end

    def made() -> dict[str, Any] | str:
        try:
            decision = evaluate(
                "answers", gold=folder / "gold.jsonl", trace=folder / "*.log.jsonl", lenient=True, on_duplicate=keep
            )
        except Exception as error:  # whatever one process says, any other engine says too
            return str(error)
        return report(decision)

    whole = made()
    for engine in (partial(disk.run, part=part, piles=piles), scattered(seed)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(door, "engine_named", lambda name, engine=engine, **settings: engine)
            assert made() == whole


LABELS = st.sampled_from(["VALID", "REJECT", "NOT_IN_CONTEXT", "INVALID", "PERHAPS"])
NAMES = st.sampled_from(["q0", "q1", "q2", "q3", 7, "Straße"])


def _pair(qid: object, one: str, other: str) -> dict[str, object]:
    return {"qid": qid, "scholar": {"label": one}, "auditor": {"label": other}}


def _rating(qid: object, rater: object, label: object) -> dict[str, object]:
    return {"qid": qid, "rater": rater, "label": label}


RATINGS = st.builds(_rating, NAMES, st.sampled_from(["ann", "bob", 7]), st.sampled_from([1, 2, "2", "", "good"]))
KINDS: dict[str, tuple[str, st.SearchStrategy[dict[str, object]]]] = {
    "pairs": ("agreement", st.builds(_pair, NAMES, LABELS, LABELS)),
    "ratings": ("raters", RATINGS),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25 * EFFORT)
@given(data=st.data(), part=st.integers(1, 400), seed=st.integers(0, 99), lenient=st.booleans())
def test_what_may_stand_once_is_told_alike_wherever_it_is_repeated(
    folder: Path, kind: str, data: st.DataObject, part: int, seed: int, lenient: bool
) -> None:
    """Pairs and ratings, of which the first of a kind counts and each other one is a bad line that names it."""
    suite, lines = KINDS[kind]
    path = folder / f"{kind}.jsonl"
    write_lines(path, data.draw(st.lists(lines, min_size=1, max_size=40)))

    def made() -> dict[str, Any] | str:
        try:
            return report(evaluate(suite, **{kind: path}, lenient=lenient))
        except Exception as error:
            return str(error)

    whole = made()
    for engine in (partial(disk.run, part=part, piles=5), scattered(seed)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(door, "engine_named", lambda name, engine=engine, **settings: engine)
            assert made() == whole


# --- samples, lists and rows: what once depended on the order in which questions come ---


@pytest.mark.parametrize("engine", ENGINES)
def test_hints_look_at_the_same_sample_of_a_large_gold_set(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Questions name one to five sources each, so that another sample would tell of another number of them."""
    monkeypatch.setattr("shipworthy.suites.answers.hints.SAMPLED", 20)
    ids = {n: [f"docs/{n:03}-{k}.md" for k in range(1 + n % 5)] for n in range(90)}
    golds = write_lines(tmp_path / "gold.jsonl", [gold(f"q{n:03}", cite=ids[n]) for n in ids])
    rows = [trace(f"q{n:03}", cite=[f"{name[5:-3]}" for name in ids[n]]) for n in ids]
    rows = [row | {"retrieved_ids": row["answer_json"]["citations"]} for row in rows]
    traces = write_lines(tmp_path / "trace.jsonl", rows)
    usual = report(evaluate(golds, traces))
    assert any("gold ids" in hint for hint in usual["diagnosis"]), usual["diagnosis"]
    use_engine(engine, monkeypatch)
    assert report(evaluate(golds, traces)) == usual


@pytest.mark.parametrize("mixed", [False, True], ids=["query by query", "mixed"])
@pytest.mark.parametrize("engine", ["disk", "disk-2", "scattered-1"])
def test_trec_lists_that_are_read_on_disk_are_those_in_memory(
    tmp_path: Path, engine: str, mixed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(3)
    lines = [f"q{q:02} Q0 d{d:03} 1 {draw.random():.6f} t" for q in range(40) for d in draw.sample(range(99), 30)]
    if mixed:
        draw.shuffle(lines)
    run, qrels = tmp_path / "run.txt", tmp_path / "qrels.txt"
    run.write_text("\n".join(lines) + "\n", "utf-8")
    judged = [f"q{q:02} 0 d{d:03} {draw.randrange(3)}" for q in range(45) for d in draw.sample(range(99), 20)]
    qrels.write_text("\n".join(judged) + "\n", "utf-8")
    given: dict[str, Any] = {"qrels": str(qrels), "run": str(run), "metrics": "P@5,nDCG@10,MAP", "per_question": True}
    usual = report(evaluate("retrieval", **given))
    assert len(usual["items"]) == 45
    use_engine(engine, monkeypatch)
    assert report(evaluate("retrieval", **given)) == usual


def test_rows_that_do_not_fit_in_memory_stand_in_their_order(
    tmp_path: Path, inputs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Piles give them in several sorted parts, which overlap."""
    usual = report(evaluate(*inputs))
    monkeypatch.setattr(disk, "MEMORY", 2_000)
    run = partial(disk.run, piles=5, part=700)
    monkeypatch.setattr(door, "engine_named", lambda name, **settings: run)
    decision = evaluate(*inputs)
    names = [row["qid"] for row in decision.items]
    assert names == sorted(names) and len(names) == 40
    assert report(decision) == usual
