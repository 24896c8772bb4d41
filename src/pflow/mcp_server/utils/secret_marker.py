"""What an agent writes back of a text in which it saw markers instead of secrets: the secrets stay where they were."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.document.parse import Parsed
from pflow.core.document.position import Path, show_path
from pflow.core.errors import DocumentError
from pflow.core.library.workflow_text import WorkflowText, text_of_value
from pflow.core.setting.redactor import is_marked
from pflow.workspace import Workflow, Workspace

_MOST_PLACES = 5


def show_text(workspace: Workspace, text: WorkflowText) -> WorkflowText:
    """A text without secrets; as JSON where that cannot be said in its own words, such as of a number."""
    content = text.data.decode(errors="replace")
    shown = str(workspace.redact(content))
    value = text.parse().places.value
    hidden = workspace.redact(value)
    if (hidden is value and shown == content) or not isinstance(hidden, Mapping):
        return text._replace(data=shown.encode())
    if workspace.parse(shown, suffix=text.suffix).places.value == hidden:
        return text._replace(data=shown.encode())
    return text_of_value(hidden)


def put_secrets_back(workspace: Workspace, parsed: Parsed, before: WorkflowText | None) -> Workflow:
    """A document with the secrets that its markers stand for in `before`, the text that it replaces.

    Raises `DocumentError` for a marker in a string that is not exactly what was shown at that place of `before`: it
    would lose the secret, or take it to another place.
    """
    given = parsed.places.value
    old = before.parse().places.value if before is not None else None
    moved: list[Path] = []
    value = _put_back(given, old, workspace.redact(old), (), moved)
    if moved:
        raise _refusal(moved, before is not None)
    text = parsed.places.text
    if before is None or not isinstance(value, Mapping):
        return parsed
    if text is None:
        return value
    # In the text itself, so that its comments and layout stay, if that gives the same document.
    for marker, secret in dict(workspace.hidden_in(before.data.decode(errors="replace"))).items():
        text = text.replace(marker, secret)
    restored = workspace.parse(text, suffix=".json" if parsed.places.is_json else ".yaml")
    return restored if restored.places.value == value else value


def _put_back(new: object, old: object, shown: object, path: Path, moved: list[Path]) -> object:
    if isinstance(new, str):
        if not is_marked(new):
            return new
        if new == shown:
            return old
        moved.append(path)
    elif isinstance(new, Mapping):
        moved += [(*path, str(key)) for key in new if is_marked(str(key))]
        return {
            key: _put_back(part, _at(old, key), _at(shown, key), (*path, str(key)), moved) for key, part in new.items()
        }
    elif isinstance(new, list):
        return [
            _put_back(part, _item(old, place, part), _item(shown, place, part), (*path, place), moved)
            for place, part in enumerate(new)
        ]
    return new


def _at(value: object, key: object) -> object:
    return value.get(key) if isinstance(value, Mapping) else None


def _item(value: object, place: int, new: object) -> object:
    """What stood in an array where `new` stands now: the node of the same id, or what has the same place."""
    if not isinstance(value, list | tuple):
        return None
    wanted = _at(new, "id")
    if wanted is not None:
        return next((each for each in value if _at(each, "id") == wanted), None)
    return value[place] if place < len(value) else None


def _refusal(moved: list[Path], replaces: bool) -> DocumentError:
    places = ", ".join(f"`{show_path(path)}`" for path in moved[:_MOST_PLACES])
    more = f" and {len(moved) - _MOST_PLACES} more places" if len(moved) > _MOST_PLACES else ""
    why = (
        "it does not stand there like this in the version that is replaced" if replaces else "it holds no secret itself"
    )
    return DocumentError(
        f"{places}{more}: the marker of a secret cannot be saved there: {why}",
        suggestions=[
            'declare an input with `"secret": true` and use `${name}`: the setting of its name in capitals fills it',
            *(["or leave a string that holds a marker exactly as it was read"] if replaces else []),
        ],
    )
