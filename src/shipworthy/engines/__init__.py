"""Engines: how the tally is computed, never what it means."""
