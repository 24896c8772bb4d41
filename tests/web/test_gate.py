"""Who gets in: the page is for the person on this machine who has its link, and for nobody else."""

from __future__ import annotations

from contextlib import suppress

import pytest

from pflow.web.gate import MOST_BYTES, POLICY
from tests.web.serving import TOKEN, Served

ECHO = {"name": "hi", "nodes": [{"id": "a", "type": "echo", "params": {"text": "hello"}}]}


def test_the_link_is_traded_for_a_cookie_that_scripts_cannot_read(page: Served) -> None:
    answer = page.ask(f"/runs/x?k={TOKEN}", Cookie="")
    assert answer.status == 200
    assert answer.headers["set-cookie"] == f"pflow_{page.place.port}={TOKEN}; Path=/; HttpOnly; SameSite=Strict"
    assert b"url=/runs/x" in answer.body


@pytest.mark.parametrize("path", ["/", "/api/runs", "/static/view.js", "/?k=wrong", "/api/ping"])
def test_without_the_token_one_is_told_how_to_get_a_link(page: Served, path: str) -> None:
    answer = page.ask(path, Cookie="")
    assert answer.status == 403
    assert b"pflow ui" in answer.body


@pytest.mark.parametrize("cookie", ["pflow_1=x", "=", "pflow", 'pflow_{port}="', "pflow_{port}=x", "\u00ff"])
def test_another_cookie_is_not_the_token(page: Served, cookie: str) -> None:
    assert page.ask("/api/runs", Cookie=cookie.format(port=page.place.port)).status == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "0.0.0.0:{port}", "127.0.0.1:{port}.x"])
def test_a_foreign_host_is_refused(page: Served, host: str) -> None:
    answer = page.ask("/api/runs", Host=host.format(port=page.place.port))
    assert (answer.status, b"Host" in answer.body) == (403, True)


def test_localhost_is_the_same_machine(page: Served) -> None:
    assert page.ask("/api/runs", Host=f"localhost:{page.place.port}").status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_page_of_another_origin_is_refused(page: Served, method: str, origin: str) -> None:
    answer = page.ask("/api/runs", method=method, Origin=origin.format(port=page.place.port))
    assert answer.status == 403


def test_what_changes_something_needs_an_origin_and_a_header(page: Served) -> None:
    run = page.run(ECHO)
    assert page.ask(f"/api/runs/{run}/cancel", method="POST", body={}, Origin="").status == 403
    assert page.ask(f"/api/runs/{run}/cancel", method="POST", body={}, X_Pflow="").status == 403
    other = f"http://localhost:{page.place.port}"
    assert page.ask(f"/api/runs/{run}/cancel", method="POST", body={}, Origin=other).status == 403


def test_a_large_body_is_refused_whatever_its_head_says(page: Served) -> None:
    run = page.run(ECHO)
    path = f"/api/runs/{run}/answer"
    assert page.ask(path, method="POST", Content_Length=str(MOST_BYTES + 1)).status == 413
    assert page.ask(path, method="POST", Content_Length="x").status == 400
    chunk = b"%x\r\n%b\r\n0\r\n\r\n" % (MOST_BYTES + 1, b" " * (MOST_BYTES + 1))
    with suppress(OSError):  # the server may hang up before all of it is sent
        answer = page.ask(path, method="POST", body=chunk, Transfer_Encoding="chunked")
        assert answer.status == 400


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"nonsense", b'"x"'])
def test_what_is_not_an_object_is_refused_with_a_reason(page: Served, body: bytes) -> None:
    run = page.run(ECHO)
    answer = page.ask(f"/api/runs/{run}/fork", method="POST", body=body)
    assert answer.status == 400
    assert answer.json["error"]["type"] == "usage"


@pytest.mark.parametrize("path", ["/", "/runs/none", "/api/runs", "/api/runs/none", "/static/page.css", "/nothing"])
def test_every_answer_carries_the_strict_policy(page: Served, path: str) -> None:
    answer = page.ask(path)
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", ["../app.py", "%2e%2e/app.py", "app.py", "view.js%00", ""])
def test_only_the_page_s_own_files_are_given(page: Served, name: str) -> None:
    assert page.ask(f"/static/{name}").status == 404


def test_a_path_is_not_the_name_of_a_workflow(page: Served) -> None:
    assert page.ask("/api/workflows/..%2f..%2fetc%2fpasswd").status == 404
    assert page.ask("/api/workflows/%2fetc%2fpasswd/run", method="POST", body={}).status == 400


def test_the_page_listens_on_this_machine_only(page: Served) -> None:
    assert page.place.link().startswith(f"http://127.0.0.1:{page.place.port}/?k=")
