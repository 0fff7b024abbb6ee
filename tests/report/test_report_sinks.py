"""Hostile names everywhere in the inputs of every suite, in every report of it: payload × suite × format × stream."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from report_helpers import PAYLOADS
from sinks import check_format, check_text

INPUTS = Path(__file__).parents[1] / "golden" / "inputs"
SHARP = [
    "escape", "c1", "control", "command", "set-output", "older-command", "azure", "teamcity", "late-command",
    "carriage", "line", "stop", "percent", "bidi", "surrogate", "separator", "script", "table",
]  # fmt: skip
FILES = {"json": "r.json", "tsv": "r.tsv", "markdown": "r.md", "junit": "r.xml", "html": "r.html", "text": "r.txt"}
RUNS = {
    "answers": "score --gold gold.jsonl --trace whole.jsonl --by type --by lang --scu-enforced --chunks chunks.jsonl",
    "stability": "stability score --gold gold.jsonl --stability runs.jsonl --sweep all --by type",
    "latency": "latency score --gold gold.jsonl --trace trace.jsonl --gates p50=1",
    "retrieval": "retrieval score --gold gold.jsonl --shadow shadow.jsonl --live live.jsonl --sections sections.jsonl",
    "agreement": "agreement score --pairs pairs.jsonl --disagreements r.dis.tsv",
    "raters": "agreement raters --ratings ratings.jsonl",
    "reasoning": "reason score --fixture fixture.json --answers answers.jsonl",
    "outcomes": "outcomes --input rows.jsonl",
}
FOLDERS = {"raters": "agreement"}
# what a field may hold is text of the author's; these are words that the contracts know
KEPT = {
    "label",
    "match",
    "jitter",
    "timestamp",
    "lambda_state",
    "expected",
    "kind",
    "answerable",
    "sweep_id",
    "section_id",
}
KNOWN = {"not in context", "yes", "no", "y", "n", "true", "false", "1", "0"}


def poisoned(value: Any, payload: str, key: str = "") -> Any:
    """The value with the payload before every text that its author can choose, names of stages included."""
    if isinstance(value, str):
        return value if key in KEPT or value in KNOWN else f"{payload}{value}"
    if isinstance(value, list):
        return [poisoned(one, payload, key) for one in value]
    if isinstance(value, dict) and key == "stage_ms":
        return {f"{payload}{name}": one for name, one in value.items()} | value
    if isinstance(value, dict):
        return {name: poisoned(one, payload, name) for name, one in value.items()}
    return value


def poison_folder(source: Path, folder: Path, payload: str) -> None:
    told = payload.encode("utf-8", "backslashreplace").decode("utf-8")  # names are UTF-8; a lone surrogate is spelled
    for path in [*source.glob("*.jsonl"), *source.glob("fixture.json")]:
        rows = [path.read_text("utf-8")] if path.suffix == ".json" else path.read_text("utf-8").splitlines()
        (folder / path.name).write_text("".join(f"{json.dumps(row)}\n" for row in _rows(rows, told)), "utf-8")


def _rows(lines: list[str], payload: str) -> Iterator[Any]:
    for line in lines:
        try:
            yield poisoned(json.loads(line), payload)
        except json.JSONDecodeError:
            continue


@pytest.mark.parametrize("suite", RUNS)
@pytest.mark.parametrize("name", SHARP)
def test_no_report_of_any_suite_obeys_its_inputs(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suite: str, name: str
) -> None:
    poison_folder(INPUTS / FOLDERS.get(suite, suite), tmp_path, PAYLOADS[name])
    monkeypatch.chdir(tmp_path)
    outputs = [part for path in FILES.values() for part in ("-o", path)]
    ran = cli(*shlex.split(RUNS[suite]), *(["--lenient"] if suite not in ("reasoning", "outcomes") else []), *outputs)
    assert ran.code in (0, 1, 3) and (tmp_path / "r.json").exists(), ran.err
    check_text(ran.out)
    check_text(ran.err)
    for form, path in FILES.items():
        check_format(form, (tmp_path / path).read_bytes())
    check_text((tmp_path / "r.txt").read_text("utf-8"))
    if suite == "agreement":
        check_format("tsv", (tmp_path / "r.dis.tsv").read_bytes())


@pytest.mark.parametrize("form", [*FILES, "github"])
def test_standard_output_has_the_bytes_of_the_file(cli: Cli, tmp_path: Path, form: str) -> None:
    poison_folder(INPUTS / "answers", tmp_path, PAYLOADS["stop"])
    flags = ("score", "--gold", tmp_path / "gold.jsonl", "--trace", tmp_path / "good.jsonl", "--format", form)
    ran = cli(*flags, *(("-o", tmp_path / FILES[form]) if form in FILES else ()))
    check_format(form, ran.out.encode())
    if form not in ("github", "json"):  # whose `run` block has a clock
        assert ran.out == (tmp_path / FILES[form]).read_text("utf-8")
