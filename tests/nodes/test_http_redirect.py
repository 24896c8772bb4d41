"""Redirects: counted, checked hop by hop, and never a way for credentials or bodies to leave their origin."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import PflowError, SecurityError, StepError
from pflow.nodes.http.node import Http
from tests.nodes.local_http import LocalServer, Received, Step, answer

SECRETS = {
    "Authorization": "Bearer hunter2-hunter2",
    "Cookie": "session=hunter2-hunter2",
    "X-Api-Key": "hunter2-hunter2",
    "X-Anything": "hunter2-hunter2",
}


def redirect(to: str, status: int = 302) -> bytes:
    return answer(status, b"moved", {"Location": to})


def chain(received: Received) -> bytes:
    """/5 leads to /4 and so on; /0 answers."""
    left = int(received.path[1:])
    return redirect(f"/{left - 1}") if left else answer(200, b"here", {"Content-Type": "text/plain"})


def follow(
    tmp_path: Path, handler: Callable[..., Any], path: str = "/", settings: Any = None, **params: Any
) -> tuple[dict[str, Any], list[Received]]:
    async def scenario() -> tuple[dict[str, Any], list[Received]]:
        async with LocalServer(handler) as server:
            written = await Step(tmp_path, settings or {"http.allow_hosts": "127.0.0.1"}).run(
                Http, url=server.url(path), **params
            )
            return written, server.requests

    return asyncio.run(scenario())


@pytest.mark.parametrize("hops", range(6))
def test_up_to_five_redirects_are_followed(tmp_path: Path, hops: int) -> None:
    written, requests = follow(tmp_path, chain, f"/{hops}")
    assert written["response"] == "here"
    assert written["url"].endswith("/0")
    assert len(requests) == hops + 1


@pytest.mark.parametrize("hops", [6, 7, 20])
def test_more_than_five_redirects_fail(tmp_path: Path, hops: int) -> None:
    with pytest.raises(StepError, match="redirected more than 5 times"):
        follow(tmp_path, chain, f"/{hops}")


@pytest.mark.parametrize(
    ("status", "sent", "then", "body"),
    [
        (301, "POST", "GET", b""),
        (302, "POST", "GET", b""),
        (303, "POST", "GET", b""),
        (303, "PUT", "GET", b""),
        (301, "PUT", "PUT", b"data"),
        (307, "POST", "POST", b"data"),
        (308, "POST", "POST", b"data"),
        (308, "DELETE", "DELETE", b"data"),
    ],
)
def test_within_an_origin_method_and_body_follow_the_status(
    tmp_path: Path, status: int, sent: str, then: str, body: bytes
) -> None:
    _, requests = follow(
        tmp_path,
        lambda r: redirect("/b", status) if r.path == "/a" else answer(),
        "/a",
        method=sent,
        body="data",
        headers={"X-Anything": "kept"},
    )
    assert (requests[1].method, requests[1].body) == (then, body)
    assert requests[1].headers["x-anything"] == "kept"
    assert ("content-type" in requests[1].headers) == bool(body)


def test_a_head_stays_a_head(tmp_path: Path) -> None:
    _, requests = follow(
        tmp_path,
        lambda r: answer(303, b"", {"Location": "/b"}) if r.path == "/a" else answer(),
        "/a",
        method="HEAD",
    )
    assert [received.method for received in requests] == ["HEAD", "HEAD"]


def across(tmp_path: Path, status: int, **params: Any) -> list[Received]:
    """A call to one server that redirects to another one; gives what the second received."""

    async def scenario() -> list[Received]:
        async with LocalServer(lambda _: answer()) as other:
            async with LocalServer(lambda _: redirect(other.url("/there"), status)) as first:
                await Step(tmp_path).run(Http, url=first.url("/here"), **params)
        return other.requests

    return asyncio.run(scenario())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "params",
    [
        {"headers": {**SECRETS, "Accept": "text/plain"}},
        {"auth": "hunter2-hunter2", "headers": {"Accept": "text/plain"}},
        {
            "auth": {"type": "header", "name": "PRIVATE-TOKEN", "value": "hunter2-hunter2"},
            "headers": {"Accept": "text/plain"},
        },
    ],
)
def test_another_origin_sees_no_credentials(tmp_path: Path, status: int, params: dict[str, Any]) -> None:
    (received,) = across(tmp_path, status, **params)
    assert "hunter2" not in repr(received)
    assert received.headers["accept"] == "text/plain"


@pytest.mark.parametrize("status", [307, 308])
def test_another_origin_gets_no_body(tmp_path: Path, status: int) -> None:
    with pytest.raises(SecurityError) as caught:
        across(tmp_path, status, body="hunter2-hunter2")
    assert "which may not see the body" in caught.value.message
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_post_that_becomes_a_get_leaves_its_body_behind(tmp_path: Path, status: int) -> None:
    (received,) = across(tmp_path, status, body="hunter2-hunter2", auth="hunter2-hunter2")
    assert (received.method, received.body) == ("GET", b"")
    assert "hunter2" not in repr(received)


def test_credentials_do_not_come_back_when_the_redirect_does(tmp_path: Path) -> None:
    async def scenario() -> list[Received]:
        async with LocalServer(lambda _: redirect(first.url("/back"))) as other:
            async with LocalServer(lambda r: redirect(other.url("/away")) if r.path == "/start" else answer()) as first:
                await Step(tmp_path).run(Http, url=first.url("/start"), auth="hunter2-hunter2")
                return first.requests

    start, back = asyncio.run(scenario())
    assert "authorization" in start.headers
    assert "authorization" not in back.headers


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://127.0.0.2:1/",
        "http://[::1]:1/",
        "http://0.0.0.0:1/",
        "http://2130706434:1/",
        "//127.0.0.2:1/",
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "gopher://127.0.0.1/",
        "data:text/plain,x",
        "javascript:alert(1)",
        "http://user:hunter2@127.0.0.1:1/",
        "http://127.0.0.1:1\\@public.example/",
        "\\\\127.0.0.1:1/",
    ],
)
def test_every_hop_is_checked(tmp_path: Path, location: str) -> None:
    with pytest.raises(SecurityError) as caught:
        follow(tmp_path, lambda _: redirect(location))
    assert "hunter2" not in repr(caught.value)


@pytest.mark.parametrize("location", ["http://[", "http://\x01/", "http://a..b/", "http://x:99999/", "http:///"])
def test_a_redirect_to_nonsense_fails_the_step(tmp_path: Path, location: str) -> None:
    with pytest.raises(PflowError) as caught:
        follow(tmp_path, lambda _: redirect(location))
    assert "cannot be reached" not in caught.value.message
    assert caught.value.message.isprintable()


def test_a_large_body_of_a_redirect_is_not_read(tmp_path: Path) -> None:
    def handler(received: Received) -> bytes:
        if received.path == "/b":
            return answer(200, b"ok", {"Content-Type": "text/plain"})
        return answer(302, b"x" * 5_000_000, {"Location": "/b"})

    written, _ = follow(tmp_path, handler, "/a", max_bytes=100_000)
    assert written["response"] == "ok"


def test_a_hop_that_cannot_be_reached_is_the_one_that_is_named(tmp_path: Path) -> None:
    async def scenario() -> tuple[str, StepError]:
        async with LocalServer(lambda _: redirect(there)) as server:
            async with LocalServer(lambda _: answer()) as gone:  # at a port that the other one does not get
                there = gone.url("/there")
            with pytest.raises(StepError) as caught:
                await Step(tmp_path).run(Http, url=server.url())
        return there, caught.value

    there, error = asyncio.run(scenario())
    assert error.message == f"`{there}` cannot be reached: nothing listens there"
