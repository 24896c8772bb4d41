"""The nodes for local files, and which places they may touch."""
