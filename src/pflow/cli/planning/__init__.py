"""Tasks in words and repairs on the command line: shown, agreed to, run."""
