"""What a client is told of the server before anything else: five lines, about the tools that it has."""

from __future__ import annotations

_WHAT = (
    "pflow runs workflows: JSON documents of nodes that are checked, durable and resumable, with no model in the loop."
)

_FULL = f"""\
{_WHAT}
First workflow_discover: run what exists with workflow_execute. Else registry_discover finds nodes to build with.
registry_run tries one node and shows the template paths of what it returns, such as ${{node.result.items[0].id}}.
workflow_validate finds every mistake before workflow_execute; a failed run goes on with `resume` after a fix.
workflow_save keeps it; workflow_list(name) reads it to mend it; trace_read shows runs; pflow://guide the grammar."""

_CORE = f"""\
{_WHAT}
First browse_components with the task in words, or list_library: run what exists with execute.
describe_workflow tells which inputs a saved workflow or draft takes, and which outputs it gives.
execute runs it by name; if it fails, the checkpoint says what completed, and the error what to change.
Drafts are files temp-workflows/NAME.json in pflow's home; save_to_library keeps one; pflow://guide has the grammar."""

INSTRUCTIONS = {"full": _FULL, "core": _CORE}
"""By toolset."""
