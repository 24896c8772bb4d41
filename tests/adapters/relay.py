"""A relay between a client and a server on loopback that cuts the connection when it is told to."""

from __future__ import annotations

import socket
import threading
from typing import Self


class Relay:
    """Passes everything on; `cut` has it end the connection instead of the next `request` or `answer`, once.

    While it `is_away`, nobody gets through who comes anew.
    With an `answer` there is no server: that is what every client gets.
    """

    def __init__(self, target: int, *, answer: bytes = b"") -> None:
        self.cut = ""
        self.cuts = 0
        self.is_away = False
        self._target = target
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        for one in self._open:
            _end(one)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(client)
            if self.is_away:
                _end(client)
                continue
            if self._answer:
                client.recv(1 << 16)
                client.sendall(self._answer)
                _end(client)
                continue
            server = socket.create_connection(("127.0.0.1", self._target))
            self._open.append(server)
            for source, sink, what in ((client, server, "request"), (server, client, "answer")):
                threading.Thread(target=self._pump, args=(source, sink, what), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, what: str) -> None:
        try:
            while data := source.recv(1 << 16):
                if self.cut == what:
                    self.cut = ""
                    self.cuts += 1
                    break
                sink.sendall(data)
        except OSError:
            pass
        for one in (source, sink):
            _end(one)


def _end(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    one.close()
