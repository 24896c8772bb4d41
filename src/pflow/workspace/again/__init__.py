"""Runs that are made from others, and doubts about their steps."""
