"""Words of the metrics of retrieval, by name or family."""

from __future__ import annotations

import re

from ...core.metrics import Words

WORDS = {
    "coverage": Words(
        "coverage",
        "Of the questions, the share whose answer cites a relevant block or the right section.",
        "questions with such a citation / questions with relevant blocks",
        "questions",
        "were answered from a relevant block or the right section",
        "coverage >= 0.70",
    ),
    "citation_accuracy": Words(
        "citation accuracy",
        "Of the answered questions with a gold byte range, the share whose citation points at that place.",
        "questions with a citation in the right section and byte range / such questions",
        "questions with a gold byte range",
        "were cited at the right place",
        "citation_accuracy >= 0.95",
    ),
    "answer_rate": Words(
        "answer rate",
        "The share of questions whose answer cites anything.",
        "questions with a citation / questions",
        "questions",
        "had any citation",
    ),
    "delta_s_median": Words(
        "median semantic distance (ΔS)",
        "How far the typical cited text is from its question: 0 is the same meaning, 1 is unrelated.",
        "median of 1 − cosine(question, cited text)",
        gate="delta_s_median <= 0.40",
    ),
    "delta_s_p90": Words(
        "90th percentile of semantic distance (ΔS)",
        "Nine of ten cited texts are at most this far from their question.",
        "percentile 90 of 1 − cosine(question, cited text)",
        gate="delta_s_p90 <= 0.55",
    ),
    "delta_s_within": Words(
        "cited texts near the question (ΔS)",
        "Of the questions whose answer cites something, the share whose cited text is close enough to the question.",
        "answered questions with ΔS of the cited text ≤ 0.45 (--delta-s-limit) / answered questions",
        "answered questions",
        "were near their cited text",
    ),
    "delta_s_max": Words(
        "largest semantic distance (ΔS)",
        "How far the farthest cited text is from its question: 0 is the same meaning, 1 is unrelated.",
        "maximum of 1 − cosine(question, cited text)",
    ),
    "lambda_convergent": Words(
        "convergence (λ)",
        "Of the questions asked in several wordings, the share where every wording reaches the same evidence.",
        "groups of one question and seed that converge / groups that can be judged",
        "groups of paraphrases",
        "converged",
        "lambda_convergent >= 0.95",
    ),
    "anchor_proximity": Words(
        "distance from the right section",
        "Steps in the table of contents between the cited section and the right one.",
        "mean of steps up and down the tree of titles",
    ),
    "precision@{k}": Words(
        "retrieval precision at {k}",
        "Of the first {k} blocks retrieved, the share that is relevant.",
        "relevant blocks in the first {k} / blocks returned in the first {k}",
        "questions",
        "had only relevant blocks in the first {k}",
        family="precision@{k}",
    ),
    "recall@{k}": Words(
        "retrieval recall at {k}",
        "Of the relevant blocks of a question, the share among the first {k} retrieved.",
        "mean over questions of relevant blocks in the first {k} / relevant blocks",
        "questions",
        "had their relevant blocks in the first {k}",
        "recall@5 >= baseline - 0.02, where live is given",
        family="recall@{k}",
    ),
    "ndcg@{k}": Words(
        "nDCG at {k}",
        "Ranking quality: relevant blocks count more the higher they rank; 1 is the best possible order.",
        "discounted gain of the first {k} / that of the best order",
        "questions",
        "had the best possible order",
        family="ndcg@{k}",
    ),
    "mrr": Words(
        "mean reciprocal rank",
        "How early the first relevant block comes: 1 at rank 1, 1/2 at rank 2, 0 if never.",
        "mean over questions of 1 / rank of the first relevant block",
        "questions",
        "had a relevant block at rank 1",
    ),
    "map": Words(
        "mean average precision",
        "Precision at the rank of each relevant block, averaged over blocks and questions.",
        "mean over questions of average precision",
        "questions",
        "had all relevant blocks first",
    ),
    "success@{k}": Words(
        "success at {k}",
        "The share of questions with at least one relevant block in the first {k}.",
        "questions with a relevant block in the first {k} / questions",
        "questions",
        "had a relevant block in the first {k}",
        family="success@{k}",
    ),
    "P_{k}": Words(
        "precision at {k}, as in trec_eval",
        "Relevant blocks in the first {k} divided by {k}, however many were returned.",
        "relevant blocks in the first {k} / {k}",
        "questions",
        "had only relevant blocks in the first {k}",
        family="P_{k}",
    ),
    "anchor_hit@{k}": Words(
        "right section in the first {k}",
        "The share of questions with a block of the right section among the first {k}.",
        "questions with such a block / questions",
        "questions",
        "had a block of the right section in the first {k}",
        family="anchor_hit@{k}",
    ),
    "negative_rate@{k}": Words(
        "hard negatives in the first {k}",
        "Of the first {k} blocks, the share that the gold set names as misleading.",
        "hard negatives in the first {k} / blocks in the first {k}",
        "questions",
        "had nothing but hard negatives in the first {k}",
        family="negative_rate@{k}",
    ),
    "negative_first": Words(
        "hard negative on top",
        "The share of questions where a misleading block outranks every relevant one.",
        "such questions / questions",
        "questions",
        "had a hard negative above every relevant block",
    ),
    "missing": Words(
        "questions without a result list",
        "Gold questions without a line in the log.",
        "count of such questions",
        "gold questions",
        "had no result list",
    ),
    "bad_qids": Words(
        "questions to look at",
        "Questions with coverage 0, or whose cited text is far from the question.",
        "count of such questions",
    ),
}
REASONS = {
    "missing": Words("no usable response", "The question has no trace or log line, or only one of a failed run."),
    "error": Words("failed run", "Every run of the question failed."),
    "uncited": Words("no citation", "The answer cites nothing."),
    "uncovered": Words("wrong source", "The answer cites neither a relevant block nor the right section."),
    "far": Words(
        "cited text far from the question",
        "The semantic distance (ΔS) between the question and the cited text is too large.",
    ),
    "answered": Words(
        "cites a source for an unanswerable question",
        "The documents have no answer to the question, and a source was cited all the same.",
    ),
    "not-retrieved": Words("nothing relevant retrieved", "No relevant block is in the result list."),
    "off-place": Words("wrong place cited", "No citation is in the gold section and its byte range."),
}


def words_of(name: str, definition: str = "") -> Words:
    """The words of a metric, `recall@5` by way of its family; of a name that has none, its definition alone."""
    if name in WORDS:
        return WORDS[name]
    found = re.fullmatch(r"(.+@|P_)([0-9]+)", name)
    family = WORDS.get(f"{found[1]}{{k}}") if found else None
    return family.fill(k=found[2]) if found and family else Words(definition=definition)
