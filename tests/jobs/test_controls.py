"""Controls: bad runs are stopped, good ones ship, and a lax configuration is named with what slips through."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Ran, gold, unanswerable, write_lines
from shipworthy import DataError, UsageError
from shipworthy import controls as run_controls
from shipworthy.config import load_config
from shipworthy.jobs.controls import ControlResult, with_controls

GOLD = [
    *(
        gold(f"a{n}", [f"answer number {n}"], [f"d{n}"], constraints=["Never on Sunday."] if n % 4 == 0 else [])
        for n in range(30)
    ),
    *(unanswerable(f"u{n}") for n in range(20)),
]
PLACED = [
    item
    | {
        "relevant": [{"id": f"S.{n}.1.p.Bk001", "offsets": [100 * n, 100 * n + 90], "section_id": f"S.{n}.1"}],
        "anchor_section": f"S.{n}.1",
        "gold_citations": [f"S.{n}.1.p.Bk001"],
        "paraphrases": ["x", "y"],
    }
    if item["answerable"]
    else item
    for n, item in enumerate(GOLD, 1)
]


def broken(results: list[ControlResult]) -> set[str]:
    return {one.name for one in results if one.broken}


def by_name(results: list[ControlResult]) -> dict[str, ControlResult]:
    return {one.name: one for one in results}


# --- the defaults are sound ---


@pytest.mark.parametrize("suite", with_controls())
def test_the_default_gates_pass_every_control_on_the_demo_gold(suite: str) -> None:
    results = run_controls(suite)
    assert results.sound, str(results)
    assert any(one.good for one in results) and sum(not one.good for one in results) >= 3
    for one in results:
        if not one.good and not one.skipped:
            assert one.verdict in ("NO-SHIP", "NO VERDICT") and one.stopped_by and one.why


def test_the_default_gates_pass_on_real_questions(
    real_data: Callable[[str], Path], fixture: Callable[..., str]
) -> None:
    results = run_controls(gold=str(real_data("squad_mini") / "gold.jsonl"), options={"fixture": fixture()})
    assert {one.suite for one in results} == set(with_controls())
    assert results.sound, str(results)
    skipped = {(one.suite, one.name): one.why for one in results if one.skipped}
    assert set(skipped) == {("answers", "cites-everything"), ("answers", "constraint dropped"), ("retrieval", "all")}
    assert "constraints" in skipped["answers", "constraint dropped"]


def test_every_control_says_which_gate_stopped_it() -> None:
    found = by_name(run_controls("answers", gold=GOLD, options={"scu_enforced": True}))
    assert {name: one.stopped_by for name, one in found.items()} == {
        "copy of the gold": (),
        "all-refuse": ("over_refusal <= 0.10",),
        "refuses nine in ten": ("over_refusal <= 0.10",),
        "all-answer": ("precision >= 0.80", "chr >= 0.75", "under_refusal <= 0.05"),
        "wrong claim with right citation": ("precision >= 0.80",),
        "half the claims wrong": ("precision >= 0.80",),
        "empty claims": ("precision >= 0.80", "chr >= 0.75"),
        "right claim with wrong citation": ("precision >= 0.80", "chr >= 0.75"),
        "invented citation": ("precision >= 0.80", "chr >= 0.75"),
        "cites-everything": (),  # skipped: no gate in force is about citation_precision
        "cites at random": ("precision >= 0.80", "chr >= 0.75"),
        "constraint dropped": ("precision >= 0.80", "scu_violations <= 0"),
        "missing traces": ("missing <= 0",),
    }
    assert found["copy of the gold"].expected == "SHIP" and found["all-refuse"].expected == "stopped"


def test_controls_are_the_same_every_time() -> None:
    for suite in ("answers", "retrieval", "stability", "latency", "agreement"):
        assert run_controls(suite, gold=PLACED) == run_controls(suite, gold=PLACED)


# --- configurations that are too lax, or too strict ---

ONLY = {"only_gates": True}
LAX = [
    ("answers", "precision=0.1", {}, {"half the claims wrong"}),
    (
        "answers",
        "chr=0.75",
        ONLY,
        {"refuses nine in ten", "wrong claim with right citation", "half the claims wrong"},
    ),
    ("answers", "precision=0.8", ONLY, {"refuses nine in ten"}),
    ("answers", "under=1,precision=0.55,chr=0.55", {}, {"all-answer"}),
    ("answers", "scu_violations=100", {}, {"constraint dropped"}),
    (
        "answers",
        "over=0.1",
        ONLY,
        {
            "all-answer",
            "wrong claim with right citation",
            "half the claims wrong",
            "empty claims",
            "right claim with wrong citation",
            "invented citation",
            "cites at random",
        },
    ),
    ("stability", "ned50=0.2,css=0.7", ONLY, {"the same wrong answer in every run"}),
    ("stability", "acr=0.1,cghc=0.1,lambda_convergent=0.1", {}, {"one jitter breaks"}),
    ("stability", "refusal_rate=0,lambda_collapse=1000,lambda_convergent=0", {}, {"constant answers"}),
    (
        "stability",
        "failing=1000,lambda_convergent=0,lambda_collapse=1000,lambda_split=1",
        ONLY,
        {"the same wrong answer in every run", "one jitter breaks", "constant answers", "coin flips"},
    ),
    ("latency", "precision=0.8", ONLY, {"slow p95", "runs without times"}),
    ("latency", "p95=2000", ONLY, {"fast but wrong"}),
    ("latency", "p95=100000", {"budget_ms": 2000}, {"slow p95"}),
    # An answer that cites a block that was not retrieved has no distance: that is missing data, and ships nothing.
    ("retrieval", "delta_s_median=0.4", ONLY, {"echo of the query"}),
    ("retrieval", "coverage=0.7", ONLY, {"live better than shadow"}),
    ("retrieval", "coverage=0", ONLY, {"echo of the query", "reversed ranks", "random ids", "live better than shadow"}),
    (
        "agreement",
        "pa=0.9",
        ONLY,
        {
            "both say VALID out of habit",
            "always VALID against hard flags",
            "accepts against hard flags",
            "always abstain",
            "abstains one time in five",
        },
    ),
    ("agreement", "kappa=0.75", ONLY, {"accepts against hard flags", "abstains one time in five"}),
    ("agreement", "pa=0.1", ONLY, {"random labels", "both say VALID out of habit", "always abstain"}),
]


@pytest.mark.parametrize(
    ("suite", "gates", "options", "names"), LAX, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_lax_configuration_is_broken_by_name(
    suite: str, gates: str, options: dict[str, Any], names: set[str]
) -> None:
    results = run_controls(suite, gold=PLACED, gates=gates, options=options)
    assert names <= broken(results) and not results.sound
    assert "missing traces" not in broken(results)  # no choice of gates ships on lost data
    assert not any(one.good for one in results if one.broken)
    for name in names:
        assert f"{suite}: {name} ships" in str(results)


def test_only_what_slips_through_is_named() -> None:
    for suite, gates, options, names in LAX[:5]:
        assert broken(run_controls(suite, gold=PLACED, gates=gates, options=options)) == names


def test_gates_that_stop_a_perfect_run_are_broken() -> None:
    """The gold set is too small for the proof that is asked for, so nothing can ship."""
    results = run_controls("answers", gold=GOLD, options={"require_proof": True})
    assert "copy of the gold" in broken(results) and "answers: copy of the gold is stopped" in str(results)
    assert by_name(results)["copy of the gold"].stopped_by == ("under_refusal <= 0.05",)


def test_the_original_rules_let_constant_answers_ship() -> None:
    assert broken(run_controls("stability", gold=GOLD, options={"profile": "reference"})) == {"constant answers"}


@pytest.fixture
def fixture(tmp_path: Path) -> Callable[..., str]:
    """The first cases of the bundled fixture, with other thresholds."""

    def write(**thresholds: Any) -> str:
        body = json.loads((files("shipworthy.suites.reasoning") / "data" / "reason-v1.json").read_text("utf-8"))
        body["cases"], body["thresholds"] = body["cases"][:8], body["thresholds"] | thresholds
        path = tmp_path / "fixture.json"
        path.write_text(json.dumps(body), "utf-8")
        return str(path)

    return write


def test_the_format_lint_ships_the_pancakes_and_stops_right_answers(fixture: Callable[..., str]) -> None:
    found = broken(run_controls("reasoning", options={"profile": "signals", "fixture": fixture()}))
    assert {"off-topic text in perfect layout", "negation of every signal", "terse right answers"} <= found


def test_lax_bars_of_a_reasoning_fixture_are_broken_by_name(fixture: Callable[..., str]) -> None:
    assert run_controls("reasoning", options={"fixture": fixture()}).sound
    zero = dict.fromkeys(("actionability", "factual_grounding", "contradiction_handling", "usefulness"), 0)
    path = fixture(case_min_overall=0, suite_min_pass_rate=0, dimension_min_average=zero)
    found = broken(run_controls("reasoning", options={"fixture": path}))
    assert {"empty text", "inverted conflict", "invented citations", "evidence dump"} <= found
    assert found.isdisjoint({"terse right answers", "canned template"})


def test_who_answers_or_refuses_everything_is_a_control_of_reasoning(fixture: Callable[..., str]) -> None:
    found = by_name(run_controls("reasoning"))
    assert found["all-answer"].stopped_by == ("under_refusal <= 0.05",)
    assert found["all-refuse"].verdict == "NO-SHIP"
    lax = run_controls("reasoning", gates="pass_rate=0.7", options={"only_gates": True})
    assert broken(lax) == {"all-answer"}
    body = json.loads(Path(fixture()).read_text("utf-8"))
    body["cases"] = [case for case in body["cases"] if case.get("answerable", True)]
    path = Path(fixture())
    path.write_text(json.dumps(body), "utf-8")
    assert (
        by_name(run_controls("reasoning", options={"fixture": str(path)}))["all-answer"].why == "no unanswerable case"
    )


def test_the_results_go_to_files_as_well(
    cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = cli("controls", "--suite", "agreement", "-o", "c.json", "-o", "c.txt")
    assert ran.code == 0 and ran.out == (tmp_path / "c.txt").read_text("utf-8")
    assert json.loads((tmp_path / "c.json").read_text("utf-8"))["passed"] is True


def test_gates_of_the_reasoning_suite_are_held_against_its_controls(fixture: Callable[..., str]) -> None:
    results = run_controls("reasoning", gates="empty_rate<=0", options={"only_gates": True, "fixture": fixture()})
    assert by_name(results)["empty text"].stopped_by == ("empty_rate <= 0",)
    assert "inverted conflict" in broken(results)


def test_gates_against_a_baseline_are_held_against_the_good_control() -> None:
    results = run_controls("answers", gold=GOLD, gates="precision>=baseline - 0.02", options=ONLY)
    stopped = by_name(results)["half the claims wrong"]
    assert stopped.verdict == "NO-SHIP" and stopped.stopped_by == ("precision >= baseline - 0.02",)
    assert by_name(results)["copy of the gold"].verdict == "SHIP"


def test_a_gate_on_a_slice_sees_only_its_slice() -> None:
    rows = [item | {"tier": "gold" if n % 2 else "silver"} for n, item in enumerate(GOLD)]
    results = run_controls("answers", gold=rows, gates="precision[tier=gold]>=0.8", options=ONLY)
    assert by_name(results)["right claim with wrong citation"].verdict == "NO-SHIP"
    assert by_name(results)["copy of the gold"].verdict == "SHIP"


# --- what can't be made is skipped, and says why ---


def test_a_control_that_the_gold_set_does_not_allow_is_skipped_with_its_reason() -> None:
    found = by_name(run_controls("answers", gold=[gold("a1"), gold("a2", ["other answer"], ["d2"])]))
    assert found["all-answer"].why == "the gold set has no unanswerable question"
    assert found["constraint dropped"].why == "no answerable question of the gold set has constraints"
    assert found["all-answer"].as_expected is None and not found["all-answer"].broken
    unenforced = by_name(run_controls("answers", gold=GOLD))["constraint dropped"]
    assert unenforced.why == "no gate in force is about scu or scu_violations"


def test_uncited_and_vacuous_gold_items_can_not_tell_right_from_wrong() -> None:
    found = by_name(run_controls("answers", gold=[gold("a1", [], []), gold("a2", [], []), unanswerable("u1")]))
    assert "only 0 of 2" in found["right claim with wrong citation"].why
    assert "only 0 of 2" in found["wrong claim with right citation"].why
    assert found["all-refuse"].as_expected


def test_one_id_for_all_can_not_be_cited_at_random() -> None:
    found = by_name(run_controls("answers", gold=[gold(f"a{n}", [f"answer {n}"]) for n in range(9)]))
    assert found["cites at random"].skipped and "by chance" in found["cites at random"].why
    assert found["right claim with wrong citation"].verdict == "NO-SHIP"  # an id of our own stands in


def test_a_gold_set_of_refusals_alone() -> None:
    results = run_controls("answers", gold=[unanswerable("u1"), unanswerable("u2")])
    found = by_name(results)
    assert found["all-refuse"].skipped and found["all-answer"].verdict == "NO-SHIP"
    assert found["copy of the gold"].verdict == "SHIP"  # nothing can be correct there: what applies is refusing


def test_a_grid_of_one_run_has_nothing_to_flip() -> None:
    found = by_name(run_controls("stability", gold=GOLD, options={"seeds": [7], "jitters": ["none"]}))
    assert found["coin flips"].skipped and found["one jitter breaks"].skipped
    assert found["the same wrong answer in every run"].verdict == "NO-SHIP"


def test_few_pairs_agree_by_chance() -> None:
    found = by_name(run_controls("agreement", gold=GOLD[:4]))
    assert found["random labels"].skipped and found["both say VALID out of habit"].skipped
    assert found["perfect agreement"].verdict == "SHIP"


def test_gold_without_places_is_judged_by_what_it_has() -> None:
    results = run_controls("retrieval", gold=GOLD, gates="coverage=0.7,recall@5>=baseline - 0.02", options=ONLY)
    assert results.sound, str(results)
    assert run_controls("retrieval", gold=GOLD).sound  # no byte ranges: that gate does not apply


def test_words_of_the_invented_answer_in_the_gold_set_do_not_make_it_right() -> None:
    rows = [gold(f"a{n}", ["forty blue lanterns", f"answer {n}"], [f"d{n}"]) for n in range(4)]
    assert by_name(run_controls("answers", gold=rows))["wrong claim with right citation"].verdict == "NO-SHIP"


def is_visible(text: str) -> bool:
    """A gold item that expects blanks, or what prints as nothing, is refused."""
    return any(map(str.isprintable, "".join(text.split())))


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.booleans(),
            st.text(min_size=1, max_size=12).filter(is_visible),
            st.text(min_size=1, max_size=6).filter(is_visible),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_whatever_the_gold_set_says_no_bad_run_ships_by_default(drawn: list[tuple[bool, str, str]]) -> None:
    rows = [
        gold(f"q{n}", [text], [cite]) if answerable else unanswerable(f"q{n}")
        for n, (answerable, text, cite) in enumerate(drawn)
    ]
    for suite in ("answers", "stability", "latency", "agreement"):
        assert {one.name for one in run_controls(suite, gold=rows) if one.broken and not one.good} == set()


# --- bad input ---


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: run_controls("poetry"), "suite-unknown"),
        (lambda: run_controls(gates="precision=0.8"), "controls-suite"),
        (lambda: run_controls(options={"profile": "reference"}), "controls-suite"),
        (lambda: run_controls("agreement", options={"budget_ms": 5}), "option-unknown"),
        (lambda: run_controls("reasoning", gates="precision=0.8"), "gate-unknown"),
        (lambda: run_controls("answers", options={"traces": []}), "option-unknown"),
        (lambda: run_controls("answers", options={"profile": "grounded"}), "option-value"),
        (lambda: run_controls("answers", gates="precision=80"), "gate-range"),
    ],
)
def test_mistakes_in_the_call(call: Callable[[], object], code: str) -> None:
    with pytest.raises(UsageError) as error:
        call()
    assert error.value.code == code


def test_an_empty_gold_set_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        run_controls("answers", gold=str(write_lines(tmp_path / "gold.jsonl", [])))
    assert error.value.code == "gold-empty"


def test_a_gold_item_that_does_not_say_whether_it_is_answerable_is_named_with_its_line(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "gold.jsonl", [gold("a1"), {"qid": "a2", "question": "?"}])
    with pytest.raises(DataError) as error:
        run_controls("answers", gold=str(path))
    assert error.value.code == "gold-answerable" and error.value.where == f"{path}:2"


# --- a config ---


def configured(folder: Path, text: str) -> Any:
    write_lines(folder / "gold.jsonl", GOLD)
    write_lines(folder / "placed.jsonl", PLACED)
    write_lines(folder / "pairs.jsonl", [{"qid": f"p{n}"} for n in range(40)])
    (folder / "shipworthy.toml").write_text(text, "utf-8")
    return load_config(folder / "shipworthy.toml")


def test_a_config_is_tried_suite_by_suite_with_its_own_gates(tmp_path: Path) -> None:
    config = configured(
        tmp_path,
        """
        [suites.answers]
        gold = "gold.jsonl"
        trace = "t.jsonl"
        scu_enforced = true
        gates = ["precision >= 0.1"]
        [suites.stability]
        gold = "gold.jsonl"
        runs = "r.jsonl"
        [suites.retrieval]
        gold = "placed.jsonl"
        shadow = "s.jsonl"
        [suites.agreement]
        pairs = "pairs.jsonl"
        [suites.latency]
        gold = "nowhere.jsonl"
        trace = "t.jsonl"
        [suites.outcomes]
        outcomes = "o.jsonl"
    """,
    )
    results = run_controls(config)
    assert broken(results) == {"half the claims wrong"}
    assert str(results).endswith("The configuration is broken: answers: half the claims wrong ships")
    skipped = {(one.suite, one.name) for one in results if one.skipped}
    assert skipped == {
        ("answers", "cites-everything"),
        ("retrieval", "live better than shadow"),
        ("latency", "all"),
        ("outcomes", "all"),
    }
    assert by_name(results)["constraint dropped"].verdict == "NO-SHIP"


def test_a_gate_that_only_warns_stops_nothing(tmp_path: Path) -> None:
    config = configured(
        tmp_path,
        """
        [suites.answers]
        gold = "gold.jsonl"
        trace = "t.jsonl"
        gates = [{ gate = "over_refusal <= 0.10", severity = "warn" }]
    """,
    )
    assert broken(run_controls(config)) == {"refuses nine in ten"}


# --- the command ---


def test_the_command_ships_and_breaks(cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "gold.jsonl", GOLD)
    monkeypatch.chdir(tmp_path)
    good = cli("controls", "--suite", "answers", "--gold", path, "--scu-enforced")
    assert good.code == 0 and "11 of 11 bad controls stopped, 1 of 1 good ones shipped" in good.out
    lax = cli("controls", "--suite", "answers", "--gold", path, "--gates", "precision=0.1")
    assert lax.code == 1 and "The configuration is broken: answers: half the claims wrong ships" in lax.out
    assert "BROKEN  SHIP        half the claims wrong" in lax.out
    shown = cli("controls", "--suite", "answers", "--gold", path, "--gates", "precision=0.1", "--json")
    assert shown.code == 1 and shown.json["broken"] == ["answers: half the claims wrong ships"]
    assert not shown.json["passed"] and {one["suite"] for one in shown.json["controls"]} == {"answers"}


def test_the_command_takes_the_nearest_config(
    cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    configured(tmp_path, '[suites.answers]\ngold = "gold.jsonl"\ntrace = "t.jsonl"\ngates = ["precision >= 0.1"]\n')
    monkeypatch.chdir(tmp_path)
    ran = cli("controls")
    assert ran.code == 1 and "shipworthy.toml" in ran.out and "half the claims wrong ships" in ran.out
    assert cli("controls", "--suite", "latency").code == 2
    assert cli("controls", "--config", "shipworthy.toml", "--gates", "precision=0.9").code == 2


def test_nothing_tried_is_not_a_pass(cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    configured(tmp_path, '[suites.answers]\ngold = "gone.jsonl"\ntrace = "t.jsonl"\n')
    monkeypatch.chdir(tmp_path)
    ran = cli("controls")
    assert ran.code == 3 and "0 of 0 bad controls stopped" in ran.out and "gone.jsonl" in ran.out


def test_a_bar_of_zero_is_a_bar(
    cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, fixture: Callable[..., str]
) -> None:
    zero = dict.fromkeys(("actionability", "factual_grounding", "contradiction_handling", "usefulness"), 0)
    path = fixture(dimension_min_average=zero)
    assert cli("controls", "--suite", "reasoning", "--fixture", path).code == 0
    lax = cli("controls", "--suite", "reasoning", "--fixture", path, "--suite-min-pass-rate", "0")
    assert lax.code == 1 and "reasoning: empty text ships" in lax.out
