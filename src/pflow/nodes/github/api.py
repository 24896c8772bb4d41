"""Calls to GitHub's REST API: where it is, who calls, page by page, and what its refusals mean.

A token of the settings or the environment goes only to the API that the settings or the environment name
(else api.github.com): a document that names another API has to bring a token of its own, and that API has to
be one that the network policy lets steps call.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from pflow.core.errors import SecurityError, StepError
from pflow.nodes import param
from pflow.nodes.http.message import Reply, Request, body_value, check_headers, masked, secrets_in
from pflow.nodes.http.network_policy import NetworkPolicy
from pflow.nodes.http.node import call, encode_json, network_policy, query_pairs, settings

DEFAULT_BASE = "https://api.github.com"
PAGE = 100
MOST = 1000
"""Items that a list can be asked for."""

_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9._-]{1,100}")
_OUTSIDE_PATH = re.compile(r"[?#\\\s\x00-\x1f\x7f]")


class GitHub:
    """The API as one step sees it: address, token and policy are settled once."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self._timeout = param.seconds(params, "timeout", 30.0)
        self._base, ambient = _base_url(params)
        self._policy = _policy(self._base) if ambient else network_policy()
        self._token, self._token_name = _token(params, ambient)

    async def get(self, path: str, query: Mapping[str, object] | None = None) -> Any:
        """What is at a path."""
        return (await self.send("GET", path, query))[0]

    async def post(self, path: str, body: Mapping[str, object]) -> Any:
        """What creating something answers. Parts that are None are left out."""
        return (await self.send("POST", path, body={key: one for key, one in body.items() if one is not None}))[0]

    async def list(
        self, path: str, query: Mapping[str, object], limit: int, *, without: str = ""
    ) -> list[dict[str, Any]]:
        """Up to `limit` objects over as many pages as it takes, leaving out those with a field `without`."""
        found: list[dict[str, Any]] = []
        size = PAGE if without else min(limit, PAGE)
        for page in range(1, MOST // 10):
            answer, reply = await self.send("GET", path, {**query, "per_page": size, "page": page})
            if not isinstance(answer, list) or not all(isinstance(one, dict) for one in answer):
                raise self._strange(path)
            found += [one for one in answer if not (without and without in one)]
            if len(found) >= limit or 'rel="next"' not in reply.headers.get("link", ""):
                break
        return found[:limit]

    async def send(
        self, method: str, path: str, query: Mapping[str, object] | None = None, *, body: object = None
    ) -> tuple[Any, Reply]:
        """One call. Raises `StepError` with what GitHub says and what to do about it."""
        headers = {"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"}
        if self._token:
            headers |= check_headers({"authorization": f"Bearer {self._token}"})
        content = None
        if body is not None:
            headers["content-type"] = "application/json"
            content = encode_json(body, "body")
        request = Request(
            method=method,
            url=self._base + path,
            headers=headers,
            params=query_pairs(query or {}),
            content=content,
            timeout=self._timeout,
            secrets=secrets_in(headers),
        )
        reply = await call(request, self._policy, refuse=self._failure)
        return (body_value(reply) if reply.content else None), reply

    def object(self, answer: Any, path: str) -> dict[str, Any]:
        """An answer that has to be an object."""
        if not isinstance(answer, dict):
            raise self._strange(path)
        return answer

    def _strange(self, path: str) -> StepError:
        return StepError(
            f"`{self._base}{path}` did not answer as GitHub does",
            suggestions=["Check `base_url`, the setting `github.base_url` and the variable GITHUB_API_URL"],
        )

    def _failure(self, request: Request, reply: Reply, error: StepError) -> StepError:
        """A refusal with GitHub's own words and advice, where `error` only knows the status."""
        said, action, details = _words(request, reply), error.action, dict(error.details)
        advice: list[str] = list(error.suggestions)
        if reply.status in (403, 429) and "rate limit" in said.lower():
            action = "rate_limited"
            details.setdefault("retry_after", 60.0)
        if action == "rate_limited":
            wait = details.get("retry_after")
            advice = [f"Wait {wait:g} s" if isinstance(wait, float) else "Wait a minute", *advice[:1]]
            if not self._token:
                advice.insert(0, "Set GITHUB_TOKEN: without a token GitHub allows 60 calls an hour")
        elif action == "auth_failed":
            advice = [
                f"Check {self._token_name}" if self._token else "Set GITHUB_TOKEN, or give the node a `token`",
                *_permissions(reply),
            ]
        elif action == "resource_missing":
            advice = [
                "Check the name and the number",
                "GitHub also answers so for private repositories that "
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
            f"`repo` is {str(repo)[:100]!a}, which is not of the form `owner/name`",
            suggestions=["Write it like `octocat/hello-world`"],
        )
    return f"/repos/{repo}"


def api_path(params: Mapping[str, Any]) -> str:
    """The `path` parameter, which cannot lead away from the API."""
    path = params.get("path")
    if not isinstance(path, str) or not path.strip("/"):
        raise StepError("`path` is empty", suggestions=["Write it like `/repos/octocat/hello-world/releases`"])
    if "://" in path or _OUTSIDE_PATH.search(path):
        raise StepError(
            f"`path` is {path[:100]!a}, which is more or other than a path of the API",
            suggestions=["Write it like `/repos/octocat/hello-world/releases`, the query in `params`"],
        )
    if any(unquote(part) in (".", "..") for part in path.split("/")):
        raise SecurityError("`path` holds `..`, which could lead away from the API")
    return "/" + path.lstrip("/")


def _base_url(params: Mapping[str, Any]) -> tuple[str, bool]:
    """The address of the API, and whether the person (not the document) chose it."""
    configured = settings().get("github.base_url") or os.environ.get("GITHUB_API_URL") or DEFAULT_BASE
    configured = configured.strip().rstrip("/")
    given = params.get("base_url")
    if given is None or given == "":
        return configured, True
    if not isinstance(given, str) or "?" in given or "#" in given:
        raise StepError("`base_url` is no address", suggestions=[f"Write it like {DEFAULT_BASE}"])
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
    given = params.get("token")
    if given is not None and given != "":
        if not isinstance(given, str):
            raise StepError("`token` needs a text")
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
            words.append(str(error.get("message") or f"`{error.get('field')}` {error.get('code')}"))
        else:
            words.append(str(error))
    return " ".join(masked("; ".join(filter(None, words)), request.secrets).split())[:300]


def _permissions(reply: Reply) -> list[str]:
    needed = reply.headers.get("x-accepted-github-permissions") or reply.headers.get("x-accepted-oauth-scopes")
    return [f"The call needs: {needed[:200]}"] if needed else []
