"""Language: the few rules about English that the judges use."""
