"""What the `http` node sends, understands and refuses to repeat, against a server on this machine."""

import asyncio
import base64
import gzip
import subprocess
import sys
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.errors import PflowError, SecurityError, StepError, StepTimeout
from pflow.nodes.http.message import Reply, Request, body_preview, check_headers, masked, retry_after
from pflow.nodes.http.node import Http, make_request
from tests.nodes.local_http import LocalServer, Received, Step, answer, json_answer

TOKEN = "s3cr3t-T0ken+with/odd=chars"


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Any]:
    """Call a server that answers with `handler`; gives what the node wrote and what the server received."""

    def start(
        handler: Callable[..., Any], path: str = "/", settings: Any = None, **params: Any
    ) -> tuple[dict[str, Any], list[Received]]:
        async def scenario() -> tuple[dict[str, Any], list[Received]]:
            async with LocalServer(handler) as server:
                step = Step(tmp_path, settings or {"http.allow_hosts": "127.0.0.1"})
                written = await step.run(Http, url=server.url(path), **params)
                return written, server.requests

        return asyncio.run(scenario())

    return start


@pytest.fixture
def fail(run: Callable[..., Any]) -> Callable[..., Any]:
    """Like `run` for a call that fails; gives the error."""

    def start(handler: Callable[..., Any], *args: str, **params: Any) -> Any:
        with pytest.raises(PflowError) as caught:
            run(handler, *args, **params)
        return caught.value

    return start


def everything(error: StepError) -> str:
    """All text that an error carries, wherever it ends up."""
    return repr((error.message, error.details, error.suggestions, str(error)))


# What is sent


def test_a_get_gives_parsed_json_status_headers_and_address(run: Callable[..., Any]) -> None:
    written, (received,) = run(lambda _: json_answer('{"a": [1, null]}', headers={"X-Two": "2"}), "/x?y=1")
    assert written["response"] == {"a": [1, None]}
    assert written["status_code"] == 200
    assert written["headers"]["x-two"] == "2"
    assert written["url"].endswith("/x?y=1")
    assert written["action"] == "default"
    assert (received.method, received.target, received.body) == ("GET", "/x?y=1", b"")
    assert received.headers["user-agent"].startswith("pflow/")


@pytest.mark.parametrize(
    ("params", "method", "content_type", "body"),
    [
        ({"json": {"a": 1}}, "POST", "application/json", b'{"a":1}'),
        ({"json": 0}, "POST", "application/json", b"0"),
        ({"body": {"a": 1}}, "POST", "application/json", b'{"a":1}'),
        ({"body": [1]}, "POST", "application/json", b"[1]"),
        ({"body": "grüße"}, "POST", "text/plain; charset=utf-8", "grüße".encode()),
        ({"body": "", "method": "put"}, "PUT", "text/plain; charset=utf-8", b""),
        ({"body": "<a/>", "headers": {"Content-Type": "text/xml"}}, "POST", "text/xml", b"<a/>"),
        (
            {
                "body": {"a": "b c", "d": [1, 2]},
                "headers": {"content-type": "application/x-www-form-urlencoded"},
            },
            "POST",
            "application/x-www-form-urlencoded",
            b"a=b+c&d=1&d=2",
        ),
        ({"method": "DELETE"}, "DELETE", None, b""),
        ({"method": "patch", "json": {}}, "PATCH", "application/json", b"{}"),
    ],
)
def test_a_body_goes_out_with_its_method_and_type(
    run: Callable[..., Any], params: dict[str, Any], method: str, content_type: str | None, body: bytes
) -> None:
    _, (received,) = run(lambda _: answer(204), **params)
    assert (received.method, received.headers.get("content-type"), received.body) == (
        method,
        content_type,
        body,
    )


def test_query_parameters_are_added_to_those_of_the_address(run: Callable[..., Any]) -> None:
    query = {"q": "a&b=c d/ü", "n": [1, 2], "t": True, "none": None, "o": {"k": 1}}
    _, (received,) = run(lambda _: answer(), "/s?x=a+b%20c", params=query)
    assert received.target == ("/s?x=a+b%20c&q=a%26b%3Dc%20d%2F%C3%BC&n=1&n=2&t=true&o=%7B%22k%22%3A1%7D")


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        (TOKEN, "authorization", f"Bearer {TOKEN}"),
        ({"type": "bearer", "token": TOKEN}, "authorization", f"Bearer {TOKEN}"),
        (
            {"type": "basic", "username": "ada", "password": "pä:ss"},
            "authorization",
            "Basic " + base64.b64encode("ada:pä:ss".encode()).decode(),
        ),
        ({"type": "header", "name": "X-Api-Key", "value": TOKEN}, "x-api-key", TOKEN),
    ],
)
def test_credentials_go_into_their_header(run: Callable[..., Any], auth: object, header: str, value: str) -> None:
    _, (received,) = run(lambda _: answer(), auth=auth)
    assert received.headers[header] == value


@pytest.mark.parametrize(
    "auth",
    [
        {"type": "digest", "username": "a", "password": "hunter2-hunter2"},
        {"token": "hunter2-hunter2"},
        {"type": "bearer"},
        {"type": "basic", "username": "a:b", "password": "hunter2-hunter2"},
        ["hunter2-hunter2"],
        7,
    ],
)
def test_credentials_of_an_unknown_form_are_explained_without_their_values(
    fail: Callable[..., Any], auth: object
) -> None:
    error = fail(lambda _: answer(), auth=auth)
    assert "auth" in error.message
    assert "hunter2" not in everything(error)


def test_a_repeated_post_carries_the_same_idempotency_key_and_another_call_another(tmp_path: Path) -> None:
    async def scenario() -> list[Any]:
        async with LocalServer(lambda _: answer()) as server:
            step = Step(tmp_path)
            for body in ("one", "one", "two"):
                await step.run(Http, url=server.url(), body=body)
            await step.run(Http, url=server.url(), body="one", headers={"Idempotency-Key": "mine"})
            await step.run(Http, url=server.url())
            return [received.headers.get("idempotency-key") for received in server.requests]

    first, again, other, own, get = asyncio.run(scenario())
    assert first == again != other
    assert (own, get) == ("mine", None)


@pytest.mark.parametrize("name", ["X\r\nEvil", "X Y", "X:Y", "", "Ünicode", "X\x00", "a" * 300])
def test_a_header_name_that_is_none_is_refused(fail: Callable[..., Any], name: str) -> None:
    assert isinstance(fail(lambda _: answer(), headers={name: "v"}), SecurityError)


@pytest.mark.parametrize("value", ["a\r\nEvil: 1", "a\nb", "a\rb", "a\x00b", "a\x1bb", "a\x7f", "a\ud800"])
@pytest.mark.parametrize("slot", ["headers", "bearer", "header"])
def test_no_value_can_end_its_header_line(fail: Callable[..., Any], value: str, slot: str) -> None:
    every: dict[str, dict[str, Any]] = {
        "headers": {"headers": {"X-Value": value}},
        "bearer": {"auth": value},
        "header": {"auth": {"type": "header", "name": "X-Value", "value": value}},
    }
    assert isinstance(fail(lambda _: answer(), **every[slot]), SecurityError)


@given(st.text())
def test_what_passes_as_a_header_value_is_one_line(value: str) -> None:
    try:
        checked = check_headers({"x": value})
    except SecurityError:
        return
    assert not set(checked["x"].encode()) & {0, 10, 13}


def test_a_percent_encoded_line_break_stays_encoded(run: Callable[..., Any]) -> None:
    _, (received,) = run(lambda _: answer(), "/a%0d%0aX-Evil:1", params={"q": "\r\nX-Evil: 1"})
    assert received.target == "/a%0d%0aX-Evil:1?q=%0D%0AX-Evil%3A%201"
    assert "x-evil" not in received.headers


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding", "Connection", "Upgrade"])
def test_headers_that_frame_the_message_are_not_the_documents(fail: Callable[..., Any], name: str) -> None:
    assert "which pflow manages itself" in fail(lambda _: answer(), headers={name: "1"}).message


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"method": "CONNECT"}, "not an HTTP method"),
        ({"method": "GET / HTTP/1.1\r\nX: y"}, "not an HTTP method"),
        ({"body": "a", "json": {}}, "both given"),
        ({"headers": "x"}, "`headers` must be an object"),
        ({"headers": {"x": {}}}, "the header `x` must be a string"),
        ({"params": [1]}, "`params` must be an object"),
        ({"timeout": 0}, "`timeout` must be above 0 and at most 1 d, not 0"),
        ({"timeout": "soon"}, "a duration such as `90s` or `15m`, not `soon`"),
        ({"max_bytes": True}, "at most 2,147,483,648, not a boolean"),
        ({"body": "\ud800"}, "not valid Unicode"),
        ({"json": "\ud800"}, "cannot be written as JSON"),
        ({"params": {"q": "\ud800"}}, "is not a URL"),
    ],
)
def test_parameters_that_make_no_call_are_explained(
    fail: Callable[..., Any], params: dict[str, Any], words: str
) -> None:
    error = fail(lambda _: answer(), **params)
    assert isinstance(error, StepError)
    assert words in error.message


@pytest.mark.parametrize(
    ("url", "words"), [("", "is empty"), ("  ", "is empty"), (None, "is empty"), (7, "must be a string")]
)
def test_a_missing_address_is_explained(url: int | str | None, words: str) -> None:
    with pytest.raises(StepError, match=f"`url` {words}"):
        make_request({"url": url})


# What comes back


@pytest.mark.parametrize(
    ("headers", "body", "value"),
    [
        ({"Content-Type": "application/json"}, b"[1]", [1]),
        ({"Content-Type": "application/problem+json; charset=utf-8"}, b"{}", {}),
        ({"Content-Type": "application/json"}, b"\xef\xbb\xbf[1]", [1]),
        ({"Content-Type": "application/json; charset=utf-16"}, '{"ä": 1}'.encode("utf-16"), {"ä": 1}),
        ({"Content-Type": "application/json"}, b"not json", "not json"),
        ({"Content-Type": "application/json"}, b"[NaN]", "[NaN]"),
        ({"Content-Type": "application/json"}, b"[1e999]", "[1e999]"),
        ({"Content-Type": "application/json"}, b"[" * 5000, "[" * 5000),
        ({"Content-Type": "text/plain"}, b'{"a": 1}', '{"a": 1}'),
        ({"Content-Type": "text/plain; charset=iso-8859-1"}, b"gr\xfc\xdfe", "grüße"),
        ({"Content-Type": 'text/plain; charset="SHIFT_JIS"'}, "日本".encode("shift_jis"), "日本"),
        ({"Content-Type": "text/plain; charset=utf-8"}, b"gr\xfc\xdfe", "gr\ufffd\ufffde"),
        ({"Content-Type": "text/plain; charset=klingon"}, "grüße".encode(), "grüße"),
        ({"Content-Type": "text/plain; charset=unicode_escape"}, b"\\x41", "\\x41"),
        ({"Content-Type": "text/plain; charset=zlib"}, b"plain", "plain"),
        ({"Content-Type": "text/html"}, b"<p>", "<p>"),
        ({"Content-Type": "application/xml"}, b"<a/>", "<a/>"),
        ({"Content-Type": "image/svg+xml; charset=utf-8"}, b"<svg/>", "<svg/>"),
        ({}, b'{"a": 1}', {"a": 1}),
        ({}, b"hello", "hello"),
        ({}, b"", ""),
        ({"Content-Type": "application/octet-stream"}, b"", ""),
    ],
)
def test_a_text_body_becomes_a_value(
    run: Callable[..., Any], headers: dict[str, Any], body: bytes, value: object
) -> None:
    written, _ = run(lambda _: answer(200, body, headers))
    assert written["response"] == value


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Content-Type": "image/png"}, b"\x89PNG\r\n\x1a\n\x00"),
        ({"Content-Type": "application/octet-stream"}, b"text by chance"),
        ({}, b"\xff\xfe\x00"),
        ({}, b"a\x00b"),
    ],
)
def test_a_binary_body_becomes_a_private_file_of_the_run(
    run: Callable[..., Any], tmp_path: Path, headers: dict[str, Any], body: bytes
) -> None:
    written, _ = run(lambda _: answer(200, body, headers))
    reference = written["response"]
    path = Path(reference["file"])
    assert path.read_bytes() == body
    assert path.parent == tmp_path / "runs" / "run"
    assert path.stat().st_mode & 0o777 == 0o600
    assert reference == {
        "file": str(path),
        "size": len(body),
        "content_type": headers.get("Content-Type", ""),
    }


def test_a_chunked_body_is_put_together(run: Callable[..., Any]) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    raw = head + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    written, _ = run(lambda _: raw)
    assert written["response"] == "abcde"


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("gzip, gzip", lambda b: gzip.compress(gzip.compress(b))),
    ],
)
def test_a_compressed_body_is_unpacked(run: Callable[..., Any], encoding: str, pack: Callable[..., Any]) -> None:
    headers = {"Content-Type": "text/plain", "Content-Encoding": encoding}
    written, _ = run(lambda _: answer(200, pack(b"hello " * 100), headers))
    assert written["response"] == "hello " * 100


@pytest.mark.parametrize("layers", [1, 2])
def test_a_compression_bomb_is_cut_at_the_limit(fail: Callable[..., Any], layers: int) -> None:
    body = b"\0" * 20_000_000
    for _ in range(layers):
        body = gzip.compress(body)
    headers = {"Content-Encoding": ", ".join(["gzip"] * layers), "Content-Type": "text/plain"}
    error = fail(lambda _: answer(200, body, headers), max_bytes=100_000)
    assert "sends more than 100000 bytes" in error.message
    assert error.suggestions == ("raise `max_bytes`, or ask the server for less",)


def test_a_body_of_exactly_the_limit_is_accepted(run: Callable[..., Any]) -> None:
    written, _ = run(lambda _: answer(200, b"x" * 1000, {"Content-Type": "text/plain"}), max_bytes=1000)
    assert len(written["response"]) == 1000


def test_an_endless_body_is_cut_at_the_limit(fail: Callable[..., Any]) -> None:
    raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"400\r\n" + b"x" * 1024 + b"\r\n"
    assert "sends more than" in fail(lambda _: raw + (b"400\r\n" + b"x" * 1024 + b"\r\n") * 20, max_bytes=5000).message


def test_a_body_that_does_not_decode_is_a_failed_step(fail: Callable[..., Any]) -> None:
    error = fail(lambda _: answer(200, b"not gzip", {"Content-Encoding": "gzip"}))
    assert "a body that does not decode" in error.message


# Failures


@pytest.mark.parametrize(
    ("status", "headers", "action", "wait"),
    [
        (400, {}, "error", None),
        (401, {}, "auth_failed", None),
        (403, {}, "auth_failed", None),
        (403, {"X-RateLimit-Remaining": "7"}, "auth_failed", None),
        (403, {"Retry-After": "12"}, "rate_limited", 12.0),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"}, "rate_limited", 30.0),
        (404, {}, "resource_missing", None),
        (410, {}, "resource_missing", None),
        (429, {}, "rate_limited", None),
        (429, {"Retry-After": "7"}, "rate_limited", 7.0),
        (429, {"Retry-After": "soon"}, "rate_limited", None),
        (500, {}, "error", None),
        (503, {"Retry-After": "3"}, "error", 3.0),
        (304, {}, "error", None),
        (302, {}, "error", None),
    ],
)
def test_a_status_becomes_the_action_that_fits_it(
    fail: Callable[..., Any], status: int, headers: dict[str, Any], action: str, wait: float | None
) -> None:
    error = fail(lambda _: answer(status, b"", headers), "/things/7?key=hunter2-hunter2")
    assert isinstance(error, StepError)
    assert (error.action, error.details["status"], error.details.get("retry_after")) == (action, status, wait)
    assert "/things/7` answered" in error.message
    assert "hunter2" not in everything(error)


def test_a_failure_reads_well(fail: Callable[..., Any]) -> None:
    error = fail(lambda _: answer(429, b"slow down", {"Retry-After": "7", "Content-Type": "text/plain"}), "/a?k=v")
    place = error.details["url"]
    assert error.message == f"`GET {place}` answered 429: too many calls; wait 7 s"
    assert place.endswith("/a") and place.startswith("http://127.0.0.1:")
    assert error.details == {
        "status": 429,
        "url": place,
        "method": "GET",
        "retry_after": 7.0,
        "body": "slow down",
    }


def echo(received: Received) -> bytes:
    """Repeats everything it was told, as careless servers do."""
    from urllib.parse import quote

    text = "\n".join((received.target, *received.lines, received.body.decode()))
    forms = [text, quote(text), quote(text, safe=""), text.replace("/", "\\/"), *received.headers.values()]
    return answer(401, "\n".join(forms).encode(), {"Content-Type": "text/plain"})


@pytest.mark.parametrize(
    "params",
    [
        {"auth": TOKEN},
        {"auth": {"type": "bearer", "token": TOKEN}},
        {"auth": {"type": "basic", "username": "ada", "password": TOKEN}},
        {"auth": {"type": "header", "name": "X-Custom", "value": TOKEN}},
        {"headers": {"Authorization": f"Token {TOKEN}"}},
        {"headers": {"X-Api-Key": TOKEN}},
        {"headers": {"Cookie": f"session={TOKEN}"}},
        {"params": {"api_key": TOKEN}},
        {"auth": "short"},
    ],
)
def test_an_error_does_not_repeat_credentials_that_a_server_echoes(
    fail: Callable[..., Any], params: dict[str, Any]
) -> None:
    error = fail(echo, **params)
    assert error.details["body"]
    assert TOKEN not in everything(error) and "short" not in everything(error)
    assert base64.b64encode(f"ada:{TOKEN}".encode()).decode() not in everything(error)


def test_an_error_does_not_repeat_the_query_of_the_address(fail: Callable[..., Any]) -> None:
    error = fail(lambda r: answer(500, f"no route {r.target}".encode()), "/p?api_key=0123456789abcdef")
    assert error.details["body"] == "no route /p?api_key=«secret:credential»"
    assert "0123456789abcdef" not in everything(error)


def test_a_credential_that_the_cut_goes_through_is_not_shown_in_part(fail: Callable[..., Any]) -> None:
    secret = "J" * 3000
    error = fail(lambda _: answer(500, (secret * 100).encode(), {"Content-Type": "text/plain"}), auth=secret)
    assert "JJJJ" not in everything(error)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=4, max_size=30), st.text(max_size=50))
def test_masking_leaves_no_secret_behind(secret: str, around: str) -> None:
    assert secret not in masked(around + secret + around + secret, [secret]) or secret in "«secret:credential»"


def test_a_long_error_body_is_cut(fail: Callable[..., Any]) -> None:
    error = fail(lambda _: answer(500, b"x" * 1_000_000, {"Content-Type": "text/plain"}))
    assert error.details["body"] == "x" * 1000 + "…"


def test_a_binary_error_body_is_left_out() -> None:
    reply = Reply(status=500, headers={"content-type": "image/png"}, url="u", place="p", content=b"\x89PNG")
    assert body_preview(Request(method="GET", url="u"), reply) == ""


def test_a_date_says_how_long_to_wait() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    assert 3500 < (retry_after({"retry-after": later}) or 0) <= 3600
    assert retry_after({"retry-after": "Fri, 01 Jan 1999 00:00:00 GMT"}) == 0.0


def test_nobody_is_told_to_wait_for_more_than_a_week() -> None:
    assert retry_after({"retry-after": "999999999"}) == 7 * 24 * 3600


def test_the_reset_of_a_quota_may_be_a_moment() -> None:
    moment = str(int((datetime.now(UTC) + timedelta(hours=1)).timestamp()))
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": moment}
    assert 3500 < (retry_after(headers) or 0) <= 3600


@given(st.dictionaries(st.sampled_from(["retry-after", "x-ratelimit-remaining", "x-ratelimit-reset"]), st.text()))
def test_any_waiting_header_is_understood_or_ignored(headers: dict[str, Any]) -> None:
    wait = retry_after(headers)
    assert wait is None or wait >= 0


def test_nothing_listening_is_said_plainly(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with LocalServer(lambda _: answer()) as server:
            url = server.url("/x?key=hunter2")
        await Step(tmp_path).run(Http, url=url)

    with pytest.raises(StepError) as caught:
        asyncio.run(scenario())
    assert caught.value.message.endswith("/x` cannot be reached: nothing listens there")
    assert "hunter2" not in everything(caught.value)


@pytest.mark.parametrize("raw", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"])
def test_a_server_that_breaks_off_fails_the_step(fail: Callable[..., Any], raw: bytes) -> None:
    error = fail(lambda _: raw + b"" if raw else b"connection: close", timeout=0.5)
    assert isinstance(error, StepError)


@pytest.mark.parametrize("begin", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"])
def test_a_slow_server_takes_the_timeout_action(tmp_path: Path, begin: bytes) -> None:
    async def scenario() -> None:
        waiting = asyncio.Event()

        async def never(_: Received) -> Any:
            await waiting.wait()
            return b""

        async with LocalServer(never if not begin else lambda _: begin) as server:
            await Step(tmp_path).run(Http, url=server.url("/slow?key=hunter2"), timeout=0.05)

    with pytest.raises(StepTimeout) as caught:
        asyncio.run(scenario())
    assert caught.value.action == "timeout"
    assert caught.value.message.endswith("/slow` took longer than 0.05 s")


def test_a_cancelled_call_lets_go_of_its_connection(tmp_path: Path) -> None:
    async def scenario() -> None:
        arrived, waiting = asyncio.Event(), asyncio.Event()

        async def never(_: Received) -> Any:
            arrived.set()
            await waiting.wait()
            return b""

        async with LocalServer(never) as server:
            call = asyncio.create_task(Step(tmp_path).run(Http, url=server.url()))
            await arrived.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

    asyncio.run(scenario())


# Policy and connections


def test_this_machine_is_not_called_unless_settings_say_so(tmp_path: Path) -> None:
    async def scenario() -> int:
        async with LocalServer(lambda _: answer()) as server:
            with pytest.raises(SecurityError):
                await Step(tmp_path, {}).run(Http, url=server.url())
            node = Http()
            node.set_params({"url": server.url()})
            with pytest.raises(SecurityError):  # outside of a run there are no settings
                await node._run_async({})
            await Step(tmp_path, {"http.allow_private": "true"}).run(Http, url=server.url())
            return len(server.requests)

    assert asyncio.run(scenario()) == 1


def test_what_one_policy_connected_to_stays_closed_to_another(tmp_path: Path) -> None:
    async def scenario() -> int:
        async with LocalServer(lambda _: answer()) as server:
            await Step(tmp_path, {"http.allow_private": "true"}).run(Http, url=server.url())
            with pytest.raises(SecurityError):
                await Step(tmp_path, {}).run(Http, url=server.url())
            return len(server.requests)

    assert asyncio.run(scenario()) == 1


def test_steps_share_a_connection_and_no_cookies(tmp_path: Path) -> None:
    async def scenario() -> list[Received]:
        async with LocalServer(lambda _: answer(headers={"Set-Cookie": "session=1"})) as server:
            for _ in range(3):
                await Step(tmp_path).run(Http, url=server.url())
            return server.requests

    requests = asyncio.run(scenario())
    assert [received.connection for received in requests] == [1, 1, 1]
    assert not any("cookie" in received.headers for received in requests)


def test_proxies_of_the_environment_are_ignored(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert run(lambda _: answer())[0]["status_code"] == 200


def test_a_netrc_of_the_person_is_not_used(run: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login ada password hunter2\n")
    _, (received,) = run(lambda _: answer())
    assert "authorization" not in received.headers


def test_many_calls_at_once_all_arrive(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        async with LocalServer(lambda r: json_answer(f'"{r.target}"')) as server:
            step = Step(tmp_path)
            calls = [step.run(Http, url=server.url(f"/{n}")) for n in range(150)]
            return [written["response"] for written in await asyncio.gather(*calls)]

    assert asyncio.run(scenario()) == [f"/{n}" for n in range(150)]


def test_importing_the_node_does_not_import_the_client() -> None:
    code = "import sys, pflow.nodes.http.node, pflow.nodes.github.node; print('httpx2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")
