"""The GitHub nodes. Answers are reduced to stable fields; the node `github` returns them whole.

All of them take the token from the setting or variable `GITHUB_TOKEN` and the address of the API from
`github.base_url` or `GITHUB_API_URL`, unless the node says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypedDict

from pflow.core.errors import StepError
from pflow.nodes import param
from pflow.nodes.github.api import MOST_ITEMS, GitHub, api_path, repo_path
from pflow.nodes.http.message import check_method
from pflow.nodes.output_node import AsyncOutputNode

_HIGHEST = 10**12
"""More than any issue's number."""

_STATES = ("open", "closed", "all")


class Issue(TypedDict):
    """An issue. Labels and people are names; dates are ISO 8601; `url` is the page for people."""

    number: int
    title: str
    body: str
    state: str
    author: str | None
    labels: list[str]
    assignees: list[str]
    milestone: str | None
    comments: int
    created_at: str | None
    updated_at: str | None
    closed_at: str | None
    url: str


class PullRequest(TypedDict):
    """A pull request from the branch `head` into the branch `base`."""

    number: int
    title: str
    body: str
    state: str
    draft: bool
    author: str | None
    labels: list[str]
    assignees: list[str]
    head: str
    base: str
    sha: str | None
    created_at: str | None
    updated_at: str | None
    closed_at: str | None
    merged_at: str | None
    url: str


class _GithubNode(AsyncOutputNode):
    actions = ("default", "error", "timeout", "rate_limited", "auth_failed", "resource_missing")


class GithubGetIssue(_GithubNode):
    """Get one issue of a GitHub repository."""

    name = "github-get-issue"
    synonyms = (
        "read a ticket",
        "show a bug report",
        "details of an issue",
        "look up one issue by number",
        "what does the ticket say",
    )
    purity = "read"

    class Params:
        repo: Annotated[str, "Repository as owner/name"]
        issue_number: Annotated[int, "Number of the issue"]
        token: Annotated[str, "Token, if not GITHUB_TOKEN"] = ""
        base_url: Annotated[str, "Address of the API, if not the one that is set up"] = ""
        timeout: Annotated[float | str, "How long the call may take, such as 90s", "slot:duration"] = 30.0

    class Outputs:
        issue: Annotated[Issue, "The issue"]
        issue_number: Annotated[int, "Its number"]
        url: Annotated[str, "Its page"]

    async def exec_async(self, prep_res: object) -> dict[str, Any]:
        """Make the call."""
        path = f"{repo_path(self.params)}/issues/{_number(self.params, 'issue_number', None, _HIGHEST)}"
        return _issue_outputs(await GitHub(self.params).resource("GET", path))


class GithubListIssues(_GithubNode):
    """List issues of a GitHub repository, newest first. Pull requests are not among them."""

    name = "github-list-issues"
    synonyms = (
        "open bugs and tickets",
        "which issues are there",
        "backlog",
        "problems people reported",
        "all issues of a project, repo",
    )
    purity = "read"

    class Params:
        repo: Annotated[str, "Repository as owner/name"]
        state: Annotated[Literal["open", "closed", "all"], "open, closed or all"] = "open"
        labels: Annotated[list[str] | None, "Only issues with all of these labels"] = None
        assignee: Annotated[str, "Only issues of this person; none for unassigned, * for any"] = ""
        since: Annotated[str, "Only issues that changed after this moment (ISO 8601)"] = ""
        limit: Annotated[int, "Most issues to list, up to 1000"] = 30
        token: Annotated[str, "Token, if not GITHUB_TOKEN"] = ""
        base_url: Annotated[str, "Address of the API, if not the one that is set up"] = ""
        timeout: Annotated[float | str, "How long each call may take, such as 90s", "slot:duration"] = 30.0

    class Outputs:
        issues: Annotated[list[Issue], "The issues"]
        count: Annotated[int, "How many there are"]

    async def exec_async(self, prep_res: object) -> dict[str, Any]:
        """Make as many calls as there are pages."""
        params = self.params
        query = {
            "state": param.choice(params, "state", _STATES),
            "labels": ",".join(param.strings(params, "labels", "names") or []) or None,
            "assignee": param.text(params, "assignee") or None,
            "since": param.text(params, "since") or None,
        }
        found = await GitHub(params).list(f"{repo_path(params)}/issues", query, _limit(params), without="pull_request")
        return {"issues": [_issue(one) for one in found], "count": len(found)}


class GithubCreateIssue(_GithubNode):
    """Open an issue in a GitHub repository."""

    name = "github-create-issue"
    synonyms = (
        "report a bug",
        "file a ticket",
        "new issue",
        "todo",
        "tell the maintainers about a defect or problem",
        "open a ticket",
        "request a feature",
    )
    purity = "impure"

    class Params:
        repo: Annotated[str, "Repository as owner/name"]
        title: Annotated[str, "Title"]
        body: Annotated[str, "Text, in Markdown"] = ""
        labels: Annotated[list[str] | None, "Labels"] = None
        assignees: Annotated[list[str] | None, "People to assign"] = None
        token: Annotated[str, "Token, if not GITHUB_TOKEN"] = ""
        base_url: Annotated[str, "Address of the API, if not the one that is set up"] = ""
        timeout: Annotated[float | str, "How long the call may take, such as 90s", "slot:duration"] = 30.0

    class Outputs:
        issue: Annotated[Issue, "The new issue"]
        issue_number: Annotated[int, "Its number"]
        url: Annotated[str, "Its page"]

    async def exec_async(self, prep_res: object) -> dict[str, Any]:
        """Make the call."""
        params, path = self.params, f"{repo_path(self.params)}/issues"
        body = {
            "title": param.required_text(params, "title"),
            "body": param.text(params, "body") or None,
            "labels": param.strings(params, "labels", "names"),
            "assignees": param.strings(params, "assignees", "names"),
        }
        return _issue_outputs(await GitHub(params).resource("POST", path, body))


class GithubListPrs(_GithubNode):
    """List pull requests of a GitHub repository, newest first."""

    name = "github-list-prs"
    synonyms = (
        "which pull requests are open",
        "code reviews that wait",
        "merge requests",
        "prs",
        "reviews to do",
        "open pull requests of a project, repo",
    )
    purity = "read"

    class Params:
        repo: Annotated[str, "Repository as owner/name"]
        state: Annotated[Literal["open", "closed", "all"], "open, closed or all"] = "open"
        head: Annotated[str, "Only those from this branch, as owner:branch"] = ""
        base: Annotated[str, "Only those into this branch"] = ""
        limit: Annotated[int, "Most pull requests to list, up to 1000"] = 30
        token: Annotated[str, "Token, if not GITHUB_TOKEN"] = ""
        base_url: Annotated[str, "Address of the API, if not the one that is set up"] = ""
        timeout: Annotated[float | str, "How long each call may take, such as 90s", "slot:duration"] = 30.0

    class Outputs:
        prs: Annotated[list[PullRequest], "The pull requests"]
        count: Annotated[int, "How many there are"]

    async def exec_async(self, prep_res: object) -> dict[str, Any]:
        """Make as many calls as there are pages."""
        params = self.params
        query = {
            "state": param.choice(params, "state", _STATES),
            "head": param.text(params, "head") or None,
            "base": param.text(params, "base") or None,
        }
        found = await GitHub(params).list(f"{repo_path(params)}/pulls", query, _limit(params))
        return {"prs": [_pull_request(one) for one in found], "count": len(found)}


class GithubCreatePr(_GithubNode):
    """Open a pull request in a GitHub repository."""

    name = "github-create-pr"
    synonyms = (
        "propose changes for review",
        "pull request",
        "merge request",
        "send in a branch",
        "submit my branch for review",
        "open a pr",
        "contribute",
    )
    purity = "impure"

    class Params:
        repo: Annotated[str, "Repository as owner/name"]
        title: Annotated[str, "Title"]
        head: Annotated[str, "Branch with the changes, as branch or owner:branch"]
        base: Annotated[str, "Branch that should get them"] = "main"
        body: Annotated[str, "Text, in Markdown"] = ""
        draft: Annotated[bool, "Whether it is a draft"] = False
        token: Annotated[str, "Token, if not GITHUB_TOKEN"] = ""
        base_url: Annotated[str, "Address of the API, if not the one that is set up"] = ""
        timeout: Annotated[float | str, "How long the call may take, such as 90s", "slot:duration"] = 30.0

    class Outputs:
        pr: Annotated[PullRequest, "The new pull request"]
        pr_number: Annotated[int, "Its number"]
        url: Annotated[str, "Its page"]

    async def exec_async(self, prep_res: object) -> dict[str, Any]:
        """Make the call."""
        params, path = self.params, f"{repo_path(self.params)}/pulls"
        body = {
            "title": param.required_text(params, "title"),
            "head": param.required_text(params, "head"),
            "base": param.text(params, "base") or "main",
            "body": param.text(params, "body") or None,
            "draft": True if params.get("draft") is True else None,
        }
        pr = _pull_request(await GitHub(params).resource("POST", path, body))
        return {"pr": pr, "pr_number": pr["number"], "url": pr["url"]}


class Github(_GithubNode):
    """Call any endpoint of the GitHub REST API."""

    name = "github"
    synonyms = (
        "releases, labels, comments, stars, actions of a repository",
        "close, comment on or label an issue",
        "merge a pull request",
        "call the github api",
        "star, fork, invite, create a repository, gist or release",
        "workflow runs, ci",
    )
    purity = "impure"

    class Params:
        path: Annotated[str, "Path such as /repos/owner/name/releases"]
        method: Annotated[str, "HTTP method; without one GET, or POST when there is a body"] = ""
        params: Annotated[dict[str, object] | None, "Query parameters"] = None
        body: Annotated[dict[str, object] | list[object] | None, "What to send, as JSON"] = None
        limit: Annotated[int, "For lists: go on over pages up to this many items; 0 for one page"] = 0
        token: Annotated[str, "Token, if not GITHUB_TOKEN"] = ""
        base_url: Annotated[str, "Address of the API, if not the one that is set up"] = ""
        timeout: Annotated[float | str, "How long each call may take, such as 90s", "slot:duration"] = 30.0

    class Outputs:
        response: Annotated[dict[str, object] | list[object] | str | None, "What GitHub answered, whole"]
        status_code: Annotated[int, "HTTP status"]

    async def exec_async(self, prep_res: object) -> dict[str, Any]:
        """Make the call, or as many as there are pages."""
        params, path = self.params, api_path(self.params)
        body, query = params.get("body"), param.mapping(params, "params")
        method = check_method(params.get("method"), body)
        api = GitHub(params)
        if params.get("limit"):
            if method != "GET":
                raise StepError("`limit` is for lists, which need the method GET")
            return {"response": await api.list(path, query, _limit(params)), "status_code": 200}
        answer, reply = await api.send(method, path, query, body)
        return {"response": answer, "status_code": reply.status}


def _issue_outputs(raw: Mapping[str, Any]) -> dict[str, Any]:
    issue = _issue(raw)
    return {"issue": issue, "issue_number": issue["number"], "url": issue["url"]}


def _issue(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **_shared_fields(raw),
        "milestone": _part(raw.get("milestone"), "title"),
        "comments": raw.get("comments") or 0,
    }


def _pull_request(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **_shared_fields(raw),
        "draft": bool(raw.get("draft")),
        "head": _part(raw.get("head"), "ref") or "",
        "base": _part(raw.get("base"), "ref") or "",
        "sha": _part(raw.get("head"), "sha"),
        "merged_at": raw.get("merged_at"),
    }


def _shared_fields(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "number": raw.get("number") or 0,
        "title": raw.get("title") or "",
        "body": raw.get("body") or "",
        "state": raw.get("state") or "",
        "author": _part(raw.get("user"), "login"),
        "labels": _parts(raw.get("labels"), "name"),
        "assignees": _parts(raw.get("assignees"), "login"),
        "created_at": raw.get("created_at"),
        "updated_at": raw.get("updated_at"),
        "closed_at": raw.get("closed_at"),
        "url": raw.get("html_url") or raw.get("url") or "",
    }


def _part(raw: object, name: str) -> Any:
    """A field of an object, or the name itself where GitHub gives that instead of an object."""
    return raw.get(name) if isinstance(raw, Mapping) else raw


def _parts(raw: object, name: str) -> list[Any]:
    return [_part(one, name) for one in raw] if isinstance(raw, list) else []


def _number(params: param.Params, name: str, default: int | None, most: int) -> int:
    value = params.get(name, default)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12:
        value = int(value)
    number = param.integer({name: value}, name, default, least=1, most=most)
    if number is None:
        raise StepError(f"`{name}` is missing")
    return number


def _limit(params: param.Params) -> int:
    return _number(params, "limit", 30, MOST_ITEMS)
