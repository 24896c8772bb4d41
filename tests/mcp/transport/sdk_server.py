"""A server built with the official SDK, for both HTTP transports. It writes its port to stdout."""

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from starlette.applications import Starlette
from starlette.routing import Mount

server = MCPServer("real")


@server.tool()
def echo(text: str) -> str:
    return text


@server.tool()
async def count(to: int, ctx: Context) -> int:
    for step in range(1, to + 1):
        await ctx.report_progress(step, to, f"step {step}")
    return to


@server.tool()
async def wait() -> str:
    await asyncio.sleep(600)
    return "late"


@server.tool()
def fail() -> str:
    raise ValueError("no luck")


def main() -> None:
    stream = server.streamable_http_app(json_response=sys.argv[1] == "json")

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async with server.session_manager.run():
            yield

    app = Starlette(routes=[*stream.routes, Mount("/", app=server.sse_app())], lifespan=lifespan)
    # asyncio turns off the delay of small packets only where the protocol is spelled out
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.bind(("127.0.0.1", 0))
    sock.listen(128)
    print(sock.getsockname()[1], flush=True)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[sock])


main()
