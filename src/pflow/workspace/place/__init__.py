"""The journals of places: made, and filled with what is at home."""
