"""What workflows keep between runs, for the person who looks at it and changes it."""
