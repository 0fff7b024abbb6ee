"""Pages against the code: generated ones are up to date, codes are explained, links lead somewhere, code runs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import shipworthy
from conftest import ROOT, Ran
from shipworthy.cli import COMMANDS
from shipworthy.codes import CODES
from shipworthy.suites import SUITES, load_suite

PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr} Run `make docs`."


def test_every_code_that_is_raised_is_explained() -> None:
    used = set()
    for path in (ROOT / "src").rglob("*.py"):
        used |= set(re.findall(r'\bcode="([a-z0-9-]+)"', path.read_text("utf-8")))
    assert used - set(CODES) == set()


def test_every_code_that_is_explained_occurs() -> None:
    sources = [path for path in (ROOT / "src").rglob("*.py") if path.name != "codes.py"]
    text = "".join(path.read_text("utf-8") for path in sources)
    assert [code for code in CODES if f'"{code}"' not in text and f"[{code}]" not in text] == []


def test_every_explanation_is_a_sentence() -> None:
    for code, text in CODES.items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)
        assert text.endswith("."), code


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("verb", COMMANDS)
def test_help_teaches(verb: str, cli: Callable[..., Ran]) -> None:
    ran = cli(verb, "--help")
    assert ran.code == 0
    assert "Usage:" in ran.out


def test_code_of_the_library_page_prints_what_the_page_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = ROOT / "docs" / "library.md"
    blocks = re.findall(r"```(python|text)\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "text"] * (len(blocks) // 2)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for (_, code), (_, printed) in zip(blocks[::2], blocks[1::2], strict=True):
        exec(compile(code, page.name, "exec"), names)
        assert capsys.readouterr().out == printed, code


def test_the_library_page_names_every_suite_with_its_inputs() -> None:
    page = (ROOT / "docs" / "library.md").read_text("utf-8")
    table = page.partition("| suite | inputs")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", table, re.MULTILINE))
    assert list(rows) == list(SUITES)
    for name, inputs in rows.items():
        specs = load_suite(name).inputs
        assert inputs == ", ".join(f"`{spec.name}`" if spec.required else f"[`{spec.name}`]" for spec in specs)


def test_the_library_page_names_every_public_name() -> None:
    page = (ROOT / "docs" / "library.md").read_text("utf-8").partition("## Public names")[2]
    assert set(shipworthy.__all__) <= set(re.findall(r"`(\w+)`", page))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_on_a_page_imports_what_is_there(page: Path) -> None:
    for code in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shipworthy"):
                module = import_module(node.module or "")
                missing = [alias.name for alias in node.names if not hasattr(module, alias.name)]
                assert missing == [], node.module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_that_a_page_names_are_there(page: Path) -> None:
    for dotted in re.findall(r"`shipworthy((?:\.\w+)+)[`(]", page.read_text("utf-8")):
        if dotted not in (".toml", ".lock"):
            place: Any = shipworthy
            for part in dotted.strip(".").split("."):
                place = getattr(place, part, None) or import_module(f"{place.__name__}.{part}")


def test_the_project_speaks_of_the_product_alone() -> None:
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT, check=False).stdout.split(
        "\n"
    )
    banned = re.compile(r"(^|[^A-Za-z])/(work|farm)/|pypi\.org|files\.pythonhosted")
    for name in listed:
        path = ROOT / name
        if name.endswith((".py", ".md", ".toml", ".yml")) and path.is_file() and path != Path(__file__):
            assert not banned.search(path.read_text("utf-8")), name
