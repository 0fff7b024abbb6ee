"""Reasoning: is an answer right, sourced, decided and of use, or does it only look so?

fixture    the cases, their evidence and the bars
answers    what a reasoner gave
signals    the original keyword heuristics, a format lint
grounded   the same four dimensions from what can be checked; decides
           words → clauses → anchors → affirmed → actions, copying
judge      one answer in one of the profiles
verdict    what one answer is
metrics    what is counted, the metrics and the gates
explain    what a report says; hints: where to look
controls   answers known to be good or bad, to try the bars on
"""
