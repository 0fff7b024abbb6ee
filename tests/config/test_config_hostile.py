"""Config files that are damaged, or that say one thing twice: each is a usage error with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT, Cli, gold, trace, write_lines
from shipworthy.config import load_config
from shipworthy.errors import ShipworthyError, UsageError

GOOD = """\
[suites.answers]
gold = "g.jsonl"
trace = "t.jsonl"
min_substr = 5
gates = ["precision >= 0.90", "under_refusal <= 0.10", {gate = "chr >= 0.75", severity = "warn"}]
k = [1, 5]

[suites.latency]
gold = "g.jsonl"
trace = "t.jsonl"

[targets.shop]
url = "http://127.0.0.1:8000/qa"
headers = {Authorization = "Bearer ${TOKEN}"}
timeout_sec = 5.5

[history]
record = false

[[waivers]]
gate = "precision"
owner = "Ada"
reason = "known"
expires = 2026-12-31
"""


def write(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "shipworthy.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_file_is_right(tmp_path: Path) -> None:
    assert [suite.name for suite in load_config(write(tmp_path, GOOD)).suites] == ["answers", "latency"]


@pytest.mark.parametrize(
    ("gates", "names"),
    [
        ('["precision >= 0.90",\n "precision >= 0.50"]', "precision >= 0.90 and precision >= 0.50"),
        ('["under_refusal <= 0.05",\n "under <= 0.50"]', "under_refusal <= 0.05 and under <= 0.50"),
        ('["precision >= 0.90",\n {gate = "precision >= 0.5", severity = "info"}]', "0.90 and precision >= 0.5"),
        ('["precision[type=table] >= 0.9",\n "precision[type=table] >= 0.5"]', r"precision\\[type=table\\]"),
    ],
)
def test_a_gate_that_is_named_twice_is_an_error_with_its_line(gates: str, names: str, tmp_path: Path) -> None:
    path = write(tmp_path, f'[suites.answers]\ngold = "g"\ntrace = "t"\ngates = {gates}\n')
    with pytest.raises(UsageError, match=names.replace("\\\\", "\\")) as caught:
        load_config(path)
    assert caught.value.code == "gate-repeated"
    assert caught.value.where == f"{path}:5"


def test_gates_that_differ_in_what_they_are_about_are_none(tmp_path: Path) -> None:
    text = '[suites.answers]\ngold = "g"\ntrace = "t"\ngates = ["precision >= 0.9", "precision[type=table] >= 0.5"]\n'
    assert len(load_config(write(tmp_path, text)).suites[0].gates) == 2
    text = '[suites.latency]\ngold = "g"\ntrace = "t"\ngates = ["p95 <= 900", "p95 <= baseline * 1.5"]\n'
    assert len(load_config(write(tmp_path, text)).suites[0].gates) == 2


@pytest.mark.parametrize("value", ["0", "-1", "-0x10", "1" + "0" * 20, "0x" + "f" * 5000, "9" * 5000, "0.5", "nan"])
def test_a_whole_number_out_of_range_is_an_error_with_its_line(value: str, tmp_path: Path, cli: Cli) -> None:
    path = write(tmp_path, GOOD.replace("min_substr = 5", f"min_substr = {value}"))
    with pytest.raises(UsageError) as caught:
        load_config(path)
    assert caught.value.code in ("config-value", "config-type", "config-syntax")
    write_lines(tmp_path / "g.jsonl", [gold("A")])
    write_lines(tmp_path / "t.jsonl", [trace("A")])
    assert cli("check", "--config", path).code == 2


def test_min_substr_says_what_it_must_be(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("min_substr = 5", "min_substr = 0"))
    with pytest.raises(UsageError, match="min_substr: expected a whole number of at least 1, found 0") as caught:
        load_config(path)
    assert caught.value.where == f"{path}:4"


HOSTILE = {
    "a number too long for Python": GOOD + "\n[controls]\nrun = " + "9" * 5000 + "\n",
    "a float too long": GOOD + "\n[controls]\nrun = 0." + "9" * 100_000 + "\n",
    "an array too deep": "x = " + "[" * 50_000 + "]" * 50_000,
    "a table too deep": "x = " + "{a=" * 20_000 + "1" + "}" * 20_000,
    "a day that is none": GOOD.replace("2026-12-31", "2026-02-31"),
    "a time for a day": GOOD.replace("2026-12-31", "2026-12-31T00:00:00Z"),
    "a key twice": GOOD.replace("min_substr = 5", "min_substr = 5\nmin_substr = 4"),
    "a table twice": GOOD + '\n[suites.answers]\ngold = "x"\n',
    "a NUL": GOOD.replace("Ada", "A\\u0000\0"),
    "a lone surrogate": GOOD.replace("Ada", "\\ud800"),
    "no UTF-8": GOOD.encode().replace(b"Ada", b"\xff\xfe"),
    "a gate that is none": GOOD.replace("precision >= 0.90", "precision >= ²"),
    "a gate with a long number": GOOD.replace("precision >= 0.90", "precision >= " + "9" * 5000),
    "a gate that is a number": GOOD.replace('"precision >= 0.90"', "0.9"),
    "gates that are a table": GOOD.replace('gates = ["precision', 'gates = {a = ["precision').replace(
        '"warn"}]', '"warn"}]}'
    ),
    "a suite that is a list": '[[suites.answers]]\ngold = "x"\n',
    "suites that are a number": "suites = 1\n",
    "waivers that are a table": GOOD.replace("[[waivers]]", "[waivers]"),
    "nothing": "",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_config_that_is_none_is_a_usage_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load_config(write(tmp_path, HOSTILE[name]))
    assert caught.value.code.startswith(("config-", "gate-"))
    assert all(len(line) < 2000 for line in str(caught.value).splitlines())


@settings(max_examples=100 * EFFORT, deadline=None)
@given(data=st.data())
def test_any_damage_is_a_usage_error_or_harmless(data: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Flip, cut or insert bytes anywhere: an error of ours, or a config."""
    text = bytearray(GOOD.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        noise = st.binary(max_size=4) | st.sampled_from([b"[", b"]", b'"', b"=", b"{", b"\n", b"9" * 5000, b"\\u0000"])
        text[at : at + data.draw(st.integers(0, 30))] = data.draw(noise)
    path = tmp_path_factory.mktemp("damage") / "shipworthy.toml"
    path.write_bytes(bytes(text))
    try:
        load_config(path)
    except ShipworthyError as error:
        assert error.exit_code in (2, 4)
