"""The first screen: failing questions by name, one cause once, plain words, and `explain` for every short name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Cli, gold, refusal, trace, unanswerable, write_lines
from shipworthy.glossary import find_reasons, reasons
from shipworthy.suites.answers.judge import SEVERITY
from shipworthy.suites.reasoning.suite import FAILURES
from shipworthy.suites.retrieval import judge as retrieval

CONFIG = """
[suites.answers]
gold = "gold.jsonl"
trace = "trace.jsonl"
[suites.latency]
gold = "gold.jsonl"
trace = "trace.jsonl"
[history]
url = "history.db"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SHIPWORTHY_HISTORY", raising=False)
    (tmp_path / "shipworthy.toml").write_text(CONFIG)
    items = [gold(f"Q{n:02d}") for n in range(1, 26)] + [unanswerable(f"U{n}") for n in range(5)]
    write_lines(tmp_path / "gold.jsonl", items)
    yield tmp_path


def answers(folder: Path, *wrong: str) -> None:
    """Traces of every question, right but for those named."""
    lines = [trace(f"Q{n:02d}") for n in range(1, 26)] + [refusal(f"U{n}") for n in range(5)]
    for line in lines:
        if line["qid"] in wrong:
            line["answer_json"]["claim"] = "Something else."
    write_lines(folder / "trace.jsonl", [line | {"latency_ms": 100} for line in lines])


def one_line(text: str) -> str:
    return " ".join(text.split())


def blessed(cli: Cli) -> None:
    assert cli("check", "--label", "first").code == 0
    runs = [line.split()[1] for line in cli("history", "list").out.splitlines() if "SHIP" in line]
    assert len(runs) == 2
    for run in runs:
        assert cli("baseline", "bless", "main", run, "--by", "Ada", "--reason", "released").code == 0


def test_ship_names_the_questions_that_fail_within_the_gates(cli: Cli, folder: Path) -> None:
    answers(folder, "Q01", "Q03")
    scored = cli("score", "--gold", "gold.jsonl", "--trace", "trace.jsonl")
    assert scored.code == 0 and "2 questions fail within the gates: Q01, Q03" in scored.out
    checked = cli("check", "--comment", "comment.md", "-o", "report.md", "-o", "report.html", "-o", "report.xml")
    assert checked.code == 0
    assert checked.out.count("2 questions fail within the gates: Q01, Q03 (answers, latency)") == 1  # of two suites
    for name in ("report.html", "report.xml"):
        assert "2 questions fail within the gates: Q01, Q03" in (folder / name).read_text("utf-8")
    for name in ("report.md", "comment.md"):
        assert "2 questions fail within the gates: `Q01`, `Q03`" in (folder / name).read_text("utf-8")
    assert "2 questions fail within the gates: Q01, Q03" in cli("check", "--format", "github").out


def test_nothing_is_said_where_no_question_fails(cli: Cli, folder: Path) -> None:
    answers(folder)
    assert "within the gates" not in cli("check").out
    answers(folder, "Q25")
    assert "1 question passed in the run before and fails now: Q25" in cli("check").out
    answers(folder, "Q24", "Q25")
    ran = cli("check")  # history has a run that failed so already
    assert "1 question passed in the run before and fails now: Q24" in ran.out
    assert "1 question fails within the gates: Q25" in ran.out


def test_questions_lost_and_gained_come_first_and_a_drop_that_may_be_chance_says_so(cli: Cli, folder: Path) -> None:
    answers(folder, "Q03")
    blessed(cli)
    answers(folder, "Q07", "Q12")
    ran = cli("check", "--baseline", "main", "--comment", "comment.md", "-o", "report.md", "-o", "report.json")
    assert ran.code == 1
    said = one_line(ran.out)
    sentence = (
        "correct and cited (precision) is 4.0 points worse than main (2.0 allowed). "
        "Could be chance: 2 lost, 1 gained. Look at Q07, Q12"
    )
    assert said.count(sentence) == 1
    lost = "2 questions passed before and fail now: Q07, Q12 (answers, latency)"
    gained = "1 question failed before and passes now: Q03 (answers, latency)"
    assert said.count(lost) == said.count(gained) == 1 and "within the gates" not in said
    assert said.index(lost) < said.index("5/5 gates")
    for name in ("comment.md", "report.md"):
        text = (folder / name).read_text("utf-8")
        assert text.index("fail now: `Q07`, `Q12`") < text.index("points worse than main")
        assert text.count("fail now") == 1
    assert json.loads((folder / "report.json").read_text())["changes"]["answers"]["lost"] == ["Q07", "Q12"]
    notes = cli("check", "--baseline", "main", "--format", "github").out.splitlines()
    assert "fail now" in notes[0] and sum("points worse than main" in line for line in notes) == 1


def test_a_drop_beyond_chance_is_not_called_chance(cli: Cli, folder: Path) -> None:
    answers(folder)
    blessed(cli)
    answers(folder, *(f"Q{n:02d}" for n in range(1, 11)))
    said = one_line(cli("check", "--baseline", "main").out)
    assert "More than chance: 10 lost, 0 gained" in said and "Could be chance" not in said


def test_where_every_request_failed_the_reason_is_the_headline(cli: Cli, folder: Path) -> None:
    error = 'http-401: HTTP 401: {"detail":"invalid key, or none"}'
    names = [f"Q{n:02d}" for n in range(1, 26)] + [f"U{n}" for n in range(5)]
    write_lines(folder / "trace.jsonl", [{"qid": name, "error": error} for name in names])
    ran = cli("check", "--comment", "comment.md")
    assert ran.code == 3 and "allow-missing" not in ran.out
    said = one_line(ran.out)
    assert said.startswith(
        "NO VERDICT answers, latency: 30 of 30 questions could not be judged: every run failed: HTTP"
    )
    assert said.count("invalid key, or none") == 1 and "has no value" not in said and "Failing items" not in said
    comment = (folder / "comment.md").read_text("utf-8")
    assert "**answers, latency**: NO VERDICT" in comment and comment.count("invalid key, or none") == 1
    scored = cli("score", "--gold", "gold.jsonl", "--trace", "trace.jsonl")
    assert scored.code == 3 and "allow-missing" not in scored.out and "has no value" not in scored.out
    write_lines(folder / "trace.jsonl", [trace("Q01"), *({"qid": name, "error": error} for name in names[1:])])
    most = cli("score", "--gold", "gold.jsonl", "--trace", "trace.jsonl")
    assert most.code in (1, 3) and "--allow-missing 29" in one_line(most.out)


def test_of_several_causes_the_commonest_is_told_whatever_the_order(cli: Cli, folder: Path) -> None:
    names = [f"Q{n:02d}" for n in range(1, 26)] + [f"U{n}" for n in range(5)]
    lines = [{"qid": name, "error": "timeout" if n % 3 else "http-500: HTTP 500"} for n, name in enumerate(names)]
    for order in (lines, lines[::-1]):
        write_lines(folder / "trace.jsonl", order)
        said = one_line(cli("score", "--gold", "gold.jsonl", "--trace", "trace.jsonl").out)
        assert "every run failed, for 2 reasons, such as: timeout. Fix them" in said


def test_the_board_speaks_plainly_with_the_short_name_in_brackets(cli: Cli, folder: Path) -> None:
    answers(folder, *(f"Q{n:02d}" for n in range(1, 11)), "U0")
    said = one_line(cli("score", "--gold", "gold.jsonl", "--trace", "trace.jsonl").out)
    for name in (
        "correct and cited (precision) >= 0.80",
        "answered when it should refuse (under_refusal) <= 0.05",
        "cited right (chr) ",
        "refused when it should answer (over_refusal) ",
        "Q01 wrong answer (containment) the answer does not contain the expected text",
        "U0 answered an unanswerable question (leak)",
    ):
        assert name in said, name


def test_explain_knows_every_reason_by_both_of_its_names(cli: Cli) -> None:
    for name in (*SEVERITY, *retrieval.SEVERITY, "acr", "slow", "disagreement", "flagged-agreement", "unaccepted"):
        (reason, *_) = find_reasons(name)
        for spelled in (name, reason.words.plain):
            ran = cli("explain", spelled)
            assert ran.code == 0 and reason.title in ran.out and reason.words.definition in ran.out
    for name in FAILURES:
        assert cli("explain", name).code == 0, name
    assert len({(one.name, one.suites) for one in reasons()}) == len(reasons())
    assert "cited right (chr): a metric" in cli("explain", "cited right").out


def test_where_gives_a_verdict_of_what_applies_and_an_unknown_field_lists_those_there_are(
    cli: Cli, folder: Path
) -> None:
    answers(folder)
    items = [gold("Q01", tier="smoke", kind="table"), unanswerable("U0", tier="full")]
    write_lines(folder / "gold.jsonl", items)
    write_lines(folder / "trace.jsonl", [trace("Q01"), refusal("U0")])
    call = ("score", "--gold", "gold.jsonl", "--trace", "trace.jsonl", "--where")
    ran = cli(*call, "answerable=false")
    assert ran.code == 0 and ran.out.startswith("SHIP  a subset: answerable=false, 1 of 2 questions")
    write_lines(folder / "trace.jsonl", [trace("Q01"), trace("U0")])
    assert cli(*call, "answerable=false").code == 1  # an answer there is still a leak
    assert "its fields are: answerable, kind, tier" in cli(*call, "tyer=smoke").err
    assert "The gold set has tier: full, smoke" in cli(*call, "tier=nightly").err


def test_gold_diff_shows_what_changed_in_an_item(cli: Cli, folder: Path) -> None:
    write_lines(folder / "new.jsonl", [gold("Q01", ["quite another text"]), *(gold(f"Q{n:02d}") for n in range(2, 26))])
    ran = cli("gold", "diff", "gold.jsonl", "new.jsonl")
    lines = ran.out.splitlines()
    place = lines.index("changed  Q01")
    assert ran.code == 1 and "gold_claim_substr: " in lines[place + 1] and "quite another text" in lines[place + 1]
    assert "removed  U4" in lines


def test_retrieval_is_not_blamed_where_all_runs_cite_the_same(cli: Cli, folder: Path) -> None:
    write_lines(folder / "gold.jsonl", [gold("Q01")])
    claims = [trace("Q01")["answer_json"]["claim"], "Something else."]
    runs = [trace("Q01", claims[seed % 2]) | {"seed": seed, "jitter": "none"} for seed in range(4)]
    write_lines(folder / "runs.jsonl", runs)
    said = one_line(cli("stability", "score", "--gold", "gold.jsonl", "--runs", "runs.jsonl").out)
    assert "although all runs cite the same sources" in said and "retrieval is unstable" not in said
    for run in runs[1::2]:
        run["answer_json"]["citations"], run["retrieved_ids"] = ["other"], ["other"]
    write_lines(folder / "runs.jsonl", runs)
    said = one_line(cli("stability", "score", "--gold", "gold.jsonl", "--runs", "runs.jsonl").out)
    assert "retrieval is unstable" in said and "although all runs cite" not in said


def test_a_warning_and_gold_lint_say_the_same_of_the_refusal_token(cli: Cli, folder: Path) -> None:
    for text, told in (("no", False), ("not in context", True)):
        write_lines(folder / "gold.jsonl", [gold("Q01", [text], match="any")])
        write_lines(folder / "trace.jsonl", [trace("Q01", "No, it does not.")])
        scored = cli("score", "--gold", "gold.jsonl", "--trace", "trace.jsonl")
        linted = cli("gold", "lint", "gold.jsonl")
        assert ("refusal token" in scored.out, "refusal token" in linted.out) == (told, told), text


def test_a_metric_of_the_config_names_its_failing_items(cli: Cli, folder: Path) -> None:
    items = [gold(f"Q{n}") for n in range(4)]
    write_lines(folder / "gold.jsonl", items)
    scores = [trace(f"Q{n}") | {"scores": {"tone": 0.9 if n % 2 else 0.1}} for n in range(4)]
    write_lines(folder / "trace.jsonl", scores)
    (folder / "shipworthy.toml").write_text(
        '[metrics.tone]\nfrom = "scores.tone"\nat_least = 0.5\nsource = "code"\n'
        '[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\ngates = ["tone >= 0.9"]\n'
    )
    ran = cli("check", "--no-record")
    assert ran.code == 1 and "tone fails for 2 items: Q0, Q2." in ran.out
