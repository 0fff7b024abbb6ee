"""The wheel and the sdist alone: built, installed in clean environments outside the repository, and used from there."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT

pytestmark = pytest.mark.slow


def run(*command: str | Path, folder: Path, codes: tuple[int, ...] = (0,)) -> str:
    known = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=known,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode in codes, done.stdout[-3000:]
    return done.stdout


def environment(folder: Path, *packages: str | Path) -> Path:
    """A fresh environment with the packages; the test is skipped where they can't be fetched."""
    run(sys.executable, "-m", "venv", folder, folder=folder.parent)
    python = folder / "bin" / "python"
    said = run(python, "-m", "pip", "install", "--quiet", *packages, folder=folder.parent, codes=(0, 1))
    if run(python, "-m", "pip", "check", folder=folder.parent, codes=(0, 1)) and "No matching distribution" in said:
        pytest.skip(f"no package index: {said[-200:]}")
    return folder / "bin"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    tools = environment(folder / "tools", "hatchling>=1.27")
    run(tools / "python", "-m", "hatchling", "build", "-d", folder / "dist", folder=ROOT)
    return folder / "dist"


def test_the_wheel_holds_the_package_its_data_and_nothing_else(built):
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert all(name.startswith(("shipworthy/", "shipworthy-")) for name in names)
    data = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*") if "data" in path.parts}
    files = {name for name in data if (ROOT / "src" / name).is_file() and "__pycache__" not in name}
    assert files <= set(names)


@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_it_works_alone(built, kind, tmp_path):
    (package,) = built.glob(kind)
    tools = environment(tmp_path / "clean", package, "pytest>=8.2,<10")
    project = tmp_path / "project"
    project.mkdir()
    place = run(tools / "python", "-c", "import shipworthy; print(shipworthy.__file__)", folder=project)
    assert str(tmp_path / "clean") in place
    assert "shipworthy" in run(tools / "shipworthy", "--version", folder=project)
    run(tools / "shipworthy", "init", folder=project)
    assert "SHIP" in run(tools / "shipworthy", "check", folder=project)
    assert "9 passed" in run(tools / "python", "-m", "pytest", "--shipworthy", folder=project)  # by its entry point
    assert "SHIP" in run(tools / "shipworthy", "demo", "--out", "demo", folder=project)
    assert list((project / "demo").rglob("*.html"))
