"""What runs but is probably a mistake: in code, in commands, and in outputs that a run may leave empty."""
