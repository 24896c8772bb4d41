"""The canonical form of documents: their text with its parts in order, and with every comment where it belongs."""
