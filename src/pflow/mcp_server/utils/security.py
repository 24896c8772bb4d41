"""What an agent may set: nothing that decides what runs, what it may reach, or what is kept of what it did."""

from __future__ import annotations

import os

from pflow.core.advice import Advice
from pflow.core.errors import SecurityError
from pflow.core.setting.option import known_option
from pflow.core.setting.secret_name import is_secret_name
from pflow.core.setting.settings import is_credential
from pflow.core.template.env_name import check_env_name
from pflow.workspace import Workspace


def check_may_set(workspace: Workspace, key: str) -> None:
    """Raise `SecurityError` for a setting that only a person may change."""
    option = known_option(key)
    if option is not None and option.policy:
        raise _refusal(key, "it decides what workflows may do, or what is kept of what they did")
    if option is not None or not is_credential(key):
        return
    if check_env_name(key):
        raise _refusal(key, "it decides what runs")
    if not is_secret_name(key) and (key in os.environ or key in workspace.servers.variables()):
        raise _refusal(key, "MCP servers are started with it")


def _refusal(key: str, reason: str) -> SecurityError:
    return SecurityError(
        f"an agent may not change `{key}`: {reason}",
        suggestions=[Advice("ask the person who runs pflow; they can set it in a terminal, with `{settings}`")],
    )
