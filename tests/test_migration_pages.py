"""The pages for people who come from another tool: files and commands of each, in order, and what they print."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from conftest import ROOT, Cli

BLOCK = re.compile(r"^(?:<!-- file: (\S+) -->\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXPORTS = ROOT / "tests" / "importers" / "exports"
GIVEN = {"from-promptfoo": ("promptfoo/promptfooconfig.yaml", "promptfoo/results.json")}


@pytest.mark.parametrize("page", ["from-promptfoo", "from-ragas", "from-deepeval"])
def test_the_page_works_in_an_empty_folder(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in GIVEN.get(page, ()):
        shutil.copy(EXPORTS / name, tmp_path)
    ran = 0
    for name, language, content in BLOCK.findall((ROOT / "docs" / f"{page}.md").read_text("utf-8")):
        if name:
            Path(name).write_text(content, "utf-8")
        elif language == "json":
            assert json.loads(content) in map(json.loads, Path("gold.jsonl").read_text("utf-8").splitlines())
        else:
            assert language == "console"
            for command, shown in re.findall(r"^\$ shipworthy (.+)\n((?:(?!\$ ).*\n)*)", content, re.MULTILINE):
                found = cli(*shlex.split(command))
                assert found.code == (1 if command.startswith("score") else 0), found.err
                assert in_order(shown, found.out), f"{command}\n{found.out}"
                ran += 1
    assert ran >= 2


def in_order(shown: str, printed: str) -> bool:
    """Whether the lines of the page are printed in this order; … stands for any number of lines."""
    parts = [re.escape(part.strip("\n")) for part in re.split(r"^…\n", shown, flags=re.MULTILINE)]
    return re.search(r"\n(?:.*\n)*?".join(filter(None, parts)), printed) is not None
