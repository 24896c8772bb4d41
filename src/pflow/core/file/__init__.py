"""Files that are never half-written, read by other users or mistaken for links, and where they are."""
