"""Asking on behalf of runs: what those need who put questions to people or programs."""
