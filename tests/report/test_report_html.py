"""The HTML report: what it says, that nothing in it comes alive, and how it works in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import gold, refusal, trace, unanswerable
from report_helpers import PAYLOADS, board, decision, shipping, small
from shipworthy import evaluate, report
from shipworthy.core.board import Board
from shipworthy.core.decision import Decision, Display
from shipworthy.core.gates import Gate, Outcome
from shipworthy.core.metrics import Measure
from shipworthy.report import svg
from shipworthy.report.html import cards, pictures, rich, tables
from shipworthy.report.html import items as items_of
from shipworthy.suites import load_suite

each = pytest.mark.parametrize("name", PAYLOADS)


def page(shown: Decision | Board) -> str:
    return report.render(shown, "html").decode("utf-8")


class Reader(HTMLParser):
    """The page as a parser sees it: elements, attributes, text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.silent = False  # inside a script or a style
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.silent = tag in ("script", "style")
        self.text += " " if tag in ("td", "th", "li", "p", "h1", "h2", "h3", "code", "ul") else ""

    def handle_data(self, data: str) -> None:
        self.text += "" if self.silent else data

    def handle_endtag(self, tag: str) -> None:
        self.silent = False

    def count(self, tag: str) -> int:
        return sum(found == tag for found, _ in self.elements)


# What it says


def test_the_verdict_comes_first_with_what_stops_it_in_words() -> None:
    read = Reader(page(small()))
    words = " ".join(read.text[read.text.index("To the verdict") :].split())
    assert "✗ NO-SHIP answers · 3 questions · 3 of 5 gates pass" in words
    found = "1 of 2 answers was correct and correctly cited; at least 2 must be (precision 0.500 < 0.80)."
    assert words.index(f"{found} Fix the one that fails.") < words.index("Gates State")
    assert "Closest to passing: Q2" in words


def test_the_first_screen_says_which_build_was_judged() -> None:
    found = small()
    build = {"commit": "8c1f0e2a77b3d9", "branch": "main", "time": "2026-01-01 00:00 UTC", "gold_release": "r<1>"}
    found.run = {"build": build}
    assert "commit 8c1f0e2a77b3 branch main time 2026-01-01 00:00 UTC gold release r<1> 1 of 2" in words_of(found)


def test_states_are_shown_as_people_read_them() -> None:
    words = words_of(small())
    assert "FAIL (within noise)" in words
    assert "PASS (not statistically certain: 58 more passing questions would prove it)" in words
    assert not re.search("UNPROVEN|BUT-CLOSE", re.sub(r"(?s)<svg.*?</svg>", "", page(small()).partition("<main")[2]))


def test_metrics_come_with_their_plain_name_and_definition() -> None:
    read = Reader(page(small()))
    term = next(attributes for _, attributes in read.elements if attributes.get("href") == "#term-chr")
    assert (term["title"] or "").startswith("Of the questions that were answered, the share that cites")
    assert "cited right (chr) >= 0.75 Of the questions" in words_of(small())
    assert any(attributes.get("id") == "term-chr" for _, attributes in read.elements)


def test_failing_suites_come_first_and_open_and_passing_ones_are_folded_to_a_line() -> None:
    good, bad = shipping(), small()
    good.suite, bad.suite = "latency", "answers"
    boxes = [found for found in Reader(page(Board([good, bad]))).elements if found[1].get("id", "") is not None]
    suites = [
        (box["id"], "open" in box) for tag, box in boxes if tag == "details" and "suite" in (box.get("class") or "")
    ]
    assert suites == [("suite-answers", True), ("suite-latency", False)]


def test_each_gate_has_a_picture_with_the_same_numbers_in_words() -> None:
    read = Reader(page(small()))
    drawn = [
        attributes["aria-label"] or ""
        for tag, attributes in read.elements
        if tag == "svg" and attributes["role"] == "img"
    ]
    wanted = (
        "precision >= 0.80, FAIL (within noise): 1 of 2 answers was correct and correctly cited; at least 2 must be "
        "(precision 0.500 < 0.80), 95 % interval 0.095 to 0.905"
    )
    assert any(label.startswith(wanted) for label in drawn)
    assert read.count("title") == 1 + len(drawn) and read.count("desc") == len(drawn)


def test_an_offender_shows_claim_gold_and_evidence_with_matches_marked() -> None:
    items = [gold("Q1", ["forty-two  DAYS"], ["d1"])]
    shown = evaluate(
        items,
        [
            trace(
                "Q1",
                "It is Forty-Two days long.",
                ["d9"],
                ["d9", "d1"],
                evidence=[{"id": "d1", "text": "Leave is forty-two\ndays."}],
            )
        ],
    )
    text = page(shown)
    assert "<mark>Forty-Two days</mark>" in text and "<mark>forty-two\ndays</mark>" in text
    words = " ".join(Reader(text).text.split())
    assert "d9 not expected" in words and "d1 not cited, rank 2" in words and "in the answer" in words


@pytest.mark.parametrize(
    ("text", "wanted", "marked"),
    [
        ("Straße 5", ["STRASSE"], ["Straße"]),
        ("cafe\u0301 au lait", ["CAFÉ"], ["cafe\u0301"]),
        ("a  b\n\nc", ["b c"], ["b\n\nc"]),
        ("banana", ["ana", "nan"], ["anan"]),
        ("nothing here", ["else", ""], []),
        ("x" * 50 + "needle", ["needle"], []),  # beyond the cut
    ],
)
def test_matches_are_found_as_the_judge_finds_them(text: str, wanted: list[str], marked: list[str]) -> None:
    found = rich.pieces(text, wanted, 40)
    assert [piece.text for piece in found if piece.found] == marked
    shown = "".join(piece.text for piece in found)
    assert shown == text if len(text) <= 40 else shown.endswith("… (16 more characters)")


def test_a_board_shows_every_suite_and_those_that_could_not_run() -> None:
    text = page(
        Board(
            [small(), shipping()],
            {"latency": "no runs"},
            {},
            ["a note"],
            trends={"precision": [{"value": 0.5}, {"value": 0.7}]},
        )
    )
    words = " ".join(Reader(text).text.split())
    assert "1 of 3 suites ships" in words and "NOT RUN latency: no runs" in words and "a note" in words
    assert "Trend of precision" in words


def words_of(found: Decision) -> str:
    """What the page says, without its glossary."""
    return " ".join(Reader(page(found)).text.split()).partition(" Glossary ")[0]


def test_a_card_says_nothing_of_what_its_suite_does_not_tell() -> None:
    found = small()
    found.cards = [{"qid": "Q2", "reason": "acr", "says": "over 8 runs", "gold_citations": ["d1"]}]
    assert "not cited" not in words_of(found) and "not retrieved" not in words_of(found)
    found.cards[0].update({"citations": ["b7"], "retrieved_ids": ["b7", "b8"], "claim": ""})
    assert "d1 not cited, not retrieved" in words_of(found) and "b7 not expected" in words_of(found)
    found.cards[0]["gold_rank"] = 1  # the suite found it by its place, so that ids prove nothing
    shown = words_of(found)
    assert "d1 found under another id, first at rank 1" in shown
    assert "not cited" not in shown and "not expected" not in shown


def test_a_card_does_not_repeat_what_its_sentence_says() -> None:
    found = small()
    found.cards = [
        {
            "qid": "Q2",
            "reason": "acr",
            "says": "over 8 runs; seed=0;j=punct (status)",
            "runs": 8,
            "flips": ["seed=0;j=punct (status)"],
            "other": "elsewhere",
        }
    ]
    (card,) = cards.failing_cards(found, "")
    assert card.more == [("runs", "8"), ("other", "elsewhere")]


def test_evidence_that_is_not_gold_is_folded_away() -> None:
    items = [gold("Q1", ["forty-two days"], ["d1"])]
    texts = [{"id": name, "text": f"text of {name}"} for name in ("d7", "d1", "d8")]
    found = evaluate(items, [trace("Q1", "It takes a while.", ["d1"], ["d7", "d1", "d8"], evidence=texts)])
    (card,) = cards.failing_cards(found, "")
    assert [chip.text for chip, _ in card.evidence] == ["d1"] and [chip.text for chip, _ in card.others] == ["d7", "d8"]
    assert "2 more retrieved" in words_of(found)


def test_counts_among_so_many_read_as_a_share() -> None:
    assert tables.figure({"count": 15, "n": 21, "rate": 15 / 21}) == "15/21 (0.714)"
    assert tables.figure({"count": 0, "n": 0, "rate": None}) == "0/0 (–)"
    found = small()
    found.display = Display()  # a suite without pictures has tables
    found.sections["overall"] = {
        "accepted": {"count": 15, "n": 21, "rate": 15 / 21},
        "acted on": {"count": 3, "n": 21, "rate": 1 / 7},
    }
    assert "accepted 15/21 (0.714) acted on 3/21 (0.143)" in words_of(found)


def test_what_to_fix_is_told_once() -> None:
    assert words_of(small()).count("(precision 0.500 < 0.80). Fix the one that fails.") == 1
    assert "Turns" not in words_of(small())


def test_chunks_are_the_evidence_where_traces_have_none() -> None:
    chunks = {"d1": "It takes forty-two days.", "d9": "Something else."}
    found = evaluate(
        [gold("Q1", ["forty-two days"], ["d1"])], [trace("Q1", "No.", ["d9"], ["d9", "d1"])], chunks=chunks
    )
    (card,) = cards.failing_cards(found, "")
    assert [(chip.text, chip.note) for chip, _ in card.evidence] == [("d1", "expected"), ("d9", "cited")]
    assert "<mark>forty-two days</mark>" in page(found)


TABLE = "Limits:\n\n| Who | Days \\| nights |\n|:--|---:|\n| <b>Crew</b> | forty-two days |\n| Guests |\n\nEnd."


def test_a_markdown_table_in_the_evidence_is_a_table_with_escaped_cells() -> None:
    evidence = [{"id": "d1", "text": TABLE}]
    found = evaluate([gold("Q1", ["forty-two days"])], [trace("Q1", "No.", ["d1"], ["d1"], evidence=evidence)])
    text = page(found)
    assert '<th scope="col">Who</th><th scope="col">Days | nights</th>' in text
    assert "<td>&lt;b&gt;Crew&lt;/b&gt;</td><td><mark>forty-two days</mark></td>" in text
    assert "<td>Guests</td><td></td>" in text and ">End.</blockquote>" in text


@pytest.mark.parametrize("text", ["a | b", "a | b\n--- | x", "a | b\n---\nc", "| a |", "|\n|-|", "a|b\n|-|-|-|"])
def test_what_only_looks_like_a_table_stays_text(text: str) -> None:
    assert all(isinstance(part, rich.Prose) for part in rich.parts(text))


def test_a_match_over_a_bar_is_marked_on_both_sides() -> None:
    (grid,) = rich.parts(rich.mark("a|b\n-|-\nx one|two y", ["one|two"], 100))
    assert isinstance(grid, rich.Grid)
    assert grid.rows[1] == [
        [rich.Piece("x ", False), rich.Piece("one", True)],
        [rich.Piece("two", True), rich.Piece(" y", False)],
    ]


def test_ticks_have_the_digits_that_tell_them_apart() -> None:
    for high in (0.007, 0.04, 1.0, 7.0, 36.0, 2500.0):
        shown = svg.chart([svg.Mark(0, 0), svg.Mark(1, high)], "t", "w", ("x", "y"))
        ticks = re.findall(r'class="tick end"[^>]*>([^<]*)<', shown)
        assert len(set(ticks)) == 5 and [float(tick.replace(",", "")) for tick in ticks][-1] >= high, ticks


def test_rows_are_named_and_linked_by_their_question_whatever_comes_first() -> None:
    found = small()
    found.items = [{"arm": "fast", **item} for item in found.items]
    assert items_of.item_rows(found, "").columns[:3] == ["qid", "arm", "reason"]


def test_each_failing_gate_has_the_picture_that_explains_it_before_the_questions() -> None:
    items = [gold(f"Q{n}") for n in range(8)] + [unanswerable(f"U{n}") for n in range(4)]
    wrong = [trace(f"Q{n}", "No.", confidence=n / 8) for n in range(8)]
    both = evaluate(items, [*wrong, *(trace(f"U{n}", "It is so.", confidence=0.9) for n in range(4))])
    one = evaluate(items, [*wrong, *(refusal(f"U{n}") for n in range(4))])

    def shown(found: Decision) -> list[str]:
        before = page(found).partition('id="offenders"')[0]
        return [title for title in ("Answered or refused", "Risk against coverage") if f"<h2>{title}</h2>" in before]

    assert shown(both) == ["Answered or refused", "Risk against coverage"]
    assert shown(one) == ["Risk against coverage"]
    assert shown(shipping()) == []


def test_a_gate_for_information_that_repeats_another_is_left_out() -> None:
    first, second = small(), small()
    second.suite = "latency"
    chosen = {"precision": "info", "chr": "info"}
    second.outcomes = [
        msgspec.structs.replace(
            one, gate=msgspec.structs.replace(one.gate, severity=chosen.get(one.gate.metric, one.gate.severity))
        )
        for one in second.outcomes
    ]
    assert "Gates of latency for information" in page(Board([second]))
    assert "Gates of latency for information" not in page(Board([first, second]))


def test_an_empty_board_is_still_a_page() -> None:
    assert "NO VERDICT" in page(Board([]))


def test_items_fail_first_and_have_links_of_their_own() -> None:
    read = Reader(page(small()))
    ids = [attributes["id"] for _, attributes in read.elements if attributes.get("id")]
    assert len(ids) == len(set(ids)) and {"item-Q1", "item-Q2", "item-Q3"} <= set(ids)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page(small()), re.DOTALL)[1])  # type: ignore[index]
    suite = data["suites"][""]
    assert data["cards"] == []  # a failing question is listed once, in the page
    assert [row[0] for row in suite["rows"]] == ["Q1", "Q3"] and suite["failing"] == 0


def test_a_name_that_is_not_plain_gets_a_digest_in_its_link() -> None:
    assert cards.anchor("Q-1.a") == "item-Q-1.a"
    assert re.fullmatch(r"item-[0-9a-f]{16}", cards.anchor("a b/<c>"))
    assert cards.anchor("\ud800") != cards.anchor("\ud801")


def test_the_same_decision_gives_the_same_bytes() -> None:
    assert page(small()) == page(small())


# Pictures and tables of any shape


def test_a_section_that_nobody_knows_becomes_a_readable_table() -> None:
    block = tables.generic(
        "odd_things", {"rows": [{"a": 1, "b": None}, {"a": 0.25, "c": [1.0, 2.0]}], "n": 3, "deep": {"x": {"y": 1}}}
    )
    assert block is not None and block.title == "Odd things"
    assert [table.caption for table in block.tables] == ["Odd things: rows", "deep", "Odd things"]
    assert [[cell.text for cell in row] for row in block.tables[0].rows] == [["1", "–"], ["0.25", "1 to 2"]]
    assert tables.generic("nothing", {}) is None


def test_a_known_section_of_another_shape_becomes_a_table_and_not_an_error() -> None:
    shown = small()
    shown.sections |= {
        "confusion": {"a": 1},
        "comparison": [1, 2],
        "curve": {"points": []},
        "summary": "words",
        "refusals": {},
    }
    kinds = ("labels", "two sides", "speed by quality", "averages", "answered or refused")
    names = ("confusion", "comparison", "curve", "summary", "refusals")
    shown.display = Display(pictures=dict(zip(names, kinds, strict=True)))
    titles = [block.title for block in pictures.blocks(shown)]
    assert {"Confusion", "Comparison", "Summary"} <= set(titles)


def test_the_heat_map_counts_flips_of_each_question_under_each_rewording() -> None:
    shown = small()
    shown.headline = {
        "details": {"Q1": {"flips": [{"run": "seed=0;j=ws"}, {"run": "seed=1;j=ws"}]}, "Q2": {"flips": []}}
    }
    shown.sections = {
        "sensitivity": {
            "jitter": [{"jitter": "ws", "runs": 8, "questions": 2}, {"jitter": "none", "runs": 8, "questions": 2}]
        }
    }
    shown.display = load_suite("stability").display
    block = next(block for block in pictures.blocks(shown) if block.title.startswith("Flips"))
    assert block.words.startswith("1 of 2 questions")
    assert [[(cell.text, cell.tone) for cell in row] for row in block.tables[0].rows] == [
        [("Q1", ""), ("2 of 4", "h3"), ("·", "h0")]
    ]


def test_reasoning_has_bars_for_its_dimensions() -> None:
    shown = small()
    shown.sections = {
        "dimensions": {
            "usefulness": {"average": 0.5, "at_least": 0.65, "n": 3},
            "grounding": {"average": None, "at_least": None, "n": 0},
        }
    }
    shown.display = load_suite("reasoning").display
    (bars,) = pictures.blocks(shown)
    assert 'class="bar bad"' in bars.svg and ">undefined</text>" in bars.svg
    assert [[cell.text for cell in row] for row in bars.tables[0].rows] == [
        ["usefulness", "0.5", "0.65", "3"],
        ["grounding", "–", "–", "0"],
    ]


def test_shadow_against_live_counts_what_changed() -> None:
    shown = small()
    value = {
        "metric": "recall@5",
        "pairs": 3,
        "worse": [{"qid": "Q1"}],
        "better": [],
        "slices": {"type=table": {"shadow": 0.5, "live": 1.0}},
        "metrics": {"recall@5": {"shadow": 0.6, "live": 0.9}},
        "mcnemar_drop_p": 0.25,
    }
    shown.sections, shown.display = {"comparison": value}, load_suite("retrieval").display
    block = pictures.blocks(shown)[0]
    assert block.words.startswith("1 question got worse and 0 better of 3") and "0.900 → 0.600" in block.svg


def test_the_curve_has_frontier_budget_and_numbered_arms() -> None:
    shown = small()
    points = [
        {"arm": "lean", "p95_ms": 500.0, "p99_ms": 900.0, "precision": 0.6, "chr": 0.9, "frontier": True},
        {"arm": "bare", "p95_ms": 700.0, "p99_ms": 700.0, "precision": 0.6, "chr": None, "frontier": False},
        {"arm": "slow", "p95_ms": 2600.0, "p99_ms": 4400.0, "precision": 0.5, "chr": 0.2, "frontier": False},
    ]
    shown.sections = {"curve": {"points": points, "budget_ms": 2000, "relaxed_budget_ms": 2500}}
    shown.display = load_suite("latency").display
    block = pictures.blocks(shown)[0]
    assert block.words.startswith("1 of 3 arms") and "p99" in block.words
    precise, cited = block.svg.split("<svg")[1:]
    assert all(f">{word}</text>" in precise for word in ("budget", "relaxed", "precision 0.80", "1", "2", "3"))
    assert all(f">{word}</text>" in cited for word in ("budget", "relaxed", "1", "3", "cited right (chr)"))
    assert '">2</text>' not in cited  # an arm without a citation hit rate keeps the others' numbers as they are
    assert precise.count('class="tail"') == 3 and cited.count('class="tail"') == 2
    # The axis reaches to the slowest p99.
    assert ">5,000<" in precise and [cell.text for cell in block.tables[0].rows[2]][3] == "4,400.0"
    assert [row[5].text for row in block.tables[0].rows] == ["0.9", "–", "0.2"]


@pytest.mark.parametrize(
    ("kind", "value", "interval", "bound"),
    [
        ("rate", Fraction(1), (0.9, 1.0), "0.80"),
        ("coefficient", Fraction(-1, 2), (-0.9, 0.1), "0.75"),
        ("percentile", Fraction(2300), None, "2000"),
        ("mean", Fraction(0), None, "0"),
    ],
)
def test_a_gate_of_any_kind_is_drawn_inside_its_picture(kind: str, value: Fraction, interval: Any, bound: str) -> None:
    outcome = Outcome(Gate.parse(f"m >= {bound}"), Measure("m", kind, value, 5, 5, interval), "PASS", Fraction(bound))
    places = [float(number) for number in re.findall(r' (?:cx|x)="(-?[\d.]+)"', svg.gate_bar(outcome))]
    assert places and all(0 <= place <= 260 for place in places)


def test_what_can_not_be_drawn_is_not_drawn() -> None:
    nothing = Outcome(Gate.parse("m >= 0.5"), Measure("m", "rate", None, 0, 0), "NO-DATA", Fraction(1, 2))
    assert svg.gate_bar(nothing) == ""


# Nothing comes alive


@each
def test_the_page_has_no_element_that_is_not_ours(name: str) -> None:
    read, plain = Reader(page(board(PAYLOADS[name]))), Reader(page(board("harmless")))
    # How many items count against a gate hangs on the payload, which is cited too: links to items are not compared.
    one, other = (
        [at for tag, at in page.elements if tag == "a" and "#item-" not in (at.get("href") or "")]
        for page in (read, plain)
    )
    assert len(one) == len(other)
    for tag in ("script", "img", "iframe", "b", "style", "meta", "link", "object"):
        assert read.count(tag) == plain.count(tag), tag
    names = {key for _, attributes in read.elements for key in attributes}
    assert not any(key.startswith("on") or key == "style" for key in names)
    assert all(
        (attributes["href"] or "").startswith(("#", "data:,"))
        for _, attributes in read.elements
        if "href" in attributes
    )
    policy = next(attributes["content"] or "" for tag, attributes in read.elements if attributes.get("http-equiv"))
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy


@each
def test_the_embedded_data_is_json_and_ends_nowhere_early(name: str) -> None:
    content = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page(decision(PAYLOADS[name])), re.DOTALL
    )
    assert content and "<" not in content[1] and json.loads(content[1])


def test_a_template_in_a_claim_stays_text() -> None:
    assert "{{7*7}}" in Reader(page(decision("{{7*7}}"))).text


def test_controls_and_overrides_are_spelled_out() -> None:
    text = page(board(PAYLOADS["bidi"] + PAYLOADS["control"] + PAYLOADS["c1"] + PAYLOADS["surrogate"]))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", text)
    assert "\\u202e" in text


# Size


def many(count: int) -> Decision:
    items = [gold(f"Q{n:05}", [f"answer {n} of all"]) if n % 4 else unanswerable(f"Q{n:05}") for n in range(count)]
    return evaluate(
        items,
        [
            trace(f"Q{n:05}", f"It is answer {n} of all." if n % 9 else "No idea.") if n % 4 else refusal(f"Q{n:05}")
            for n in range(count)
        ],
    )


def test_four_hundred_items_stay_far_below_the_limit() -> None:
    assert len(page(many(400))) < 400_000


def wordy(count: int) -> Decision:
    """Every item fails, with five long texts of evidence of its own."""
    items = [
        gold(f"Q{n:05}", [f"answer {n} of all"], question=f"What is the answer to number {n}?") for n in range(count)
    ]
    texts = [[{"id": f"d{n}.{k}", "text": f"{n}.{k} " + "long text " * 400} for k in range(5)] for n in range(count)]
    return evaluate(items, [trace(f"Q{n:05}", "No idea. " * 60, evidence=texts[n]) for n in range(count)])


def test_four_hundred_failing_items_with_long_evidence_stay_below_the_limit_and_are_all_there() -> None:
    text = page(wordy(400))
    assert len(text.encode()) < 1_500_000
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])  # type: ignore[index]
    static = [at for tag, at in Reader(text).elements if (at.get("class") or "") == "row card"]
    assert len(static) + len(data["cards"]) == 400 and len(static) == items_of.STATIC_CARDS


# In a browser


class Opened:
    """A page with everything that it complained of, asked for or tried."""

    def __init__(self, browser: Any, file: Path, link: str = "", **context: Any) -> None:
        self.complaints: list[str] = []
        self.page = browser.new_context(**context).new_page()
        self.page.on("console", lambda message: self.complaints.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: self.complaints.append("dialog") or dialog.dismiss())
        self.page.on(
            "request", lambda request: request.url.startswith(("file:", "data:")) or self.complaints.append(request.url)
        )
        self.page.goto(file.as_uri() + link)


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Callable[..., Opened]:
    def show(shown: Decision | Board, link: str = "", **context: Any) -> Opened:
        file = tmp_path / "report.html"
        file.write_bytes(report.render(shown, "html"))
        return Opened(browser, file, link, **context)

    return show


def test_hostile_text_runs_nothing_and_asks_for_nothing(opened: Callable[..., Opened]) -> None:
    shown = Board([decision(text) for text in PAYLOADS.values()])
    for place, part in enumerate(shown.decisions):
        part.suite = f"suite{place}"
    found = opened(shown)
    found.page.wait_for_timeout(200)
    assert found.complaints == []
    text = found.page.locator("body").inner_text()
    assert "<script>alert(1)</script>" in text and "{{7*7}}" in text and "\\x1b[31mred" in text
    assert found.page.locator("script").count() == 2 and found.page.locator("img, iframe").count() == 0


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_axe_finds_nothing_and_the_page_does_not_scroll_sideways(
    opened: Callable[..., Opened], scheme: str, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    shown = Board(
        [decision("A question | with <b>odd</b> text"), many(12)],
        {"latency": "no runs"},
        {},
        ["note"],
        trends={"precision": [{"value": 0.5, "label": "a"}, {"value": 0.75, "label": "b"}]},
    )
    shown.decisions[1].suite = "second"
    shown.decisions[1].sections["risk_coverage"] = [
        {"confidence": 0.9, "answered": 1, "wrong": 0, "coverage": 0.5, "risk": 0.0},
        {"confidence": 0.5, "answered": 2, "wrong": 1, "coverage": 1.0, "risk": 0.5},
    ]
    found = opened(shown, color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True)
    result = Axe().run(found.page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]})
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in result.response["violations"]] == []
    assert found.page.evaluate("document.documentElement.scrollWidth") <= width
    assert found.complaints == []


def test_items_can_be_filtered_sorted_and_paged(opened: Callable[..., Opened]) -> None:
    from playwright.sync_api import expect

    found = opened(many(120))
    where, rows = found.page.locator(".items .where"), found.page.locator(".items tbody tr")
    expect(rows.first).to_be_hidden()
    found.page.get_by_text("Everything else").click()
    expect(where).to_have_text("1 to 25 of 110")
    found.page.locator(".items").get_by_role("button", name="Next").click()
    expect(where).to_have_text("26 to 50 of 110")
    found.page.get_by_role("button", name="qid").click()
    expect(rows.first).to_contain_text("Q00000")
    found.page.get_by_role("button", name="qid").click()
    expect(rows.first).to_contain_text("Q00119")
    expect(found.page.locator("th[aria-sort=descending]")).to_have_text("qid")
    found.page.locator(".items").get_by_label("Filter").fill("q00009")
    expect(where).to_have_text("none")
    found.page.locator(".items").get_by_label("Filter").fill("q00010")
    expect(where).to_have_text("1 to 1 of 1")
    expect(found.page.locator(".card")).to_have_count(10)
    found.page.locator(".explore").get_by_label("Filter").fill("q00009")
    expect(found.page.locator(".card")).to_have_count(1)
    assert found.complaints == []


def test_blanks_of_a_column_come_last_whichever_way_it_is_sorted(opened: Callable[..., Opened]) -> None:
    from playwright.sync_api import expect

    items = [gold(f"Q{n}", cite=[f"d{n}"]) for n in (2, 1, 3)] + [unanswerable("N1"), unanswerable("N2")]
    ranked = [trace(f"Q{n}", cite=[f"d{n}"], found=[*("x0", "x1")[: n - 1], f"d{n}"]) for n in (2, 1, 3)]
    found = opened(evaluate(items, [*ranked, refusal("N1"), refusal("N2")]))
    found.page.get_by_text("Everything else").click()
    found.page.get_by_label("all columns").check()
    column, names = found.page.get_by_role("button", name="recall_rank"), found.page.locator(".items tbody th")
    column.click()
    expect(names).to_have_text(["Q1", "Q2", "Q3", "N1", "N2"])
    column.click()
    expect(names).to_have_text(["Q3", "Q2", "Q1", "N1", "N2"])
    assert found.complaints == []


@pytest.mark.parametrize(("rows", "last"), [(27, "1 to 25 of 25"), (54, "26 to 50 of 50"), (56, "51 to 51 of 51")])
def test_a_page_beyond_the_last_is_the_last(opened: Callable[..., Opened], rows: int, last: str) -> None:
    from playwright.sync_api import expect

    found = opened(many(rows), "#view-items?page=99")
    expect(found.page.locator(".items .where")).to_have_text(last)
    start, _, end, *_ = last.split()
    expect(found.page.locator(".items tbody tr")).to_have_count(int(end) - int(start) + 1)
    expect(found.page.locator(".items .next")).to_be_disabled()
    assert found.complaints == []


def mixed(leaks: int = 24) -> Decision:
    """Twenty-four leaks and eight wrong answers, of two types, and three that pass."""
    items = [
        unanswerable(f"U{n:02}", question=f"Who knows {n}?", type="a" if n >= 24 else "ab"[n % 2]) for n in range(leaks)
    ]
    items += [gold(f"A{n}", question=f"What is {n}?", type="a") for n in range(8)]
    right = [gold(f"P{n}", question=f"What is fine {n}?", type="a") for n in range(3)]
    traces = [trace(item["qid"], "Nobody <b>knows</b>.", ["d1"], ["d1"]) for item in items]
    return evaluate([*items, *right], [*traces, *(trace(item["qid"]) for item in right)], by=["type"])


def test_every_failing_item_can_be_reached_and_filtered_by_reason_slice_and_gate(opened: Callable[..., Opened]) -> None:
    from playwright.sync_api import expect

    found = opened(mixed())
    where, cards_shown = found.page.locator(".explore .where").first, found.page.locator(".card")
    expect(where).to_have_text("1 to 25 of 32")
    found.page.locator(".explore .pages").first.get_by_role("button", name="Next").click()
    expect(where).to_have_text("26 to 32 of 32")
    expect(cards_shown.first).to_contain_text("What is 1?")
    found.page.locator(".explore select.reason").select_option("containment")
    expect(where).to_have_text("1 to 8 of 8")
    found.page.locator(".explore select.slice").select_option("type=b")
    expect(where).to_have_text("none")
    found.page.locator(".explore select.reason").select_option("gate:under_refusal")
    expect(where).to_have_text("1 to 12 of 12")
    assert found.page.evaluate("location.hash") == "#view-offenders?reason=gate%3Aunder_refusal&slice=type%3Db"
    assert found.complaints == []


def test_the_address_keeps_what_was_chosen(opened: Callable[..., Opened]) -> None:
    from playwright.sync_api import expect

    found = opened(mixed(40), "#view-offenders?reason=leak&slice=type%3Da&q=knows&page=2")
    expect(found.page.locator(".explore select.reason")).to_have_value("leak")
    expect(found.page.locator(".explore .where").first).to_have_text("26 to 28 of 28")
    found.page.evaluate("location.hash = 'view-items?q=fine&sort=-0&columns=all'")
    expect(found.page.locator(".items tbody tr").first).to_contain_text("P2")
    expect(found.page.get_by_role("columnheader", name="recall_rank")).to_be_visible()
    found.page.evaluate("location.hash = 'view-items?reason=nothing&sort=99&page=-4'")
    expect(found.page.locator(".items .where")).to_have_text("1 to 3 of 3")
    found.page.get_by_role("link", name="Show failing questions").first.click()
    expect(found.page.locator(".explore select.reason")).to_have_value("gate:under_refusal")
    assert found.complaints == []


def test_the_script_draws_cards_and_tables_as_the_page_does(opened: Callable[..., Opened]) -> None:
    evidence = [{"id": "d1", "text": TABLE}, {"id": "d2", "text": "x " * 400}]
    items = [gold(f"Q{n:02}", ["forty-two days"], question="How <long>?") for n in range(26)]
    traces = [trace(f"Q{n:02}", "No\u202e <i>idea</i>.", ["d1"], ["d1", "d2"], evidence=evidence) for n in range(26)]
    second = evaluate(items, traces)
    second.suite = "second"
    for shown, last in ((evaluate(items, traces), "Q25"), (Board([evaluate(items, traces), second]), "second-Q12")):
        found = opened(shown)
        texts, kinds = [], []
        for name in ("Q00" if last == "Q25" else "second-Q00", last):
            card = found.page.locator(f"#item-{name}")
            found.page.evaluate(f"location.hash = 'item-{name}'")  # the last is on the second page, which is drawn
            card.locator("blockquote").first.wait_for()
            texts.append(card.inner_text().replace(name[-3:], "Q"))
            kinds.append([(tag, at.get("class") or None) for tag, at in Reader(card.inner_html()).elements])
        assert texts[0] == texts[1] and "How <long>?" in texts[0] and "<i>idea</i>" in texts[0]
        assert kinds[0] == kinds[1] and ("table", "grid") in kinds[0]
        assert found.complaints == []


def test_a_link_leads_to_an_item_on_any_page(opened: Callable[..., Opened]) -> None:
    from playwright.sync_api import expect

    found = opened(many(120), "#item-Q00118")
    expect(found.page.locator("tr.here")).to_contain_text("Q00118")
    assert found.page.evaluate("document.activeElement.textContent") == "Q00118"
    found.page.evaluate("location.hash = 'item-Q00009'")  # an offender has a card
    expect(found.page.locator("details#item-Q00009[open]")).to_be_in_viewport()
    found.page.evaluate("location.hash = 'item-%'")
    found.page.evaluate("location.hash = 'item-unknown'")
    assert found.complaints == []


def test_a_link_opens_the_suite_that_it_leads_into(opened: Callable[..., Opened]) -> None:
    from playwright.sync_api import expect

    good, bad = shipping(), small()
    good.suite = "latency"
    found = opened(Board([good, bad]), "#item-latency-A33")
    expect(found.page.locator("tr.here")).to_contain_text("A33")
    found.page.evaluate("location.hash = 'item-answers-Q2'")
    expect(found.page.locator("details#item-answers-Q2[open]")).to_be_in_viewport()
    found.page.locator("#suite-answers a.term").first.click()
    expect(found.page.locator("#term-answers-precision")).to_be_in_viewport()
    assert found.complaints == []


def test_the_page_is_complete_without_script(opened: Callable[..., Opened]) -> None:
    found = opened(many(120), java_script_enabled=False)
    assert found.page.locator(".items tbody tr").count() == items_of.STATIC
    assert found.page.locator(".card").count() == 10 < items_of.STATIC_CARDS
    card = found.page.locator(".card").first
    assert not card.locator("blockquote").is_visible()
    card.locator("summary").click()
    assert card.locator("blockquote").is_visible()
    assert not any(bar.is_visible() for bar in found.page.locator(".controls").all())
    assert found.page.locator("h1").inner_text().endswith(("NO-SHIP", "SHIP"))


def test_it_can_be_used_by_keyboard(opened: Callable[..., Opened]) -> None:
    found = opened(many(120))
    found.page.keyboard.press("Tab")
    assert found.page.evaluate("document.activeElement.className") == "skip"
    found.page.locator(".card summary").first.focus()
    first = found.page.evaluate("document.activeElement.closest('.card').id")
    found.page.keyboard.press("j")
    second = found.page.evaluate("document.activeElement.closest('.card').id")
    found.page.keyboard.press("Enter")
    assert found.page.locator(f"#{second}").evaluate("card => card.open")
    found.page.keyboard.press("k")
    assert first and second and first != second
    assert found.page.evaluate("document.activeElement.closest('.card').id") == first
    found.page.keyboard.press("/")
    found.page.keyboard.type("Q00108 j/k")
    assert found.page.locator(".explore").get_by_label("Filter").input_value() == "Q00108 j/k"


def test_j_and_k_go_over_the_end_of_a_page_and_through_the_table(opened: Callable[..., Opened]) -> None:
    found = opened(mixed())
    for _ in range(26):
        found.page.keyboard.press("j")
    assert found.page.evaluate("document.activeElement.closest('.card').id") == "item-A1"
    for _ in range(2):
        found.page.keyboard.press("k")
    assert found.page.evaluate("document.activeElement.closest('.card').id") == "item-U23"
    found.page.get_by_text("Everything else").click()
    found.page.locator(".items tbody a").first.focus()
    found.page.keyboard.press("j")
    assert found.page.evaluate("document.activeElement.textContent") == "P1"


def test_twenty_thousand_items_are_usable(opened: Callable[..., Opened]) -> None:
    from playwright.sync_api import expect

    shown = many(20_000)
    assert len(report.render(shown, "html")) < 3_000_000
    found = opened(shown, "#item-Q19999")
    expect(found.page.locator("tr.here")).to_contain_text("Q19999")
    found.page.locator(".items").get_by_label("Filter").fill("q0123")
    expect(found.page.locator(".items .where")).to_have_text("1 to 9 of 9")
    found.page.locator(".explore").get_by_label("Filter").fill("q0123")
    expect(found.page.locator(".card")).to_have_count(1)
    found.page.evaluate("location.hash = 'item-Q19989'")  # the last failing one, on the last page of cards
    expect(found.page.locator("details#item-Q19989[open]")).to_be_in_viewport()
    assert found.complaints == []


def test_printing_shows_no_controls(opened: Callable[..., Opened]) -> None:
    found = opened(mixed())
    found.page.emulate_media(media="print")
    assert not any(bar.is_visible() for bar in found.page.locator(".controls, .top, .else, #glossary").all())
    found.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert found.page.locator(".card[open]").count() == 10 == found.page.locator(".card").count()
    found.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert found.page.locator(".card").count() == 25 and found.page.locator(".card[open]").count() == 0
    assert found.page.pdf()[:4] == b"%PDF"


def test_stability_shows_the_answers_that_differ_side_by_side() -> None:
    found = small()
    runs = ("6 of 8 runs (seed=0;j=none)", "2 of 8 runs (seed=0;j=ws)")
    told = f"{runs[0]}: It takes 30 days | or more. | {runs[1]}: It takes 60 days | or more."
    found.cards = [{"qid": "Q2", "reason": "acr", "says": "over 8 runs", "claim": told}]
    (card,) = cards.failing_cards(found, "")
    assert card.claim is None
    assert tuple(label for label, _ in card.answers) == runs
    assert "It takes <mark>60</mark> days | or more." in page(found)
    found.cards[0]["claim"] = "Only 6 of 8 runs (a): are told"
    assert cards.failing_cards(found, "")[0].answers == []


def test_a_broken_board_is_short(opened: Callable[..., Opened]) -> None:
    """Three suites that fail, each for 60 questions: what fails and why fits a few screens."""
    suites = []
    for name in ("answers", "stability", "agreement"):
        suite = mixed(60)
        suite.suite = name
        suites.append(suite)
    for width, most in ((1280, 6000), (390, 12_000)):
        found = opened(Board(suites), viewport={"width": width, "height": 900})
        assert found.page.evaluate("document.documentElement.scrollHeight") <= most
        rows = found.page.locator(".card > summary")
        heights = {round(row.bounding_box()["height"]) for row in rows.all()[:10]}  # type: ignore[index]
        assert max(heights) <= (44 if width == 1280 else 70)


def test_a_board_has_one_list_of_failing_questions_that_names_the_suite_of_each(opened: Callable[..., Opened]) -> None:
    from playwright.sync_api import expect

    first, second, third = mixed(), small(), shipping()
    second.suite, third.suite = "stability", "latency"
    found = opened(Board([third, first, second]))
    assert found.page.locator("#offenders").count() == 1 and found.page.locator(".explore").count() == 1
    rows = found.page.locator(".card > summary")
    named = [row.locator("strong, .of").all_inner_texts() for row in rows.all()]
    assert named[:3] == [["Q2", "stability"], ["U00", "answers"], ["U01", "answers"]]  # the worst of each comes first
    expect(found.page.locator(".explore .where").first).to_have_text(
        "1 to 25 of 34"
    )  # also the one that latency lets pass
    found.page.locator(".explore select.of-suite").select_option("stability")
    expect(rows).to_have_count(1)
    found.page.locator("a.show[href*=answers]").first.click()
    expect(found.page.locator(".explore select.of-suite")).to_have_value("answers")
    expect(found.page.locator(".explore .where").first).to_have_text("1 to 24 of 24")
    assert found.complaints == []


def test_what_fails_in_several_suites_stands_together(opened: Callable[..., Opened]) -> None:
    one, two = mixed(3), mixed(3)
    two.suite = "stability"
    two.cards = list(reversed(two.cards))
    names = [
        row.locator("strong, .of").all_inner_texts()
        for row in opened(Board([one, two])).page.locator("summary:has(.of)").all()
    ]
    questions = [name for name, _ in names]
    assert len(names) == 22 and questions[::2] == questions[1::2]
    assert [suite for _, suite in names] == ["answers", "stability"] * 11
