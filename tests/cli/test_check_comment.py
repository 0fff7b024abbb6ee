"""`shipworthy check --comment` against a baseline, as it is typed."""

from __future__ import annotations

import json

from shipworthy.cli import main
from shipworthy.config.starter import write_starter


def test_questions_lost_since_the_baseline_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_starter(tmp_path)
    assert main(["check", "--label", "v1"]) == 0
    assert main(["baseline", "bless", "main", "v1", "--by", "Ada", "--reason", "released"]) == 0
    path = tmp_path / "eval" / "trace.jsonl"
    traces = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    traces[0]["answer_json"]["claim"] = "nobody knows"
    path.write_text("".join(json.dumps(trace) + "\n" for trace in traces))
    assert main(["check", "--baseline", "main", "--comment", "comment.md", "-o", "badge.svg"]) == 1
    text = (tmp_path / "comment.md").read_text("utf-8")
    assert f"1 question passed before and fails now: `{traces[0]['qid']}`" in text
    assert (tmp_path / "badge.svg").exists()
    marker = text.splitlines()[0]
    assert main(["check", "--comment", "again.md"]) == 1
    assert (tmp_path / "again.md").read_text("utf-8").splitlines()[0] == marker


def test_a_comment_that_can_not_be_written_is_said_and_the_verdict_is_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_starter(tmp_path)
    assert main(["check", "--no-record", "--comment", "/dev/null/comment.md"]) == 4
    captured = capsys.readouterr()
    assert captured.out.startswith("SHIP")
    assert "not written" in captured.err
