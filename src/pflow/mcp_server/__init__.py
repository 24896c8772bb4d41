"""pflow as an MCP server: thirteen tools, resources, prompts and tasks over the workspace."""
