"""Latency against accuracy: how long a validated answer takes, on each arm, and what that time buys."""
