"""The sections of a document, `on_failure` and `finally`: which nodes are in them, and what they may be."""
