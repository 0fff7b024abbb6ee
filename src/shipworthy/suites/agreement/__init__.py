"""Agreement: do two validators say the same about an answer, and what becomes of it?"""
