"""The part of a workspace that learns from sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pflow.execution.wiring import Wiring
    from pflow.workspace.learning.learning import Learning


class Learner:
    """See `pflow.workspace.workspace.Workspace`."""

    _wiring: Wiring

    @property
    def learning(self) -> Learning:
        """Sessions of agents, and workflows that are made of them."""
        from pflow.workspace.learning.learning import Learning  # lazy: most workflows are written

        return Learning(self._wiring)
