"""The page: runs and workflows in a browser on this machine, and as one file."""
