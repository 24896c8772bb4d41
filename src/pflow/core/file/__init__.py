"""Files that are never half-written, read by others or confused with links, and where they are."""
