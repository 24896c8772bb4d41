"""Runs that are driven elsewhere, seen from where they were begun."""
