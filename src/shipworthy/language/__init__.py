"""English as the suites read it: words, spelling, sentences, clauses, refusals and contradictions."""
