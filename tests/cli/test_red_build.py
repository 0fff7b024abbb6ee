"""The page about a red build: three runs of four questions, and what each command then prints."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from test_samples import missing_part, samples

from conftest import ROOT, Cli, gold, trace, write_lines

PAGE = ROOT / "docs" / "red-build.md"
RIGHT = {
    "Q07": "Goods can be returned within 30 days of buying.",
    "Q12": "The warranty is 24 months.",
    "Q13": "Delivery takes 3 days.",
    "Q15": "Shipping costs 5 euros.",
}
EXPECTED = {"Q07": "30 days", "Q12": "24 months", "Q13": "3 days", "Q15": "5 euros"}
WRONG = {"Q07": "Goods can be returned within 60 days of buying.", "Q12": "It varies.", "Q15": "It is not cheap."}


def test_the_page_shows_what_is_printed(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SHIPWORTHY_HISTORY", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_SERVER_URL", "GITHUB_HEAD_REF"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (("NO_COLOR", "1"), ("GITHUB_REPOSITORY", "acme/shop"), ("GITHUB_REF_NAME", "main")):
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    Path("shipworthy.toml").write_text('[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n')
    write_lines(tmp_path / "gold.jsonl", [gold(qid, [text]) for qid, text in EXPECTED.items()])
    builds = (("51b7d0e4", ["Q12"]), ("9f3c2a1b", ["Q07", "Q12"]), ("c0ffee00", ["Q07", "Q15"]))
    for commit, wrong in builds:
        monkeypatch.setenv("GITHUB_SHA", commit * 5)
        claims = {qid: WRONG[qid] if qid in wrong else claim for qid, claim in RIGHT.items()}
        write_lines(tmp_path / "trace.jsonl", [trace(qid, claim) for qid, claim in claims.items()])
        if commit != builds[-1][0]:
            cli("check")
    assert len(samples(PAGE)) == 3
    for sample in samples(PAGE):
        ran = cli(*shlex.split(sample.command))
        lost = missing_part(sample.lines, ran.err + ran.out)
        assert not lost, f"$ shipworthy {sample.command}\ndoes not print\n{lost}\nbut\n{ran.err + ran.out}"
    assert Path("compare.html").exists()
