"""The git nodes."""
