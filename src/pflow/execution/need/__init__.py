"""What workflows need and what they can do, found without running anything."""
