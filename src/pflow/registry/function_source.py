"""Functions in Python source that `@pflow.node` makes nodes: their options, and their interfaces from signatures."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import orjson

from pflow.core.frozen import Frozen
from pflow.core.node_function import NAME_RULE, NODE_NAME, VERSION, VERSION_RULE, FunctionShape, node, why_unfit
from pflow.registry import annotation_type as type_text
from pflow.registry import docstring_interface as interface_text
from pflow.registry.source_module import UNKNOWN, SourceModule, kebab

Function = ast.FunctionDef | ast.AsyncFunctionDef

RESULT = "result"
"""The output of a function that does not name its outputs."""

_OPTIONS = ("name", "version", "pure", "repeatable")


class NodeFunction(Frozen):
    """A function that is a node; `problem` says why it cannot be used."""

    function: Function
    name: str = ""
    version: str = ""
    purity: str = "impure"
    problem: str = ""


def node_functions(module: SourceModule) -> Iterator[NodeFunction]:
    """The decorated functions of a file, in order."""
    is_decorator = _decorator_names(module)
    if not is_decorator:
        return
    for item in module.body:
        owner = f"{item.name}." if isinstance(item, ast.ClassDef) else ""
        for function in item.body if isinstance(item, ast.ClassDef) else (item,):
            if isinstance(function, Function):
                for decorator in function.decorator_list:
                    call = decorator.func if isinstance(decorator, ast.Call) else decorator
                    if ast.unparse(call) in is_decorator:
                        yield _declared(module, function, decorator, owner)


def function_interface(module: SourceModule, function: Function, purity: str) -> dict[str, object]:
    """The interface that a signature and its docstring declare."""
    docstring = ast.get_docstring(function, clean=False) or ""
    texts = interface_text.argument_texts(docstring)
    params = [_param(module, arg, default) for arg, default in _arguments(function.args)]
    for param in params:
        if text := texts.get(str(param["name"])) or texts.get(f"{param['name']}_"):
            param.setdefault("description", text)
    holder = _named_outputs(module, function.returns)
    outputs = module.fields(holder, given=False) if holder else [_result(module, function.returns, texts)]
    interface: dict[str, object] = {
        "description": interface_text.description(docstring),
        "params": params,
        "outputs": outputs,
        "purity": purity,
    }
    if function.args.kwarg is not None:
        interface["open_params"] = True
    if holder:
        interface["named_outputs"] = True
    return interface


def _decorator_names(module: SourceModule) -> set[str]:
    """How the file spells the decorator: other packages have decorators of that name, too."""
    names: set[str] = set()
    for item in module.body:
        if isinstance(item, ast.Import):
            names |= {f"{alias.asname or alias.name}.{node.__name__}" for alias in item.names if alias.name == "pflow"}
        elif isinstance(item, ast.ImportFrom) and item.module == "pflow" and not item.level:
            names |= {alias.asname or alias.name for alias in item.names if alias.name == node.__name__}
    return names


def _declared(module: SourceModule, function: Function, decorator: ast.expr, owner: str) -> NodeFunction:
    words = decorator.keywords if isinstance(decorator, ast.Call) else []
    options = {word.arg: module.value(word.value) for word in words}
    problem = why_unfit(_shape(function, is_method=bool(owner)))
    for option, value in options.items():
        if option not in _OPTIONS:
            problem = problem or f"`@pflow.node` has no option `{option}`"
        elif value is UNKNOWN:
            problem = problem or f"its `{option}` must be a constant, since the file is read and not run"
    name = options.get("name") or kebab(function.name)
    version = str(options.get("version") or "")
    if not problem and not (isinstance(name, str) and NODE_NAME.fullmatch(name)):
        problem = NAME_RULE
    if not problem and version and not VERSION.fullmatch(version):
        problem = VERSION_RULE
    return NodeFunction(
        function=function,
        name=str(name),
        version=version,
        purity="pure" if options.get("pure") else "read" if options.get("repeatable") else "impure",
        problem=problem,
    )


def _shape(function: Function, *, is_method: bool) -> FunctionShape:
    args = function.args
    return FunctionShape(
        name=function.name,
        is_method=is_method,
        is_generator=_yields(function.body),
        positional_only=args.posonlyargs[0].arg if args.posonlyargs else "",
        rest=args.vararg.arg if args.vararg else "",
    )


def _yields(body: list[ast.stmt]) -> bool:
    waiting: list[ast.AST] = list(body)
    while waiting:
        item = waiting.pop()
        if isinstance(item, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(item, Function | ast.Lambda | ast.ClassDef):  # those yield for themselves
            waiting.extend(ast.iter_child_nodes(item))
    return False


def _arguments(args: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    missing = len(args.args) - len(args.defaults)
    yield from zip(args.args, [*[None] * missing, *args.defaults], strict=True)
    yield from zip(args.kwonlyargs, args.kw_defaults, strict=True)


def _param(module: SourceModule, arg: ast.arg, default: ast.expr | None) -> dict[str, object]:
    annotation = arg.annotation or ast.Name(id="Any")
    written = ast.AnnAssign(target=ast.Name(id=arg.arg), annotation=annotation, value=default, simple=1)
    entry = module.field(arg.arg, written, given=True)
    if entry["name"] != arg.arg:
        entry["python_name"] = arg.arg
    if "default" in entry:
        try:
            orjson.dumps(entry["default"])
        except TypeError:
            del entry["default"]  # Python has it all the same, when the function is called without
    return entry


def _named_outputs(module: SourceModule, returns: ast.expr | None) -> ast.ClassDef | None:
    """The class whose fields are the outputs: a typed dictionary or a dataclass that the function returns."""
    if isinstance(returns, ast.Constant) and isinstance(returns.value, str):
        try:
            returns = ast.parse(returns.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    if not isinstance(returns, ast.Name | ast.Attribute):
        return None
    found = module.classes.get(type_text.last_name(returns))
    return found if found is not None and type_text.is_record(found, module.classes) else None


def _result(module: SourceModule, returns: ast.expr | None, texts: dict[str, str]) -> dict[str, object]:
    annotation = returns or ast.Name(id="Any")
    written = ast.AnnAssign(target=ast.Name(id=RESULT), annotation=annotation, value=None, simple=1)
    entry = module.field(RESULT, written, given=False)
    if text := texts.get(interface_text.RETURNS):
        entry.setdefault("description", text)
    return entry
