"""A policy of your own: one gate warns, one needs proof, one is waived until a day."""

import datetime
import shutil
import tempfile
from pathlib import Path

from shipworthy import check

HELLO = Path(__file__).parent / "hello"
CONFIG = """
[suites.answers]
gold = "gold.jsonl"
trace = "trace.jsonl"
gates = [
    "precision >= 0.80",
    {gate = "chr >= 0.99", severity = "warn"},
    {gate = "over_refusal <= 0.10", on_unproven = "fail"},
]

[[waivers]]
gate = "over_refusal"
owner = "Ada"
reason = "three questions prove nothing yet"
expires = 2026-12-31
"""

with tempfile.TemporaryDirectory() as folder:
    for name in ("gold.jsonl", "trace.jsonl"):
        shutil.copy(HELLO / name, folder)
    config = Path(folder) / "shipworthy.toml"
    config.write_text(CONFIG, "utf-8")
    before = check(config, record=False, today=datetime.date(2026, 12, 31))
    after = check(config, record=False, today=datetime.date(2027, 1, 1))
print("while the waiver holds:", before.verdict)
print("the day after:         ", after.verdict, "·", after.decisions[0].reasons[-1])
