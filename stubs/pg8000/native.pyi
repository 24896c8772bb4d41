"""What pflow uses of pg8000."""

import socket
import ssl
from collections.abc import Callable, Sequence

class Error(Exception): ...
class InterfaceError(Error): ...
class DatabaseError(Error): ...

class Context:
    rows: list[list[object]] | None
    row_count: int
    columns: list[dict[str, object]] | None
    input_funcs: list[Callable[[str], object]]

class Connection:
    def __init__(
        self,
        user: str,
        host: str = ...,
        database: str | None = ...,
        port: int = ...,
        password: str | None = ...,
        *,
        ssl_context: ssl.SSLContext | bool | None = ...,
        application_name: str | None = ...,
        sock: socket.socket | None = ...,
    ) -> None: ...
    def close(self) -> None: ...
    def run(self, sql: str, **params: object) -> list[list[object]] | None: ...
    def execute_simple(self, statement: str) -> Context: ...
    def send_PARSE(self, statement_name_bin: bytes, statement: str, oids: Sequence[int] = ...) -> None: ...
    def send_DESCRIBE_STATEMENT(self, statement_name_bin: bytes) -> None: ...
    def execute_named(
        self,
        statement_name_bin: bytes,
        params: Sequence[str | None],
        columns: list[dict[str, object]] | None,
        input_funcs: list[Callable[[str], object]] | None,
        statement: str,
    ) -> Context: ...
    def prepare(self, sql: str) -> PreparedStatement: ...

class PreparedStatement:
    def run(self, **params: object) -> list[list[object]] | None: ...
