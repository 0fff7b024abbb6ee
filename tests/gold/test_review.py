"""Review: what a decision writes, that none is lost, and the page in a real browser."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, write_lines
from shipworthy.core.sources import read_gold
from shipworthy.gold import review as review_module
from shipworthy.gold.build import build
from shipworthy.gold.review import Refused, Review, record_path
from shipworthy.reading.lock import rows_of

PAGE = """# Fees

## Pump rental

A pump can be rented for 30 euros a day. The deposit is 200 euros for each pump.

## Opening hours

The workshop opens at 07:30 on working days and stays open until late.

## Repairs

A repair takes at most 12 days, and spare parts are kept for 9 years 😀 after a model ends.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "fees.md").write_text(PAGE, "utf-8")
    write_lines(tmp_path / "draft.jsonl", build(docs, count=20))
    return tmp_path


def opened(folder: Path, reviewer: str = "Ada", **more: Any) -> Review:
    return Review(folder / "draft.jsonl", folder / "gold.jsonl", docs=folder / "docs", reviewer=reviewer, **more)


def accept_next(review: Review, question: str = "") -> str:
    qid = review.waiting()[0]
    review.decide(qid, "accept", question=question or f"What about {qid}?")
    return qid


def marked(review: Review, words: str) -> dict[str, Any]:
    """A selection of these words, as the page would send it."""
    text = review.documents.by_name["fees.md"].text
    start = text.index(words)
    return {"id": "fees.md", "doc": "fees.md", "offset": 0, "text": text, "start": start, "end": start + len(words)}


def test_accepting_writes_an_item_that_can_be_scored_by(folder: Path) -> None:
    review = opened(folder)
    qid = accept_next(review, "How much is the deposit for a pump?")
    (item,) = read_gold(folder / "gold.jsonl")
    assert item.qid == qid and item.answerable and item.reviewed_by == "Ada" and item.provenance == "built"
    assert item.anchor and item.substrings[0] in item.anchor.text and item.citations == ["fees.md"]
    assert not any("draft" in row for _, row in rows_of(folder / "gold.jsonl"))


def test_a_selection_is_expected_text_citation_and_place_in_one(folder: Path) -> None:
    review = opened(folder)
    qid = review.waiting()[0]
    review.decide(qid, "accept", question="How long are parts kept?", selection=marked(review, " 9 years 😀 "))
    (item,) = read_gold(folder / "gold.jsonl")
    assert item.substrings == ["9 years 😀"] and item.citations == ["fees.md"]
    assert (
        item.anchor.text
        == "A repair takes at most 12 days, and spare parts are kept for 9 years 😀 after a model ends."
    )
    assert PAGE[item.anchor.start : item.anchor.end] == item.anchor.text


def test_a_selection_over_two_sentences_has_a_place_that_covers_both(folder: Path) -> None:
    review = opened(folder)
    review.decide(review.waiting()[0], "accept", question="What?", selection=marked(review, "a day. The deposit"))
    (item,) = read_gold(folder / "gold.jsonl")
    assert item.anchor.text.startswith("A pump can") and item.anchor.text.endswith("for each pump.")


def test_what_can_not_be_decided_is_refused_in_words(folder: Path) -> None:
    review = opened(folder)
    qid = review.waiting()[0]
    with pytest.raises(Refused, match="Word the question"):
        review.decide(qid, "accept", question="  ")
    blank = marked(review, "\n\n")
    with pytest.raises(Refused, match="blank"):
        review.decide(qid, "accept", question="Q?", selection=blank)
    with pytest.raises(Refused, match="one text"):
        review.decide(qid, "accept", question="Q?", selection=blank | {"end": 10**9})
    assert not (folder / "gold.jsonl").exists() and not os.path.exists(record_path(folder / "gold.jsonl"))


def test_unanswerable_drop_later_and_undo(folder: Path) -> None:
    review = opened(folder)
    first, second, third = review.waiting()[:3]
    review.decide(first, "unanswerable", question="Who owns it?")
    review.decide(second, "drop")
    review.decide(third, "later")
    assert review.waiting()[-1] == third, "what was put off comes last"
    (item,) = read_gold(folder / "gold.jsonl")
    assert item.answerable is False and not item.substrings and item.anchor is None
    assert review.undo() == third and review.undo() == second and review.undo() == first and review.undo() == ""
    assert review.waiting()[:3] == [first, second, third] and (folder / "gold.jsonl").read_bytes() == b""


def test_reopening_goes_on_where_it_stopped(folder: Path) -> None:
    qid = accept_next(opened(folder))
    again = opened(folder)
    assert qid not in again.waiting() and again.progress()["done"] == 1
    assert again.undo() == qid, "a decision of yesterday can be taken back too"


def test_lines_that_somebody_wrote_by_hand_stay_as_they_are(folder: Path) -> None:
    mine = '{ "qid": "own",  "question": "Mine?", "answerable": false }'
    (folder / "gold.jsonl").write_text(mine)
    review = opened(folder)
    accept_next(review)
    review.undo()
    accept_next(review)
    lines = (folder / "gold.jsonl").read_text("utf-8").splitlines()
    assert lines[0] == mine and len(lines) == 2


def test_two_reviewers_share_a_draft_and_can_be_compared(folder: Path, cli: Cli) -> None:
    ada, ben = opened(folder, "Ada"), opened(folder, "Ben")
    first, second = accept_next(ada), accept_next(ada)
    ben.next()
    assert ben.waiting()[-2:] == [first, second], "what nobody judged comes first"
    ben.decide(first, "accept", question="Other words?")
    ben.decide(second, "drop")
    items = {item.qid: item for item in read_gold(folder / "gold.jsonl")}
    assert items[first].question != "Other words?" and items[first].reviewed_by == "Ada", "the first keeps the item"
    assert ada.next() and ada.differing() == [second]
    out = folder / "ratings.jsonl"
    ran = cli("gold", "review", folder / "draft.jsonl", "--out", folder / "gold.jsonl", "--ratings", out)
    assert ran.code == 0 and f"judged differently: {second}" in ran.out
    ran = cli("agreement", "raters", "--ratings", out, "--json")
    assert ran.code in (0, 1, 3) and '"error"' not in ran.out[:200], ran.err


def test_the_systems_answer_is_hidden_and_an_item_says_that_it_was_seen(tmp_path: Path) -> None:
    draft = {"qid": "t1", "question": "How long?", "draft": {"answer": "It is 30 days.", "cited": ["d1"]}}
    draft["draft"]["retrieved"] = [{"id": "d1", "text": "The period is 30 days."}]
    review = Review(write_lines(tmp_path / "d.jsonl", [draft]), tmp_path / "gold.jsonl", reviewer="Ada")
    assert "It is 30 days" not in json.dumps(review.next())
    assert review.show_answer("t1")["answer"] == "It is 30 days."
    picked = {"id": "d1", "text": "The period is 30 days.", "start": 14, "end": 21}
    review.decide("t1", "accept", question="How long?", selection=picked)
    (item,) = read_gold(tmp_path / "gold.jsonl")
    assert item.substrings == ["30 days"] and item.citations == ["d1"] and "saw the system's answer" in item.notes


def test_what_lint_would_say_is_said_at_once(folder: Path) -> None:
    review = opened(folder)
    assert any("itself contains" in text for text in review.lint("x", "Is it 30 euros?", "30 euros"))
    accept_next(review, "How much does a pump cost a day?")
    assert any("nearly the same" in text for text in review.lint("x", "How much does a pump cost a day", "30 euros"))
    assert review.lint("x", "Something quite different?", "30 euros") == []


def test_lint_and_reports_count_what_people_reviewed(folder: Path, cli: Cli) -> None:
    review = opened(folder)
    qids = [accept_next(review, f"Which one of them is {name}?") for name in ("a cat", "the river bank")]
    with open(folder / "gold.jsonl", "a") as stream:
        stream.write('{"qid": "own", "question": "Mine?", "answerable": false}\n')
    assert "2 of 3 questions reviewed by a person (2 built)" in cli("gold", "lint", folder / "gold.jsonl").out
    runs = [{"qid": qid, "retrieved_ids": [], "answer_json": {"claim": "x", "citations": []}} for qid in (*qids, "own")]
    traces = write_lines(folder / "trace.jsonl", runs)
    assert (
        "2 of 3 questions reviewed by a person" in cli("score", "--gold", folder / "gold.jsonl", "--trace", traces).out
    )


def test_progress_counts_what_the_gates_need(folder: Path) -> None:
    review = opened(folder, gates=["under_refusal=0.05"])
    review.decide(review.waiting()[0], "unanswerable", question="Who?")
    now = review.progress()
    assert {"kind": "unanswerable", "have": 1, "need": 59, "gates": ["under_refusal <= 0.05"]} in now["enough"]


# Nothing is lost


def test_a_torn_line_of_the_record_is_left_out_and_the_rest_stays(folder: Path) -> None:
    review = opened(folder)
    first = accept_next(review)
    with open(record_path(folder / "gold.jsonl"), "ab") as stream:
        stream.write(b'{"qid": "torn", "label": "answ')
    again = opened(folder)
    second = accept_next(again)
    assert {item.qid for item in read_gold(folder / "gold.jsonl")} == {first, second}
    assert opened(folder).progress()["done"] == 2


def test_a_server_that_died_between_record_and_gold_completes_the_item(folder: Path) -> None:
    qid = accept_next(opened(folder))
    (folder / "gold.jsonl").write_bytes(b"")
    opened(folder)
    assert [item.qid for item in read_gold(folder / "gold.jsonl")] == [qid]


def test_a_draft_edited_by_hand_under_review(folder: Path) -> None:
    review = opened(folder)
    first = accept_next(review)
    lines = (folder / "draft.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines if json.loads(line)["qid"] != first]
    rows[0]["question"] = "Worded by hand?"
    write_lines(folder / "draft.jsonl", rows)
    assert review.next()["item"]["question"] == "Worded by hand?"
    (folder / "draft.jsonl").write_text("{ no json")
    shown = review.next()
    assert shown["item"]["question"] == "Worded by hand?" and "draft.jsonl:1" in shown["message"]


def test_a_document_that_changed_under_review_is_shown_anew(folder: Path) -> None:
    review = opened(folder)
    (qid,) = [one for one, item in review.items.items() if item.get("gold_claim_substr") == ["30 euros"]]
    old = marked(review, "30 euros")
    (folder / "docs" / "fees.md").write_text(PAGE.replace("30 euros", "3000 euros"), "utf-8")
    for _ in range(2):  # the second time it is the selection that does not fit
        with pytest.raises(Refused, match="shown anew"):
            review.decide(qid, "accept", question="How much?", selection=old)
    with pytest.raises(Refused, match="Select the text"):
        review.decide(qid, "accept", question="How much?")  # what the draft expects is no longer there
    assert not (folder / "gold.jsonl").exists()
    shown = review.view(qid)
    assert "3000 euros" in shown["texts"][0]["text"] and shown["texts"][0]["mark"] is None
    other = next(one for one in review.waiting() if one != qid)
    review.decide(other, "accept", question="How long?")
    (item,) = read_gold(folder / "gold.jsonl")
    text = (folder / "docs" / "fees.md").read_text("utf-8")
    assert text[item.anchor.start : item.anchor.end] == item.anchor.text, "what moved is written with its new place"


@pytest.mark.parametrize(
    "lines", ["", "[]", '{"question": "no qid"}', '{"qid": "a"}\n{"qid": "a"}', '{"qid": "a", "anchor": 3}', "\x00"]
)
def test_a_draft_that_is_none_is_named(tmp_path: Path, cli: Cli, lines: str) -> None:
    (tmp_path / "draft.jsonl").write_text(lines)
    ran = cli("gold", "review", tmp_path / "draft.jsonl", "--out", tmp_path / "g.jsonl", "--no-browser")
    assert ran.code == 3 and "[draft-line]" in ran.err


def test_work_for_an_item_does_not_grow_with_the_draft(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    template = json.loads((folder / "draft.jsonl").read_text("utf-8").splitlines()[0])
    write_lines(folder / "draft.jsonl", [template | {"qid": f"q{n}"} for n in range(5000)])
    review = opened(folder)
    calls = {"read": 0, "view": 0}
    reading, viewing = review_module.read_draft, Review.view
    monkeypatch.setattr(review_module, "read_draft", lambda path: calls.update(read=calls["read"] + 1) or reading(path))
    monkeypatch.setattr(Review, "view", lambda self, qid: calls.update(view=calls["view"] + 1) or viewing(self, qid))
    for _ in range(5):
        accept_next(review)
        assert len(json.dumps(review.next())) < 20_000
    assert calls == {"read": 0, "view": 5}


# The server and the page


@contextmanager
def server(folder: Path, *more: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "shipworthy", "gold", "review", "draft.jsonl", "--docs", "docs"]
    command += ["--out", "gold.jsonl", "--no-browser", "--reviewer", "Ada", *more]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = next(match[1] for line in process.stdout if (match := re.search(r"^Open (\S+)", line)))
        yield address, process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(20)
        process.stdout.close()


def ask(address: str, path: str, body: object = None, **headers: str) -> tuple[int, dict[str, Any]]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, {"content-type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, {}


def test_killed_at_every_decision_it_loses_none(folder: Path) -> None:
    total, told = len((folder / "draft.jsonl").read_text("utf-8").splitlines()), []
    for number in range(total):
        with server(folder) as (address, process):
            _, shown = ask(address, "next")
            qid = shown["item"]["qid"]
            body = {"qid": qid, "decision": "accept", "question": f"Question {qid}?"}
            if number % 2:  # killed while it decides: what was told to be saved is saved, anything else comes again
                killer = threading.Timer(0.002 * number, process.kill)
                killer.start()
                try:
                    status, _ = ask(address, "decide", body)
                except (OSError, http.client.HTTPException):  # before the answer, or between its head and its body
                    status = 0
                killer.join()
            else:
                status, _ = ask(address, "decide", body)
                process.kill()
            told += [qid] if status == 200 else []
            process.wait(20)
        assert set(told) <= {item.qid for item in read_gold(folder / "gold.jsonl")} if told else True
    assert len(told) >= total / 2
    read_gold(folder / "gold.jsonl")  # every line of it is whole


def test_only_this_address_with_its_token_answers(folder: Path) -> None:
    with server(folder) as (address, _):
        base = address.rsplit("/", 2)[0]
        assert ask(base, "/next")[0] == 404 and ask(base, "/wrong/next")[0] == 404 and ask(base, "/")[0] == 404
        assert ask(address, "next", Host="evil.example:80")[0] == 404
        assert ask(address, "next")[0] == 200
        assert ask(address, "decide", {"qid": "nowhere", "decision": "accept"})[0] == 409
        assert ask(address, "decide", {"qid": [], "decision": "x"})[0] == 400
        assert ask(address, "../../etc/passwd")[0] == 404
        with urllib.request.urlopen(address, timeout=20) as response:
            policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[[str], Any]]:
    contexts = []

    def visiting(address: str) -> Any:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        contexts.append(context)
        page = context.new_page()
        page.complaints, page.asked = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: page.complaints.append("dialog"))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(address)
        page.wait_for_selector("#texts h2")
        return page

    yield visiting
    for context in contexts:
        context.close()


def test_a_reviewer_at_the_keyboard_needs_few_actions(folder: Path, visit: Callable[[str], Any]) -> None:
    from playwright.sync_api import expect

    with server(folder) as (address, _):
        page = visit(address)
        total = len((folder / "draft.jsonl").read_text("utf-8").splitlines())
        most = 0
        for number in range(total):
            actions = 0
            if not page.locator("#question").input_value():
                page.keyboard.press("e")
                page.keyboard.type(f"Which value number {number} {chr(97 + number) * 12} is meant?")
                page.keyboard.press("Enter")
                actions += 2
            page.keyboard.press("a")
            most = max(most, actions + 1)
            expect(page.locator("#progress")).to_contain_text(f"{number + 1} of {total} reviewed")
        assert most <= 8
        expect(page.locator("#done")).to_be_visible()
        assert page.complaints == [] and all(url.startswith(address) for url in page.asked)
    assert len(read_gold(folder / "gold.jsonl")) == total


def test_a_browser_that_crashes_at_every_decision_loses_none(folder: Path, visit: Callable[[str], Any]) -> None:
    from playwright.sync_api import Error, expect

    total = len((folder / "draft.jsonl").read_text("utf-8").splitlines())
    with server(folder) as (address, _):
        for number in range(total):
            page = visit(address)
            expect(page.locator("#progress")).to_contain_text(f"{number} of {total} reviewed")
            if not page.locator("#question").input_value():
                page.keyboard.press("e")
                page.keyboard.type(f"Which value number {number} {chr(97 + number) * 12} is meant?")
                page.keyboard.press("Enter")
            page.keyboard.press("a")
            expect(page.locator("#progress")).to_contain_text(f"{number + 1} of {total} reviewed")
            with pytest.raises(Error):
                page.goto("chrome://crash")
    assert len(read_gold(folder / "gold.jsonl")) == total


def test_marking_with_mouse_and_arrows_and_taking_back(folder: Path, visit: Callable[[str], Any]) -> None:
    from playwright.sync_api import expect

    with server(folder) as (address, _):
        page = visit(address)
        expected = page.locator("#expected")
        page.keyboard.press("/")
        page.keyboard.type("repair spare parts")
        page.keyboard.press("Enter")
        expect(page.locator("#texts h2").first).to_contain_text("Repairs")
        word = page.locator("#texts pre").first
        box = page.evaluate(
            """() => { const node = document.querySelector('#texts pre').firstChild.firstChild;
                const at = node.data.indexOf('12 days'), range = document.createRange();
                range.setStart(node, at); range.setEnd(node, at + 7);
                const r = range.getBoundingClientRect(); return [r.left, r.right, r.top + r.height / 2]; }"""
        )
        page.mouse.move(box[0] + 1, box[2])
        page.mouse.down()
        page.mouse.move(box[1] - 1, box[2])
        page.mouse.up()
        expect(expected).to_have_text("12 days")
        page.keyboard.press("ArrowRight")
        expect(expected).to_have_text("and")
        for _ in range(6):
            page.keyboard.press("ArrowRight")
        for _ in range(2):
            page.keyboard.press("Shift+ArrowRight")
        expect(expected).to_have_text("9 years 😀")
        page.keyboard.press("e")
        page.keyboard.type("How long are spare parts kept?")
        page.keyboard.press("Enter")
        page.keyboard.press("a")
        expect(page.locator("#progress")).to_contain_text("1 of")
        (item,) = read_gold(folder / "gold.jsonl")
        assert item.substrings == ["9 years 😀"] and PAGE[item.anchor.start : item.anchor.end] == item.anchor.text
        page.keyboard.press("z")
        expect(page.locator("#progress")).to_contain_text("0 of")
        assert word is not None and (folder / "gold.jsonl").read_bytes() == b""


def test_a_selection_across_two_texts_is_not_taken(folder: Path, visit: Callable[[str], Any]) -> None:
    from playwright.sync_api import expect

    with server(folder) as (address, _):
        page = visit(address)
        page.keyboard.press("/")
        page.keyboard.type("pump repair workshop days")
        page.keyboard.press("Enter")
        expect(page.locator("#texts pre")).to_have_count(3)
        page.evaluate(
            """() => { const all = document.querySelectorAll('#texts pre'), range = document.createRange();
                range.setStart(all[0].firstChild.firstChild, 3); range.setEnd(all[1].firstChild.firstChild, 5);
                getSelection().removeAllRanges(); getSelection().addRange(range);
                document.dispatchEvent(new MouseEvent('mouseup')); }"""
        )
        expect(page.locator("#message")).to_contain_text("within one text")


HOSTILE = """# <script>window.hit = 1</script>

<img src=x onerror="window.hit = 1"> costs 30 euros a day in every season of the year.

<style>body { display: none }</style> The [fee](javascript:window.hit=1) is 40 euros for </pre></body> everyone here.
"""


def test_a_hostile_document_is_only_text(tmp_path: Path, visit: Callable[[str], Any]) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a<b>.md").write_text(HOSTILE)
    bad = '"><script>window.hit=1</script>'
    shown = dict.fromkeys(("hint", "kind", "stratum", "answer"), bad) | {"retrieved": [{"id": bad, "text": HOSTILE}]}
    rows = [{"qid": f"q{bad}{n}", "question": bad, "draft": shown} for n in range(2)]
    write_lines(tmp_path / "draft.jsonl", rows)
    with server(tmp_path) as (address, _):
        page = visit(address)
        page.keyboard.press("h")
        page.wait_for_selector("#answer:not([hidden])")
        assert "window.hit" in page.inner_text("#texts") and "<script>" in page.inner_text("#answer")
        assert page.evaluate("window.hit") is None and page.locator("#texts img, #texts script, #texts a").count() == 0
        assert page.complaints == [] and all(url.startswith(address) for url in page.asked)


def test_the_page_is_accessible_in_both_schemes(folder: Path, browser: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with server(folder) as (address, _):
        for scheme, width in (("light", 1280), ("dark", 390)):
            context = browser.new_context(
                color_scheme=scheme, viewport={"width": width, "height": 844}, bypass_csp=True
            )
            page = context.new_page()
            page.goto(address)
            page.wait_for_selector("#texts h2")
            found = Axe().run(page).response["violations"]
            assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            context.close()


def test_a_server_that_is_gone_is_said_and_the_wording_stays(folder: Path, visit: Callable[[str], Any]) -> None:
    from playwright.sync_api import expect

    with server(folder) as (address, process):
        page = visit(address)
        page.keyboard.press("e")
        page.keyboard.type("A long wording?")
        page.keyboard.press("Enter")
        process.kill()
        process.wait(20)
        page.keyboard.press("a")
        expect(page.locator("#message")).to_contain_text("not saved")
        assert page.locator("#question").input_value().endswith("A long wording?")
