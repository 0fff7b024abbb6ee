"""Reasoning: are answers correct, grounded, decisive and useful, or do they only look so?

contracts  the cases, their evidence and the thresholds; what a reasoner gave
judge      one answer in one of two profiles: `grounded` decides, `signals` is the original format lint
rules      the evidence, and what can be checked against it
metrics    what is counted, the metrics and the gates; suite: what is read, and what a report says
controls   answers known to be good or bad, to try the gates on; lint: cases that can't fail or can't pass
"""
