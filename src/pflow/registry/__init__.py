"""Node types: found in source files, described by what they take and give."""
