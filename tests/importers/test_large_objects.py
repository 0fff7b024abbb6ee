"""Exports that are one JSON object, however large, are read in pieces, and mean what the same records mean in small."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shipworthy.errors import ShipworthyError
from shipworthy.importers import Importer

EXPORTS = Path(__file__).parent / "exports"
LARGE = 4 << 20  # more is not held whole
Record = dict[str, Any]


def otlp(numbers: range) -> Record:
    """All lines of an export as one object; each copy has traces of its own."""
    text = (EXPORTS / "openinference" / "langchain.otlp.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    resources = []
    for number in numbers:
        for resource in (resource for line in lines for resource in line["resourceSpans"]):
            scopes = [
                {
                    **scope,
                    "spans": [{**span, "traceId": f"{number:08x}{span['traceId'][8:]}"} for span in scope["spans"]],
                }
                for scope in resource["scopeSpans"]
            ]
            resources.append({"scopeSpans": scopes, "resource": resource.get("resource")})
    return {"resourceSpans": resources}


def otlp_in_one_scope(numbers: range) -> Record:
    """One resource with one scope that holds every span, as collectors write them."""
    scopes = [scope for resource in otlp(numbers)["resourceSpans"] for scope in resource["scopeSpans"]]
    spans = [span for scope in scopes for span in scope["spans"]]
    return {"resource_spans": [{"resource": {}, "scope_spans": [{"scope": {}, "spans": spans}]}]}


def promptfoo(numbers: range) -> Record:
    found: Record = json.loads((EXPORTS / "promptfoo" / "results.json").read_text())
    rows = found["results"]["results"]
    found["results"]["results"] = [{**row, "testIdx": row["testIdx"] + 100 * n} for n in numbers for row in rows]
    return found


def promptfoo_sorted(numbers: range) -> Record:
    """The version, by which a file is known, stands behind the rows."""
    found: Record = json.loads(json.dumps(promptfoo(numbers), sort_keys=True))
    return found


def deepeval(numbers: range) -> Record:
    (path,) = (EXPORTS / "deepeval" / "results").glob("test_run_*.json")
    found: Record = json.loads(path.read_text())
    cases = found["testCases"]
    found["testCases"] = [{**case, "input": f"{case['input']} ({n})"} for n in numbers for case in cases]
    return found


def beir(numbers: range) -> Record:
    return {f"q{n}": {f"d{n}-{rank}": 1 / (rank + 1) for rank in range(200)} for n in numbers}


SHAPES: dict[str, tuple[Callable[[range], Record], int]] = {
    "otlp": (otlp, 40),
    "otlp in one scope": (otlp_in_one_scope, 40),
    "promptfoo": (promptfoo, 100),
    "promptfoo, sorted": (promptfoo_sorted, 100),
    "deepeval": (deepeval, 800),
    "beir": (beir, 900),
}


def imported(path: Path) -> list[str]:
    importer = Importer([str(path)])
    found = sorted(map(repr, importer.traces()))
    assert importer.coverage.rows == len(found)
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_a_large_object_says_what_several_small_ones_say(shape: str, tmp_path: Path) -> None:
    make, copies = SHAPES[shape]
    large, small = tmp_path / "large.json", tmp_path / "small.jsonl"
    large.write_text(json.dumps(make(range(copies))))
    step = copies // 10
    small.write_text("".join(json.dumps(make(range(n, n + step))) + "\n" for n in range(0, copies, step)))
    assert large.stat().st_size > LARGE
    assert imported(large) == imported(small)


def peak_of_import(path: Path, out: Path) -> int:
    code = (  # not getrusage: its peak begins with that of the process that started this one
        "import sys; from shipworthy.cli import main; "
        "code = main(['import', sys.argv[1], '--out', sys.argv[2]]); "
        "print('peak', open('/proc/self/status').read().split('VmHWM:')[1].split()[0]); sys.exit(code)"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(path), str(out)], capture_output=True, text=True, check=True)
    return int(ran.stdout.rsplit("peak", 1)[1]) * 1024


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="there is no /proc to read the peak from")
@pytest.mark.parametrize("shape", ["otlp in one scope", "beir"])
def test_a_larger_object_takes_no_more_memory(shape: str, tmp_path: Path) -> None:
    make, copies = SHAPES[shape]
    peaks = []
    for times in (1, 3):
        path = tmp_path / f"{times}.json"
        path.write_text(json.dumps(make(range(copies * times))))
        peaks.append(peak_of_import(path, tmp_path / f"{times}.jsonl"))
    assert peaks[1] < peaks[0] + (path.stat().st_size // 3)


def test_a_row_of_another_kind_is_named_by_its_number(tmp_path: Path) -> None:
    record = promptfoo(range(100))
    record["results"]["results"][-1] = {"prompt": "not a result"}
    path = tmp_path / "large.json"
    path.write_text(json.dumps(record, indent=1))
    with pytest.raises(ShipworthyError, match=f"row {100 * 16} is not a promptfoo result"):
        imported(path)


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda text: text[: len(text) * 9 // 10], "truncated"),
        (lambda text: text[:-1] + ', "results": []}', "repeated-key"),
        (lambda text: text[:-1] + ", }", "json"),
        (lambda text: text[:-1] + ' "x": 1}', "json"),
        (lambda text: text.replace('"success": true', '"success": tru', 1), "json"),
        (lambda text: text.replace("}, {", "} {"), "json"),
        (lambda text: text + "\n[1]", "json"),
    ],
)
def test_a_damaged_object_is_refused_whatever_its_size(damage: Callable[[str], str], code: str, tmp_path: Path) -> None:
    for copies in (1, 100):
        path = tmp_path / f"{copies}.json"
        path.write_text(damage(json.dumps(promptfoo(range(copies)))))
        with pytest.raises(ShipworthyError) as caught:
            imported(path)
        assert caught.value.code == code


def test_a_file_goes_on_behind_a_large_object(tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    path.write_text(json.dumps(otlp(range(40))) + "\n" + json.dumps(otlp(range(40, 41))))
    assert len(imported(path)) == 41 * 9
