"""A document as YAML that a person likes to read: texts of several lines as blocks, short objects on one line."""

from __future__ import annotations

from collections.abc import Mapping

import yaml

_WIDTH = 120


class _Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    is_block = "\n" in value and not any(line.endswith((" ", "\t")) for line in value.split("\n"))
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if is_block else None)


def _list(dumper: yaml.SafeDumper, value: list[object]) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=_is_short(value))


def _object(dumper: yaml.SafeDumper, value: dict[str, object]) -> yaml.MappingNode:
    is_short = _is_short(list(value.values())) and "id" not in value
    return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=is_short)


def _is_short(values: list[object]) -> bool:
    """Whether values fit into a line, and hold no others."""
    if any(isinstance(value, list | Mapping) or "\n" in str(value) for value in values):
        return False
    return sum(len(str(value)) + 10 for value in values) <= _WIDTH


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
_Dumper.add_representer(dict, _object)


def write_yaml(value: Mapping[str, object], head: str = "") -> str:
    """The text of a document, after a comment."""
    comment = "".join(f"# {line}".rstrip() + "\n" for line in head.splitlines())
    return comment + yaml.dump(dict(value), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
