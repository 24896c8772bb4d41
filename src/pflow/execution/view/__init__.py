"""What a page shows of runs: their steps on a time axis, one step in full, and the items of batches."""
