"""`init`: a project that works at once, and nothing overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ROOT, Cli
from shipworthy.config import load_config
from shipworthy.config.starter import FILES, write_starter
from shipworthy.errors import EnvironmentFailure
from shipworthy.jobs.check import check
from shipworthy.suites.answers.lint import lint


def test_what_is_written_ships(tmp_path: Path) -> None:
    assert all(created for _, created in write_starter(tmp_path))
    board = check(tmp_path / "shipworthy.toml")
    assert board.verdict == "SHIP" and not board.run["warnings"]
    assert [finding for finding in lint(str(tmp_path / "eval" / "gold.jsonl")) if finding.severity == "error"] == []


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "eval").mkdir()
    for path in ("eval/gold.jsonl", "shipworthy.toml"):
        (tmp_path / path).write_text("mine")
    written = {Path(path).relative_to(tmp_path).as_posix(): created for path, created in write_starter(tmp_path)}
    assert written == {path: path not in ("eval/gold.jsonl", "shipworthy.toml") for path in FILES}
    assert (tmp_path / "eval" / "gold.jsonl").read_text() == "mine"
    assert not any(created for _, created in write_starter(tmp_path))


def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "shipworthy.toml").symlink_to(tmp_path / "elsewhere.toml")
    write_starter(tmp_path)
    assert not (tmp_path / "elsewhere.toml").exists()


def test_every_commented_key_of_the_starter_config_is_right(tmp_path: Path) -> None:
    write_starter(tmp_path)
    path = tmp_path / "shipworthy.toml"
    lines = path.read_text().splitlines()
    opened = [
        line.removeprefix("# ") if line.startswith("# ") and ("=" in line or line.startswith("# [")) else line
        for line in lines
    ]
    opened = [line.replace("  # {", "  {").replace('  # "recall', '  "recall') for line in opened]
    path.write_text("\n".join(opened))
    config = load_config(path)
    assert config.targets and config.waivers and config.suites[0].driving == {"target": "app"}


def test_the_workflow_is_yaml_that_runs_check(tmp_path: Path) -> None:
    write_starter(tmp_path)
    workflow = (tmp_path / ".github" / "workflows" / "shipworthy.yml").read_text()
    assert "shipworthy check" in workflow and "\t" not in workflow
    assert workflow in (ROOT / "docs" / "ci.md").read_text("utf-8")
    assert "${{" not in workflow  # nothing interpolated into a script


def test_a_place_that_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFailure):
        write_starter(tmp_path / "file")


def test_the_command_line(tmp_path: Path, cli: Cli) -> None:
    ran = cli("init", tmp_path / "new")
    assert ran.code == 0 and ran.out.count("wrote") == len(FILES)
    assert cli("init", tmp_path / "new").out.count("kept") == len(FILES)
    assert cli("check", "--config", tmp_path / "new" / "shipworthy.toml", "--no-record").code == 0
    assert not (tmp_path / "new" / ".shipworthy" / "history.db").exists()
    for name in ("config", "gold", "trace", "lock"):
        assert cli("schema", name).json


def test_a_gitlab_job_and_hooks_where_they_are_asked_for(tmp_path: Path, cli: Cli) -> None:
    ran = cli("init", str(tmp_path), "--with", "gitlab", "--with", "pre-commit")
    assert ran.code == 0
    job = (tmp_path / ".gitlab-ci.yml").read_text("utf-8")
    template = (ROOT / "ci" / "gitlab.yml").read_text("utf-8")
    assert job.splitlines()[1:] == template.splitlines()[1:]
    assert "gold lint" in (tmp_path / ".pre-commit-config.yaml").read_text("utf-8")
    assert cli("init", str(tmp_path), "--with", "jenkins").code == 2
