"""Compare a new index with the one in use on the same questions: may it replace it?"""

from shipworthy import evaluate

QUESTIONS = [f"q{number}" for number in range(1, 21)]
gold = [{"qid": qid, "question": f"Where is {qid}?", "relevant": [f"doc-{qid}"]} for qid in QUESTIONS]


def log(misses: set[str]) -> list[dict]:
    """A retrieval log: the right block first, or not at all."""
    return [
        {"qid": qid, "topk": [{"id": "noise" if qid in misses else f"doc-{qid}", "score": 1.0}, {"id": "other"}]}
        for qid in QUESTIONS
    ]


decision = evaluate(
    "retrieval",
    gold=gold,
    shadow=log(misses={"q3", "q4"}),
    live=log(misses={"q4"}),
    only_gates=True,
    gates="recall@5>=baseline-0.02",
)
comparison = decision.sections["comparison"]
print(decision.verdict, decision.reasons[0])
print("worse:", [row["qid"] for row in comparison["worse"]], "better:", [row["qid"] for row in comparison["better"]])
