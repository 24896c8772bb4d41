"""The MCP client: servers, their tools as node types, and calls to them."""
