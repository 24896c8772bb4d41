"""The part of the workspace that leads to language models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pflow.execution.wiring import Wiring

if TYPE_CHECKING:
    from pflow.workspace.model.models import ModelBook


class Modelling:
    """See `pflow.workspace.workspace.Workspace`."""

    _wiring: Wiring
    _own_notices: list[str]

    @property
    def models(self) -> ModelBook:
        """The language models that workflows may ask."""
        from pflow.workspace.model.models import ModelBook  # lazy: few workflows ask a model

        return ModelBook(self._wiring, self._own_notices)
