"""Natural keys: what earlier steps wrote under a parameter's own name feeds it where the document leaves it out."""

from __future__ import annotations

from pflow.core.document.document import KeyMapping
from pflow.core.interface import VALUE_SLOTS, Interface
from pflow.core.template.template import compile_value
from pflow.execution.node_check import CheckedNode, Report
from pflow.execution.reference import References


def fill_params(node: CheckedNode, mapping: KeyMapping | None, references: References, report: Report) -> None:
    """Let natural keys feed what the document leaves out."""
    index, spec, interface = node.index, node.spec, node.interface or Interface()
    aliases = mapping.input_mappings if mapping else {}
    for field in interface.params:
        if field.name in spec.params:
            continue
        source = aliases.get(field.name, field.name)
        wanted = field.required or field.name in aliases
        if wanted and field.slot in (*VALUE_SLOTS, "env") and references.natural(index, source):
            node.params[field.name], _ = compile_value(f"${{{source}}}", field.slot)
            node.fields[field.name] = field
        elif field.required:
            report(
                "missing-param",
                f"node `{spec.id}` ({spec.type}) needs `{field.name}` ({field.type})"
                + (f": {field.description}" if field.description else ""),
                ("nodes", index, "params"),
                hint=references.mapping_hint(index, spec.id, field),
            )
    for field in interface.reads:
        source = aliases.get(field.name, field.name)
        if field.required and field.name not in spec.params and not references.natural(index, source):
            report(
                "missing-read",
                f"node `{spec.id}` ({spec.type}) reads `{field.name}`, which nothing before it writes",
                ("nodes", index),
                known=tuple(references.natural_names(index)),
                hint=references.mapping_hint(index, spec.id, field),
            )
