"""Outcomes: what people did with the answers, week by week, and whether the score foresaw it."""
