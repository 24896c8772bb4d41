"""Ranks by meaning: a small sentence model in numpy. Only with the extra `semantic`; nothing is ever downloaded."""
