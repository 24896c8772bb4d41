"""The page from the command line: serving it, and writing a run as one file."""
