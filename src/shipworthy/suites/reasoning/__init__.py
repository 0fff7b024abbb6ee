"""Reasoning: are answers correct, grounded, decisive and useful, or do they only look so?

fixture    the cases, their evidence and the thresholds; lint: what an author should look at
answers    what a reasoner gave
signals    the original keyword heuristics, a format lint
grounded   the same four dimensions from what can be checked; decides
           reading → support, citations, numbers, asserted, actions, copying, notes
judge      one answer in one of the profiles
verdict    what one answer is
metrics    what is counted, the metrics and the gates
explain    what a report says; hints: where to look
controls   answers known to be good or bad, to try the gates on
"""
