"""Runs on many machines: Temporal decides when and where a run is driven. What runs did is in the journal alone."""
