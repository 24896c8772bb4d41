"""What runs but is probably a mistake: in code, in commands and in loops."""
