"""`shipworthy site`: pages as files. What they say, that they are the same each time, and whose folder they may use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest
from pages_reader import Reader
from planting import BREAKS, BROKEN, COIN, NIGHTS, commit, known, plant, report, sealed

from conftest import Cli
from counting import calls
from report_helpers import PAYLOADS
from shipworthy.history import History
from shipworthy.history.flaky import flaky
from shipworthy.pages.addresses import name_of, part
from shipworthy.pages.site import MANIFEST, write_site

BRANCH = "p/acme~2Fqa/main"


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> str:
    return plant(str(tmp_path_factory.mktemp("planted") / "history.db"))


@pytest.fixture(scope="module")
def site(planted: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "public"
    write_site(planted, out)
    return out


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def data(site: Path, path: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((site / path).read_bytes())
    return found


# What it says


def test_the_break_is_found_within_one_click(site: Path) -> None:
    overview = Reader((site / BRANCH / "index.html").read_text())
    assert (
        f"{BROKEN} What is the limit of plan 7? wrong answer (containment) night-{BREAKS} {commit(BREAKS)[:8]}"
        in overview.words
    )
    (link,) = (href for href, text in overview.links if text == BROKEN and "items/" in href)
    question = Reader((site / BRANCH / link).read_text())
    assert f"Fails since night-{BREAKS} {commit(BREAKS)[:8]} change {BREAKS}" in question.words
    assert f"Last passed in night-{BREAKS - 1} {commit(BREAKS - 1)[:8]}" in question.words
    assert f"git log --oneline {commit(BREAKS - 1)[:8]}..{commit(BREAKS)[:8]}" in question.words
    assert "It is 7 dollars a year" in question.words and "It is 700 dollars a month" in question.words


def test_a_coin_is_flaky_and_neither_the_break_nor_an_outage_is(site: Path) -> None:
    found = data(site, f"{BRANCH}/items/index.json")
    changing = [row["qid"] for row in found["items"] if row["flaky"]]  # type: ignore[union-attr]
    assert changing == [COIN]
    assert [row["qid"] for row in found["items"] if row["failing"]][:1] in ([BROKEN], [COIN])  # type: ignore[union-attr]


def test_pages_and_the_command_call_the_same_questions_flaky(tmp_path: Path) -> None:
    """Three small outages of a tenth of the questions: none of these is flaky, and the one that is a coin is."""
    url = str(tmp_path / "history.db")
    history = History(url)
    for night in range(1, 25):
        down = night in (5, 11, 17)
        body = report(
            night,
            questions=40,
            failing=lambda number, at, down=down: (down and number < 4) or (number == 9 and at % 6 == 2),
        )
        history.record(body, **known(night))
    write_site(url, tmp_path / "public")
    items = data(tmp_path / "public", f"{BRANCH}/items/index.json")["items"]
    shown = [row["qid"] for row in items if row["flaky"]]  # type: ignore[union-attr]
    assert shown == [one.qid for one in flaky(history).items] == ["Q09"]


def test_the_work_for_a_question_does_not_grow_with_their_number(tmp_path: Path) -> None:
    def work(questions: int) -> float:
        url = str(tmp_path / f"{questions}.db")
        for night in (1, 2, 3):
            body = report(night, questions=questions, failing=lambda number, at: number % 9 == at)
            History(url).record(body, **known(night))
        return calls(write_site, url, tmp_path / str(questions)) / questions

    assert work(400) < 1.3 * work(100)


def test_runs_name_what_is_new_and_what_was_repaired(site: Path) -> None:
    checks = [
        check
        for page in ("index", "page-2")
        for check in data(site, f"{BRANCH}/runs/{page}.json")["checks"]  # type: ignore[union-attr]
    ]
    assert len(checks) == NIGHTS and checks[0]["runs"][0]["label"] == f"night-{NIGHTS}"
    broke = next(check for check in checks if check["runs"][0]["label"] == f"night-{BREAKS}")
    assert BROKEN in broke["new"]["answers"]
    ended = next(check for check in checks if check["runs"][0]["label"] == "night-50")
    assert {"Q00", "Q03", "Q21"} <= set(ended["repaired"]["answers"])


def run_page(site: Path, night: int) -> Reader:
    (folder,) = (
        site / BRANCH / "runs" / path.parent.name
        for path in (site / BRANCH / "runs").glob("*/index.json")
        if json.loads(path.read_bytes())["label"] == f"night-{night}"
    )
    return Reader((folder / "index.html").read_text())


def test_a_run_is_its_report_with_links_to_what_is_beside_it(site: Path) -> None:
    page = run_page(site, BREAKS)
    assert f"commit {commit(BREAKS)[:12]} time 2026-02-04 02:30 label night-{BREAKS}" in page.words
    assert f"Compared with night-{BREAKS - 1}: 1 new {BROKEN}" in page.words
    assert f"{BROKEN} What is the limit of plan 7? new wrong answer (containment)" in page.words
    assert "It is 7 dollars a year" in page.words and "correct and cited (precision) >= 0.80" in page.words
    links = {text: href for href, text in page.links}
    assert links[f"{BROKEN} over time"].endswith(f"items/answers/{BROKEN}/index.html")
    assert links["correct and cited (precision) >= 0.80"].endswith("gates/answers.precision/index.html")
    assert "night-31" in run_page(site, BREAKS + 1).words.partition("Failing questions")[2]


def test_the_report_of_a_run_has_what_its_file_has(tmp_path: Path) -> None:
    """A real decision: gates with intervals, the picture that explains a failing one, every failing question."""
    from conftest import gold, trace, unanswerable
    from shipworthy import evaluate
    from shipworthy.report import render

    wanted = [*(gold(f"Q{n}", question=f"What is {n}?", type="ab"[n % 2]) for n in range(20)), unanswerable("U1")]
    given = [trace(f"Q{n}", "No." if n < 15 else "It is the right answer.") for n in range(20)]
    decision = evaluate(wanted, [*given, trace("U1", "It is so.")], by=["type"])
    decision.run = {}
    history = History(tmp_path / "history.db")
    history.record(decision.report(), **known(1))
    write_site(history.url, tmp_path / "site")
    page, whole = run_page(tmp_path / "site", 1), Reader(render(decision, "html").decode())

    def told(words: str) -> str:
        return words.partition("Gates State")[2].partition("Failing questions")[0]

    assert told(page.words) == told(whole.words) != "" and "Answered or refused" in told(page.words)
    pictures = [[given.get("aria-label") for tag, given in one.tags if tag == "svg"] for one in (page, whole)]
    assert pictures[0] == pictures[1] and len(pictures[0]) >= 3
    listed = [[given.get("id") for _, given in one.tags if given.get("class") == "row card"] for one in (page, whole)]
    assert listed[0] == listed[1] and len(listed[0]) == 16
    assert "n/a: " in page.words and "None" not in page.words


def test_a_report_of_another_shape_is_shown_as_far_as_it_can_be(tmp_path: Path) -> None:
    """Reports of earlier versions, or of whoever may upload: every part may be anything."""
    odd: list[object] = [None, 5, "text", [1, "x", None, [2]], {"a": 1}, [{"gate": 3}], 1e308, True, {"x": {"y": [1]}}]
    history = History(tmp_path / "history.db")
    parts = ("reasons", "incomplete", "counts", "named", "diagnosis", "offenders", "options", "warnings")
    sections = ("refusals", "risk_coverage", "turns", "partial")
    for place, value in enumerate(odd):
        body = report(1, questions=3, failing=lambda number, at: number == 1)
        del body["digest"]
        body |= dict.fromkeys((*parts, *sections), value) | {"place": place}
        body["metrics"] |= {"chr": {"kind": "rate", "value": value, "n": 10**30, "numerator": 10**29, "unit": value}}
        gate = {"gate": f"chr >= 0.{place}", "state": "FAIL", "holds": False, "says": value, "waived": value}
        body["outcomes"] += [gate | {"severity": value, "bound": value, "turn": value, "more_best": value}]
        odd_offender = {"qid": "Q01", "says": value, "evidence": value, "gold_found": value, "citations": value}
        body["offenders"] = [odd_offender] if place % 2 else body["offenders"]
        history.record(sealed(body), **known(place + 1))
    write_site(history.url, tmp_path / "site")
    for place in range(len(odd)):
        page = run_page(tmp_path / "site", place + 1)
        assert "precision" in page.words and "What is the limit of plan 1?" in page.words


def test_two_runs_are_compared_with_their_answers_side_by_side(site: Path) -> None:
    names = {
        check["runs"][0]["label"]: check["runs"][0]["id"][:12]
        for check in data(site, f"{BRANCH}/runs/index.json")["checks"]
    }  # type: ignore[union-attr]
    folder = site / BRANCH / "compare" / f"{names['night-30']}..{names['night-31']}"
    found = Reader((folder / "index.html").read_text())
    assert [word for word in found.words.partition("plan 7?")[2].split() if word not in ("night-30", "night-31")][
        :12
    ] == ["It", "is", "700", "dollars", "a", "month", "It", "is", "7", "dollars", "a", "year"]
    assert BROKEN in data(site, str((folder / "index.json").relative_to(site)))["lost"]  # type: ignore[operator]


def test_a_gate_tells_its_values_thresholds_and_health(site: Path) -> None:
    found = data(site, f"{BRANCH}/gates/answers.precision/index.json")
    assert found["runs"] == NIGHTS and found["held"] == NIGHTS - 6
    assert found["points"][0]["bound"] == 0.8  # type: ignore[index]
    assert (
        f"It passed in {NIGHTS - 6} of {NIGHTS} runs."
        in Reader((site / BRANCH / "gates/answers.precision/index.html").read_text()).words
    )


def test_the_feed_has_each_change_of_the_verdict(site: Path) -> None:
    feed = ElementTree.parse(site / BRANCH / "feed.xml").getroot()
    names = {"a": "http://www.w3.org/2005/Atom"}
    titles = [entry.findtext("a:title", namespaces=names) for entry in feed.findall("a:entry", names)]
    assert [title.split(":")[0] for title in titles if title] == ["NO-SHIP → SHIP", "SHIP → NO-SHIP", "SHIP"]
    link = feed.find("a:entry/a:link", names)
    assert link is not None and (site / BRANCH / link.attrib["href"]).exists()


def test_versions_of_the_gold_set_say_what_was_added(tmp_path: Path) -> None:
    history = History(tmp_path / "history.db")
    for night, questions in ((1, 5), (2, 5), (3, 7)):
        gold = {"gold": {"sha256": str(questions) * 64, "records": questions}}
        history.record(report(night, questions=questions, inputs=gold), **known(night, gold_release=f"r{questions}"))
    write_site(history.url, tmp_path / "site")
    (new, old) = data(tmp_path / "site", f"{BRANCH}/gold/index.json")["suites"]["answers"]  # type: ignore[index]
    assert (new["release"], new["count"], new["added"]) == ("r7", 1, ["Q05", "Q06"]) and old["count"] == 2


def test_every_link_leads_to_a_page_and_every_page_has_its_json(site: Path) -> None:
    pages = set(site.rglob("*.html"))
    reached, waiting = set[Path](), [site / "index.html"]
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        if path.suffix != ".html":
            continue
        assert json.loads(path.with_suffix(".json").read_bytes())["shipworthy_page"] == 1
        for href, _ in Reader(path.read_text()).links:
            address = urlsplit(href)
            if address.scheme or not address.path:
                continue
            target = Path(os.path.normpath(path.parent / unquote(address.path)))
            assert target.is_file() and site in target.parents, (path, href)
            waiting.append(target)
    assert pages <= reached


def test_no_page_is_large(site: Path) -> None:
    assert max(len(data) for data in content(site).values()) <= 300_000


def test_no_text_makes_a_page_large(tmp_path: Path) -> None:
    history = History(tmp_path / "history.db")
    for night in (1, 2, 3):
        body = report(night, questions=150, failing=lambda number, at: (number + at) % 2 == 0)
        del body["digest"]
        for number, row in enumerate(body["items"]):
            row |= {
                "qid": f"{'<&' * 150}{number}",
                "question": "<" * 3000,
                "claim": f"{night}{'&ü' * 4000}",
                "slices": ["'" * 300],
            }
        body |= {"reasons": ["<" * 3000] * 60, "diagnosis": ["&" * 3000] * 60}
        history.record(sealed(body), **known(night, subject="<" * 400, label="&" * 300, branch="main"))
    write_site(history.url, tmp_path / "site")
    sizes = {path: path.stat().st_size for path in (tmp_path / "site").rglob("*.html")}
    assert len(sizes) > 150 and max(sizes.values()) <= 300_000, max(sizes, key=lambda path: sizes[path])


# The same each time


def test_the_same_history_gives_the_same_bytes_and_nothing_is_written_twice(
    planted: str, site: Path, tmp_path: Path
) -> None:
    assert write_site(planted, tmp_path / "other").changed > 0
    assert content(tmp_path / "other") == content(site)
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*.html")}
    again = write_site(planted, site)
    assert (again.changed, again.removed) == (0, 0)
    assert {path: path.stat().st_mtime_ns for path in site.rglob("*.html")} == before


def test_a_new_run_changes_what_it_must_and_a_site_made_at_once_is_the_same(tmp_path: Path) -> None:
    url = plant(str(tmp_path / "history.db"), range(1, 6))
    write_site(url, tmp_path / "grown")
    History(url).record(report(6), **known(6))
    grown = write_site(url, tmp_path / "grown")
    write_site(url, tmp_path / "at-once")
    assert content(tmp_path / "grown") == content(tmp_path / "at-once")
    assert grown.changed < grown.files


def test_pages_of_runs_that_are_gone_go_too(tmp_path: Path) -> None:
    url = plant(str(tmp_path / "history.db"), range(1, 6))
    write_site(url, tmp_path / "site")
    History(url).prune(keep=2)
    assert write_site(url, tmp_path / "site").removed > 0
    write_site(url, tmp_path / "at-once")
    assert content(tmp_path / "site") == content(tmp_path / "at-once")


def test_redacted_pages_have_no_answer(planted: str, tmp_path: Path) -> None:
    write_site(planted, tmp_path / "whole")
    write_site(planted, tmp_path / "whole", redact=True)
    write_site(planted, tmp_path / "redacted", redact=True)
    assert content(tmp_path / "whole") == content(tmp_path / "redacted")
    everything = b"".join(content(tmp_path / "redacted").values())
    assert b"dollars a" not in everything and b"What is the limit of plan 7?" in everything


# Whose folder


def test_a_folder_that_is_not_ours_is_left_alone(cli: Cli, planted: str, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("mine")
    ran = cli("site", "-o", tmp_path / "mine", "--history", planted)
    assert ran.code == 2 and "holds files that are not a site of ours" in ran.err and "site-folder" in ran.err
    assert content(tmp_path / "mine") == {"index.html": b"mine"}


def test_a_manifest_that_somebody_edited_removes_nothing_of_theirs(planted: str, tmp_path: Path) -> None:
    (tmp_path / "kept.html").write_text("mine")
    out = tmp_path / "site"
    write_site(planted, out)
    found = json.loads((out / MANIFEST).read_text())
    found["pages"]["x"] = {"from": "", "files": {"../kept.html": 4}}
    (out / MANIFEST).write_text(json.dumps(found))
    with pytest.raises(Exception, match="not a site of ours"):
        write_site(planted, out)
    assert (tmp_path / "kept.html").read_text() == "mine"


def test_two_at_once_get_a_clear_message(cli: Cli, planted: str, tmp_path: Path) -> None:
    from shipworthy.runner.journal import held

    write_site(planted, tmp_path / "site")
    with held(tmp_path / "site" / ".shipworthy-site.lock", "another `shipworthy site` is writing it"):
        ran = cli("site", "-o", tmp_path / "site", "--history", planted)
    assert ran.code == 4 and "another `shipworthy site` is writing it" in ran.err


def test_it_warns_that_pages_show_texts_and_names_the_first_page(cli: Cli, planted: str, tmp_path: Path) -> None:
    ran = cli("site", "-o", tmp_path / "public", "--history", planted)
    assert ran.code == 0 and f"{tmp_path / 'public'}/index.html" in ran.out
    assert "publish them only where everybody may read" in ran.err


def test_a_history_that_is_not_there_makes_no_site(cli: Cli, tmp_path: Path) -> None:
    ran = cli("site", "-o", tmp_path / "public", "--history", tmp_path / "history.db")
    assert ran.code == 2 and "there is no history yet" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_added_to_the_database_of_another_program(cli: Cli, tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
    before = (tmp_path / "other.db").read_bytes()
    ran = cli("site", "-o", tmp_path / "public", "--history", tmp_path / "other.db")
    assert ran.code == 4 and "history-foreign" in ran.err and not (tmp_path / "public").exists()
    assert (tmp_path / "other.db").read_bytes() == before
    assert cli("history", "list", "--history", tmp_path / "other.db").code == 4
    assert (tmp_path / "other.db").read_bytes() == before


def test_a_site_that_is_killed_is_made_whole_by_the_next(planted: str, site: Path, tmp_path: Path) -> None:
    from waiting import wait_until

    out = tmp_path / "site"
    code = f"from shipworthy.pages.site import write_site; write_site({planted!r}, {str(out)!r})"
    killed = subprocess.Popen([sys.executable, "-c", code])
    wait_until(lambda: len(list(out.rglob("*.html"))) > 5 or killed.poll() is not None)
    killed.kill()
    killed.wait()
    for path in out.rglob("*.html"):
        assert path.read_bytes().rstrip().endswith(b"</html>")
    write_site(planted, out)
    assert content(out) == content(site)


# Addresses


@pytest.mark.parametrize(
    "name", [*PAYLOADS.values(), "Q07", "", ".", "..", "a/b", "~", "a~41", "x" * 400, "ä" * 90, "CON"]
)
def test_any_name_is_a_part_of_an_address_that_stays_in_its_folder(name: str) -> None:
    found = part(name)
    assert found and set(found) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
    assert found not in (".", "..") and not found.startswith(".") and len(found) <= 100
    assert "~~" in found or name_of(found) == name


def test_no_two_names_share_an_address() -> None:
    names = {
        *PAYLOADS.values(),
        "a/b",
        "a~2Fb",
        "a~b",
        "",
        "~",
        "x" * 300,
        "x" * 301,
        *(chr(number) for number in range(1, 900)),
    }
    assert len({part(name) for name in names}) == len(names)
