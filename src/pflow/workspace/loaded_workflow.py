"""A workflow that Python programs call like a function: `pflow.load("changelog").run(since="v1")`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pflow.core.document.document import Input
from pflow.execution.check import Checked
from pflow.execution.live_run import LiveRun
from pflow.execution.outcome import Outcome
from pflow.execution.workflow_source import Workflow
from pflow.workspace.workspace import Workspace

if TYPE_CHECKING:
    from pflow.core.cassette.cassette import Cassette
    from pflow.execution.replay.replay import Replayed


class LoadedWorkflow:
    """A checked workflow and the workspace that runs it.

    As a context manager it closes that workspace at the end; with `async with`, MCP servers are shared by all
    its runs, and ended there.
    """

    def __init__(self, workspace: Workspace, workflow: Workflow, checked: Checked) -> None:
        self._workspace = workspace
        self._workflow = workflow
        self._checked = checked
        self._users = 0

    @property
    def name(self) -> str:
        """What runs and lists call it."""
        return self._checked.ready().name or self._checked.source.shown

    @property
    def inputs(self) -> Mapping[str, Input]:
        """What it takes, by name."""
        return self._checked.ready().inputs

    def run(self, /, **inputs: object) -> Outcome:
        """Run it to its end; a failure on the way is an outcome."""
        return self._workspace.run(self._checked, inputs)

    async def arun(self, /, **inputs: object) -> Outcome:
        """The same on your event loop; any number at once."""
        return await self._finish(self._workspace.begin(self._checked, inputs))

    def resume(self, run_id: str, /, *, rerun_in_doubt: bool = False, **inputs: object) -> Outcome:
        """Take a run up again where it ended, with this workflow as it is now: only what changed runs again."""
        return self._workspace.resume(run_id, edited=self._workflow, params=inputs, rerun_in_doubt=rerun_in_doubt)

    def replay(self, cassette: Cassette | Path | str, /, **inputs: object) -> Replayed:
        """Play it with the answers of a cassette, or of a cassette's file; nothing is started, reached or kept."""
        return self._workspace.replay(self._checked, cassette, inputs)

    def close(self) -> None:
        """Close the workspace."""
        self._workspace.close()

    async def _finish(self, run: LiveRun) -> Outcome:
        self._users += 1
        try:
            return await run.finish()
        finally:
            await self._leave()

    async def _leave(self) -> None:
        """End the MCP servers when nobody on this event loop uses them any more."""
        self._users -= 1
        if not self._users:
            await self._workspace.disconnect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        self._users += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._leave()
        self.close()


def load(workflow: Workflow, workspace: Workspace | None = None) -> LoadedWorkflow:
    """A workflow by name, path or document, ready to run; raises `DocumentError` if it is not valid."""
    opened = workspace or Workspace.open()
    checked = opened.check(workflow)
    checked.ready()
    return LoadedWorkflow(opened, workflow, checked)
