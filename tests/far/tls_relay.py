"""A process before a server on loopback that lets through, over TLS, only those with a certificate of an authority.

Its words: the port to listen on, the port of the server, and the folder with the certificates.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from contextlib import suppress
from pathlib import Path


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


async def main(port: int, target: int, folder: Path) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(folder / "ca.crt"))
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["h2"])

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(pump(reader, outer), pump(inner, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", port, ssl=context)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))
