"""Gold sets: candidates from documents and traces, their review by people, and how they stay true."""
