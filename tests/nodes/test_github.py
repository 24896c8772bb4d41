"""The GitHub nodes against a GitHub of our own: fields, pages, refusals, and where the token goes."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest

from pflow.core.errors import PflowError, SecurityError, StepError
from pflow.nodes.github.node import (
    Github,
    GithubCreateIssue,
    GithubCreatePr,
    GithubGetIssue,
    GithubListIssues,
    GithubListPrs,
)
from pflow.nodes.http.node import Http
from tests.nodes.local_http import LocalServer, Received, Step, answer, json_answer

TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
REPO = "octocat/hello.world"


def issue(number: int, **more: Any) -> dict[str, Any]:
    return {
        "url": f"https://api.example/repos/{REPO}/issues/{number}",
        "html_url": f"https://github.example/{REPO}/issues/{number}",
        "number": number,
        "title": f"Issue {number}",
        "body": None,
        "state": "open",
        "user": {"login": "ada", "id": 1},
        "labels": [{"name": "bug", "color": "f00"}, "text label"],
        "assignees": [{"login": "grace"}],
        "milestone": {"title": "v1"},
        "comments": 2,
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-02T00:00:00Z",
        "closed_at": None,
        "reactions": {"+1": 99},
        **more,
    }


def pull(number: int, **more: Any) -> dict[str, Any]:
    return {
        **issue(number),
        "draft": False,
        "merged_at": None,
        "head": {"ref": "feature", "sha": "abc"},
        "base": {"ref": "main"},
        **more,
    }


SLIM_ISSUE = {
    "number": 7,
    "title": "Issue 7",
    "body": "",
    "state": "open",
    "author": "ada",
    "labels": ["bug", "text label"],
    "assignees": ["grace"],
    "milestone": "v1",
    "comments": 2,
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": "2026-01-02T00:00:00Z",
    "closed_at": None,
    "url": f"https://github.example/{REPO}/issues/7",
}


def reply(value: Any, status: int = 200, **headers: Any) -> bytes:
    return json_answer(orjson.dumps(value).decode(), status, headers)


@pytest.fixture
def github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs a node against a GitHub that answers with `handler`, which the person has set up."""
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    monkeypatch.delenv("GITHUB_API_URL", raising=False)

    def start(
        handler: Callable[..., Any], node: type[Any], settings: dict[str, Any] | None = None, **params: Any
    ) -> tuple[dict[str, Any], list[Received]]:
        async def scenario() -> tuple[dict[str, Any], list[Received]]:
            async with LocalServer(handler) as server:
                configured = {"github.base_url": server.url("/api/v3/"), "GITHUB_TOKEN": TOKEN}
                step = Step(tmp_path, {**configured, **(settings or {})})
                return await step.run(node, **params), server.requests

        return asyncio.run(scenario())

    return start


@pytest.fixture
def fail(github: Callable[..., Any]) -> Callable[..., Any]:
    def start(handler: Callable[..., Any], node: type[Any] = GithubGetIssue, **params: Any) -> PflowError:
        with pytest.raises(PflowError) as caught:
            github(handler, node, **{"repo": REPO, "issue_number": 7, **params})
        assert TOKEN not in repr((caught.value.message, caught.value.details, caught.value.suggestions))
        return caught.value

    return start


# What the nodes do


@pytest.mark.requirement("security:5.3-4")
def test_an_issue_is_got_and_cut_down_to_its_lasting_fields(github: Callable[..., Any]) -> None:
    written, (received,) = github(lambda _: reply(issue(7)), GithubGetIssue, repo=REPO, issue_number=7)
    assert written == {
        "issue": SLIM_ISSUE,
        "issue_number": 7,
        "url": f"https://github.example/{REPO}/issues/7",
        "action": "default",
    }
    assert received.target == f"/api/v3/repos/{REPO}/issues/7"
    assert received.headers["authorization"] == f"Bearer {TOKEN}"
    assert received.headers["accept"] == "application/vnd.github+json"
    assert received.headers["x-github-api-version"] == "2022-11-28"
    assert received.headers["user-agent"].startswith("pflow/")


def test_a_number_may_come_as_text(github: Callable[..., Any]) -> None:
    _, (received,) = github(lambda _: reply(issue(7)), GithubGetIssue, repo=REPO, issue_number="7")
    assert received.target.endswith("/issues/7")


def test_an_issue_without_anything_still_has_every_field(github: Callable[..., Any]) -> None:
    written, _ = github(lambda _: reply({"number": 7}), GithubGetIssue, repo=REPO, issue_number=7)
    assert written["issue"].keys() == SLIM_ISSUE.keys()
    assert (written["issue"]["labels"], written["issue"]["author"], written["url"]) == ([], None, "")


def pages(items: list[Any]) -> Callable[..., Any]:
    """A list endpoint with pages as GitHub has them."""

    def handler(received: Received) -> bytes:
        query = parse_qs(urlsplit(received.target).query)
        size, page = int(query["per_page"][0]), int(query["page"][0])
        chunk = items[(page - 1) * size : page * size]
        more = page * size < len(items)
        link = {"Link": f'<https://evil.example/steal?page={page + 1}>; rel="next"'} if more else {}
        return reply(chunk, 200, **link)

    return handler


@pytest.mark.parametrize(
    ("there", "limit", "listed", "calls"),
    [(0, 30, 0, 1), (5, 30, 5, 1), (250, 30, 30, 1), (250, 100, 100, 1), (250, 101, 101, 2), (250, 1000, 250, 3)],
)
def test_a_list_goes_over_as_many_pages_as_it_takes(
    github: Callable[..., Any], there: int, limit: int, listed: int, calls: int
) -> None:
    handler = pages([pull(number) for number in range(1, there + 1)])
    written, requests = github(handler, GithubListPrs, repo=REPO, limit=limit)
    assert written["count"] == len(written["prs"]) == listed
    assert [pr["number"] for pr in written["prs"]] == list(range(1, listed + 1))
    assert len(requests) == calls


def test_pull_requests_are_not_listed_as_issues(github: Callable[..., Any]) -> None:
    items = [issue(number, **({"pull_request": {}} if number % 2 else {})) for number in range(1, 301)]
    written, _ = github(pages(items), GithubListIssues, repo=REPO, limit=120)
    assert [one["number"] for one in written["issues"]] == list(range(2, 242, 2))


def test_filters_become_the_query(github: Callable[..., Any]) -> None:
    _, (received,) = github(
        lambda _: reply([]),
        GithubListIssues,
        repo=REPO,
        state="all",
        labels=["bug", "help wanted"],
        assignee="*",
        since="2026-01-01T00:00:00Z",
    )
    query = parse_qs(urlsplit(received.target).query)
    assert query == {
        "state": ["all"],
        "labels": ["bug,help wanted"],
        "assignee": ["*"],
        "since": ["2026-01-01T00:00:00Z"],
        "per_page": ["100"],
        "page": ["1"],
    }


def test_an_issue_is_created_from_what_is_given(github: Callable[..., Any]) -> None:
    written, (received,) = github(
        lambda _: reply(issue(8), 201), GithubCreateIssue, repo=REPO, title="T", body="B", labels=["bug"]
    )
    assert (received.method, received.target) == ("POST", f"/api/v3/repos/{REPO}/issues")
    assert orjson.loads(received.body) == {"title": "T", "body": "B", "labels": ["bug"]}
    assert (written["issue_number"], written["issue"]["title"]) == (8, "Issue 8")


def test_a_pull_request_is_created_and_cut_down(github: Callable[..., Any]) -> None:
    written, (received,) = github(
        lambda _: reply(pull(9, draft=True), 201), GithubCreatePr, repo=REPO, title="T", head="me:feature", draft=True
    )
    assert orjson.loads(received.body) == {"title": "T", "head": "me:feature", "base": "main", "draft": True}
    assert written["pr_number"] == 9
    assert written["url"] == f"https://github.example/{REPO}/issues/9"
    assert {key: written["pr"][key] for key in ("head", "base", "sha", "draft", "merged_at")} == {
        "head": "feature",
        "base": "main",
        "sha": "abc",
        "draft": True,
        "merged_at": None,
    }


def test_any_endpoint_gives_its_whole_answer(github: Callable[..., Any]) -> None:
    written, (received,) = github(
        lambda _: reply({"any": ["thing"]}), Github, path="repos/o/r/releases", params={"q": "a b", "n": None}
    )
    assert (written["response"], written["status_code"]) == ({"any": ["thing"]}, 200)
    assert (received.method, received.target) == ("GET", "/api/v3/repos/o/r/releases?q=a%20b")


def test_any_endpoint_takes_a_method_and_a_body(github: Callable[..., Any]) -> None:
    written, (received,) = github(lambda _: answer(204), Github, path="/x", method="put", body={"a": 1})
    assert (written["response"], written["status_code"]) == (None, 204)
    assert (received.method, received.body) == ("PUT", b'{"a":1}')


def test_any_list_can_go_over_pages(github: Callable[..., Any]) -> None:
    written, _ = github(pages([{"n": n} for n in range(250)]), Github, path="/x", limit=150)
    assert len(written["response"]) == 150


def test_a_moved_repository_is_followed_with_its_body(github: Callable[..., Any]) -> None:
    def handler(received: Received) -> bytes:
        if received.path.startswith("/api/v3/repos/"):
            return answer(307, b"", {"Location": "/api/v3/repositories/1/issues"})
        return reply(issue(8), 201)

    _, requests = github(handler, GithubCreateIssue, repo=REPO, title="T")
    assert requests[1].body == b'{"title":"T"}'
    assert requests[1].headers["authorization"] == f"Bearer {TOKEN}"


# Parameters that make no call


@pytest.mark.parametrize(
    "repo",
    ["", "octocat", "a/b/c", "../x", "a/..", "a/.", "/a/b", "a/b?x", "a b/c", "-a/b", "a/b\n", "a/%2e%2e", None, 7],
)
def test_a_repository_has_to_be_owner_and_name(fail: Callable[..., Any], repo: int | str | None) -> None:
    assert "which is not of the form `owner/name`" in fail(lambda _: reply({}), repo=repo).message


@pytest.mark.parametrize("path", ["", "/", None, 7])
def test_a_path_has_to_be_there(fail: Callable[..., Any], path: int | str | None) -> None:
    assert "`path` is empty" in fail(lambda _: reply({}), Github, path=path).message


@pytest.mark.parametrize(
    "path",
    [
        "https://evil.example/x",
        "/x?y=1",
        "/x#y",
        "/x\\y",
        "/x y",
        "/x\r\nHost: evil",
        "/repos/../../admin",
        "/a/%2e%2e/b",
        "/a/.%2E/b",
        "..",
    ],
)
def test_a_path_cannot_lead_away_from_the_api(fail: Callable[..., Any], path: str) -> None:
    assert isinstance(fail(lambda _: reply({}), Github, path=path), StepError | SecurityError)


@pytest.mark.parametrize("path", ["//evil.example/x", "@evil.example/x", "user:pass@evil.example/x"])
def test_a_path_that_looks_like_a_host_stays_a_path(github: Callable[..., Any], path: str) -> None:
    _, (received,) = github(lambda _: reply({}), Github, path=path)
    assert received.target == "/api/v3/" + path.lstrip("/")


@pytest.mark.parametrize(
    ("node", "params", "words"),
    [
        (GithubGetIssue, {"issue_number": 0}, "`issue_number` must be a whole number"),
        (GithubGetIssue, {"issue_number": "7/../8"}, "`issue_number` must be a whole number"),
        (GithubListIssues, {"state": "new"}, "`state` is `new`"),
        (GithubListIssues, {"limit": 1001}, "from 1 to 1,000"),
        (GithubListIssues, {"limit": 0}, "`limit` must be a whole number"),
        (GithubListIssues, {"labels": "bug"}, "`labels` must be an array"),
        (GithubCreateIssue, {}, "`title` is empty"),
        (GithubCreateIssue, {"title": 7}, "`title` must be a string"),
        (GithubCreatePr, {"title": "T"}, "`head` is empty"),
        (Github, {"path": "/x", "limit": 5, "method": "POST"}, "`limit` is for lists"),
        (Github, {"path": "/x", "params": []}, None),
        (Github, {"path": "/x", "params": [1]}, "`params` must be an object"),
        (GithubGetIssue, {"token": 7}, "`token` must be a string"),
        (GithubGetIssue, {"base_url": 7}, "`base_url` must be a string"),
        (GithubGetIssue, {"base_url": "https://a.example/?b"}, "`base_url` is not a valid address"),
    ],
)
def test_parameters_that_make_no_call_are_explained(
    github: Callable[..., Any], fail: Callable[..., Any], node: type[Any], params: dict[str, Any], words: str | None
) -> None:
    if words is None:
        assert github(lambda _: reply({}), node, **params)
    else:
        assert words in fail(lambda _: reply({}), node, **params).message


# Refusals


def test_a_missing_issue_says_that_it_may_be_private(fail: Callable[..., Any]) -> None:
    error = fail(lambda _: reply({"message": "Not Found"}, 404))
    assert error.message == f"GitHub answered 404 to `GET /repos/{REPO}/issues/7`: Not Found"
    assert error.action == "resource_missing"
    assert error.suggestions == (
        "check the name and the number",
        "GitHub gives the same answer for private repositories that the token may not see",
    )


def test_a_bad_token_is_named_and_not_shown(fail: Callable[..., Any]) -> None:
    error = fail(lambda r: reply({"message": f"Bad credentials {r.headers['authorization']}"}, 401))
    assert error.action == "auth_failed"
    assert error.suggestions == ("check GITHUB_TOKEN",)
    error = fail(lambda _: reply({"message": "Bad credentials"}, 401), token="other-token-1234567890")
    assert error.suggestions == ("check the `token` of the node",)
    error = fail(lambda _: reply({"message": "Requires authentication"}, 401), settings={"GITHUB_TOKEN": ""})
    assert error.suggestions == ("set GITHUB_TOKEN, or give the node a `token`",)


def test_missing_permissions_are_listed(fail: Callable[..., Any]) -> None:
    error = fail(
        lambda _: reply(
            {"message": "Resource not accessible"}, 403, **{"X-Accepted-GitHub-Permissions": "issues=write"}
        )
    )
    assert (error.action, error.suggestions[1]) == ("auth_failed", "the call needs: issues=write")


@pytest.mark.parametrize(
    ("status", "headers", "message", "wait"),
    [
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "90"}, "API rate limit exceeded", 90.0),
        (429, {"Retry-After": "5"}, "Too many", 5.0),
        (403, {}, "You have exceeded a secondary rate limit", 60.0),
        (403, {"Retry-After": "7"}, "abuse", 7.0),
    ],
)
def test_a_rate_limit_says_how_long_to_wait(
    fail: Callable[..., Any], status: int, headers: dict[str, Any], message: str, wait: float
) -> None:
    error = fail(lambda _: reply({"message": message}, status, **headers))
    assert (error.action, error.details["retry_after"]) == ("rate_limited", wait)
    assert error.suggestions[0] == f"wait {wait:g} s"


def test_without_a_token_a_rate_limit_advises_one(fail: Callable[..., Any]) -> None:
    error = fail(lambda _: reply({"message": "rate limit"}, 429), settings={"GITHUB_TOKEN": ""})
    assert error.suggestions[0].startswith("set GITHUB_TOKEN")


def test_what_github_finds_wrong_is_repeated(fail: Callable[..., Any]) -> None:
    errors = [{"resource": "Issue", "field": "title", "code": "missing_field"}, {"message": "No commits\nbetween"}, "x"]
    error = fail(lambda _: reply({"message": "Validation Failed", "errors": errors}, 422))
    assert error.action == "error"
    assert error.message.endswith(": Validation Failed; `title` missing_field; No commits between; x")


@pytest.mark.parametrize(
    "body", [b"<html>", b"[]", b"null", b'{"message": ["a"], "errors": "b"}', b"\xff", b"", b'"text"']
)
def test_a_refusal_of_any_form_is_a_failed_step(fail: Callable[..., Any], body: bytes) -> None:
    error = fail(lambda _: answer(500, body, {"Content-Type": "application/json"}))
    assert (error.action, error.details["status"]) == ("error", 500)


@pytest.mark.parametrize(
    ("node", "body"),
    [(GithubGetIssue, b"<html>"), (GithubGetIssue, b"[]"), (GithubListPrs, b"{}"), (GithubListPrs, b"[1]")],
)
def test_an_answer_that_is_not_githubs_says_what_to_check(
    fail: Callable[..., Any], node: type[Any], body: bytes
) -> None:
    error = fail(lambda _: answer(200, body, {"Content-Type": "application/json"}), node)
    assert "did not answer as GitHub does" in error.message


@pytest.mark.parametrize(
    "raw",
    [{"milestone": "x", "user": "y", "labels": {}, "assignees": "z"}, {"labels": [None, 1]}, {"user": []}],
)
def test_odd_fields_do_not_break_an_issue(github: Callable[..., Any], raw: dict[str, Any]) -> None:
    written, _ = github(lambda _: reply(raw), GithubGetIssue, repo=REPO, issue_number=7)
    assert written["issue"].keys() == SLIM_ISSUE.keys()


# Where the token goes


def test_the_token_of_the_person_does_not_follow_an_address_in_a_document(tmp_path: Path) -> None:
    async def scenario() -> list[Received]:
        async with LocalServer(lambda _: reply(issue(7))) as evil:
            settings = {"GITHUB_TOKEN": TOKEN, "http.allow_hosts": "127.0.0.1"}
            step, params = Step(tmp_path, settings), {"repo": REPO, "issue_number": 7}
            await step.run(GithubGetIssue, base_url=evil.url(), **params)
            await step.run(GithubGetIssue, base_url=evil.url(), token="its-own-token", **params)
            return evil.requests

    without, own = asyncio.run(scenario())
    assert TOKEN not in repr((without, own))
    assert "authorization" not in without.headers
    assert own.headers["authorization"] == "Bearer its-own-token"


def test_an_address_in_a_document_is_subject_to_the_policy(tmp_path: Path) -> None:
    async def scenario() -> list[Any]:
        async with LocalServer(lambda _: reply(issue(7))) as server:
            with pytest.raises(SecurityError):
                await Step(tmp_path, {}).run(GithubGetIssue, base_url=server.url(), repo=REPO, issue_number=7)
            return server.requests

    assert asyncio.run(scenario()) == []


def test_an_address_in_a_document_that_equals_the_configured_one_is_as_good(tmp_path: Path) -> None:
    async def scenario() -> list[Received]:
        async with LocalServer(lambda _: reply(issue(7))) as server:
            step = Step(tmp_path, {"github.base_url": server.url("/api/v3"), "GITHUB_TOKEN": TOKEN})
            await step.run(GithubGetIssue, base_url=server.url("/api/v3/"), repo=REPO, issue_number=7)
            return server.requests

    (received,) = asyncio.run(scenario())
    assert received.headers["authorization"] == f"Bearer {TOKEN}"


def test_a_configured_address_opens_no_other_door(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        async with LocalServer(lambda _: reply(issue(7))) as server:
            step = Step(tmp_path, {"github.base_url": server.url()})
            await step.run(GithubGetIssue, repo=REPO, issue_number=7)
            with pytest.raises(SecurityError):
                await step.run(Http, url=server.url("/secret"))
            return [received.path for received in server.requests]

    assert asyncio.run(scenario()) == [f"/repos/{REPO}/issues/7"]


def test_address_and_token_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> list[Received]:
        async with LocalServer(lambda _: reply(issue(7))) as server:
            monkeypatch.setenv("GITHUB_API_URL", server.url("/env"))
            monkeypatch.setenv("GITHUB_TOKEN", f" {TOKEN}\n")
            await Step(tmp_path, {}).run(GithubGetIssue, repo=REPO, issue_number=7)
            return server.requests

    (received,) = asyncio.run(scenario())
    assert received.target == f"/env/repos/{REPO}/issues/7"
    assert received.headers["authorization"] == f"Bearer {TOKEN}"


def test_the_token_does_not_follow_a_redirect_to_another_origin(tmp_path: Path) -> None:
    async def scenario() -> list[Received]:
        async with LocalServer(lambda _: reply(issue(7))) as other:
            moved = answer(302, b"", {"Location": other.url("/steal")})
            async with LocalServer(lambda _: moved) as server:
                settings = {"github.base_url": server.url(), "GITHUB_TOKEN": TOKEN, "http.allow_hosts": "127.0.0.1"}
                await Step(tmp_path, settings).run(GithubGetIssue, repo=REPO, issue_number=7)
        return other.requests

    (received,) = asyncio.run(scenario())
    assert TOKEN not in repr(received)
