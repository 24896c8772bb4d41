"""Looking at runs: what pages and files that show them are made from."""
