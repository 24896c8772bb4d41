"""What runs but is probably a mistake: in code and in commands."""
