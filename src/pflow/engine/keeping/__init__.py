"""State between runs: what a run finds at its start, what it sets, and how that becomes real with its end."""
