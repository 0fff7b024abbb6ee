"""Custom metrics: scores in traces and Python functions as gated, sliced and compared as any built-in metric."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, gold, refusal, trace, unanswerable, write_lines
from shipworthy import DataError, UsageError, check, compare, evaluate, verify
from shipworthy.config import load_config
from shipworthy.history import History

ITEMS = [*(gold(f"A{i}", type="table" if i < 3 else "text") for i in range(6)), unanswerable("U1")]
FAITHFUL = {"from": "scores.faithfulness", "at_least": 0.7, "source": "code"}


def scored(qid: str, score: Any = 0.9, **more: Any) -> dict[str, Any]:
    return trace(qid, scores={"faithfulness": score}, **more)


def run_of(*scores: Any) -> list[dict[str, Any]]:
    return [*(scored(f"A{i}", score) for i, score in enumerate(scores)), refusal("U1")]


GOOD = run_of(0.9, 0.7, 0.95, 0.8, 1, 0.71)


def judged(traces: list[dict[str, Any]], table: dict[str, Any] | None = None, **more: Any) -> Any:
    return evaluate(ITEMS, traces, custom_metrics={"faithful": table or FAITHFUL}, **more)


def config(folder: Path, metrics: str, gates: str = '["faithful >= 0.9"]', rest: str = "") -> Path:
    path = folder / "shipworthy.toml"
    path.write_text(
        '[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\nby = ["type"]\n'
        f"gates = {gates}\n{metrics}\n{rest}"
    )
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_lines(tmp_path / "gold.jsonl", ITEMS)
    write_lines(tmp_path / "trace.jsonl", GOOD)
    return tmp_path


TABLE = '[metrics.faithful]\nfrom = "scores.faithfulness"\nat_least = 0.7\nsource = "code"\n'


# --- a fact: a rate with interval and proof ---


def test_a_score_with_a_bar_is_a_rate_that_is_gated(project: Path, cli: Cli) -> None:
    config(project, TABLE)
    ran = cli("check", "--config", project / "shipworthy.toml", "--no-record", "--json")
    report = ran.json["suites"]["answers"]
    measure = report["metrics"]["faithful"]
    assert (measure["kind"], measure["numerator"], measure["denominator"]) == ("rate", 6, 6)
    assert measure["interval95"][1] == 1 and ran.code == 0
    assert next(one for one in report["outcomes"] if one["metric"] == "faithful")["state"] == "PASS-BUT-UNPROVEN"
    write_lines(project / "trace.jsonl", run_of(0.9, 0.69, 0.95, 0.8, 1, 0.71))
    ran = cli("check", "--config", project / "shipworthy.toml", "--no-record", "--json")
    report = ran.json["suites"]["answers"]
    assert ran.code == 1 and "faithful is 5 of 6; at least 0.90 is needed" in report["reasons"][0]
    assert report["named"]["faithful"] == ["A1"]
    assert [row["faithful"] for row in report["items"]] == [True, False, True, True, True, True, None]


def test_the_bar_is_exactly_what_was_written() -> None:
    assert judged(run_of(0.7, 0.7, 0.7, 0.7, 0.7, 0.7)).measures["faithful"].k == 6
    assert judged(run_of(0.6999999, 0.7, 0.7, 0.7, 0.7, 0.7)).measures["faithful"].k == 5
    at_most = {"from": "scores.faithfulness", "at_most": 0.7}
    assert judged(run_of(0.7, 0.7, 0.7000001, 0.1, 0, 1), at_most).measures["faithful"].k == 4


def test_sliced_and_gated_by_slice() -> None:
    decision = judged(run_of(0.1, 0.9, 0.9, 0.9, 0.9, 0.9), gates=["faithful[type=table] >= 0.9"], by=["type"])
    assert decision.slices["type=table"]["faithful"].k == 2 and decision.slices["type=text"]["faithful"].k == 3
    assert not decision.ships and "faithful with type=table is 2 of 3" in decision.reasons[0]


@pytest.mark.parametrize(
    ("among", "n"), [("answered", 6), ("shipped", 6), ("correct", 5), ("answerable", 6), ("refused", 1), ("items", 7)]
)
def test_among(among: str, n: int) -> None:
    traces = [scored("A0", claim="wrong"), *(scored(f"A{i}") for i in range(1, 6))]
    traces.append({**refusal("U1"), "scores": {"faithfulness": 1}})
    assert judged(traces, FAITHFUL | {"among": among}).measures["faithful"].n == n


def test_booleans_texts_and_a_lower_direction() -> None:
    plain = {"from": "scores.faithfulness", "source": "code"}
    assert str(judged(run_of(True, True, False, True, True, True), plain).measures["faithful"]) == "5/6 (0.833)"
    worded = plain | {"equals": ["pass", "good"]}
    assert judged(run_of("pass", "good", "fail", "pass", "pass", "Pass"), worded).measures["faithful"].k == 4
    toxic = plain | {"at_least": 0.5, "better": "lower"}
    decision = judged(run_of(0.9, 0, 0, 0, 0, 0), toxic, gates=["faithful <= 0.1"])
    assert not decision.ships and "faithful is 1 of 6; at most 0.10 is allowed" in decision.reasons[0]
    with pytest.raises(UsageError, match="points the wrong way"):
        judged(GOOD, toxic, gates=["faithful >= 0.1"])


# --- a mean ---


def test_numbers_without_a_bar_are_a_mean_that_limits_can_prove() -> None:
    limits = {"from": "scores.faithfulness", "low": 0, "high": 1, "source": "human"}
    measure = judged(run_of(0.5, 0.5, 0.5, 0.5, 1, 0), limits).measures["faithful"]
    assert (measure.kind, float(measure.value), measure.n) == ("mean", 0.5, 6)
    many = [gold(f"B{i}") for i in range(400)]
    decision = evaluate(
        many,
        [scored(item["qid"], 0.95) for item in many],
        custom_metrics={"faithful": limits},
        gates=["faithful >= 0.8"],
    )
    assert [one.state for one in decision.outcomes if one.gate.metric == "faithful"] == ["PASS"]
    free = judged(GOOD, {"from": "scores.faithfulness", "source": "human"}).measures["faithful"]
    assert free.bounds == (None, None)


# --- missing values never leave silently ---

LACKING = [*run_of(0.9, 0.9, 0.9, 0.9, 0.9)[:-1], trace("A5"), refusal("U1")]


def test_missing_is_no_data_unless_the_config_says_otherwise() -> None:
    decision = judged(LACKING, gates=["faithful >= 0.9"])
    assert decision.verdict == "NO VERDICT" and decision.exit_code == 3
    assert "scores.faithfulness is missing for 1 of 7 questions, and faithful needs it: A5." in decision.reasons[0]
    null = judged([*LACKING[:-2], scored("A5", None), refusal("U1")], gates=["faithful >= 0.9"])
    assert null.verdict == "NO VERDICT"


def test_missing_as_failing_and_left_out_say_so() -> None:
    failing = judged(LACKING, FAITHFUL | {"missing": "fail"}, gates=["faithful >= 0.9"])
    assert failing.verdict == "NO-SHIP" and str(failing.measures["faithful"]) == "5/6 (0.833)"
    assert "faithful: 1 item among answered without the score faithfulness count as failing" in failing.warnings
    left = judged(LACKING, FAITHFUL | {"missing": "leave-out"}, gates=["faithful >= 0.9"])
    assert left.ships and left.measures["faithful"].n == 5
    assert any("are left out" in note for note in left.warnings)
    mean = {"from": "scores.faithfulness", "source": "code", "missing": "fail", "low": 0, "high": 1}
    assert float(judged(LACKING, mean).measures["faithful"].value) == 0.75
    with pytest.raises(UsageError, match="Set low and high"):
        judged(LACKING, {"from": "scores.faithfulness", "missing": "fail"})


def test_a_run_that_is_missing_or_failed_lacks_its_score_too() -> None:
    traces = [*GOOD[:5], {"qid": "A5", "error": "timeout"}, refusal("U1")]
    decision = judged(traces, FAITHFUL | {"among": "answerable"}, allow_missing=1, gates=["missing <= 1"])
    assert decision.measures["faithful"].value is None and decision.measures["faithful"].n == 6


# --- a judge's score needs a calibration to block ---

JUDGE = {"from": "scores.faithfulness", "at_least": 0.7}
BAD = run_of(0.1, 0.1, 0.1, 0.9, 0.9, 0.9)


def labels(path: Path, right: int, wrong: int) -> Path:
    rows = [{"qid": f"L{i}", "label": bool(i % 2), "score": 0.9 if i % 2 else 0.2} for i in range(right)]
    rows += [{"qid": f"W{i}", "label": bool(i % 2), "score": 0.2 if i % 2 else 0.9} for i in range(wrong)]
    return write_lines(path, rows)


def test_a_judge_without_calibration_only_warns_whatever_the_config_says(project: Path) -> None:
    decision = judged(BAD, JUDGE, gates=["faithful >= 0.9"])
    assert decision.ships
    assert "faithful: a judge's score can only warn: it has no calibration" in decision.warnings
    write_lines(project / "trace.jsonl", BAD)
    blocking = '[{ gate = "faithful >= 0.9", severity = "block" }]'
    board = check(config(project, TABLE.replace('source = "code"\n', ""), blocking), record=False)
    assert board.verdict == "SHIP"
    (outcome,) = [one for one in board.decisions[0].outcomes if one.gate.metric == "faithful"]
    assert outcome.gate.severity == "warn" and outcome.capped


def test_traces_say_who_scored() -> None:
    for who, ships in (("HUMAN", False), ("CODE", False), ("LLM", True)):
        traces = [{**one, "score_sources": {"faithfulness": who}} for one in BAD]
        assert judged(traces, JUDGE, gates=["faithful >= 0.9"]).ships is ships


def test_a_calibration_that_passes_lets_the_score_block(tmp_path: Path) -> None:
    path = labels(tmp_path / "labels.jsonl", 38, 2)
    table = JUDGE | {"calibration": {"labels": str(path), "at_least": 0.6}}
    decision = judged(BAD, table, gates=["faithful >= 0.9"])
    assert decision.verdict == "NO-SHIP"
    block = decision.sections["calibration"]["faithful"]
    assert (block["kappa"], block["n"], block["passes"]) == (0.9, 40, True) and block["interval95"][0] < 0.9
    labels(path, 26, 14)
    decision = judged(BAD, table, gates=["faithful >= 0.9"])
    assert decision.ships and "its kappa with people is 0.300 (n = 40), below 0.6" in " ".join(decision.warnings)
    labels(path, 10, 0)
    assert "has 10 labels of the 20 that it takes" in " ".join(judged(BAD, table, gates=["faithful >= 0.9"]).warnings)


def test_labels_without_a_score_are_held_against_this_run(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "l.jsonl", [{"qid": f"A{i}", "label": i > 2} for i in range(6)] + [{"qid": "X", "label": True}]
    )
    table = JUDGE | {"calibration": {"labels": str(path), "items": 6}}
    block = judged(BAD, table, gates=["faithful >= 0.9"]).sections["calibration"]["faithful"]
    assert (block["kappa"], block["n"], block["unused_labels"]) == (1.0, 6, 1)
    write_lines(path, [{"qid": "A1", "label": True}, {"qid": "A1", "label": False}])
    with pytest.raises(DataError, match="a second label"):
        judged(BAD, table)


# --- functions ---

CHECKS = """
import helper

def no_pii(gold, trace):
    claim = trace["answer_json"]["claim"]
    trace["answer_json"]["claim"] = "changed"
    gold["gold_claim_substr"] = []
    return helper.MARK not in claim

def length(gold, trace):
    return len(trace["answer_json"]["claim"])

def nothing(gold, trace):
    return None

def fails(gold, trace):
    return gold["absent"]

def odd(gold, trace):
    return "yes"

calls = []
def unstable(gold, trace):
    calls.append(1)
    return len(calls) % 2 == 0
"""


@pytest.fixture
def checks(project: Path) -> Path:
    (project / "checks.py").write_text(CHECKS)
    (project / "helper.py").write_text("MARK = '@'\n")
    return project


def py(folder: Path, name: str, **more: Any) -> Any:
    table = {"py": f"checks:{name}", "folder": str(folder), **more}
    return evaluate(ITEMS, GOOD, custom_metrics={"mine": table}, gates=more.pop("gates", []))


def test_a_function_is_a_metric_with_the_digest_of_its_source(checks: Path, cli: Cli) -> None:
    config(checks, '[metrics.no_pii]\npy = "checks:no_pii"\n', '["no_pii >= 1"]')
    assert cli("check", "--config", checks / "shipworthy.toml", "--no-record").code == 0
    write_lines(checks / "trace.jsonl", [trace("A0", "The right answer: mail a@b.c"), *GOOD[1:]])
    ran = cli("check", "--config", checks / "shipworthy.toml", "--no-record", "--json")
    report = ran.json["suites"]["answers"]
    assert ran.code == 1 and report["named"]["no_pii"] == ["A0"] and report["metrics"]["precision"]["value"] == 1
    first = report["options"]["custom_metrics"]["no_pii"]["source_sha256"]
    assert report["inputs"]["py no_pii"]["sha256"] == first
    assert str(checks) not in json.dumps({**report, "run": {}})
    (checks / "checks.py").write_text(CHECKS + "# another\n")
    again = check(checks / "shipworthy.toml", record=False).decisions[0].report()
    assert again["options"]["custom_metrics"]["no_pii"]["source_sha256"] != first


def test_what_a_function_gives(checks: Path) -> None:
    assert py(checks, "length").measures["mine"].kind == "mean"
    assert py(checks, "length", at_most=30).measures["mine"].k == 6
    assert "6 of 6 items among answered lack the value" in py(checks, "nothing").measures["mine"].missing
    for name, code, words in (
        ("fails", "metric-failed", "KeyError"),
        ("odd", "metric-value", "is not a number|gave 'yes'"),
        ("unstable", "metric-unstable", "gave False and then True"),
    ):
        with pytest.raises(DataError, match=words) as error:
            py(checks, name)
        assert error.value.code == code
    for place in ("checks:absent", "nowhere:at_all", "sys:exit", "os.path:join.x"):
        with pytest.raises(UsageError):
            evaluate(ITEMS, GOOD, custom_metrics={"mine": {"py": place, "folder": str(checks)}})


def test_two_projects_with_a_module_of_one_name(checks: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "checks.py").write_text("def no_pii(gold, trace):\n    return False\n")
    assert py(checks, "no_pii").measures["mine"].k == 6
    assert py(other, "no_pii").measures["mine"].k == 0
    assert py(checks, "no_pii").measures["mine"].k == 6


def test_a_report_never_makes_verify_run_code(checks: Path, cli: Cli) -> None:
    marker = checks / "ran"
    config(checks, '[metrics.no_pii]\npy = "checks:no_pii"\n', '["no_pii >= 1"]')
    board = check(checks / "shipworthy.toml", record=False)
    path = checks / "report.json"
    path.write_text(json.dumps(board.report()))
    (checks / "checks.py").write_text(f"open({str(marker)!r}, 'w')\n{CHECKS}")
    (receipt,) = verify(path)
    assert not receipt.agrees and "receipt-trust" in receipt.differences[0] and not marker.exists()
    (checks / "checks.py").write_text(CHECKS)
    assert cli("verify", path, "--trust").code == 0


def test_a_report_of_scores_is_verified_and_labels_elsewhere_are_not_read(project: Path, tmp_path: Path) -> None:
    labels(project / "labels.jsonl", 40, 0)
    table = TABLE + '[metrics.faithful.calibration]\nlabels = "labels.jsonl"\n'
    report = check(config(project, table), record=False).report()
    path = project / "report.json"
    path.write_text(json.dumps(report))
    assert all(one.agrees for one in verify(path))
    options = report["suites"]["answers"]["run"]["call"]["options"]
    options["custom_metrics"]["faithful"]["calibration"]["labels"] = "/etc/hostname"
    path.write_text(json.dumps(report))
    assert "receipt-trust" in verify(path)[0].differences[0]


# --- compared, kept, shown, controlled ---


def test_compared_item_by_item_and_other_bars_are_not(project: Path) -> None:
    base = judged(GOOD).report()
    head = judged(run_of(0.1, 0.2, 0.95, 0.8, 1, 0.71)).report()
    (change,) = [one for one in compare(base, head).changes if one.metric == "faithful"]
    assert change.answer == "regressed" and sorted(change.lost) == ["A0", "A1"]
    other = judged(GOOD, FAITHFUL | {"at_least": 0.5}).report()
    with pytest.raises(DataError, match="different options"):
        compare(base, other, rescore=False)


def test_kept_in_history_and_shown_by_every_report(project: Path, cli: Cli) -> None:
    path = config(project, TABLE)
    outputs = [project / name for name in ("r.html", "r.md", "r.tsv", "r.xml", "r.prom")]
    flags = [part for one in outputs for part in ("-o", one)]
    ran = cli("check", "--config", path, *flags)
    assert ran.code == 0 and "faithful" in ran.out
    assert all("faithful" in one.read_text() for one in outputs)
    (point,) = History(load_config(path).history_url()).trend("faithful")
    assert (point.num, point.den) == (6, 6)


def test_controls_leave_the_metrics_of_the_config_out(project: Path, cli: Cli) -> None:
    path = config(project, TABLE, rest="[controls]\nrun = true\n")
    assert cli("check", "--config", path, "--no-record").code == 0


def test_score_takes_the_metrics_of_a_file(project: Path, cli: Cli) -> None:
    path = config(project, TABLE)
    call = ("score", "--gold", project / "gold.jsonl", "--trace", project / "trace.jsonl", "--custom-metrics", path)
    ran = cli(*call, "--gates", "faithful=0.9", "--json")
    assert ran.code == 0 and ran.json["metrics"]["faithful"]["numerator"] == 6
    assert cli(*call[:-1], project / "absent.toml").code == 2
    (project / "empty.toml").write_text("[suites]\n")
    assert "metric-definition" in cli(*call[:-1], project / "empty.toml").err


# --- mistakes ---


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('[metrics.faithful]\nform = "scores.x"', "Did you mean from?"),
        ("[metrics.faithful]\nat_least = 0.7", "one of from and py"),
        ('[metrics.faithful]\nfrom = "scores.x"\npy = "a:b"', "one of from and py"),
        ('[metrics.faithful]\nfrom = "faithfulness"', 'from = "scores.NAME"'),
        ('[metrics.faithful]\nfrom = "scores.x"\nat_least = "high"', "expected a number"),
        ('[metrics.faithful]\nfrom = "scores.x"\namong = "some"', "expected one of answered"),
        ('[metrics."a b"]\nfrom = "scores.x"', "letters, digits and _"),
        ('[metrics.faithful]\nfrom = "scores.x"\n[metrics.faithful.calibration]\nlabels = "l"', "passes or fails"),
        (
            '[metrics.faithful]\nfrom = "scores.x"\nat_least = 1\n[metrics.faithful.calibration]\nx = 1',
            "labels is missing",
        ),
        ("[metrics]\nfaithful = 3", "expected a table"),
        ('[metrics.faithful]\npy = "os.system"', "names no function"),
        ('[metrics.faithful]\nfrom = "scores.x"\nlow = 1\nhigh = 0', "low is not below high"),
    ],
)
def test_mistakes_of_the_config_are_told_with_their_line(project: Path, table: str, words: str) -> None:
    with pytest.raises(UsageError) as error:
        load_config(config(project, table))
    assert words in str(error.value) and "shipworthy.toml:" in str(error.value)


@pytest.mark.parametrize("name", ["precision", "qid", "recall", "missing", "reason"])
def test_a_name_that_is_taken(name: str) -> None:
    with pytest.raises(UsageError, match="is taken"):
        evaluate(ITEMS, GOOD, custom_metrics={name: FAITHFUL})


@pytest.mark.parametrize(
    ("scores", "table", "words"),
    [
        (("high", 1, 1, 1, 1, 1), FAITHFUL, "is not a number"),
        ((True, 1, 1, 1, 1, 1), {"from": "scores.faithfulness"}, "others that are numbers"),
        ((7, 1, 1, 1, 1, 1), {"from": "scores.faithfulness", "low": 0, "high": 1}, "not between low and high"),
        ((7, 1, 1, 1, 1, 1), {"from": "scores.faithfulness", "equals": ["x"]}, "is not a text"),
    ],
)
def test_values_that_can_not_be_judged(scores: tuple[Any, ...], table: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words) as error:
        judged(run_of(*scores), table)
    assert error.value.code == "metric-value"


def test_scores_of_another_shape_are_an_error_only_where_a_metric_reads_them(project: Path) -> None:
    shapes = (([0.9], "not an object"), ({"faithfulness": [1]}, "not a finite number"), ("0.9", "not an object"))
    for bad, words in shapes:
        traces = [{**GOOD[0], "scores": bad}, *GOOD[1:]]
        assert evaluate(ITEMS, traces).ships
        with pytest.raises(DataError, match=words):
            judged(traces)
