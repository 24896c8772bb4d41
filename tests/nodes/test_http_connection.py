"""Connections: to the address that was checked, to whichever answers, kept while the loop runs and no longer."""

import asyncio
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import SecurityError, StepError
from pflow.nodes.http.message import Request
from pflow.nodes.http.network_policy import NetworkPolicy
from pflow.nodes.http.node import Http
from pflow.nodes.http.step_client import StepClient
from tests.nodes.local_http import LocalServer, Step, answer

ONLY_HERE = NetworkPolicy.from_settings({"http.allow_hosts": "127.0.0.1"})


class Names:
    """A resolver that gives one answer after the other, as a hostile name server would."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    async def __call__(self, host: str, port: int) -> Any:
        return self.answers.pop(0)


def test_a_name_that_moves_after_the_check_is_not_followed() -> None:
    async def scenario() -> Any:
        names = Names(["127.0.0.1"], ["169.254.169.254"])
        async with LocalServer(lambda _: answer()) as server:
            client = StepClient(ONLY_HERE, resolve=names)
            try:
                for _ in range(3):
                    await client.send(Request(method="GET", url=server.url("/", "rebind.example")))
            finally:
                await client.aclose()
            return len(server.requests), names.answers

    assert asyncio.run(scenario()) == (3, [["169.254.169.254"]])


def test_a_new_connection_is_checked_anew() -> None:
    async def scenario() -> Any:
        async with LocalServer(lambda _: answer(headers={"Connection": "close"})) as server:
            client = StepClient(ONLY_HERE, resolve=Names(["127.0.0.1"], ["127.0.0.2"]))
            try:
                await client.send(Request(method="GET", url=server.url("/", "rebind.example")))
                with pytest.raises(SecurityError):
                    await client.send(Request(method="GET", url=server.url("/", "rebind.example")))
            finally:
                await client.aclose()
            return len(server.requests)

    assert asyncio.run(scenario()) == 1


@pytest.mark.parametrize("addresses", [["127.0.0.2", "127.0.0.1"], ["127.0.0.2", "127.0.0.3", "127.0.0.1"]])
def test_an_address_that_does_not_answer_gives_way_to_the_next(addresses: list[str]) -> None:
    async def scenario() -> Any:
        async with LocalServer(lambda _: answer(200, b"here")) as server:
            client = StepClient(NetworkPolicy(allow_private=True), resolve=Names(addresses))
            try:
                return await client.send(Request(method="GET", url=server.url("/", "many.example")))
            finally:
                await client.aclose()

    assert asyncio.run(scenario()).content == b"here"


def test_no_address_that_answers_is_said_plainly() -> None:
    async def scenario() -> None:
        client = StepClient(NetworkPolicy(allow_private=True), resolve=Names(["127.0.0.2", "127.0.0.3"]))
        try:
            await client.send(Request(method="GET", url="http://many.example:1/"))
        finally:
            await client.aclose()

    with pytest.raises(StepError, match=r"`http://many\.example:1/` cannot be reached: nothing listens there"):
        asyncio.run(scenario())


def test_connections_close_with_the_loop(tmp_path: Path) -> None:
    ended: list[Any] = []

    def serve() -> None:
        with listening.accept()[0] as connection:
            connection.settimeout(30)
            connection.recv(65536)
            connection.sendall(answer(200, b"hello"))
            ended.append(connection.recv(1))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        written = asyncio.run(Step(tmp_path).run(Http, url=url))
        thread.join(30)
    assert written["response"] == "hello"
    assert ended == [b""]


def test_each_loop_has_connections_of_its_own(tmp_path: Path) -> None:
    for _ in range(2):

        async def scenario() -> int:
            async with LocalServer(lambda _: answer()) as server:
                await Step(tmp_path).run(Http, url=server.url())
                return len(server.requests)

        assert asyncio.run(scenario()) == 1
