"""What an empty pytest session costs with the plugin loaded, beside bare pytest.

python benchmarks/pytest_plugin.py [ROUNDS]
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SRC = str(Path(__file__).parents[1] / "src")


def session(folder: str, *arguments: str) -> float:
    """Milliseconds of processor time of one session with a single test that does nothing.

    Processor time, because the clock of a busy machine would show the other processes.
    """
    known = {**os.environ, "PYTHONPATH": SRC, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=known, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    plugin = ("-p", "shipworthy.pytest_plugin")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_nothing.py").write_text("def test_nothing():\n    pass\n")
        for arguments in ((), plugin):  # once, so that bytecode is there
            session(folder, *arguments)
        pairs = [(session(folder), session(folder, *plugin)) for _ in range(rounds)]
    bare, loaded = ([pair[side] for pair in pairs] for side in (0, 1))
    added = statistics.quantiles([with_it - without for without, with_it in pairs], n=4)
    print(f"bare pytest         {statistics.median(bare):6.1f} ms of processor time (median of {rounds})")
    print(f"with the plugin     {statistics.median(loaded):6.1f} ms")
    print(f"added, in pairs     {added[1]:6.1f} ms (quartiles {added[0]:.1f} to {added[2]:.1f})")


if __name__ == "__main__":
    main()
