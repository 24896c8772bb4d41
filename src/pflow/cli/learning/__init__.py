"""Learning on the command line: sessions listed, and what came of one as text."""
