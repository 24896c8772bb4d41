"""What recorded runs did, in full: the items of batches, whole values, and what steps were given."""
