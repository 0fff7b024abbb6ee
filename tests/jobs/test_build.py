"""The build that a report was made for: commit, branch, time, label and release, the same in every file of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Cli, gold, trace, write_lines

SHA = "8c1f0e2a77b3" + "0" * 28


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    for name, value in (("GITHUB_SHA", SHA), ("GITHUB_REF_NAME", "main"), ("SOURCE_DATE_EPOCH", "1767225600")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("GITHUB_HEAD_REF", raising=False)
    monkeypatch.chdir(tmp_path)
    items = [gold("Q1"), gold("Q2")]
    return (
        write_lines(tmp_path / "gold.jsonl", items),
        write_lines(tmp_path / "trace.jsonl", [trace("Q1"), trace("Q2", "No.")]),
    )


def test_every_report_names_the_build_and_the_digest_does_not_depend_on_it(
    cli: Cli, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("gold", "freeze", files[0], "--release", "2026.1", "--signed-off-by", "Ada").code == 0
    flags = ("score", "--gold", files[0], "--trace", files[1], "-o", "r.json", "-o", "r.md", "-o", "r.html")
    assert cli(*flags).code == 1
    first = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert first["run"]["build"] == {
        "commit": SHA,
        "branch": "main",
        "time": "2026-01-01 00:00 UTC",
        "gold_release": "2026.1",
    }
    assert "commit `8c1f0e2a77b3` · branch `main`" in (tmp_path / "r.md").read_text("utf-8")
    assert "gold release <strong>2026.1</strong>" in (tmp_path / "r.html").read_text("utf-8")
    monkeypatch.setenv("GITHUB_SHA", "f" * 40)
    cli(*flags)
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["digest"] == first["digest"]


def test_check_puts_its_label_there(cli: Cli, files: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "shipworthy.toml").write_text('[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n', "utf-8")
    ran = cli("check", "--no-record", "--label", "<nightly>", "-o", "r.html", "-o", "r.json")
    assert ran.code == 1, ran.err
    assert "label <strong>&lt;nightly&gt;</strong>" in (tmp_path / "r.html").read_text("utf-8")
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["run"]["build"]["label"] == "<nightly>"


@pytest.mark.parametrize("epoch", ["", "soon", "-1", "9" * 30])
def test_a_time_that_is_none_is_the_present(
    cli: Cli, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, epoch: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    ran = cli("score", "--gold", files[0], "--trace", files[1], "--json")
    assert json.loads(ran.out)["run"]["build"]["time"].endswith(" UTC") and "1970" not in ran.out
