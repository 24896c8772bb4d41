"""Which steps may run again without asking, and the checks of what repeats them."""
