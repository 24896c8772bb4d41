"""Runs made from others: forked at a step, or of a single step; and doubts about steps that someone settles."""
