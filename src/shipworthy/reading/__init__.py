"""Reading: files into records and back, with every problem named by file and line."""
