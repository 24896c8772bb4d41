"""One session with a Postgres server: each statement travels with its values, in one round trip. Knows no tables.

The driver's own ways take three round trips, or leave a prepared statement behind in whatever session a pooler has
lent for that moment. Here a statement is parsed, bound and executed in one message; where the session is ours alone,
those that are used often are prepared under a name and sent by that name from then on.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from pg8000.native import Connection, DatabaseError, Error

from pflow import __version__
from pflow.core.setting.place import DatabaseAddress, Tls

Value = str | int | float | bytes | Sequence[str] | Sequence[bytes] | None
Row = list[object]

_CONNECT_SECONDS = 10.0
_ANSWER_SECONDS = 30.0
"""How long a statement may take, waiting for others that hold a row included."""

_KEEPALIVE_SECONDS, _KEEPALIVE_EVERY_SECONDS, _KEEPALIVE_TRIES = 30, 5, 3
"""When a peer that has vanished is noticed, between statements."""

_UNNAMED = b"\0"
_FATAL = ("08", "57P", "25P03")
"""How the codes of errors begin after which there is no session any more."""


class SessionError(Exception):
    """What a server or the way to it said. `code` is Postgres' own, "" without one; `lost`: the session is over."""

    def __init__(self, message: str, *, code: str = "", lost: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.lost = lost


class _Prepared(NamedTuple):
    name: bytes
    columns: list[dict[str, object]] | None
    readers: list[Callable[[str], object]]


class Session:
    """A connection that was opened and authenticated. Raises `SessionError`."""

    def __init__(self, address: DatabaseAddress, password: str, *, prepares: bool) -> None:
        self._prepares = prepares
        self._prepared: dict[str, _Prepared] = {}
        self._count = 0
        self._connection = _connect(address, password)

    def rows(self, statement: str, *values: Value) -> list[Row]:
        """What a statement gives."""
        return self._execute(statement, values, often=False)

    def often(self, statement: str, *values: Value) -> list[Row]:
        """The same, for a statement that is worth preparing."""
        return self._execute(statement, values, often=self._prepares)

    def script(self, text: str) -> None:
        """Execute statements without values."""
        try:
            self._connection.execute_simple(text)
        except (Error, OSError) as error:
            raise _session_error(error) from error

    def close(self) -> None:
        """End the session; one that is lost already is no error."""
        try:
            self._connection.close()
        except (Error, OSError, AttributeError, ValueError):
            pass

    def _execute(self, statement: str, values: Sequence[Value], *, often: bool) -> list[Row]:
        params = [_text_of(value) for value in values]
        prepared = self._prepared.get(statement)
        connection = self._connection
        try:
            if prepared is not None:
                name, columns, readers = prepared
                context = connection.execute_named(name, params, columns, readers, statement)
            else:
                name = _UNNAMED
                if often:
                    self._count += 1
                    name = b"pflow_%d\0" % self._count
                connection.send_PARSE(name, statement)
                connection.send_DESCRIBE_STATEMENT(name)
                context = connection.execute_named(name, params, None, None, statement)
                if often:
                    self._prepared[statement] = _Prepared(name, context.columns, context.input_funcs)
        except (Error, OSError) as error:
            raise _session_error(error) from error
        return context.rows or []


class _Socket(socket.socket):
    """Closes the file that was made of it too: until that is collected the connection would stay open."""

    _file: IO[Any] | None = None

    def makefile(self, *args: Any, **kwargs: Any) -> Any:
        self._file = super().makefile(*args, **kwargs)
        return self._file

    def close(self) -> None:
        file, self._file = self._file, None
        super().close()
        if file is not None:
            with suppress(OSError, ValueError):  # of what could not be sent any more
                file.close()


class _TlsSocket(ssl.SSLSocket, _Socket):
    pass


def _connect(address: DatabaseAddress, password: str) -> Connection:
    try:
        sock = _Socket(fileno=socket.create_connection((address.host, address.port), _CONNECT_SECONDS).detach())
    except OSError as error:
        raise SessionError(_reason(error), lost=True) from error
    try:
        sock.settimeout(_ANSWER_SECONDS)  # before TLS takes the socket over
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _keep_alive(sock)
        connection = Connection(
            address.user,
            host=address.host,
            port=address.port,
            database=address.database,
            password=password,
            ssl_context=_tls_context(address.tls),
            application_name=f"pflow {__version__}",
            sock=sock,
        )
    except (Error, OSError, LookupError, ValueError) as error:  # the last two for servers that are not Postgres
        sock.close()
        found = _session_error(error)
        raise SessionError(found.message, code=found.code, lost=True) from error
    except BaseException:  # closed, and raised again
        sock.close()
        raise
    return connection


def _keep_alive(sock: socket.socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _KEEPALIVE_SECONDS),
        ("TCP_KEEPINTVL", _KEEPALIVE_EVERY_SECONDS),
        ("TCP_KEEPCNT", _KEEPALIVE_TRIES),
    ):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _tls_context(tls: Tls) -> ssl.SSLContext | bool:
    if tls.mode == "off":
        return False
    for name in (tls.ca, tls.cert, tls.key):
        if name and not Path(name).is_file():
            raise SessionError(f"there is no file `{name}`, which its settings name", lost=True)
    context = ssl.create_default_context(cafile=tls.ca or None)
    context.sslsocket_class = _TlsSocket
    if tls.mode == "encrypt":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls.cert:
        context.load_cert_chain(tls.cert, tls.key or None)
    return context


def _session_error(error: Exception) -> SessionError:
    if isinstance(error, DatabaseError) and error.args and isinstance(error.args[0], dict):
        code = str(error.args[0].get("C", ""))
        return SessionError(str(error.args[0].get("M", "")), code=code, lost=code.startswith(_FATAL))
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    return SessionError(_reason(cause), lost=True)


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {getattr(error, 'verify_message', '') or error.reason or error}"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    text = str(error)
    return {"network error": "the connection was cut", "Server refuses SSL": "it offers no TLS"}.get(text, text)


def _text_of(value: Value) -> str | None:
    """A value in the text form that Postgres reads."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    return "{" + ",".join(_element(one) for one in value) + "}"


def _element(value: str | bytes) -> str:
    if isinstance(value, bytes):
        return f'"\\\\x{value.hex()}"'
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
