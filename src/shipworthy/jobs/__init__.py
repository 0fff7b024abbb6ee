"""Jobs: what people ask for, each in one call. Score a suite, check a config, compare, verify, run controls."""
