# %% [markdown]
# # Look into a run, cell by cell
# Open it as a notebook (Jupyter, VS Code), or run it as a script.

# %% Score, sliced by a field of the gold items
from pathlib import Path

from shipworthy import evaluate, render

HELLO = Path(__file__).parent / "hello"
decision = evaluate(HELLO / "gold.jsonl", HELLO / "trace.jsonl", by="answerable")
print(decision.verdict)

# %% Every gate: what was measured, and how sure that is
for outcome in decision.outcomes:
    print(f"{outcome.gate!s:24} {outcome.measure!s:16} {outcome.state}")

# %% One row per question, ready for a data frame
rows = list(decision.items)
print(rows[0])

# %% The same decision as a page
page = render(decision, "html")
print(f"{len(page):,} bytes of HTML")
