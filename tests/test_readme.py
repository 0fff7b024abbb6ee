"""The README: every block, in order, in an empty folder, with the files that the page itself gives."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from conftest import ROOT, Cli

PAGE = (ROOT / "README.md").read_text("utf-8")
BLOCK = re.compile(r"^(?:<!-- file: (\S+) -->\n)?```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What sets up an environment or needs one that is set up; CI itself runs the first two.
ELSEWHERE = ("make demo", "make test", "uvx --from")


def test_every_block_works_in_order_in_an_empty_folder(
    service: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    shutil.copytree(ROOT / "examples" / "hello", tmp_path / "examples" / "hello")
    ran: list[str] = []
    for name, language, content in BLOCK.findall(PAGE):
        if name:
            Path(name).write_text(content, "utf-8")
        elif language == "python":
            exec(compile(content, "README.md", "exec"), {"print": lambda *words, to=ran: to.append(str(words[0]))})
        elif language in ("", "console"):
            for line in content.splitlines():
                ran += run(line, language, service, cli)
    assert "SHIP" in ran  # what the Python block prints
    assert sum(line.startswith("shipworthy ") for line in ran) >= 8


def run(line: str, language: str, service: int, cli: Cli) -> list[str]:
    """A line that is a command, run as it is written; output that the page shows is compared elsewhere."""
    if line.startswith(ELSEWHERE) or (language == "console" and not line.startswith("$ ")):
        return []
    command = line.removeprefix("$ ").removeprefix(".venv/bin/").replace("localhost:8000", f"127.0.0.1:{service}")
    words = shlex.split(command, comments=True)
    if not words:
        return []
    assert words[0] == "shipworthy", f"the page has a command that nobody runs: {line}"
    found = cli(*words[1:])
    broken = "--fault" in words  # the page says that this one fails
    assert found.code == (1 if broken else 0), f"{line}\n{found.out}\n{found.err}"
    if "score" in words or "check" in words:
        assert found.out.startswith("SHIP"), found.out
    return [shlex.join(words)]
