"""Saved workflows as prompts: a person picks one, fills in its inputs, and the agent runs it."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from mcp_types import GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage, TextContent

from pflow.core.document.document import Document, Input
from pflow.core.errors import DocumentError, InputError, PflowError
from pflow.core.file.file_name import check_name
from pflow.core.file.home import Home
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.printable import escape, shorten
from pflow.core.suggest import did_you_mean
from pflow.mcp_server.resource import page_of
from pflow.workspace import Workspace, coerce_text

_DESCRIPTION_CHARACTERS = 300
_MOST_ARGUMENTS = 50


def list_prompts(home: Home, cursor: str | None) -> ListPromptsResult:
    """A page of the library as prompts."""
    names, following = page_of(home, cursor)
    listed = []
    for name in names:
        try:
            document, about = _load(home, name)
        except PflowError:
            continue  # what cannot be read is left out of lists everywhere
        arguments = [_argument(each, declared) for each, declared in _askable(document).items()]
        listed.append(Prompt(name=name, description=about or None, arguments=arguments[:_MOST_ARGUMENTS] or None))
    return ListPromptsResult(prompts=listed, next_cursor=following)


def fill_prompt(workspace: Workspace, name: str, given: Mapping[str, str], *, tool: str) -> GetPromptResult:
    """What an agent is asked to do. `tool` is a call with places for `{name}` and `{inputs}`.

    Raises `PflowError` for a workflow that does not exist and for arguments that it does not take.
    """
    document, about = _load(workspace.home, name)
    askable = _askable(document)
    unknown = [each for each in given if each not in askable]
    if unknown:
        hint = did_you_mean(unknown[0], askable) or f"it takes {', '.join(askable) or 'none'}"
        raise InputError(f"`{name}` has no input `{escape(unknown[0][:60])}`", suggestions=[hint])
    missing = [each for each, declared in askable.items() if each not in given and _is_needed(declared)]
    if missing:
        raise InputError(f"`{name}` needs {', '.join(f'`{each}`' for each in missing)}")
    inputs = {each: coerce_text(value, askable[each].type, each) for each, value in given.items()}
    call = tool.format(name=name, inputs=orjson.dumps(inputs).decode())
    lines = [f"Run the saved workflow `{name}`{': ' + about if about else ''}", f"Call {call} and report its outputs."]
    secrets = [each for each, declared in document.inputs.items() if declared.secret]
    if secrets:
        lines.append(f"Its secrets ({', '.join(secrets)}) come from the settings; do not ask for them here.")
    text = str(workspace.redact("\n".join(lines)))
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=about or None, messages=[message])


def _load(home: Home, name: str) -> tuple[Document, str]:
    manager = WorkflowManager(home)
    document = manager.stored_text(check_name(name)).parse().document
    if document is None:
        raise DocumentError(f"`{name}` does not hold a workflow that can run")
    return document, shorten(manager.describe(name).description or document.description, _DESCRIPTION_CHARACTERS)


def _askable(document: Document) -> dict[str, Input]:
    """What may be typed into a prompt, which a model reads: everything but secrets."""
    return {name: declared for name, declared in document.inputs.items() if not declared.secret}


def _argument(name: str, declared: Input) -> PromptArgument:
    kind = "" if declared.type in ("any", "string") else f" ({declared.type})"
    about = shorten(f"{declared.description}{kind}".strip(), _DESCRIPTION_CHARACTERS)
    return PromptArgument(name=name, description=about or None, required=_is_needed(declared))


def _is_needed(declared: Input) -> bool:
    return declared.required and not declared.has_default
