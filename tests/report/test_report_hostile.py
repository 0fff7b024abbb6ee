"""Hostile text, in the consumers that would be fooled by it: parsers, a terminal, a workflow runner, a spreadsheet."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import JUnitXml
from markdown_it import MarkdownIt
from xmlschema import XMLSchema

from conftest import EFFORT
from report_helpers import PAYLOADS, board, decision
from shipworthy import report
from shipworthy.core.board import Board
from shipworthy.report import markdown, terminal, tsv, views
from shipworthy.report.json import dumps
from shipworthy.text import inert

each = pytest.mark.parametrize("name", PAYLOADS)
ANY = st.text(st.characters(), max_size=60)  # surrogates, controls and non-characters included
LIVE = {
    "link_open",
    "image",
    "html_inline",
    "html_block",
    "heading_open",
    "blockquote_open",
    "hr",
    "fence",
    "code_block",
}


def tokens(text: str) -> list[str]:
    parsed = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    return [kind for token in parsed for kind in (token.type, *(child.type for child in token.children or ()))]


# Markdown


def _one_hint(shown: Board) -> Board:
    """How many hints there are hangs on the payload, which is cited too."""
    for one in shown.decisions:
        one.diagnosis = one.diagnosis[:1]
    return shown


@each
def test_nothing_in_markdown_comes_alive(name: str) -> None:
    found = tokens(report.render(_one_hint(board(PAYLOADS[name])), "markdown").decode("utf-8"))
    assert not (LIVE - {"heading_open"}) & set(found)
    plain = report.render(_one_hint(board("harmless")), "markdown").decode("utf-8")
    for kind in ("heading_open", "table_open", "tr_open", "td_open", "list_item_open", "bullet_list_open"):
        assert found.count(kind) == tokens(plain).count(kind), kind


@each
def test_no_host_finds_a_mention_or_a_bare_link_in_markdown(name: str) -> None:
    parsed = (
        MarkdownIt("commonmark").enable("table").parse(report.render(board(PAYLOADS[name]), "markdown").decode("utf-8"))
    )
    for token in parsed:
        for child in token.children or ():
            if child.type == "text":  # code spans are left alone by hosts
                assert not re.search(r"(?<!\w)@\w|https?://|\bwww\.|(?<!\w)#\d", child.content)


@given(ANY)
@settings(max_examples=67 * EFFORT, deadline=None)
def test_any_text_in_a_cell_stays_one_cell_of_text(text: str) -> None:
    for made in (markdown.prose(text), markdown.code(text)):
        table = markdown.table(("a", "b"), [(made, "end")])
        found = tokens(table)
        assert found.count("td_open") == 2 and not LIVE & set(found)


# JUnit

SCHEMA = XMLSchema(Path(__file__).parent / "junit.xsd")


@each
def test_junit_is_valid_by_its_schema(name: str) -> None:
    SCHEMA.validate(report.render(board(PAYLOADS[name]), "junit").decode())


@each
def test_junit_parses_and_carries_the_text(name: str) -> None:
    content = report.render(board(PAYLOADS[name]), "junit")
    root = ElementTree.fromstring(content)
    assert JUnitXml.fromstring(content).tests == int(root.get("tests", "0")) > 0
    assert [case.get("name") for case in root.iter("testcase")].count("plain") == 1
    if name == "emoji":
        assert "😀" in content.decode("utf-8")


def test_every_kind_of_code_point_goes_through_xml() -> None:
    shown = "".join(map(chr, [*range(0x10000), *range(0x10000, 0x110000, 97)]))
    root = ElementTree.fromstring(report.render(board(shown), "junit"))
    assert root.tag == "testsuites"


# Terminal


@each
def test_the_terminal_shows_text_and_obeys_nothing(name: str) -> None:
    text = terminal.render(board(PAYLOADS[name]), width=100)
    screen = pyte.HistoryScreen(400, 3000)
    pyte.ByteStream(screen).feed(text.encode("utf-8", "backslashreplace").replace(b"\n", b"\r\n"))
    assert screen.title == "" and screen.icon_name == ""
    lines = text.split("\n")
    assert screen.cursor.y == len(lines) - 1  # nothing cleared the screen or moved the cursor
    assert all(cell.fg == "default" for row in screen.buffer.values() for cell in row.values())
    assert not [char for char in text if char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


# Workflow commands, as the runner finds them: `::name` after leading blanks, `##[name` anywhere

COMMAND = re.compile(r"^\s*::\w[\w-]*( [^:]*)?::|##\[[\w-]+|##vso\[|##teamcity\[", re.MULTILINE)


@each
@pytest.mark.parametrize("form", ["text", "markdown", "tsv", "json", "junit", "html"])
def test_no_line_of_text_output_is_a_command_to_the_runner(name: str, form: str) -> None:
    assert not COMMAND.search(report.render(board(PAYLOADS[name]), form).decode("utf-8"))


@each
def test_annotations_are_ours_alone(name: str) -> None:
    lines = report.render(board(PAYLOADS[name]), "github").decode("utf-8").split("\n")
    assert lines.pop() == ""
    for line in lines:
        found = re.fullmatch(r"::(error|warning|notice) title=([^:,\r\n]*)::([^\r\n]*)", line)
        assert found, line
        assert not re.search(r"%(?!25|0D|0A|3A|2C)", found[2] + found[3]) and "##[" not in line


@given(ANY)
@settings(max_examples=67 * EFFORT, deadline=None)
def test_any_text_is_inert_in_a_log(text: str) -> None:
    assert not COMMAND.search(inert(views.legible(text)))


@given(ANY)
@settings(max_examples=100 * EFFORT, deadline=None)
def test_any_text_in_json_is_the_same_and_hides_nothing(text: str) -> None:
    content = dumps({text: [text]}).decode("utf-8")
    assert json.loads(content) == {text: [text]}
    assert not COMMAND.search(content)
    assert not re.search("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]", content)


# Spreadsheets


@each
def test_no_cell_of_a_tsv_is_a_formula(name: str) -> None:
    lines = report.render(decision(PAYLOADS[name]), "tsv").decode("utf-8").splitlines()
    columns = len(lines[0].split("\t"))
    for line in lines:
        cells = line.split("\t")
        assert len(cells) == columns
        assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def test_numbers_in_a_tsv_stay_numbers() -> None:
    assert (
        tsv.cell(-0.5) == "-0.5" and tsv.cell("-0.5") == "'-0.5" and tsv.cell(True) == "true" and tsv.cell(None) == ""
    )


# Everything


@each
def test_json_holds_the_text_as_it_was(name: str) -> None:
    claims = [
        offender.get("claim") for offender in json.loads(report.render(decision(PAYLOADS[name]), "json"))["offenders"]
    ]
    assert PAYLOADS[name] in claims


@each
@pytest.mark.parametrize("form", report.FORMATS)
def test_every_output_is_valid_utf8(name: str, form: str) -> None:
    report.render(board(PAYLOADS[name]), form).decode("utf-8")


def test_a_megabyte_of_text_is_cut_where_people_read() -> None:
    found = decision("long text " * 100_000)
    for form in ("text", "markdown", "junit", "github", "html"):
        assert len(report.render(found, form)) < 400_000, form
