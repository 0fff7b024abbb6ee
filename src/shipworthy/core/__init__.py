"""Core: from cases to a decision. Everything here is pure, exact, and knows no suite by name."""
