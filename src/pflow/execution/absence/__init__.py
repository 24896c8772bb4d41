"""What may be absent when a step starts, or when a run ends: found by going through all ways of a document."""
