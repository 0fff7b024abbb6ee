"""One suite, three doors: its own verb, a config, and `verify`. The same inputs give the same digest through each."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest

from golden.runner import INPUTS, call

VERDICTS = (0, 1, 3)  # exit codes of a decision


class Door(NamedTuple):
    """A suite with its options, as the verb takes them and as a config does."""

    name: str
    suite: str
    verb: str
    config: str


ANSWERS = "score --gold answers/gold.jsonl --trace answers/"
STABILITY = "stability score --gold stability/gold.jsonl --stability stability/"
LATENCY = "latency score --gold latency/gold.jsonl --trace latency/"
RETRIEVAL = "retrieval score --gold retrieval/gold.jsonl --shadow retrieval/shadow.jsonl"
REASONING = "reason score --fixture reasoning/fixture.json --answers reasoning/answers.jsonl"
OUTCOMES = "outcomes --input outcomes/rows.jsonl"

DOORS = [
    Door("answers", "answers", f"{ANSWERS}trace.jsonl", 'gold = "answers/gold.jsonl"\ntrace = "answers/trace.jsonl"'),
    Door(
        "answers-options",
        "answers",
        f"{ANSWERS}whole.jsonl --k 1,3 --by lang --scu-enforced --on-duplicate worst --min-substr 4 --refusal natural "
        "--offenders 2 --require-proof --gates precision=0.5,precision[type=table]>=0.75",
        """
        gold = "answers/gold.jsonl"
        trace = "answers/whole.jsonl"
        k = [1, 3]
        by = ["lang"]
        scu_enforced = true
        on_duplicate = "worst"
        min_substr = 4
        refusal = "natural"
        offenders = 2
        require_proof = true
        gates = ["precision=0.5", "precision[type=table]>=0.75"]
        """,
    ),
    Door(
        "answers-phrases",
        "answers",
        f"{ANSWERS}whole.jsonl --refusal-phrases answers/phrases.txt",
        """
        gold = "answers/gold.jsonl"
        trace = "answers/whole.jsonl"
        refusal_phrases = "answers/phrases.txt"
        """,
    ),
    Door(
        "answers-chunks",
        "answers",
        f"{ANSWERS}whole.jsonl --chunks answers/chunks.jsonl",
        'gold = "answers/gold.jsonl"\ntrace = "answers/whole.jsonl"\nchunks = "answers/chunks.jsonl"',
    ),
    Door(
        "answers-id-map",
        "answers",
        "score --gold answers/ids_gold.jsonl --trace answers/ids_trace.jsonl --id-map drop-extension,casefold",
        """
        gold = "answers/ids_gold.jsonl"
        trace = "answers/ids_trace.jsonl"
        id_map = "drop-extension,casefold"
        """,
    ),
    Door(
        "answers-id-map-file",
        "answers",
        "score --gold answers/ids_gold.jsonl --trace answers/ids_trace.jsonl --id-map answers/id_map.tsv",
        """
        gold = "answers/ids_gold.jsonl"
        trace = "answers/ids_trace.jsonl"
        id_map = "answers/id_map.tsv"
        """,
    ),
    Door(
        "answers-lenient",
        "answers",
        f"{ANSWERS}bad.jsonl --lenient --only-gates --gates precision=0.9",
        """
        gold = "answers/gold.jsonl"
        trace = "answers/bad.jsonl"
        lenient = true
        only_gates = true
        gates = ["precision=0.9"]
        """,
    ),
    Door(
        "answers-reference",
        "answers",
        f"{ANSWERS}trace.jsonl --profile reference",
        'gold = "answers/gold.jsonl"\ntrace = "answers/trace.jsonl"\nprofile = "reference"',
    ),
    Door(
        "stability",
        "stability",
        f"{STABILITY}runs.jsonl",
        'gold = "stability/gold.jsonl"\nruns = "stability/runs.jsonl"',
    ),
    Door(
        "stability-ships",
        "stability",
        f"{STABILITY}steady.jsonl",
        'gold = "stability/gold.jsonl"\nruns = "stability/steady.jsonl"',
    ),
    Door(
        "stability-options",
        "stability",
        f"{STABILITY}runs.jsonl --sweep old --by type --max-fail-rate 0.5 --seeds 0,1,2 --jitters none,ws "
        "--gates acr=0.5,ned50=0.9,mean_iaa=0.1",
        """
        gold = "stability/gold.jsonl"
        runs = "stability/runs.jsonl"
        sweep = "old"
        by = ["type"]
        max_fail_rate = 0.5
        seeds = [0, 1, 2]
        jitters = ["none", "ws"]
        gates = ["acr=0.5", "ned50=0.9", "mean_iaa=0.1"]
        """,
    ),
    Door(
        "stability-arm",
        "stability",
        "stability score --gold stability/para_gold.jsonl --stability stability/para_runs.jsonl --arm large",
        'gold = "stability/para_gold.jsonl"\nruns = "stability/para_runs.jsonl"\narm = "large"',
    ),
    Door(
        "stability-reference",
        "stability",
        f"{STABILITY}runs.jsonl --profile reference",
        'gold = "stability/gold.jsonl"\nruns = "stability/runs.jsonl"\nprofile = "reference"',
    ),
    Door("latency", "latency", f"{LATENCY}trace.jsonl", 'gold = "latency/gold.jsonl"\ntrace = "latency/trace.jsonl"'),
    Door(
        "latency-options",
        "latency",
        f"{LATENCY}trace.jsonl --arm quick --budget-ms 700 --relaxed-budget-ms 900 --k 1,5 --sweep s2 --scu-enforced "
        "--gates p95[load=5]<=800,cost_per_correct=0.001",
        """
        gold = "latency/gold.jsonl"
        trace = "latency/trace.jsonl"
        arm = "quick"
        budget_ms = 700
        relaxed_budget_ms = 900
        k = [1, 5]
        sweep = "s2"
        scu_enforced = true
        gates = ["p95[load=5]<=800", "cost_per_correct=0.001"]
        """,
    ),
    Door(
        "latency-baseline",
        "latency",
        f"{LATENCY}slower.jsonl --baseline latency/baseline.json --gates p95<=baseline*1.10",
        """
        gold = "latency/gold.jsonl"
        trace = "latency/slower.jsonl"
        baseline = "latency/baseline.json"
        gates = ["p95<=baseline*1.10"]
        """,
    ),
    Door(
        "latency-arms",
        "latency",
        f"{LATENCY}plain.jsonl --arms quick,deep",
        'gold = "latency/gold.jsonl"\ntrace = "latency/plain.jsonl"\narms = ["quick", "deep"]',
    ),
    Door("retrieval", "retrieval", RETRIEVAL, 'gold = "retrieval/gold.jsonl"\nshadow = "retrieval/shadow.jsonl"'),
    Door(
        "retrieval-live",
        "retrieval",
        f"{RETRIEVAL} --live retrieval/live.jsonl --sections retrieval/sections.jsonl --k 1,5 --by lang "
        "--gates coverage=0.5,recall@5[type=table]>=baseline-0.02",
        """
        gold = "retrieval/gold.jsonl"
        shadow = "retrieval/shadow.jsonl"
        live = "retrieval/live.jsonl"
        sections = "retrieval/sections.jsonl"
        k = [1, 5]
        by = ["lang"]
        gates = ["coverage=0.5", "recall@5[type=table]>=baseline-0.02"]
        """,
    ),
    Door(
        "retrieval-text",
        "retrieval",
        f"{RETRIEVAL.replace('shadow.jsonl', 'recut.jsonl')} --match text --texts retrieval/texts.jsonl --k 1,3",
        """
        gold = "retrieval/gold.jsonl"
        shadow = "retrieval/recut.jsonl"
        match = "text"
        texts = "retrieval/texts.jsonl"
        k = [1, 3]
        """,
    ),
    Door(
        "retrieval-choices",
        "retrieval",
        f"{RETRIEVAL} --preset trec --match offsets --min-overlap 0.75 --window 10 --duplicates occupy_slot --depth 2",
        """
        gold = "retrieval/gold.jsonl"
        shadow = "retrieval/shadow.jsonl"
        preset = "trec"
        match = "offsets"
        min_overlap = 0.75
        window = 10
        duplicates = "occupy_slot"
        depth = 2
        """,
    ),
    Door("agreement", "agreement", "agreement score --pairs agreement/pairs.jsonl", 'pairs = "agreement/pairs.jsonl"'),
    Door(
        "agreement-files",
        "agreement",
        "agreement score --scholar agreement/scholar.jsonl --auditor agreement/auditor.jsonl "
        "--trace answers/whole.jsonl --gates kappa=0.1,percent_agreement=0.3",
        """
        scholar = "agreement/scholar.jsonl"
        auditor = "agreement/auditor.jsonl"
        trace = "answers/whole.jsonl"
        gates = ["kappa=0.1", "percent_agreement=0.3"]
        """,
    ),
    Door(
        "agreement-derived",
        "agreement",
        "agreement score --gold answers/gold.jsonl --trace answers/whole.jsonl --min-substr 4",
        'gold = "answers/gold.jsonl"\ntrace = "answers/whole.jsonl"\nmin_substr = 4',
    ),
    Door(
        "reasoning",
        "reasoning",
        REASONING,
        'fixture = "reasoning/fixture.json"\nanswers = "reasoning/answers.jsonl"',
    ),
    Door(
        "reasoning-options",
        "reasoning",
        f"{REASONING} --case-min-overall 0.9 --suite-min-pass-rate 0.2 --fail-on-errors --max-cases 5 --offenders 2 "
        "--gates pass_rate[preset=audit]=0.9",
        """
        fixture = "reasoning/fixture.json"
        answers = "reasoning/answers.jsonl"
        case_min_overall = 0.9
        suite_min_pass_rate = 0.2
        fail_on_errors = true
        max_cases = 5
        offenders = 2
        gates = ["pass_rate[preset=audit]=0.9"]
        """,
    ),
    Door(
        "reasoning-bundled",
        "reasoning",
        "reason score --answers reasoning/bundled.jsonl --max-cases 4",
        'answers = "reasoning/bundled.jsonl"\nmax_cases = 4',
    ),
    Door(
        "reasoning-signals",
        "reasoning",
        f"{REASONING} --profile signals",
        'fixture = "reasoning/fixture.json"\nanswers = "reasoning/answers.jsonl"\nprofile = "signals"',
    ),
    Door("outcomes", "outcomes", OUTCOMES, 'outcomes = "outcomes/rows.jsonl"'),
    Door(
        "outcomes-options",
        "outcomes",
        f"{OUTCOMES} --report reasoning/report.json --min-samples 10 --min-accept-rate 0.5 --min-useful-rate 0.4 "
        "--gates accept_rate[model=m1]=0.9,auc=0.6",
        """
        outcomes = "outcomes/rows.jsonl"
        report = "reasoning/report.json"
        min_samples = 10
        min_accept_rate = 0.5
        min_useful_rate = 0.4
        gates = ["accept_rate[model=m1]=0.9", "auc=0.6"]
        """,
    ),
]
RATERS = "agreement raters --ratings agreement/ratings.jsonl"
# Reports of verbs that no config can name.
ALONE = {
    "raters": RATERS,
    "raters-options": f"{RATERS} --labels 1,2,3,4,5,6 --gates alpha=0.67 --require-proof --offenders 2",
    "raters-weights": "agreement raters --ratings agreement/two_raters.jsonl --weights quadratic --labels low,mid,high",
    "retrieval-metrics": f"{RETRIEVAL} --metrics P@3,MRR --gates mrr=0.5",
    "trec": "retrieval score --qrels retrieval/qrels.txt --run retrieval/run.txt",
    "trec-live": "retrieval score --qrels retrieval/qrels.txt --run retrieval/run.txt --live retrieval/run_live.txt",
    "guard": "reason guard --report reasoning/better_report.json --min-cases 5",
}
VERBS = {door.name: door.verb for door in DOORS} | ALONE


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the inputs, where a config stands beside them and its paths are spelled as the verb's are."""
    return Path(shutil.copytree(INPUTS, tmp_path / "project"))


def scored(project: Path, verb: str) -> dict[str, Any]:
    """The report that the verb writes."""
    ran = call(*shlex.split(verb), "-o", "report.json", cwd=project)
    assert ran.code in VERDICTS, ran.err
    return json.loads((project / "report.json").read_bytes())


def checked(project: Path, suite: str, config: str) -> dict[str, Any]:
    """The same suite's report on the board of a config."""
    (project / "shipworthy.toml").write_text(f"[suites.{suite}]\n{dedent(config)}\n", "utf-8")
    ran = call("check", "--config", "shipworthy.toml", "--no-record", "-o", "board.json", cwd=project)
    assert ran.code in VERDICTS, ran.err
    board = json.loads((project / "board.json").read_bytes())
    assert not board["failures"]
    return board["suites"][suite]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_a_config_gives_the_report_of_the_verb(project: Path, door: Door) -> None:
    own, configured = scored(project, door.verb), checked(project, door.suite, door.config)
    apart = [key for key in {*own, *configured} - {"run", "digest"} if own.get(key) != configured.get(key)]
    assert (configured["digest"], sorted(apart)) == (own["digest"], [])


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_report_is_verified(project: Path, verb: str) -> None:
    digest = scored(project, verb)["digest"]
    ran = call("verify", str(project / "report.json"), cwd=project.parent)  # wherever it is asked for
    assert (ran.code, ran.out.split()[0], ran.out.split()[-1]) == (0, "AGREES", digest), ran.out + ran.err


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_a_board_is_verified(project: Path, door: Door) -> None:
    checked(project, door.suite, door.config)
    ran = call("verify", str(project / "board.json"), cwd=project.parent)
    assert ran.code == 0, ran.out + ran.err
