"""Stability: do seeds and harmless rewording change the answer?

One verdict is about one question and all its runs. C contained, H cited (citation hit), K constraints kept.
"""
