"""`a --x=1 >> b` on the command line, as a document."""
