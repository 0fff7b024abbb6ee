"""Ranking: how good are lists of ids? What `shipworthy retrieval` judges where nothing but ids is to be compared."""
