"""`settings_set` and `settings_get`."""

from __future__ import annotations

from pflow.mcp_server.envelope import ToolReply, succeed
from pflow.mcp_server.schema import BOOLEAN, gives, takes, text
from pflow.mcp_server.tool_spec import Arguments, ToolSpec, changes, in_thread, reads
from pflow.mcp_server.utils.security import check_may_set
from pflow.workspace import Workspace


def set_setting(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """Store a credential or an option."""
    key = str(arguments["key"])
    check_may_set(workspace, key)
    workspace.set_setting(key, str(arguments["value"]))
    return get_setting(workspace, arguments)


def get_setting(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """One setting; a credential only in part."""
    found = workspace.setting(str(arguments["key"]))
    masked = " (masked)" if found.secret and found.set else ""
    return succeed(found.as_dict(), f"{found.key}: {found.shown}{masked}")


_SETTING = {"key": text(), "set": BOOLEAN, "secret": BOOLEAN}

TOOLS = (
    ToolSpec(
        name="settings_set",
        description=(
            "Store a credential (named like GITHUB_TOKEN; never shown again) or the option output.limit_kb. "
            "What decides what workflows may reach or what is kept of them is for people only."
        ),
        input_schema=takes({"key": text(), "value": text()}, "key", "value"),
        output_schema=gives(_SETTING),
        annotations=changes(destructive=True, idempotent=True),
        handler=in_thread(set_setting),
    ),
    ToolSpec(
        name="settings_get",
        description="Get a setting: its value, masked if it is a credential, and whether it is set.",
        input_schema=takes({"key": text()}, "key"),
        output_schema=gives(_SETTING),
        annotations=reads(),
        handler=in_thread(get_setting),
    ),
)
