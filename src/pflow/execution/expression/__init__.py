"""Expressions in documents: the names that they see, and what checking says of them."""
