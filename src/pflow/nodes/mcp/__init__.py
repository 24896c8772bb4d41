"""The node behind every tool of an MCP server."""
