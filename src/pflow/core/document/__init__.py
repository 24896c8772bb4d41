"""From text to a document: JSON and YAML read strictly, every problem with its line and column."""
