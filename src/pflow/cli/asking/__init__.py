"""Questions and waits of runs on the command line: as text, and asked at the terminal."""
