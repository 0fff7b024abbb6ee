"""Gates that nobody should write: each is a usage error with a code, never a traceback, and never the lesser of two."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conftest import EFFORT, Cli, gold, trace, write_lines
from shipworthy.core.gates import Bound, Gate, as_written, check_repeated, parse_gates
from shipworthy.core.metrics import Metric, Words
from shipworthy.errors import UsageError
from shipworthy.suites.answers.metrics import aliases, metrics
from shipworthy.suites.answers.options import Options

KNOWN, ALIASES = metrics(Options()), aliases(Options())

HOSTILE = [
    "baseline - 1.2.3",
    "baseline - .",
    "baseline - ..",
    "baseline * 1" + "0" * 5000,
    "1" * 5000,
    "0." + "1" * 5000,
    "1e5000",
    "²",
    "٣",
    "0.٣",
    "１",
    "½",
    "0.8\0",
    "-1",
    "+1",
    "1/2",
    "0x10",
    "1_000",
    "nan",
    "inf",
    "",
    " ",
    ".",
    "baseline -",
    "baseline 0.1",
    "baselines",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:20]))
def test_a_bound_that_is_none_is_a_usage_error(text: str) -> None:
    for attempt in (lambda: Bound.parse(text), lambda: Gate.parse(f"precision >= {text}")):
        with pytest.raises(UsageError) as caught:
            attempt()
        assert caught.value.code in ("gate-bound", "gate-syntax")
        assert len(str(caught.value)) < 400


GATES = [
    "",
    ">=",
    "precision",
    "precision >=",
    ">= 0.5",
    "precision[ >= 0.5",
    "precision[] >= 0.5",
    "precision[a=[b]] >= 0.5",
    "precision[a]b] >= 0.5",
    "precision >= 0.5 >= 0.4",
    "precision\0 >= 0.5",
    "precision" + " " * 100_000 + "x",
    "precision" * 20_000 + " >= 0.5",
    "a[" * 50_000,
    " " * 100_000,
    "precision[" + "x" * 100_000,
    "précision ≥ ½",
    "precision ⩾ 0.5",
    "=" * 100_000,
]


@pytest.mark.parametrize("text", GATES, ids=lambda text: repr(text[:25]))
def test_a_gate_that_is_none_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        check = Gate.parse(text)
        parse_gates([str(check)], KNOWN, ALIASES)
    assert caught.value.exit_code == 2
    assert len(str(caught.value)) < 1500


@settings(max_examples=150 * EFFORT, deadline=None)
@given(st.one_of(st.text(max_size=60), st.from_regex(r"[a-z@^.0-9]{1,9} ?(\[[^\]]{0,9}\])? ?[<>=≥≤]{1,2} ?.{0,20}")))
@example("baseline - 1.2.3")
@example("precision=" + "9" * 5000)
@example("precision=٣")
@example("precision=0.5,precision=")
def test_any_text_is_gates_or_a_usage_error(text: str) -> None:
    for attempt in (Bound.parse, Gate.parse, lambda text: parse_gates([text], KNOWN, ALIASES)):
        try:
            attempt(text)
        except UsageError as error:
            assert error.code.startswith("gate-")
    assert as_written(text) is None or isinstance(as_written(text), Fraction)


@settings(max_examples=67 * EFFORT, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 9), st.sampled_from([">=", "≥", "=", " >= "]))
def test_what_is_a_gate_comes_back_as_it_was_written(number: int, digits: int, op: str) -> None:
    whole, rest = divmod(number, 10**digits)
    text = f"{whole}.{rest:0{digits}d}" if digits else str(number)
    (gate,) = parse_gates([f"p50{op}{text}"], {"p50": Metric("p50", Words("a median"), high=None)}, {})
    assert gate.bound.number == Fraction(text)
    assert Gate.parse(str(gate)) == gate


def test_a_gate_that_is_named_twice_is_an_error_that_names_both() -> None:
    first, second = parse_gates(["precision=0.9, precision=0.5"], KNOWN, ALIASES)
    with pytest.raises(UsageError, match=r"precision >= 0.9 and precision >= 0.5") as caught:
        check_repeated([first, second], lambda gate: gate.key)
    assert (caught.value.code, caught.value.exit_code) == ("gate-repeated", 2)
    sliced = parse_gates(["precision=0.9 precision[type=table]=0.5 under=0.1"], KNOWN, ALIASES)
    check_repeated(sliced, lambda gate: gate.key)
    with pytest.raises(UsageError, match="under_refusal"):
        check_repeated(parse_gates(["under=0.1", "under_refusal=0.5"], KNOWN, ALIASES), lambda gate: gate.key)


@pytest.mark.parametrize("text", ["precision=²", "precision=baseline-1.2.3", "precision=" + "9" * 5000, "precision>=٣"])
def test_the_command_line_says_exit_2(text: str, tmp_path: Path, cli: Cli) -> None:
    golds, traces = write_lines(tmp_path / "g.jsonl", [gold("A")]), write_lines(tmp_path / "t.jsonl", [trace("A")])
    ran = cli("score", "--gold", golds, "--trace", traces, "--gates", text)
    assert ran.code == 2 and "Traceback" not in ran.err
