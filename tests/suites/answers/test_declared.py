"""What a service gives: one that does not cite, or does not log what it retrieved, and one that cites everything."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from conftest import gold, refusal, trace, unanswerable, write_lines
from shipworthy import compare, evaluate
from shipworthy.jobs.controls import run_controls
from shipworthy.report import render

GOLD = [*(gold(f"q{number:02}") for number in range(14)), unanswerable("u0"), unanswerable("u1")]
QIDS = [item["qid"] for item in GOLD[:14]]
REFUSALS = [refusal("u0"), refusal("u1")]
WRONG = ("q03", "q08")


def claims(**more: Any) -> list[dict[str, Any]]:
    """Answers of which two are wrong, and two refusals."""
    said = dict.fromkeys(WRONG, "Something else.")
    return [*(trace(name, said.get(name, "The right answer."), **more) for name in QIDS), *REFUSALS]


def silent(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same without a word about what was retrieved."""
    return [{key: value for key, value in row.items() if key != "retrieved_ids"} for row in rows]


@pytest.fixture
def files(tmp_path: Path) -> Any:
    def written(rows: list[dict[str, Any]]) -> list[str]:
        paths = write_lines(tmp_path / "gold.jsonl", GOLD), write_lines(tmp_path / "trace.jsonl", rows)
        return ["--gold", str(paths[0]), "--trace", str(paths[1])]

    return written


def states(report: dict[str, Any]) -> dict[str, str]:
    return {one["metric"]: one["state"] for one in report["outcomes"]}


def first_line(decision: Any, form: str) -> bool:
    """Whether the fact stands before anything else that the report says."""
    shown = " ".join(render(decision, form).decode().replace("\\", "").split())
    shown = shown.partition("<body")[2] or shown
    others = [shown.find(word) for word in ("precision", "of 14 ", "all 4 gates")]
    return shown.index(decision.reasons[0][1:40]) < min(place for place in others if place >= 0)


# --- undeclared ---


def test_a_run_without_citations_says_so_first_and_shows_the_wrong_answers(cli: Any, files: Any) -> None:
    ran = cli("score", *files(claims(cite=())))
    words = " ".join(ran.out.split())
    assert ran.code == 1
    assert words.startswith(
        "NO-SHIP no answer cites a source, so none counts as correctly cited; 12 of 14 answers say what is expected. "
        "If your service does not cite, declare it: --no-cites (cites = false in the config)"
    )
    assert words.count("--no-cites") == 1 and "wrong-citation" not in words
    assert "Failing items, worst first (2 of 14)" in words and all(
        f"{name} wrong answer (containment)" in words for name in WRONG
    )
    report = cli("score", *files(claims(cite=())), "--json").json
    assert (report["precision"], report["chr"]) == (0, 0)  # it keeps its formula
    assert [row["qid"] for row in report["offenders"]] == list(WRONG)
    assert all("cites" not in hint and "ited" not in hint for hint in report["diagnosis"])


def test_a_run_that_logs_no_retrieval_says_so_first(cli: Any, files: Any) -> None:
    ran = cli("score", *files(silent(claims())))
    words = " ".join(ran.out.split())
    assert words.startswith("NO-SHIP no trace says what was retrieved (retrieved_ids), so no citation can be confirmed")
    assert "12 of 14 answers say what is expected" in words and "--no-retrieval-log" in words
    assert "(out-of-scope)" not in words and "q03 wrong answer (containment)" in words


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_the_fact_comes_first_in_every_report_for_people(form: str) -> None:
    assert first_line(evaluate(GOLD, claims(cite=())), form)
    assert first_line(evaluate(GOLD, claims(cite=()), cites=False), form)


def test_one_answer_that_cites_is_no_service_that_does_not(cli: Any, files: Any) -> None:
    rows = [*claims(cite=())[:13], trace("q13"), *REFUSALS]
    report = cli("score", *files(rows), "--json").json
    assert report["reasons"][0].startswith("1 of 14 answers was correct") and not any(
        "--no-cites" in line for line in report["reasons"]
    )
    assert "wrong-citation" in {row["reason"] for row in report["offenders"]}
    logged = evaluate(GOLD, [*silent(claims())[:13], trace("q13"), *REFUSALS])
    assert "no trace says" not in logged.reasons[0]


def test_where_citations_decide_nothing_nothing_is_said_of_them() -> None:
    only = evaluate(GOLD, claims(cite=()), gates=["over_refusal=0.1"], only_gates=True)
    assert only.verdict == "SHIP" and only.reasons == ["the gate passes, but not with statistical certainty"]
    uncited = [gold(name, cite=()) for name in QIDS] + GOLD[14:]
    assert not any("--no-cites" in line for line in evaluate(uncited, claims(cite=())).reasons)
    assert evaluate(GOLD, [refusal(item["qid"]) for item in GOLD]).reasons[0].startswith("14 of 14 answerable")


# --- declared ---


def test_a_service_that_does_not_cite_is_judged_by_what_it_says(cli: Any, files: Any) -> None:
    ran = cli("score", *files(claims(cite=())), "--no-cites")
    words = " ".join(ran.out.split())
    assert ran.code == 0 and words.startswith("SHIP citations are not judged, as declared (cites = false)")
    report = cli("score", *files(claims(cite=())), "--no-cites", "--json").json
    assert report["metrics"]["precision"]["numerator"] == 12 and report["metrics"]["precision"]["denominator"] == 14
    assert states(report)["chr"] == "NOT-APPLICABLE" and report["chr"] is None
    assert report["options"]["cites"] is False and "logs_retrieval" not in report["options"]
    assert report["metrics"]["recall@5"]["numerator"] == 14  # what was retrieved is judged as before
    precision = next(one for one in report["outcomes"] if one["metric"] == "precision")
    assert precision["says"].startswith("12 of 14 answers were correct; at least")
    for name in ("citation_precision", "cite_support", "uncited", "out_of_scope_citations", "chr@5"):
        assert report["metrics"][name]["value"] is None and "cites = false" in report["metrics"][name]["undefined"]


def test_a_wrong_answer_of_such_a_service_is_wrong_for_what_it_says() -> None:
    decision = evaluate(GOLD, [*claims(cite=())[:14], trace("u0", cite=()), refusal("u1")], cites=False, offenders=9)
    assert [(card["qid"], card["reason"], card.get("also")) for card in decision.offenders] == [
        ("u0", "leak", None),
        ("q03", "containment", None),
        ("q08", "containment", None),
    ]
    assert all("citations" not in card for card in decision.offenders)


def test_citations_of_a_service_that_should_have_none_are_named() -> None:
    decision = evaluate(GOLD, [*claims(cite=())[:12], trace("q12", cite=["d9"]), trace("q13"), *REFUSALS], cites=False)
    assert decision.verdict == "SHIP" and "although 2 of 14 answers cite something" in decision.reasons[0]


def test_a_service_that_does_not_log_retrieval_is_judged_by_what_it_cites(cli: Any, files: Any) -> None:
    rows = [*silent(claims())[:13], {**trace("q13", cite=["d7"]), "retrieved_ids": ["d8"]}, *silent(REFUSALS)]
    report = cli("score", *files(rows), "--no-retrieval-log", "--json").json
    assert report["reasons"][0] == "what was retrieved is not judged, as declared (logs_retrieval = false)"
    chr_, recall = report["metrics"]["chr"], report["metrics"]["recall@5"]
    assert (chr_["numerator"], chr_["denominator"]) == (13, 14)
    assert recall["value"] is None and "logs_retrieval" in recall["undefined"]
    assert {row["qid"]: row["reason"] for row in report["offenders"]}["q13"] == "wrong-citation"
    assert report["metrics"]["out_of_scope_citations"]["value"] is None


def test_both_can_be_declared_and_no_gate_on_them_applies() -> None:
    gates = ["recall@5=0.9", "citation_precision=0.5", "out_of_scope_citations=0", "chr=0.9", "cite_support=0.9"]
    decision = evaluate(GOLD, silent(claims(cite=())), cites=False, logs_retrieval=False, gates=gates)
    found = {outcome.gate.metric: outcome.state for outcome in decision.outcomes}
    assert decision.verdict == "SHIP"
    assert {found[name] for name in ("recall@5", "citation_precision", "out_of_scope_citations", "chr")} == {
        "NOT-APPLICABLE"
    }
    assert [line.partition(" ")[0] for line in decision.reasons] == ["citations", "what", "all"]


def test_answers_without_the_field_are_complete_once_it_is_declared() -> None:
    """A trace without the key `citations` lacks a value only where somebody asks for it."""
    rows = claims(cite=())
    for row in rows[:5]:
        del row["answer_json"]["citations"]
    assert evaluate(GOLD, rows, cites=False).verdict == "SHIP"


def test_the_config_says_it_for_a_suite_and_the_board_says_it_first(tmp_path: Path, cli: Any, files: Any) -> None:
    files(claims(cite=()))
    config = tmp_path / "shipworthy.toml"
    config.write_text('[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\ncites = false\n')
    ran = cli("check", "--config", str(config))
    assert ran.code == 0 and "answers: citations are not judged, as declared (cites = false)" in " ".join(
        ran.out.split("\n\n")[0].split()
    )
    config.write_text('[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n')
    ran = cli("check", "--config", str(config))
    assert ran.code == 1 and " ".join(ran.out.split()).startswith("NO-SHIP answers: no answer cites a source")
    assert ran.out.split("────")[0].count("--no-cites") == 1
    config.write_text('[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\ncites = "no"\n')
    ran = cli("check", "--config", str(config))
    assert ran.code == 2 and "true or false" in ran.err


def test_a_report_with_citations_is_not_compared_with_one_without() -> None:
    one, other = evaluate(GOLD, claims()).report(), evaluate(GOLD, claims(), cites=False).report()
    with pytest.raises(Exception, match="options"):
        compare(one, other)


def test_the_reference_profile_keeps_its_formula(cli: Any, files: Any) -> None:
    plain = cli("score", *files(claims(cite=())), "--profile", "reference", "--json").json
    declared = cli("score", *files(claims(cite=())), "--profile", "reference", "--no-cites", "--json").json
    assert plain["precision"] == declared["precision"] == 0 and plain["chr"] == declared["chr"]
    assert "not judged" not in declared["reasons"][0]


# --- the other suites that judge answers ---


def test_latency_judges_such_a_service_too(cli: Any, files: Any) -> None:
    rows = [row | {"e2e_ms": 100} for row in claims(cite=())]
    ran = cli("latency", "score", *files(rows))
    words = " ".join(ran.out.split())
    assert ran.code == 1 and words.startswith("NO-SHIP no answer cites a source") and "wrong-citation" not in words
    assert "q03 wrong answer (containment)" in words
    report = cli("latency", "score", *files(rows), "--no-cites", "--json").json
    assert report["decision"] == "SHIP" and report["reasons"][0].startswith("citations are not judged")
    assert states(report)["chr"] == "NOT-APPLICABLE"
    given = files([row | {"e2e_ms": 9} for row in silent(claims())])
    unlogged = cli("latency", "score", *given, "--no-retrieval-log", "--json")
    assert unlogged.json["decision"] == "SHIP" and unlogged.json["chr"] == 1


def grid(cite: list[str]) -> list[dict[str, Any]]:
    rows = [trace(name, cite=cite) for name in QIDS] + REFUSALS
    return [row | {"seed": seed, "jitter": "none"} for row in rows for seed in (1, 2, 3)]


def test_stability_of_a_service_that_does_not_cite(tmp_path: Path, cli: Any, files: Any) -> None:
    given = [*files(grid([]))[:2], "--runs", str(tmp_path / "trace.jsonl")]
    ran = cli("stability", "score", *given)
    words = " ".join(ran.out.split())
    assert ran.code == 1 and words.startswith("NO-SHIP no answer cites a source") and "--no-cites" in words
    assert "Failing items" not in words
    report = cli("stability", "score", *given, "--no-cites", "--json").json
    assert report["decision"] == "SHIP" and report["reasons"][0].startswith("citations are not judged")
    assert states(report)["cghc_failing"] == "NOT-APPLICABLE" and report["metrics"]["mean_css"]["value"] is None
    given = [*files(silent(grid(["d1"])))[:2], "--runs", str(tmp_path / "trace.jsonl")]
    assert cli("stability", "score", *given).code == 1
    assert cli("stability", "score", *given, "--no-retrieval-log").code == 0


def test_labels_are_derived_for_such_a_service(cli: Any, files: Any) -> None:
    right = [trace(name, cite=()) for name in QIDS] + REFUSALS
    given = files(right)
    ran = cli("agreement", "score", *given, "--json")
    assert ran.json["reasons"][0].startswith("no answer cites a source")  # though both labels agree on it
    assert {row["final"] for row in ran.json["items"]} == {"REJECT", "NOT_IN_CONTEXT"}
    ran = cli("agreement", "score", *given, "--no-cites", "--json")
    assert ran.code == 0 and ran.json["reasons"][0].startswith("citations are not judged")
    assert {row["final"] for row in ran.json["items"]} == {"VALID", "NOT_IN_CONTEXT"}
    given = files(silent([trace(name) for name in QIDS] + REFUSALS))
    assert cli("agreement", "score", *given, "--json").json["reasons"][0].startswith("no trace says what was retrieved")
    ran = cli("agreement", "score", *given, "--no-retrieval-log", "--json")
    assert ran.code == 0 and {row["final"] for row in ran.json["items"]} == {"VALID", "NOT_IN_CONTEXT"}


# --- citation precision ---


def test_citation_precision_counts_ids() -> None:
    rows = [trace("q00", cite=["d1", "d2"]), trace("q01", cite=["d1", "d1"]), trace("q02", cite=["d2"])]
    rows += [trace("q03", cite=()), refusal("q04"), trace("u0", cite=["d1", "d2"])]
    decision = evaluate([*GOLD[:5], unanswerable("u0")], rows)
    measure = decision.measures["citation_precision"]
    assert (measure.k, measure.n, measure.value) == (2, 4, Fraction(1, 2))
    assert "citation precision (citation_precision) 2/4 (0.500)" in " ".join(render(decision, "text").decode().split())
    assert not any("citation_precision" in hint for hint in decision.diagnosis)  # named below one half


def test_citation_precision_below_one_half_is_named_and_gated_on_request() -> None:
    rows = [trace(name, cite=["d1", "d2", "d3"], found=["d1", "d2", "d3"]) for name in QIDS] + REFUSALS
    decision = evaluate(GOLD, rows)
    assert decision.verdict == "SHIP"
    assert decision.diagnosis == [
        "Of 42 cited ids, 14 are expected (citation_precision 0.333): answers cite sources that do not support them. "
        "To gate it: --gates citation_precision=0.5."
    ]
    gated = evaluate(GOLD, rows, gates=["citation_precision=0.5"])
    assert gated.verdict == "NO-SHIP"
    assert gated.reasons == [
        "14 of 42 cited sources were expected; at least 21 must be (citation_precision 0.333 < 0.5)"
    ]
    half = [trace(name, cite=["d1", "d2"]) for name in QIDS] + REFUSALS
    assert evaluate(GOLD, half, gates=["citation_precision=0.5"]).verdict == "SHIP"


def test_ids_of_one_answer_are_no_independent_cases() -> None:
    """Ten ids of one answer say less than one id each of ten answers: the interval is wider."""
    found = [f"d{number}" for number in range(1, 11)]
    one = evaluate(GOLD, [trace("q00", cite=found, found=found), trace("q01"), *REFUSALS], allow_missing=12)
    many = evaluate(GOLD, [*(trace(name, cite=["d2"]) for name in QIDS[:9]), trace("q09"), trace("q10"), *REFUSALS])
    few, more = (decision.measures["citation_precision"] for decision in (one, many))
    assert (few.k, few.n) == (more.k, more.n) == (2, 11)
    assert few.interval and more.interval and few.interval[1] > more.interval[1]


def test_citation_precision_takes_an_id_map_and_slices() -> None:
    golds = [gold("a", cite=["doc.md"], kind="x"), gold("b", cite=["doc.md"], kind="y")]
    rows = [
        trace("a", cite=["doc", "Doc.md"], found=["doc"]),
        trace("b", cite=["DOC.md", "other"], found=["doc", "other"]),
    ]
    decision = evaluate(golds, rows, id_map="casefold,drop-extension", by=["kind"])
    assert (decision.measures["citation_precision"].k, decision.measures["citation_precision"].n) == (2, 3)
    assert {
        name: (part["citation_precision"].k, part["citation_precision"].n) for name, part in decision.slices.items()
    } == {
        "kind=x": (1, 1),
        "kind=y": (1, 2),
    }


def test_without_a_cited_id_a_gate_on_them_has_no_data() -> None:
    decision = evaluate(GOLD, claims(cite=()), gates=["citation_precision=0.5"], only_gates=True)
    assert decision.verdict == "NO VERDICT"
    unsourced = [gold(name, cite=()) for name in QIDS] + GOLD[14:]
    decision = evaluate(unsourced, claims(), gates=["citation_precision=0.5"])
    assert {one.gate.metric: one.state for one in decision.outcomes}["citation_precision"] == "NOT-APPLICABLE"


# --- ids that are titles, addresses or files ---

NAMES = ["refund-policy", "shipping-times", "warranty-terms", "returns-process", "store-hours"]
SPELLINGS: dict[str, Callable[[str], str]] = {
    "titles": lambda name: name.replace("-", " ").title(),
    "addresses": "https://docs.example.com/help/{}.html".format,
    "queries": "https://docs.example.com/help/{}?from=search".format,
    "files": lambda name: f"/srv/data/{name.replace('-', '_')}.PDF",
    "spaces": "My Docs/{}".format,
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("retrieved_as_gold", [False, True])
def test_the_proposed_id_map_is_the_one_that_works(
    spelling: str, retrieved_as_gold: bool, tmp_path: Path, cli: Any
) -> None:
    golds = [gold(name, cite=[name]) for name in NAMES] + [unanswerable("u")]
    rows = [refusal("u")]
    for name in NAMES:
        cited = SPELLINGS[spelling](name)
        rows.append(trace(name, cite=[cited], found=[name, cited] if retrieved_as_gold else [cited]))
    given = ["--gold", str(write_lines(tmp_path / "g.jsonl", golds))]
    given += ["--trace", str(write_lines(tmp_path / "t.jsonl", rows))]
    before = cli("score", *given, "--json")
    assert before.code == 1
    (flag,) = [hint for hint in before.json["diagnosis"] if "--id-map" in hint]
    words = shlex.split(flag.partition("--id-map ")[2].removesuffix(" does it."))
    assert len(words) == 1 and cli("score", *given, "--id-map", words[0]).code == 0


# --- controls ---


def control(name: str, **given: Any) -> Any:
    return next(one for one in run_controls("answers", gold=GOLD, **given) if one.name == name)


def test_citing_everything_is_known_bad_for_a_gate_on_citation_precision_alone() -> None:
    assert control("cites-everything").skipped and "citation_precision" in control("cites-everything").why
    caught = control("cites-everything", gates="citation_precision=0.5")
    assert caught.as_expected and caught.stopped_by == ("citation_precision >= 0.5",)
    slack = control("cites-everything", gates="citation_precision=0.05")
    assert slack.broken and slack.verdict == "SHIP"
    assert run_controls("answers", gold=GOLD).sound and run_controls("answers", gold=GOLD[:1] + GOLD[14:]).sound


@pytest.mark.parametrize("options", [{"cites": False}, {"logs_retrieval": False}])
def test_controls_of_what_is_not_judged_are_left_out(options: dict[str, bool]) -> None:
    results = run_controls("answers", gold=GOLD, options=options)
    assert results.sound and control("invented citation", options=options).skipped
    assert control("right claim with wrong citation", options=options).skipped is (options.get("cites") is False)
    for suite in ("latency", "stability", "agreement"):
        assert run_controls(suite, gold=GOLD, options=options).sound
