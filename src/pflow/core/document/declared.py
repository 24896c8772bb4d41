"""What a document says about itself to callers: its name, description, inputs and outputs, valid or not."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.document.document import Input, Output
from pflow.core.document.fields import Fields
from pflow.core.document.inputs_outputs import read_inputs, read_outputs
from pflow.core.document.parse import Parsed
from pflow.core.document.position import Issues, Places
from pflow.core.frozen import Frozen


class Declared(Frozen):
    """What callers see of a workflow."""

    name: str = ""
    description: str = ""
    inputs: Mapping[str, Input] = {}
    outputs: Mapping[str, Output] = {}


def read_declared(parsed: Parsed) -> Declared:
    """What a document declares, as far as that can be read; what is wrong with it is told by checking."""
    document = parsed.document
    if document is not None:
        return Declared(
            name=document.name, description=document.description, inputs=document.inputs, outputs=document.outputs
        )
    value = parsed.places.value
    if not isinstance(value, dict):
        return Declared()
    top = Fields(Issues(Places()), value, (), dict.fromkeys(value), what="the document")
    return Declared(
        name=top.text("name"),
        description=top.text("description"),
        inputs=read_inputs(top),
        outputs=read_outputs(top),
    )
