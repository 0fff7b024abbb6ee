"""What a pull request shows: the comment, the badge, and figures for other machines."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt

from conftest import gold, trace
from report_helpers import PAYLOADS, decision, shipping, small
from shipworthy import evaluate, report
from shipworthy.core.board import Board
from shipworthy.report import comment


def board(*decisions, **more) -> Board:
    return Board(list(decisions), **more)


def tags(text: str) -> set[str]:
    html = MarkdownIt("gfm-like", {"linkify": False}).render(text)
    return set(re.findall(r"<(\w+)", re.sub(r"<!--.*?-->", "", html)))


def test_the_verdict_comes_first_and_what_stops_it_in_words():
    text = comment.render(board(small()), "shipworthy.toml")
    lines = text.splitlines()
    assert re.fullmatch(r"<!-- shipworthy:[0-9a-f]{16} -->", lines[0])
    assert lines[2].startswith("## ❌ NO-SHIP")
    assert "at least 2 must be (precision 0.500 \\< 0.80). Fix the one that fails." in text.split("<details>")[0]


def test_each_config_has_its_own_marker():
    names = ("shipworthy.toml", "rag/shipworthy.toml", "rag/shipworthy.toml\n<!-- x -->")
    assert len({comment.render(board(small()), name).splitlines()[0] for name in names}) == 3
    assert comment.marker("a") == comment.marker("a")


def test_questions_lost_and_gained_are_named():
    shown = board(small(), changes={"answers": {"lost": ["Q|1", "Q2"], "gained": [f"G{n}" for n in range(40)]}})
    text = comment.render(shown, "x")
    assert "2 questions passed before and fail now: Q&#124;1, `Q2`" in text
    assert "40 questions failed before and pass now" in text
    assert "and 10 more" in text


def test_a_suite_that_ships_lists_no_failing_questions():
    text = comment.render(board(shipping()), "x")
    assert "## ✅ SHIP" in text
    assert "failing question" not in text


def test_a_suite_that_could_not_be_run_is_named():
    text = comment.render(board(shipping(), failures={"latency": "runs.jsonl is not there"}), "x")
    assert "NO VERDICT" in text
    assert "runs.jsonl is not there" in text


@pytest.mark.parametrize("name", PAYLOADS)
def test_hostile_text_stays_text(name):
    shown = board(decision(PAYLOADS[name]), changes={"answers": {"lost": [PAYLOADS[name]], "gained": []}})
    text = comment.render(shown, PAYLOADS[name])
    text.encode("utf-8", "backslashreplace")
    assert tags(text) <= {
        "h2",
        "p",
        "ul",
        "li",
        "strong",
        "code",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "details",
        "summary",
    }
    assert MarkdownIt("gfm-like", {"linkify": False}).render(text).count("<!--") == 1
    assert not any(line.startswith("::") for line in text.splitlines())


def test_a_comment_is_never_too_long_and_keeps_its_marker():
    items = [gold(f"Q{n}") for n in range(300)]
    traces = [trace(f"Q{n}", "*" * 5000) for n in range(300)]
    big = evaluate(items, traces)
    big.outcomes = big.outcomes * 300
    shown = board(big, notes=["\\*" * 2000] * 40, changes={"answers": {"lost": ["x" * 80] * 300, "gained": []}})
    text = comment.render(shown, "x")
    assert len(text) <= comment.LIMIT
    assert text.startswith(comment.marker("x"))
    assert "did not fit" in text
    assert text.count("<details>") == text.count("</details>")


@pytest.mark.parametrize("shown", [small(), shipping(), Board([]), Board([], {"x": "y"}, {"x": 4})])
def test_badges(shown):
    svg = report.render(shown, "badge").decode()
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert shown.verdict in svg
    shields = json.loads(report.render(shown, "shields"))
    assert shields["schemaVersion"] == 1
    assert shields["message"].startswith(shown.verdict)
    assert re.fullmatch(r"[0-9a-f]{6}", shields["color"])


_SAMPLE = re.compile(r'[a-z_]+\{[a-z]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z]+="(?:[^"\\\n]|\\["\\n])*")*\} -?[0-9.e+-]+')


@pytest.mark.parametrize("name", [*PAYLOADS, "plain"])
def test_figures_are_openmetrics(name):
    text = report.render(board(decision(PAYLOADS.get(name, "plain"))), "openmetrics").decode()
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""]
    families = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(families) == len(set(families))
    current = ""
    for line in lines[:-2]:
        if line.startswith("# TYPE"):
            current = line.split()[2]
        elif not line.startswith("#"):
            assert _SAMPLE.fullmatch(line), line
            assert line.startswith(f"{current}{{")
    samples = [line.rsplit(" ", 1)[0] for line in lines if line and not line.startswith("#")]
    assert len(samples) == len(set(samples))


def test_endings_choose_the_small_formats():
    assert [report.form_of(name) for name in ("a.svg", "a.badge.json", "a.json", "m.prom")] == [
        "badge",
        "shields",
        "json",
        "openmetrics",
    ]


def test_failing_questions_of_all_suites_are_one_table():
    second = small()
    second.suite = "stability"
    text = comment.render(board(shipping(), small(), second), "x")
    assert (
        text.count("failing question") == 1 and "<summary>2 failing questions of answers, stability</summary>" in text
    )
    assert "| `Q2` | answers |" in text and "| `Q2` | stability |" in text
