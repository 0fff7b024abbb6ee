"""Answers: precision, refusals, citation hit rate, constraints, recall@k.

S shipped, R refused, A answerable, U unanswerable; C contained, H cited (citation hit), K constraints kept.
"""
