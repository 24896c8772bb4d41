"""A server that does nothing but echo, on the official SDK: what nobody who uses it can do better than."""

from mcp.server import MCPServer

server = MCPServer("echo")


@server.tool()
async def echo(text: str) -> str:
    """Give the text back."""
    return text


if __name__ == "__main__":
    server.run()
