"""The configurations of other programs: their servers read, pflow put in."""
