"""Makes a tree of the text of an expression, in one pass. It knows the functions by name, but not the values."""

from __future__ import annotations

from collections.abc import Callable

from pflow.core.expression.fault import Fault, located
from pflow.core.expression.function import FUNCTIONS, MACROS
from pflow.core.expression.lexer import Token, tokens
from pflow.core.expression.regex import compiled
from pflow.core.expression.spelling import CONSTANTS, WORDS
from pflow.core.expression.syntax_fault import no_operand, not_a_field, unknown_function, unknown_method, wrong_count
from pflow.core.expression.tree import (
    Arithmetic,
    Array,
    Call,
    Case,
    Choice,
    Compare,
    Entry,
    Expression,
    Field,
    Has,
    Index,
    Key,
    Literal,
    Logic,
    Macro,
    Negative,
    Node,
    Not,
    Object,
    Path,
    Term,
    key_text,
)
from pflow.core.printable import shorten

MOST_DEPTH = 32
"""Brackets, calls and arguments inside one another."""

MOST_LEVELS = 100
"""Nodes inside one another: the operators between two brackets are several."""

MOST_SHOWN = 400
"""Characters of an expression that a hint shows as a whole."""

_LOOPS = ("break", "continue", "for", "loop", "while")
RESERVED = frozenset(
    (*_LOOPS, "as", "const", "else", "function", "if", "import", "let", "namespace", "package", "return", "var", "void")
)
"""Words that CEL keeps for itself."""

_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">=", "in"))


def parse(text: str) -> Expression:
    """The expression that a text holds; an `ExpressionError` says where the text is wrong and what to write."""
    try:
        return Expression(text=text, tree=_Parser(text).whole())
    except Fault as fault:
        if fault.kind == "syntax" and (meant := _meant(text)):
            fault.hints = (meant,)
        raise located(fault, text) from None


def _meant(text: str) -> str:
    """What to write for a text in the spelling of another language; "" if that is not clear."""
    from pflow.core.expression.respelling import respellings  # lazy: only wrong texts need its patterns

    meant = respellings(text)
    if sum(map(len, meant)) > MOST_SHOWN:
        return ""
    try:
        for one in meant:
            _Parser(one).whole()
    except Fault:
        return ""
    if len(meant) == 2:
        return f"write `{meant[0]}` for a string, `{meant[1]}` for a list"
    return f"write `{meant[0]}`" if meant else ""


class _Parser:
    """Reads tokens from left to right; each method reads one rank of operators, and what follows is its caller's."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.next = self.tokens[0]
        self.place = 0
        self.depth = -1  # the whole is not inside anything
        self.variables: list[str] = []

    def whole(self) -> Node:
        if self.next.kind == "end":
            raise Fault("syntax", "the expression is empty", "write a condition such as `size(list.items) > 0`", at=0)
        tree = self.expression()
        if self.next.kind != "end":
            raise self.unexpected()
        if len(self.tokens) > MOST_LEVELS:  # fewer cannot be too deep
            _check_depth(tree)
        return tree

    # ---- ranks of operators, the loosest first

    def expression(self) -> Node:
        """`a ? b : c ? d : e`, or what binds more tightly."""
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise _too_deep(self.next.at)
        cases: list[Case] = []
        node = self.joined("||", self.every)
        at = self.next.at
        while self.take("?"):
            value = self.joined("||", self.every)
            self.need(":", "a choice has two values: `condition ? value : other`")
            cases.append(Case(condition=node, value=value))
            node = self.joined("||", self.every)
        self.depth -= 1
        return Choice(at=at, cases=tuple(cases), otherwise=node) if cases else node

    def every(self) -> Node:
        return self.joined("&&", self.comparison)

    def joined(self, mark: str, operand: Callable[[], Node]) -> Node:
        """Operands with `&&` or `||` between them."""
        node = operand()
        if self.next.kind != mark:
            return node
        at = self.next.at
        operands = [node]
        while self.take(mark):
            operands.append(operand())
        return Logic(at=at, operator=mark, operands=tuple(operands))

    def comparison(self) -> Node:
        first = self.next
        left = self.sum()
        if self.next.kind not in _COMPARISONS:
            return left
        sign = self.advance()
        if sign.kind == "in" and first.kind == "!" and isinstance(left, Not):
            hint = f"write `!({shorten(self.text[first.at + 1 : sign.at].strip())} in …)`"
            raise Fault("syntax", "`!` belongs to what is before `in`, not to the whole", hint, at=first.at)
        right = self.sum()
        if self.next.kind in _COMPARISONS:
            hint = "compare two values at a time: `a < b && b < c`; for a comparison of truths write `(a < b) == c`"
            raise Fault("syntax", "comparisons do not follow one another", hint, at=self.next.at)
        return Compare(at=sign.at, operator=sign.kind, left=left, right=right)

    def sum(self) -> Node:
        return self.row("+-", self.product)

    def product(self) -> Node:
        return self.row("*/%", self.unary)

    def row(self, marks: str, operand: Callable[[], Node]) -> Node:
        """Operands with operators of one rank between them."""
        first = operand()
        if self.next.kind not in marks:
            return first
        at = self.next.at
        rest: list[Term] = []
        while self.next.kind in marks:
            sign = self.advance()
            rest.append(Term(operator=sign.kind, operand=operand(), at=sign.at))
        return Arithmetic(at=at, first=first, rest=tuple(rest))

    def unary(self) -> Node:
        signs: list[Token] = []
        while self.next.kind in ("!", "-"):
            signs.append(self.advance())
        if signs and signs[-1].kind == "-" and type(self.next.value) in (int, float):
            sign = signs.pop()
            node = self.postfix(Literal(at=sign.at, value=-self.number()))
        else:
            node = self.postfix(self.primary())
        for sign in reversed(signs):
            node = Not(at=sign.at, operand=node) if sign.kind == "!" else Negative(at=sign.at, operand=node)
        return node

    def number(self) -> int | float:
        value = self.advance().value
        assert isinstance(value, int | float)
        return value

    # ---- values and what follows them

    def primary(self) -> Node:
        token = self.advance()
        match token.kind:
            case "value":
                if token.value == 1 << 63 and type(token.value) is int:
                    raise Fault("value", f"`{token.text}` is outside the range of 64-bit integers", at=token.at)
                return Literal(at=token.at, value=token.value)
            case "name":
                return self.named(token)
            case "(":
                node = self.expression()
                self.need(")", "close what `(` opens")
                return node
            case "[":
                return self.array(token)
            case "{":
                return self.object(token)
        raise no_operand(token)

    def named(self, token: Token) -> Node:
        if self.next.kind == "(":
            return self.function(token)
        if token.text in CONSTANTS:
            raise Fault("syntax", f"`{token.text}` is not a value", f"write `{CONSTANTS[token.text]}`", at=token.at)
        if token.text in WORDS and self.begins_operand():
            raise Fault("syntax", f"`{token.text}` is not an operator of expressions", WORDS[token.text], at=token.at)
        if token.text in RESERVED:
            hint = f'write `steps["{token.text}"]` for a node of that name'
            raise Fault("syntax", f"`{token.text}` is a word of the language, not a name", hint, at=token.at)
        is_local = token.text in self.variables
        return Path(at=token.at, name=token.text, text=token.text, is_local=is_local)

    def begins_operand(self) -> bool:
        return self.next.kind in ("name", "value", "(", "[", "{", "!")

    def array(self, start: Token) -> Node:
        items: list[Node] = []
        while not self.take("]"):
            items.append(self.expression())
            if self.next.text == "for":
                hint = "write `items.map(i, i.name)`, or `items.filter(i, i.open)`"
                raise Fault("syntax", "a list cannot hold a loop", hint, at=self.next.at)
            if self.next.kind != "]":
                self.need(",", "separate the elements of a list with `,` and end it with `]`")
        return Array(at=start.at, items=tuple(items))

    def object(self, start: Token) -> Node:
        entries: list[Entry] = []
        constant: set[object] = set()
        while not self.take("}"):
            key = self.expression()
            if isinstance(key, Path) and not key.keys and not key.is_local and self.next.kind == ":":
                hint = f'write `"{key.name}": …`, or `(string(…)): …` for a computed key'
                raise Fault("syntax", f"the key `{key.name}` is not a string", hint, at=key.at)
            if isinstance(key, Literal):
                if not isinstance(key.value, str):
                    raise Fault("syntax", "the keys of an object are strings", "put the key in quotes", at=key.at)
                if key.value in constant:
                    raise Fault("value", f"the key `{shorten(key.value)}` is there twice", at=key.at)
                constant.add(key.value)
            self.need(":", 'an entry of an object is `"key": value`')
            entries.append(Entry(key=key, value=self.expression()))
            if self.next.kind != "}":
                self.need(",", "separate the entries of an object with `,` and end it with `}`")
        return Object(at=start.at, entries=tuple(entries))

    def postfix(self, node: Node) -> Node:
        """`.field`, `.method(…)` and `[key]` behind a value."""
        while True:
            if self.take("."):
                token = self.advance()
                if token.kind not in ("name", "quoted"):
                    hint = f'write `["{token.text}"]` for a key of that name' if token.text.isalnum() else ""
                    raise Fault("syntax", "behind `.` stands the name of a field", hint, at=token.at)
                if self.next.kind == "(" and token.kind == "name":
                    node = self.method(node, token)
                else:
                    node = _keyed(node, token.text, token.at)
            elif self.next.kind == "[":
                at = self.advance().at
                key = self.expression()
                self.need("]", "close what `[` opens")
                if isinstance(key, Literal) and type(key.value) in (str, int) and not _is_negative(key.value):
                    node = _keyed(node, key.value if isinstance(key.value, str | int) else "", at)
                else:
                    node = Index(at=at, operand=node, key=key)
            else:
                return node

    # ---- calls

    def function(self, name: Token) -> Node:
        if name.text == "has":
            return self.has(name)
        function = FUNCTIONS.get(name.text)
        if function is None or not function.is_function:
            raise unknown_function(name)
        return self.call(name, self.arguments(), is_method=False)

    def method(self, receiver: Node, name: Token) -> Node:
        if name.text in MACROS:
            return self.macro(receiver, name)
        function = FUNCTIONS.get(name.text)
        if function is None or not function.is_method:
            raise unknown_method(name)
        return self.call(name, [receiver, *self.arguments()], is_method=True)

    def call(self, name: Token, arguments: list[Node], *, is_method: bool) -> Node:
        function = FUNCTIONS[name.text]
        if not function.fewest <= len(arguments) <= len(function.takes):
            raise Fault(
                "syntax",
                wrong_count(name.text, function.fewest - is_method, len(function.takes) - is_method),
                at=name.at,
            )
        pattern = arguments[-1]
        if name.text == "matches" and isinstance(pattern, Literal) and isinstance(pattern.value, str):
            try:
                compiled(pattern.value)
            except Fault as fault:
                fault.at = pattern.at
                raise
        return Call(at=name.at, name=name.text, arguments=tuple(arguments))

    def arguments(self) -> list[Node]:
        self.advance()
        found: list[Node] = []
        while not self.take(")"):
            found.append(self.expression())
            if self.next.kind != ")":
                self.need(",", "separate arguments with `,` and end them with `)`")
                if self.next.kind == ")":
                    raise no_operand(self.next)
        return found

    def has(self, name: Token) -> Node:
        arguments = self.arguments()
        target = arguments[0] if len(arguments) == 1 else None
        if isinstance(target, Path) and target.keys and isinstance(target.keys[-1], str):
            return Has(at=name.at, target=target)
        if isinstance(target, Field) and isinstance(target.key, str):
            return Has(at=name.at, target=target)
        raise not_a_field(name, target)

    def macro(self, items: Node, name: Token) -> Node:
        self.advance()
        variable = self.advance()
        least, most = MACROS[name.text]
        if variable.kind != "name" or variable.text in RESERVED or self.next.kind != ",":
            hint = f"write `x.{name.text}(i, …)`, with `i` for the element"
            raise Fault("syntax", f"`{name.text}` takes a variable, then what to do with it", hint, at=variable.at)
        self.variables.append(variable.text)
        bodies: list[Node] = []
        while self.take(","):
            bodies.append(self.expression())
        self.variables.pop()
        self.need(")", f"end the arguments of `{name.text}` with `)`")
        if not least <= len(bodies) + 1 <= most:
            raise Fault("syntax", wrong_count(name.text, least, most), at=name.at)
        return Macro(at=name.at, name=name.text, items=items, variable=variable.text, bodies=tuple(bodies))

    # ---- tokens

    def advance(self) -> Token:
        token = self.next
        if token.kind != "end":
            self.place += 1
            self.next = self.tokens[self.place]
        return token

    def take(self, kind: str) -> bool:
        if self.next.kind != kind:
            return False
        self.advance()
        return True

    def need(self, kind: str, hint: str) -> None:
        if not self.take(kind):
            raise self.unexpected(hint)

    # ---- what is wrong

    def unexpected(self, hint: str = "") -> Fault:
        """The fault for a token that cannot follow a complete value."""
        token = self.next
        if token.kind == "end":
            return Fault("syntax", "the expression ends too early", hint, at=token.at)
        following = self.tokens[self.place + 1].text if self.place + 1 < len(self.tokens) else ""
        if token.text == "not" and following == "in":
            hint = "write `!(x in y)`"
        elif token.text == "is" and following == "not":
            hint = "write `!=`: `x != null`"
        elif token.kind == "name":
            hint = WORDS.get(token.text, hint or "write an operator between two values, and text in quotes")
        return Fault("syntax", f"`{shorten(token.text)}` cannot stand here", hint, at=token.at)


def _keyed(node: Node, key: Key, at: int) -> Node:
    """A value's field; a path stays a path."""
    if isinstance(node, Path):
        return node._replace(keys=(*node.keys, key), text=node.text + key_text(key))
    return Field(at=at, operand=node, key=key)


def _is_negative(key: object) -> bool:
    return isinstance(key, int) and key < 0


def _check_depth(tree: Node) -> None:
    """What is nested without brackets, such as one call behind another, is bounded too."""
    waiting = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > MOST_LEVELS:
            raise _too_deep(node.at)
        waiting.extend((part, depth + 1) for part in node.parts)


def _too_deep(at: int) -> Fault:
    hint = "compute a part of it in a `let` step before this one"
    return Fault("limit", f"the expression is nested more than {MOST_DEPTH} levels deep", hint, at=at)
