"""Net: the one HTTP client. Targets, reasoners and embedding servers are asked through it; scoring never imports it."""
