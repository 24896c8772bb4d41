"""Calls to GitHub's REST API: its address, the token, pages of results, and the meaning of its refusals.

A token from the settings or the environment goes only to the API that the settings or the environment name
(else api.github.com): a document that names another API must bring its own token, and the network policy must
allow steps to call that API.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from pflow.core.errors import SecurityError, StepError
from pflow.core.printable import shorten
from pflow.nodes import param
from pflow.nodes.http.message import Reply, Request, body_value, check_headers, masked, secrets_in
from pflow.nodes.http.network_policy import NetworkPolicy
from pflow.nodes.http.node import call, network_policy, query_pairs, settings

DEFAULT_BASE = "https://api.github.com"
MOST_ITEMS = 1000
"""The longest list that a step may ask for."""

_PAGE_ITEMS = 100
_MOST_PAGES = 99
"""Also enough where pull requests are left out of a list of issues."""

_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9._-]{1,100}")
_OUTSIDE_PATH = re.compile(r"[?#\\\s\x00-\x1f\x7f]")


class GitHub:
    """The API for one step, which uses one address, one token and one policy."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self._timeout = param.seconds(params, "timeout", 30.0)
        self._base, ambient = _base_url(params)
        self._policy = _policy(self._base) if ambient else network_policy()
        self._token, self._token_name = _token(params, ambient)

    async def resource(self, method: str, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        """The object that a call returns. Fields of `body` that are None are left out."""
        given = None if body is None else {name: value for name, value in body.items() if value is not None}
        answer, _ = await self.send(method, path, {}, given)
        if not isinstance(answer, dict):
            raise self._strange(path)
        return answer

    async def list(
        self, path: str, query: Mapping[str, object], limit: int, *, without: str = ""
    ) -> list[dict[str, Any]]:
        """Up to `limit` objects over as many pages as it takes, leaving out those with a field `without`."""
        found: list[dict[str, Any]] = []
        size = _PAGE_ITEMS if without else min(limit, _PAGE_ITEMS)
        for page in range(1, _MOST_PAGES + 1):
            answer, reply = await self.send("GET", path, {**query, "per_page": size, "page": page})
            if not isinstance(answer, list) or not all(isinstance(one, dict) for one in answer):
                raise self._strange(path)
            found += [one for one in answer if not (without and without in one)]
            if len(found) >= limit or 'rel="next"' not in reply.headers.get("link", ""):
                break
        return found[:limit]

    async def send(self, method: str, path: str, query: Mapping[str, object], body: object = None) -> tuple[Any, Reply]:
        """One call. Raises `StepError` with what GitHub says and what to do about it."""
        headers = {"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"}
        if self._token:
            headers |= check_headers({"authorization": f"Bearer {self._token}"})
        content = None
        if body is not None:
            headers["content-type"] = "application/json"
            content = param.json_bytes("body", body)
        request = Request(
            method=method,
            url=self._base + path,
            headers=headers,
            params=query_pairs(query),
            content=content,
            timeout=self._timeout,
            secrets=secrets_in(headers),
        )
        reply = await call(request, self._policy, refuse=self._failure)
        return (body_value(reply) if reply.content else None), reply

    def _strange(self, path: str) -> StepError:
        return StepError(
            f"`{self._base}{path}` did not answer as GitHub does",
            suggestions=["check `base_url`, the setting `github.base_url` and the variable GITHUB_API_URL"],
        )

    def _failure(self, request: Request, reply: Reply, error: StepError) -> StepError:
        """`error`, which only knows the status, with GitHub's own words and advice."""
        said, action, details = _words(request, reply), error.action, dict(error.details)
        advice: list[str] = list(error.suggestions)
        if reply.status in (403, 429) and "rate limit" in said.lower():
            action = "rate_limited"
            details.setdefault("retry_after", 60.0)
        if action == "rate_limited":
            wait = details.get("retry_after")
            advice = [f"wait {wait:g} s" if isinstance(wait, float) else "wait a minute", *advice[:1]]
            if not self._token:
                advice.insert(0, "set GITHUB_TOKEN: without a token GitHub allows 60 calls an hour")
        elif action == "auth_failed":
            advice = [
                f"check {self._token_name}" if self._token else "set GITHUB_TOKEN, or give the node a `token`",
                *_permissions(reply),
            ]
        elif action == "resource_missing":
            advice = [
                "check the name and the number",
                "GitHub gives the same answer for private repositories that "
                + ("the token may not see" if self._token else "need a token; set GITHUB_TOKEN"),
            ]
        path = reply.place.removeprefix(self._base)
        return StepError(
            f"GitHub answered {reply.status} to `{request.method} {path}`" + (f": {said}" if said else ""),
            action=action,
            details=details,
            suggestions=advice,
        )


def repo_path(params: Mapping[str, Any]) -> str:
    """The API path of the repository that `repo` names as `owner/name`."""
    repo = params.get("repo")
    if not isinstance(repo, str) or not _REPO.fullmatch(repo) or repo.rpartition("/")[2] in (".", ".."):
        raise StepError(
            f"`repo` is `{shorten(str(repo), 100)}`, which is not of the form `owner/name`",
            suggestions=["write it like `octocat/hello-world`"],
        )
    return f"/repos/{repo}"


def api_path(params: Mapping[str, Any]) -> str:
    """The `path` parameter, which must stay within the API."""
    path = params.get("path")
    if not isinstance(path, str) or not path.strip("/"):
        raise StepError("`path` is empty", suggestions=["write it like `/repos/octocat/hello-world/releases`"])
    if "://" in path or _OUTSIDE_PATH.search(path):
        raise StepError(
            f"`path` is `{shorten(path, 100)}`, which is not a path of the API",
            suggestions=["write it like `/repos/octocat/hello-world/releases`, and the query in `params`"],
        )
    if any(unquote(part) in (".", "..") for part in path.split("/")):
        raise SecurityError("`path` holds `..`, which could lead away from the API")
    return "/" + path.lstrip("/")


def _base_url(params: Mapping[str, Any]) -> tuple[str, bool]:
    """The address of the API, and whether the user (not the document) chose it."""
    configured = settings().get("github.base_url") or os.environ.get("GITHUB_API_URL") or DEFAULT_BASE
    configured = configured.strip().rstrip("/")
    given = param.text(params, "base_url")
    if not given:
        return configured, True
    if "?" in given or "#" in given:
        raise StepError("`base_url` is not a valid address", suggestions=[f"write it like {DEFAULT_BASE}"])
    given = given.strip().rstrip("/")
    return given, given == configured


def _policy(base: str) -> NetworkPolicy:
    policy = network_policy()
    if base == DEFAULT_BASE:
        return policy
    try:
        parts = urlsplit(base)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return policy
    return policy.trusting(parts.hostname, port) if parts.hostname else policy


def _token(params: Mapping[str, Any], ambient: bool) -> tuple[str, str]:
    """The token and what messages call it."""
    given = param.text(params, "token")
    if given:
        return given, "the `token` of the node"
    if not ambient:
        return "", ""
    token = settings().get("GITHUB_TOKEN") or os.environ.get("GITHUB_TOKEN") or ""
    return token.strip(), "GITHUB_TOKEN"


def _words(request: Request, reply: Reply) -> str:
    """GitHub's own explanation, on one line and without the token."""
    answer = body_value(reply)
    if not isinstance(answer, dict):
        return ""
    words = [str(answer.get("message") or "")]
    errors = answer.get("errors")
    for error in errors if isinstance(errors, list) else []:
        if isinstance(error, dict):
            error = error.get("message") or f"`{error.get('field')}` {error.get('code')}"
        words.append(str(error))
    return " ".join(masked("; ".join(filter(None, words)), request.secrets).split())[:300]


def _permissions(reply: Reply) -> list[str]:
    needed = reply.headers.get("x-accepted-github-permissions") or reply.headers.get("x-accepted-oauth-scopes")
    return [f"the call needs: {needed[:200]}"] if needed else []
