"""Retrieval: is the shadow index allowed to replace the live one?

G gold places, R_k the first k retrieved blocks; a question's value is the mean over its runs, the suite's the mean
over its questions.
"""
