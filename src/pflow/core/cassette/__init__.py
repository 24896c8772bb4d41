"""What the steps of a run were asked and what they gave, as values and as a file: a run can be played again from it."""
