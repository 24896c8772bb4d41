"""The commands, one module for each group; imported when they are used."""
