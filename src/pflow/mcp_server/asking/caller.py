"""Who calls: a client's name, the protocol that it speaks, and which questions it can show to its person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pflow.core.frozen import Frozen
from pflow.core.printable import shorten
from pflow.mcp_server.app.binding import EXTENSION, MIME_TYPE
from pflow.mcp_server.asking.elicitation_form import fits_form
from pflow.workspace import Workspace
from pflow.workspace.asking.question import Waiting
from pflow.workspace.serving import MODERN

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext  # definitions of tools are there before the SDK is

_NAME_CHARACTERS = 60


class Caller(Frozen):
    """The client behind one request. `takes_forms` says that it can have a person fill in a form.

    `shows_apps` says that it shows pages beside answers."""

    name: str = ""
    version: str = ""
    protocol: str = ""
    takes_forms: bool = False
    shows_apps: bool = False

    @property
    def by(self) -> str:
        """Who is said to have answered."""
        return f"{self.name} {self.version}".strip() or "an MCP client"

    @property
    def is_modern(self) -> bool:
        """Whether a call returns to ask, instead of being asked back meanwhile."""
        return self.protocol >= MODERN

    def can_ask(self, waiting: Waiting, *, persons: bool) -> bool:
        """Whether it can have its person answer a question; without `persons`, none that only a person may answer."""
        if waiting.kind != "question" or waiting.who == "agent" or (waiting.who == "person" and not persons):
            return False
        return self.takes_forms and fits_form(waiting, self.protocol)


def caller_of(ctx: ServerRequestContext[Any, Any] | None) -> Caller:
    """The client that sent a request."""
    if ctx is None:
        return Caller()
    session = ctx.session
    about = session.client_params.client_info if session.client_params is not None else None
    capabilities = session.client_capabilities
    forms = capabilities.elicitation if capabilities is not None else None
    return Caller(
        name=shorten(about.name, _NAME_CHARACTERS) if about is not None else "",
        version=shorten(about.version, _NAME_CHARACTERS) if about is not None else "",
        protocol=ctx.protocol_version,
        # Before there were modes, there were only forms.
        shows_apps=_shows_apps(capabilities.extensions if capabilities is not None else None),
        takes_forms=forms is not None and (forms.form is not None or forms.url is None) and not _is_alone(ctx.meta),
    )


def _shows_apps(extensions: Mapping[str, Any] | None) -> bool:
    about = extensions.get(EXTENSION) if extensions else None
    kinds = about.get("mimeTypes") if isinstance(about, Mapping) else None
    return isinstance(kinds, list | tuple) and MIME_TYPE in kinds


def _is_alone(meta: Mapping[str, object] | None) -> bool:
    """Whether a program says that it runs without a person. `codex exec` does, and declines whatever it is asked."""
    turn = meta.get("x-codex-turn-metadata") if meta is not None else None
    return isinstance(turn, Mapping) and turn.get("turn_trigger") == "exec"


def asks_persons(workspace: Workspace) -> bool:
    """Whether what a client's person answers counts as an answer of a person."""
    return workspace.setting("ask.require_page").value is not True
