"""Journals and caches: where runs are kept."""
