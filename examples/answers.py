"""Score recorded answers against a gold set and act on the verdict."""

from pathlib import Path

from shipworthy import evaluate

HELLO = Path(__file__).parent / "hello"

decision = evaluate(HELLO / "gold.jsonl", HELLO / "trace.jsonl", gates="precision=0.85", k=[1, 5])

print(decision.verdict, "because", "; ".join(decision.reasons))
for name in ("precision", "chr", "under_refusal", "recall@5"):
    print(f"  {name:14} {decision.measures[name]}")
for card in decision.offenders:
    print(f"  {card['qid']}: {card['says']}")
