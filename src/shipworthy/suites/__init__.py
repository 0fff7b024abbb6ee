"""Suites: one file or folder each, with its verdict, judge, metrics, gates and hints."""
