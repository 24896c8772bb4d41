"""Text into values and back, without code: the `parse` and `format` nodes."""
