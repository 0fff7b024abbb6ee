"""Markdown, JUnit, annotations, TSV, JSON, the terminal and the job summary: one decision, many readers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from junitparser import JUnitXml

from conftest import gold, refusal, trace, unanswerable, write_lines
from report_helpers import shipping, small
from shipworthy import evaluate, report
from shipworthy.core.board import Board
from shipworthy.core.decision import Decision
from shipworthy.core.gates import Outcome
from shipworthy.errors import UsageError
from shipworthy.report import comment, terminal, views

Cli = Callable[..., Any]


def text(shown: Decision | Board, form: str) -> str:
    return report.render(shown, form).decode("utf-8")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    items = [gold("Q1"), gold("Q2"), unanswerable("Q3")]
    traces = [trace("Q1"), trace("Q2", "Something else."), refusal("Q3")]
    return write_lines(tmp_path / "gold.jsonl", items), write_lines(tmp_path / "trace.jsonl", traces)


def both() -> Board:
    return Board([small(), shipping()], {"latency": "runs.jsonl is not there"}, {"latency": 3}, ["a note for all"])


@pytest.mark.parametrize("form", report.FORMATS)
def test_every_format_renders_decisions_and_boards_to_utf8_that_does_not_change(form: str) -> None:
    for shown in (small(), shipping(), both(), Board([])):
        first = report.render(shown, form)
        assert first.decode("utf-8") == report.render(shown, form).decode("utf-8")


@pytest.mark.parametrize(
    ("name", "form"), [("a.md", "markdown"), ("a.XML", "junit"), ("a.html", "html"), ("a.txt", "text")]
)
def test_the_ending_chooses_the_format(name: str, form: str) -> None:
    assert report.form_of(name) == form


def test_an_unknown_ending_names_those_that_there_are() -> None:
    with pytest.raises(UsageError, match=r"\.html"):
        report.form_of("report.pdf")


# Markdown


def test_markdown_says_the_verdict_first_and_each_gate_with_counts_and_interval() -> None:
    lines = text(small(), "markdown").splitlines()
    assert lines[0] == "# ❌ NO-SHIP: answers"
    row = next(line for line in lines if line.startswith("| ✗ | `correct and cited (precision) >= 0.80`"))
    assert row.split(" | ")[2:] == ["0.500", "1/2", "0.095 to 0.905", "FAIL (within noise) |"]
    found = "- 1 of 2 answers was correct and correctly cited; at least 2 must be (precision 0.500 \\< 0.80)."
    assert f"{found} Fix the one that fails. Closest to passing: `Q2`." in lines
    assert any("`Q2`" in line and "`It takes a while.`" in line and "`forty-two days`" in line for line in lines)


def test_every_form_for_people_has_the_questions_of_failing_items() -> None:
    items = [gold(f"Q{n:02}", question=f"What about number {n}?") for n in range(30)]
    found = evaluate(items, [trace(item["qid"], "No idea.") for item in items], offenders=2)
    assert "Failing items: 30 items" in text(found, "markdown")
    for shown in (text(found, "markdown"), text(found, "junit"), text(found, "html")):
        assert all(f"What about number {n}?" in shown for n in range(30))
    assert [row["question"] for row in found.items] == [item["question"] for item in items]
    assert text(found, "tsv").splitlines()[1].split("\t")[-3:] == [
        *("What about number 0?", "No idea."),
        "d1 d2",
    ]
    shown = comment.render(Board([found]), "config")
    assert "What about number 0?" in shown and "`No idea.`" in shown


def test_what_was_retrieved_is_shown_of_failing_items_in_text_markdown_and_tsv() -> None:
    found_ids = [f"doc-{n}" for n in range(12)]
    rows = [trace("A", "No idea.", cite=["doc-0"], found=found_ids), trace("B", cite=["d1"], found=["d1", "d9"])]
    found = evaluate([gold("A"), gold("B")], [*rows, trace("C", "No idea.", found=[])])
    assert "retrieved doc-0, doc-1, doc-2" in text(found, "text").replace("\n", " ")
    line = next(line for line in text(found, "markdown").splitlines() if line.startswith("| `A` |"))
    assert "`doc-7` and 4 more" in line and "`doc-8`" not in line
    head, *items = (line.split("\t") for line in text(found, "tsv").splitlines())
    shown = {item[0]: dict(zip(head, item, strict=True))["retrieved_ids"] for item in items}
    assert shown == {"A": " ".join(found_ids[:10]), "B": ""}  # nothing is wrong with B
    assert "Retrieved" not in text(evaluate([gold("A")], [trace("A", "No idea.", found=[])]), "markdown")


def test_markdown_of_a_board_has_a_line_for_each_suite_also_for_one_that_could_not_run() -> None:
    lines = text(both(), "markdown").splitlines()
    assert lines[0] == "# ❌ NO-SHIP: 1 of 3 suites ships"
    assert sum(line.startswith(("| ❌ NO-SHIP |", "| ✅ SHIP |", "| ⚠️ NOT RUN |")) for line in lines) == 3
    assert "- a note for all" in lines


# JUnit: the common subset that CI systems read

_CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error", "skipped"},
    "failure": set(),
    "error": set(),
    "skipped": set(),
}
_NEEDED = {
    "testsuites": {"tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped"},
    "testcase": {"classname", "name"},
    "failure": {"message", "type"},
    "error": {"message"},
    "skipped": {"message"},
}


def conforms(element: ElementTree.Element) -> None:
    assert set(element.attrib) >= _NEEDED[element.tag]
    for child in element:
        assert child.tag in _CHILDREN[element.tag]
        conforms(child)


def test_junit_has_a_case_for_each_gate_and_each_failing_item() -> None:
    root = ElementTree.fromstring(report.render(small(), "junit"))
    conforms(root)
    gates, items = root
    assert [case.get("name") for case in items] == ["Q2"]
    assert len(gates) == len(small().outcomes)
    failure = next(case for case in gates if case.get("name") == "precision >= 0.80").find("failure")
    assert failure is not None and failure.get("type") == "FAIL-BUT-CLOSE"
    assert "correctly cited; at least 2 must be (precision 0.500 < 0.80)" in (failure.text or "")
    assert "FAIL (within noise)" in (failure.text or "") and "95 % interval" in (failure.text or "")
    item = items[0].find("failure")
    assert (
        item is not None
        and "\nanswer: It takes a while." in (item.text or "")
        and "forty-two days" in (item.text or "")
    )


def test_junit_is_bounded_and_says_how_many_more_fail() -> None:
    items = [gold(f"Q{n:03}") for n in range(520)]
    decision = evaluate(items, [trace(item["qid"], "wrong") for item in items])
    root = ElementTree.fromstring(report.render(decision, "junit"))
    conforms(root)
    cases = root[1].findall("testcase")
    assert len(cases) == 501 and root[1].get("failures") == "501"
    last = cases[-1].find("failure")
    assert last is not None and last.get("message") == "20 more failing items"
    first = cases[0].find("failure")
    assert first is not None and (first.text or "").startswith("question: Question Q000?\nanswer: wrong\n")
    assert "shipped" not in (first.text or "")


def test_junit_counts_agree_with_the_cases_and_with_another_parser() -> None:
    shown = both()
    found = JUnitXml.fromstring(report.render(shown, "junit"))
    cases = [case for suite in found for case in suite]
    assert found.tests == len(cases)
    assert found.failures == sum(any(r._tag == "failure" for r in case.result) for case in cases)
    assert found.errors == sum(any(r._tag == "error" for r in case.result) for case in cases) == 1


def test_no_failing_case_stands_in_the_junit_of_a_decision_that_ships() -> None:
    found = ElementTree.fromstring(report.render(shipping(), "junit"))
    assert shipping().ships and found.get("failures") == "0" and found.get("errors") == "0"
    skipped = found.find(".//testcase[@name='A70']/skipped")
    assert skipped is not None and (skipped.get("message") or "").startswith("within the gates")


def test_a_case_that_never_came_is_an_error_and_not_a_failure() -> None:
    decision = evaluate([gold("Q1"), gold("Q2")], [trace("Q1")])
    root = ElementTree.fromstring(report.render(decision, "junit"))
    assert root.find(".//testcase[@name='Q2']/error") is not None
    assert root.find(".//testcase[@name='missing <= 0']/error") is not None


# Annotations


def test_annotations_show_nine_and_say_how_many_more() -> None:
    items = [gold(f"Q{n:02}") for n in range(40)]
    lines = text(evaluate(items, [trace(item["qid"], "wrong", ["d7"]) for item in items]), "github").splitlines()
    assert len(lines) == 10 and all(line.startswith("::error title=") for line in lines)
    assert lines[0].startswith("::error title=NO-SHIP answers::") and "and 33 more findings" in lines[-1]


def test_annotations_of_what_ships_are_a_notice() -> None:
    lines = text(shipping(), "github").splitlines()
    assert all(line.startswith("::notice title=") for line in lines)
    assert lines[-1].startswith("::notice title=SHIP answers::")


def test_annotations_escape_what_would_end_them() -> None:
    decision = small()
    decision.offenders[0]["says"] = "50 %\r\n::error::x"
    decision.offenders[0]["reason"] = "a: b, c"
    decision.cards = decision.offenders
    lines = text(decision, "github").splitlines()
    line = next(line for line in lines if "Q2" in line)
    assert "title=Q2 a%3A b%2C c::50 %25\\r\\n::error::x" in line


# TSV and JSON


def test_a_board_in_tsv_names_the_suite_of_each_item() -> None:
    lines = [line.split("\t") for line in text(both(), "tsv").splitlines()]
    assert lines[0][:2] == ["suite", "qid"]
    assert {len(line) for line in lines} == {len(lines[0])} and len(lines) == 1 + 3 + 141


def test_a_board_in_json_has_each_suite_and_the_exit_code() -> None:
    found = json.loads(text(both(), "json"))
    assert found["decision"] == "NO-SHIP" and found["exit_code"] == 1
    assert found["failures"] == {"latency": "runs.jsonl is not there"}


# Terminal


def test_the_terminal_board_has_a_line_a_suite_and_the_details_of_those_that_do_not_ship() -> None:
    lines = terminal.render(both(), width=100).splitlines()
    assert lines[0].startswith("NO-SHIP  answers: 1 of 2 answers was correct and correctly cited; at least 2 must be")
    assert lines[-1] == "NO-SHIP  1 of 3 suites ships"
    assert any(line.startswith("  NO-SHIP     answers  3/5 gates") for line in lines)
    assert any(line.startswith("  SHIP        answers  ") for line in lines)
    assert any(line.startswith("  NOT RUN     latency") for line in lines)
    assert sum(line.startswith("NO-SHIP  1 of 2 answers") for line in lines) == 1  # details, of the one that fails


def test_incomplete_data_is_called_incomplete_on_the_board() -> None:
    lines = terminal.render(Board([evaluate([gold("Q1"), gold("Q2")], [trace("Q1")])]), width=100).splitlines()
    assert lines[0].startswith("NO VERDICT") and any(line.startswith("  INCOMPLETE  answers") for line in lines)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_of_the_board_is_wider_than_the_terminal(width: int) -> None:
    lines = terminal.render(both(), width=width).splitlines()
    assert max(map(len, lines)) <= width


def test_colour_is_only_there_when_asked_for() -> None:
    assert "\x1b[" in terminal.render(both(), colour=True)
    assert "\x1b" not in terminal.render(both())


def test_the_terminal_report_imports_nothing_heavy() -> None:
    heavy = "[name for name in ('jinja2', 'rich', 'xml.etree') if name in sys.modules]"
    code = f"import sys, shipworthy.report.terminal; print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Views


def test_what_would_make_it_pass_is_told_in_counts() -> None:
    shown = text(small(), "markdown")
    assert "(precision 0.500 \\< 0.80). Fix the one that fails. Closest to passing: `Q2`." in shown
    late = evaluate([gold("Q1"), gold("Q2")], [trace("Q1")], gates=["missing<=0"], only_gates=True)
    assert "1 of 2 questions could not be judged" in text(late, "markdown").splitlines()[2]


def test_the_worst_gate_is_the_one_that_stops_the_release() -> None:
    assert views.worst_gate(small()).endswith("at least 2 must be (precision 0.500 < 0.80)")
    assert views.worst_gate(small(), brief=True).endswith("at least 2 must be")
    assert views.gates_held(shipping())[0] == views.gates_held(shipping())[1]


def test_a_miss_that_stops_nothing_says_so_on_the_board() -> None:
    missed = next(outcome for outcome in small().outcomes if not outcome.holds)
    held = next(outcome for outcome in small().outcomes if outcome.holds)
    warned, told = (
        msgspec.structs.replace(missed, gate=msgspec.structs.replace(missed.gate, severity=severity))
        for severity in ("warn", "info")
    )

    def worst(*outcomes: Outcome) -> str:
        return views.worst_gate(msgspec.structs.replace(small(), verdict="SHIP", outcomes=list(outcomes)), brief=True)

    assert worst(held, warned).endswith("at least 2 must be (warn only)")
    assert worst(held, msgspec.structs.replace(missed, waived="by Ada")).endswith("at least 2 must be (waived)")
    assert worst(held, told).startswith(
        "0 of 1 unanswerable"
    )  # what is for information only never stands for the suite
    assert worst(told).endswith("(info only)")


def measured() -> Decision:
    """Numbers without a gate: nothing to hold, nothing to stop."""
    found = small()
    return msgspec.structs.replace(found, verdict="MEASURED", reasons=["no gate was named"], outcomes=[], sections={})


def test_numbers_without_gates_look_neutral_and_stop_nothing_in_any_format() -> None:
    xml = ElementTree.fromstring(report.render(measured(), "junit"))
    assert (xml.get("failures"), xml.get("errors"), xml.get("skipped")) == ("0", "0", "1")
    assert text(measured(), "github").startswith("::notice title=MEASURED answers::no gate was named")
    assert text(measured(), "markdown").startswith("# 📏 MEASURED: answers")
    assert "| correct and cited (precision) | 0.500 | 1/2 | 0.095 to 0.905 |" in text(measured(), "markdown")
    lines = text(measured(), "text").splitlines()
    assert lines[0] == "MEASURED  no gate was named" and any(
        line.split()[-6:] == ["(precision)", "1/2", "(0.500)", "0.095", "to", "0.905"] for line in lines
    )
    assert '<section class="verdict dim"' in text(measured(), "html")
    assert views.worst_gate(measured()) == "no gate was set"


def test_broken_controls_are_no_suite_and_are_not_called_unrun() -> None:
    board = Board([shipping()], {"controls": "0 of 1 bad controls stopped"}, {"controls": 2})
    assert text(board, "text").startswith("NO VERDICT  1 of 1 suite ships\n")
    assert "  BROKEN      controls  0 of 1 bad controls stopped" in text(board, "text").splitlines()
    assert "| ⚠️ BROKEN | controls |" in text(board, "markdown")
    assert "::error title=controls show that the gates can't be trusted::0 of 1" in text(board, "github")
    assert "BROKEN" in text(board, "junit") and "<strong>BROKEN</strong> controls" in text(board, "html")
    assert "NOT RUN" not in "".join(text(board, form) for form in report.FORMATS)


# Command line and job summary


def test_a_report_that_can_not_be_written_is_exit_4_after_the_verdict_was_printed(
    cli: Cli, files: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "folder.html").mkdir()
    options = ("score", "--gold", files[0], "--trace", files[1], "--gates", "precision=0.1 chr=0.1")
    plain, ran = cli(*options), cli(*options, "-o", tmp_path / "folder.html", "-o", tmp_path / "r.md")
    assert (ran.code, plain.code) == (4, 0) and ran.out == plain.out and ran.out.startswith("SHIP")
    assert "the report is not written" in ran.err and "[unwritable]" in ran.err
    assert (tmp_path / "r.md").exists()  # the next one is still written


def test_an_ending_that_names_no_format_is_told_before_anything_is_read(cli: Cli) -> None:
    ran = cli("score", "--gold", "nowhere.jsonl", "--trace", "nowhere.jsonl", "-o", "r.pdf")
    assert ran.code == 2 and "[report-format]" in ran.err


def test_the_command_line_writes_every_format(cli: Cli, files: tuple[Path, Path], tmp_path: Path) -> None:
    names = ["r.json", "r.tsv", "r.txt", "r.md", "r.xml", "r.html"]
    outputs = [part for name in names for part in ("-o", tmp_path / name)]
    ran = cli("score", "--gold", files[0], "--trace", files[1], "--format", "github", *outputs)
    assert ran.code == 1 and ran.out.startswith("::error title=NO-SHIP")
    assert all((tmp_path / name).stat().st_size for name in names)
    assert (tmp_path / "r.html").read_text("utf-8").startswith("<!doctype html>")


def test_the_job_summary_is_appended_to(
    cli: Cli, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("earlier\n", "utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert cli("score", "--gold", files[0], "--trace", files[1]).code == 1
    assert summary.read_text("utf-8").startswith("earlier\n# ❌ NO-SHIP: answers\n")


def test_a_summary_that_can_not_be_written_warns_and_leaves_the_verdict(
    cli: Cli, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    ran = cli("score", "--gold", files[0], "--trace", files[1])
    assert ran.code == 1 and "[summary]" in ran.err and "NO-SHIP" in ran.out


def test_a_summary_is_cut_at_a_line_and_says_so() -> None:
    decision = small()
    decision.warnings = [f"{n} " + "x" * 1900 for n in range(600)]
    whole = report.summary(decision)
    assert len(whole) <= report.SUMMARY_LIMIT and whole.endswith(b"see the report.\n")
    assert len(report.summary(decision, report.SUMMARY_LIMIT)) < 100
    assert b"did not fit" not in report.summary(small())


def two_suites() -> Board:
    first, second, third = small(), small(), shipping()
    second.suite, third.suite = "stability", "latency"
    return Board([third, first, second])


def test_a_board_lists_what_fails_once_for_all_suites_and_names_the_suite() -> None:
    """One list in each form that people read; the same question stands together, whatever suites it fails in."""
    shown = two_suites()
    told = text(shown, "text")
    assert told.count("Failing items") == 1 and "Failing items of all suites, worst first (2 of 2)" in told
    assert re.findall(r"^  Q2  (\w+)  wrong answer", told, re.MULTILINE) == ["answers", "stability"]
    table = text(shown, "markdown").partition("Failing items: 3 items")[2]
    assert [line.split(" | ")[:2] for line in table.splitlines() if line.startswith("| `")] == [
        ["| `Q2`", "answers"],
        ["| `Q2`", "stability"],
        ["| `A70`", "latency"],
    ]
    assert text(shown, "markdown").count("Failing items") == 1
    (items,) = ElementTree.fromstring(report.render(shown, "junit")).findall("testsuite[@name='items']")
    assert [(one.get("classname"), one.get("name")) for one in items] == [
        ("answers.items", "Q2"),
        ("stability.items", "Q2"),
        ("latency.items", "A70"),
    ]
    alone = text(Board([small()]), "text")
    assert "Failing items, worst first (1 of 1)" in alone and "Q2  answers" not in alone


def test_the_junit_of_a_board_is_bounded_in_all() -> None:
    one = evaluate([gold(f"Q{n}") for n in range(300)], [trace(f"Q{n}", "No.") for n in range(300)])
    two = evaluate([gold(f"Q{n}") for n in range(300)], [trace(f"Q{n}", "No.") for n in range(300)])
    two.suite = "stability"
    (items,) = ElementTree.fromstring(report.render(Board([one, two]), "junit")).findall("testsuite[@name='items']")
    assert len(items) == 501 and items[-1].get("name") == "100 more failing items"
