"""The `code` node and the process that runs an author's Python."""
