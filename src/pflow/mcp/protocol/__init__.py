"""MCP without what carries it: JSON-RPC, the handshake of both eras, sessions."""
