"""Guard: the bars that a finished reasoning report must clear before anyone may rely on it."""
