"""Scoring: one call a suite, from files to a decision, beside `evaluation` which does it for answers."""
