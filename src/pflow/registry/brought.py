"""Node types that a program brings with it: functions, PocketFlow classes, and modules that hold such."""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import inspect
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import orjson
from pocketflow import BaseNode

from pflow.core.errors import UsageError
from pflow.core.node_function import NAME_RULE, NODE_NAME, NodeOptions, check_function, options_of
from pflow.registry.entry import BUILT_IN, PROGRAM, Entry
from pflow.registry.function_node import function_class
from pflow.registry.function_source import Function, function_interface
from pflow.registry.scan import source_hash
from pflow.registry.source_module import SourceModule, kebab

_FORMS = {typing.Union: "Union", types.UnionType: "Union", typing.Annotated: "Annotated", typing.Literal: "Literal"}


def brought_entries(nodes: Iterable[object]) -> dict[str, Entry]:
    """The node types of the objects that a program gives. Raises `UsageError` for what cannot be a node."""
    entries: dict[str, Entry] = {}
    for given in nodes:
        for found in _members(given) if inspect.ismodule(given) else (given,):
            entry = _class_entry(found) if inspect.isclass(found) else _function_entry(found)
            other = entries.get(entry.name)
            if other is not None and other.data[PROGRAM] != entry.data[PROGRAM]:
                raise UsageError(
                    f"`{other.data[PROGRAM]}` and `{entry.data[PROGRAM]}` would both be the node type `{entry.name}`",
                    suggestions=['give one of them another name: `@pflow.node(name="…")`'],
                )
            entries[entry.name] = entry
    return entries


def _members(module: types.ModuleType) -> Iterator[object]:
    """The nodes that a module defines, in its order: decorated functions, and classes that have a name."""
    found = [
        item
        for item in vars(module).values()
        if getattr(item, "__module__", None) == module.__name__
        and (options_of(item) is not None or (_is_node_class(item) and _class_name(item) is not None))
    ]
    if not found:
        raise UsageError(
            f"module `{module.__name__}` defines no nodes",
            suggestions=["decorate its functions with `@pflow.node`"],
        )
    yield from found


def _is_node_class(item: object) -> typing.TypeGuard[type[BaseNode]]:
    return inspect.isclass(item) and issubclass(item, BaseNode) and not item.__name__.startswith("_")


def _class_name(node_class: type) -> str | None:
    given = node_class.__dict__.get("name", kebab(node_class.__name__))
    return given if isinstance(given, str) and given else None


def _class_entry(node_class: type) -> Entry:
    shown = _shown(node_class)
    if not issubclass(node_class, BaseNode):
        raise UsageError(f"class `{shown}` is not a PocketFlow node", suggestions=["bring a function, or a subclass"])
    name = _class_name(node_class) or kebab(node_class.__name__)
    source = _source(node_class)
    interface: dict[str, object] = {"open_params": True, "open_outputs": True}
    if source:
        tree = ast.parse(source).body[0]
        assert isinstance(tree, ast.ClassDef)
        interface = SourceModule(ast.parse(_module_source(node_class) or source)).interface(tree)
    methods = (item.__code__ for item in vars(node_class).values() if inspect.isfunction(item))
    identity = source_hash((source or "".join(map(_code_text, methods))).encode(), node_class.__qualname__)
    return _entry(name, shown, interface, identity, node_class, node_class)


def _function_entry(function: object) -> Entry:
    check_function(function)
    assert inspect.isfunction(function)
    options = options_of(function) or NodeOptions()
    name = options.name or kebab(function.__name__)
    interface = _signature_interface(function, options)
    identity = f"{name}@{options.version}" if options.version else _identity(function)
    return _entry(name, _shown(function), interface, identity, function, function_class(function, interface))


def _entry(
    name: str,
    shown: str,
    interface: Mapping[str, object],
    identity: str,
    owner: type | Callable[..., object],
    made: type,
) -> Entry:
    if not NODE_NAME.fullmatch(name):
        raise UsageError(
            f"`{shown}` would be the node type `{name}`; {NAME_RULE}",
            suggestions=['give it a name: `@pflow.node(name="…")`'],
        )
    data = {
        "module": "" if owner.__module__.startswith(BUILT_IN) else owner.__module__,
        PROGRAM: shown,
        "node_hash": identity,
        "interface": interface,
    }
    return Entry(name, data, Path(), made=made)


def _shown(owner: type | Callable[..., object]) -> str:
    return f"{owner.__module__}.{owner.__qualname__}"


# The interface: the signature as source, for the one reader of signatures


def _signature_interface(function: types.FunctionType, options: NodeOptions) -> dict[str, object]:
    """The interface of a function as if it stood in a file with the types that its annotations name."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError):
        hints = {}  # names that exist only for type checkers
    records: dict[str, type] = {}
    params = inspect.signature(function).parameters.values()
    written = [
        param.replace(annotation=param.empty, default=param.empty).__str__()
        + f": {_annotation(hints.get(param.name, param.annotation), records)}"
        + ("" if param.default is param.empty else f" = {_default(param.default)}")
        for param in params
    ]
    for index, param in enumerate(params):
        if param.kind is param.KEYWORD_ONLY:
            written.insert(index, "*")
            break
    returns = _annotation(hints.get("return", inspect.Parameter.empty), records)
    text = f"def {function.__name__}({', '.join(written)}) -> {returns}: ..."
    waiting, classes = list(records), ""
    while waiting:
        classes += _record(records[waiting.pop(0)], records)
        waiting.extend(name for name in records if f"class {name}(" not in classes and name not in waiting)
    module = SourceModule(ast.parse(classes + text))
    tree = module.body[-1]
    assert isinstance(tree, Function)
    if doc := inspect.getdoc(function):
        tree.body.insert(0, ast.Expr(ast.Constant(doc)))
    return function_interface(module, tree, options.purity)


def _record(record: type, records: dict[str, type]) -> str:
    try:
        hints = typing.get_type_hints(record, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError):
        hints = {}
    lines = [f"    {name}: {_annotation(hint, records)}\n" for name, hint in hints.items() if name.isidentifier()]
    return f"class {record.__name__}(TypedDict):\n{''.join(lines) or '    ...'}\n"


def _annotation(hint: object, records: dict[str, type]) -> str:
    """An annotation as source; what is not understood is `Any`."""
    if hint is None or hint is type(None):
        return "None"
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is None and isinstance(hint, type):
        if typing.is_typeddict(hint) or dataclasses.is_dataclass(hint):
            records.setdefault(hint.__name__, hint)
        return hint.__name__
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, args))}]"
    if origin is typing.Annotated:
        remarks = [repr(remark) for remark in args[1:] if isinstance(remark, str)]
        return f"Annotated[{', '.join([_annotation(args[0], records), *remarks])}]"
    if origin is not None and args:
        name = _FORMS.get(origin) or getattr(origin, "__name__", "") or getattr(origin, "_name", "")
        shown = [_annotation(arg, records) for arg in args if arg is not ...]
        return f"{name}[{', '.join(shown)}]" if name and shown else "Any"
    return "Any"


def _default(value: object) -> str:
    try:
        orjson.dumps(value)
    except TypeError:
        return "..."
    return repr(value) if isinstance(value, str | int | float | list | dict | tuple | None) else "..."


# The identity


@lru_cache(maxsize=1024)
def _identity(function: types.FunctionType) -> str:
    """A hash of the function's source and that of the functions of its module that it calls.

    Once per function: later changes to the file are not what runs here.
    """
    parts: dict[str, str] = {}
    waiting: list[types.FunctionType] = [function]
    while waiting:
        current = waiting.pop()
        if current.__qualname__ not in parts:
            parts[current.__qualname__] = _source(current) or _code_text(current.__code__)
            called = (current.__globals__.get(name) for name in _names(current.__code__))
            waiting.extend(
                item for item in called if inspect.isfunction(item) and item.__module__ == function.__module__
            )
    text = "\0".join(f"{name}\0{source}" for name, source in sorted(parts.items()))
    return hashlib.sha256(f"{function.__qualname__}\0{text}".encode()).hexdigest()


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _code_text(code: types.CodeType) -> str:
    """What identifies a function whose source is gone, as in `python -c`: its compiled form."""
    constants = [
        _code_text(item)
        if isinstance(item, types.CodeType)
        else repr(sorted(map(repr, item)) if isinstance(item, frozenset) else item)
        for item in code.co_consts
    ]
    return repr((code.co_code, code.co_names, code.co_varnames, constants))


def _source(owner: type | types.FunctionType) -> str:
    try:
        return textwrap.dedent(inspect.getsource(owner))
    except (OSError, TypeError, SyntaxError):
        return ""


def _module_source(owner: type) -> str:
    module = inspect.getmodule(owner)
    try:
        return inspect.getsource(module) if module is not None else ""
    except (OSError, TypeError, SyntaxError):
        return ""
