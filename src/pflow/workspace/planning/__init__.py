"""Tasks in words and failed runs, as use cases: a model writes or mends a document, which a person agrees to."""
