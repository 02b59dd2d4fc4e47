"""Evaluates what texts an expression of the sources can have, as far as they are made of literals.

Names, private and public functions, properties and the constructors of errors are followed through the modules of the
project, so that a sentence that several places join is found as a person sees it. What is only known when bayou runs is
a placeholder: `{path}`, with the last name of its expression. `tests.strings` lists what is found here.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tests.architecture import sources

MAX_ALTERNATIVES = 16
"""How many sentences are listed for one expression whose parts have several texts."""
_MAX_DEPTH = 4
_MAX_ROWS = 4
"""A table with more rows stands for itself."""
_MIN_WHOLE_CHARS = 8
"""Alternatives shorter than this do not make a sentence of their own."""
_STRING_METHOD = re.compile(
    "[lr]?strip|r?split|splitlines|lower|upper|title|capitalize|casefold|removesuffix|removeprefix|replace|decode|encode|"
    "[lr]just|zfill|expandtabs|r?partition|as_posix|relative_to|joinpath|isoformat|items|values|keys|most_common"
)
_CASES: Mapping[str, Callable[[str], str]] = {
    "capitalize": str.capitalize,
    "upper": str.upper,
    "lower": str.lower,
}
_FORMATTER = re.compile(
    "format_|display|shorten|one_line|plain|quote|str|repr|round|int|float|max|min|abs|sorted|list|tuple|set|next|iter|"
    "shlex|escape|cut|limit|dumps|reversed|dict|join"
)
"""How functions begin that only format their first argument."""
_PLAIN_NAME = re.compile("name|id|title|text|key|path|value|label|kind|state")
"""Fields whose owner says more than they do."""
_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.RShift: operator.rshift,
    ast.LShift: operator.lshift,
    ast.Pow: operator.pow,
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Scope(NamedTuple):
    """Where an expression is evaluated."""

    module: "Module"
    function: Function | None = None
    arguments: Mapping[str, "Value"] = {}


class Value(NamedTuple):
    node: ast.expr
    scope: Scope


class Module:
    """The definitions of a file, by name."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        self.file = file
        self.tree = tree
        self.definitions: dict[str, ast.AST] = {}
        self.imports: dict[str, tuple[str, str]] = {}
        self._function: dict[int, Function] = {}
        self._owner: dict[int, ast.ClassDef] = {}
        self._assigned: dict[tuple[int, str], list[ast.expr]] = {}
        self.nodes: list[ast.AST] = []
        for node in tree.body:
            self._define(node)
        self._enter(tree, None, None)
        for node in self.nodes:
            if isinstance(node, ast.ImportFrom) and node.module:
                self.imports |= {one.asname or one.name: (node.module, one.name) for one in node.names}

    def _define(self, node: ast.stmt) -> None:
        if isinstance(node, Function | ast.ClassDef):
            self.definitions[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name):
                self.definitions[target.id] = node.value

    def _enter(self, node: ast.AST, function: Function | None, owner: ast.ClassDef | None) -> None:
        for child in ast.iter_child_nodes(node):
            self.nodes.append(child)
            if function is not None:
                self._function[id(child)] = function
            if owner is not None:
                self._owner[id(child)] = owner
            self._note_assignment(child, function)
            if isinstance(child, Function):
                self._enter(child, child, owner)
            elif isinstance(child, ast.ClassDef):
                self._enter(child, None, child)
            else:
                self._enter(child, function, owner)

    def _note_assignment(self, node: ast.AST, function: Function | None) -> None:
        if (
            not isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr)
            or function is None
            or not node.value
        ):
            return
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                self._assigned.setdefault((id(function), target.id), []).append(node.value)
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple | ast.IfExp):
                for at, name in enumerate(target.elts):
                    for value in _tuples(node.value):
                        if isinstance(name, ast.Name) and len(value.elts) == len(target.elts):
                            self._assigned.setdefault((id(function), name.id), []).append(value.elts[at])

    def scope(self, node: ast.AST) -> Scope:
        return Scope(self, self._function.get(id(node)))

    @cached_property
    def assigned_values(self) -> frozenset[int]:
        """The expressions that are only named where they are, and used where their name is."""
        return frozenset(id(one) for some in self._assigned.values() for one in some)

    def owner(self, node: ast.AST) -> ast.ClassDef | None:
        return self._owner.get(id(node))

    def assigned(self, function: Function | None, name: str) -> list[ast.expr]:
        return self._assigned.get((id(function), name), [])

    def find(self, name: str, depth: int = 0) -> "tuple[ast.AST, Module] | None":
        """What a name of the module's top level means, in the module that defines it."""
        if name in self.definitions:
            return self.definitions[name], self
        if name in self.imports and depth < _MAX_DEPTH:
            module, imported = self.imports[name]
            other = load(module)
            return other.find(imported, depth + 1) if other else None
        return None


def _tuples(node: ast.expr) -> list[ast.Tuple]:
    if isinstance(node, ast.IfExp):
        return [*_tuples(node.body), *_tuples(node.orelse)]
    return [node] if isinstance(node, ast.Tuple) else []


@cache
def module_of(path: Path) -> Module:
    return Module(sources.name(path), sources.tree(path))


def load(name: str) -> Module | None:
    """The module of the project with that dotted name."""
    path = sources.ROOT / (name.replace(".", "/") + ".py")
    return module_of(path) if name.startswith(sources.SHIPPED) and path.is_file() else None


def parts(node: ast.AST) -> list[ast.expr]:
    """The parts of an f-string, of a sum of texts or of `"…".join([…])`, from left to right."""
    if isinstance(node, ast.JoinedStr):
        return [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [parts(side) or [side] for side in (node.left, node.right)]
        texts = [*sides[0], *sides[1]]
        return texts if any(map(_is_literal, texts)) else []
    if isinstance(node, ast.Call) and (elements := _joined_elements(node)):
        separator = node.func.value if isinstance(node.func, ast.Attribute) else node
        between = [part for element in elements for part in (separator, element)][1:]
        return between if any(map(_is_literal, elements)) else []
    return []


def _is_literal(node: ast.AST) -> bool:
    if isinstance(node, ast.IfExp):
        return _is_literal(node.body) or _is_literal(node.orelse)
    return (isinstance(node, ast.Constant) and isinstance(node.value, str)) or isinstance(node, ast.JoinedStr)


def _joined_elements(node: ast.Call) -> list[ast.expr]:
    is_join = (
        isinstance(node.func, ast.Attribute)
        and node.func.attr == "join"
        and isinstance(node.func.value, ast.Constant)
        and len(node.args) == 1
    )
    return node.args[0].elts if is_join and isinstance(node.args[0], ast.Tuple | ast.List) else []


def literals(node: ast.AST) -> list[ast.AST]:
    """The literals that are the value of an expression, also by a condition."""
    if isinstance(node, ast.IfExp):
        return [*literals(node.body), *literals(node.orelse)]
    if isinstance(node, ast.BoolOp):
        return [one for value in node.values for one in literals(value)]
    return [node] if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp) or parts(node) else []


def called_name(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def unwrap(node: ast.expr) -> ast.expr:
    """The text that `str(…)`, `one_line(…)` or `….strip()` only formats."""
    while True:
        if isinstance(node, ast.Await | ast.Starred | ast.NamedExpr):
            node = node.value
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and _STRING_METHOD.fullmatch(node.func.attr)
        ):
            node = node.func.value
        elif (
            isinstance(node, ast.Call)
            and node.args
            and called_name(node) in {"str", "one_line", "plain_line"}
        ):
            node = node.args[0]
        else:
            return node


def function_of(node: ast.Call, scope: Scope) -> tuple[Function, Module] | None:
    """The function or method of the project that is called."""
    found: tuple[ast.AST, Module] | None = None
    if isinstance(node.func, ast.Name):
        found = scope.module.find(node.func.id)
    elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        if node.func.value.id in {"self", "cls"}:
            found = _member(scope.module.owner(node), node.func.attr, scope.module)
        elif (owner := scope.module.find(node.func.value.id)) and isinstance(owner[0], ast.ClassDef):
            found = _member(owner[0], node.func.attr, owner[1])
    return (found[0], found[1]) if found and isinstance(found[0], Function) else None


def _member(
    owner: ast.ClassDef | None, name: str, module: Module, depth: int = 0
) -> tuple[ast.AST, Module] | None:
    """A method of a class or of the classes of the project below which it is."""
    if owner is None or depth > _MAX_DEPTH:
        return None
    for one in owner.body:
        if isinstance(one, Function) and one.name == name:
            return one, module
    for base in owner.bases:
        found = module.find(base.id) if isinstance(base, ast.Name) else None
        if found and isinstance(found[0], ast.ClassDef):
            member = _member(found[0], name, found[1], depth + 1)
            if member:
                return member
    return None


def bind(function: Function, call: ast.Call, scope: Scope, module: Module) -> Scope:
    """The scope of a function whose parameters have the arguments of a call."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    defaults: dict[str, ast.expr] = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
    by_name = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    defaults |= {one.arg: value for one, value in by_name if value}
    if names and names[0] in {"self", "cls"}:
        names = names[1:]
    given = dict(zip(names, call.args, strict=False)) | {
        one.arg: one.value for one in call.keywords if one.arg
    }
    own = Scope(module, function)
    arguments = {name: Value(value, own) for name, value in defaults.items()}
    return Scope(module, function, arguments | {name: Value(value, scope) for name, value in given.items()})


def values(node: ast.AST, scope: Scope) -> list[Value]:
    """The expressions that a name, a property, a row of a table or a call of the project may have as its value."""
    if isinstance(node, ast.Name):
        if node.id in scope.arguments:
            return [scope.arguments[node.id]]
        if assigned := scope.module.assigned(scope.function, node.id):
            earlier = [one for one in assigned if one.lineno <= node.lineno]
            return [Value(one, scope) for one in earlier or assigned]
        found = scope.module.find(node.id)
        return [Value(found[0], Scope(found[1]))] if found and isinstance(found[0], ast.expr) else []
    if isinstance(node, ast.Call):
        called = function_of(node, scope)
        if called and called[0] is not scope.function and not _FORMATTER.match(called[0].name.strip("_")):
            return _returned(called[0], bind(called[0], node, scope, called[1]))
        table = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr == "get" else None
        return _rows(table, scope) if isinstance(table, ast.Name) else []
    if isinstance(node, ast.Subscript):
        return _rows(node.value, scope) if isinstance(node.value, ast.Name) else []
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        found = _member(scope.module.owner(node), node.attr, scope.module)
        if found and isinstance(found[0], Function) and _is_property(found[0]):
            return _returned(found[0], Scope(found[1], found[0]))
    return []


def _is_property(function: Function) -> bool:
    return any(ast.unparse(one).endswith("property") for one in function.decorator_list)


def _rows(node: ast.Name, scope: Scope) -> list[Value]:
    found = scope.module.find(node.id)
    if found and isinstance(found[0], ast.Dict) and len(found[0].values) <= _MAX_ROWS:
        return [Value(one, Scope(found[1])) for one in found[0].values]
    return []


def _returned(function: Function, scope: Scope) -> list[Value]:
    return [Value(one, scope) for one in _returns(function)]


@cache
def _returns(function: Function) -> list[ast.expr]:
    return [
        one.value
        for one in _statements(function)
        if isinstance(one, ast.Return) and one.value and not _is_none(one.value)
    ]


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions inside it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Function | ast.Lambda | ast.ClassDef):
            yield child
            yield from _statements(child)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def texts(node: ast.AST, scope: Scope, depth: int = 0) -> list[str]:
    """The texts that an expression can have; none if it is not made of literals."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.IfExp):
        chosen = _branches(node, scope)
        return [text for one in chosen for text in texts(one, scope, depth)]
    if isinstance(node, ast.BoolOp):
        every = [texts(one, scope, depth) for one in node.values]
        filled = [
            some or [f"{{{placeholder(one, scope)}}}"] for one, some in zip(node.values, every, strict=True)
        ]
        return [text for some in filled for text in some] if any(every) else []
    if joined := parts(node):
        return _join(joined, scope, depth)
    if isinstance(node, ast.expr) and (inner := unwrap(node)) is not node:
        found = texts(inner, scope, depth)
        change = _CASES.get(called_name(node)) if isinstance(node, ast.Call) else None
        return [change(text) for text in found] if change else found
    if isinstance(node, ast.Name | ast.Call | ast.Subscript | ast.Attribute) and depth < _MAX_DEPTH:
        every = [texts(one.node, one.scope, depth + 1) for one in values(node, scope)]
        found = list(dict.fromkeys(text for one in every for text in one))
        is_mostly_known = len(list(filter(None, every))) * 2 > len(every)
        return (
            found if is_mostly_known and (isinstance(node, ast.Name) or all(map(_is_phrase, found))) else []
        )
    return []


def _is_phrase(text: str) -> bool:
    """Tells whether a text says more than the value in it."""
    return "{" not in text or bool(re.search(r"[a-z]{2,} |[ “(][a-z]{2,}", re.sub(r"\{[^}]*\}", "…", text)))


def _branches(node: ast.IfExp, scope: Scope) -> list[ast.expr]:
    """One branch of a condition on an argument that a call leaves out, both of any other."""
    test = node.test
    is_negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    if isinstance(test, ast.UnaryOp):
        test = test.operand
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and _is_none(test.comparators[0]):
        is_negated ^= isinstance(test.ops[0], ast.Is)
        test = test.left
    if isinstance(test, ast.Name) and test.id in scope.arguments:
        value = scope.arguments[test.id].node
        if isinstance(value, ast.Constant):
            return [node.body if bool(value.value) != is_negated else node.orelse]
        return [node.orelse if is_negated else node.body]
    return [node.body, node.orelse]


def _join(joined: list[ast.expr], scope: Scope, depth: int) -> list[str]:
    """One text for each alternative of the first part that has several; the other parts have their longest."""
    found = [_texts_of_part(part, scope, depth) for part in joined]
    chosen = [max(some, key=len) for some in found]
    varied = next((at for at, some in enumerate(found) if len(set(filter(str.strip, some))) > 1), None)
    if varied is None or any(0 < len(text) < _MIN_WHOLE_CHARS for text in found[varied]):
        return ["".join(chosen)]
    return [
        "".join((*chosen[:varied], text, *chosen[varied + 1 :]))
        for text in islice(filter(str.strip, dict.fromkeys(found[varied])), MAX_ALTERNATIVES)
    ]


def _texts_of_part(part: ast.expr, scope: Scope, depth: int) -> list[str]:
    found = texts(part, scope, depth)
    if any(map(str.strip, found)) or (found and _is_left_out(part, scope)):
        return found
    amount = number(part, scope)
    return [
        f"{{{placeholder(part, scope)}}}"
        if amount is None
        else f"{amount:g}"
        if amount < 1
        else f"{amount:.0f}"
    ]


def _is_left_out(part: ast.expr, scope: Scope) -> bool:
    """Tells whether a part is a blank literal, or blank because of an argument that a call leaves out."""
    if isinstance(part, ast.Constant):
        return True
    conditions = [one.node for one in values(part, scope)]
    return all(isinstance(one, ast.IfExp) and len(_branches(one, scope)) == 1 for one in conditions) and bool(
        conditions
    )


def number(node: ast.AST, scope: Scope) -> float | None:
    """The number that an expression of constants has."""
    if isinstance(node, ast.Constant):
        return (
            node.value if isinstance(node.value, int | float) and not isinstance(node.value, bool) else None
        )
    if isinstance(node, ast.BinOp) and (change := _ARITHMETIC.get(type(node.op))):
        sides = number(node.left, scope), number(node.right, scope)
        return change(*sides) if None not in sides else None
    if isinstance(node, ast.Name) and node.id.isupper() and (found := scope.module.find(node.id)):
        return number(found[0], Scope(found[1]))
    return None


def placeholder(node: ast.AST, scope: Scope) -> str:
    """The last name of an expression: what is filled in when bayou runs."""
    return _last_name(node, scope).strip("_").replace("_", " ") or "…"


def _last_name(node: ast.AST, scope: Scope) -> str:
    match node:
        case ast.Name() if node.id in scope.arguments:
            value = scope.arguments[node.id]
            inner = _last_name(value.node, value.scope)
            return inner if inner and not isinstance(value.node, ast.Constant) else node.id
        case ast.Name():
            return node.id
        case ast.Attribute():
            owner = _last_name(node.value, scope) if _PLAIN_NAME.fullmatch(node.attr) else ""
            is_owned = owner and owner not in {"self", "one", "each", "found", "row", "event"}
            named = f"{owner.strip('_').split('.')[0]}.{node.attr}" if is_owned else node.attr
            return "reason" if named == "strerror" else named
        case ast.Call():
            return _name_of_call(node, scope)
        case ast.Subscript():
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                return node.slice.value
            if isinstance(node.value, ast.Name) and node.value.id.isupper():
                return _last_name(node.slice, scope)
            name = _last_name(node.value, scope)
            is_row = isinstance(node.slice, ast.Constant | ast.UnaryOp)
            return name.removesuffix("s") if is_row and not name.endswith("ss") else name
        case ast.BinOp():
            is_amount = isinstance(node.left, ast.Constant)
            return _last_name(node.right if is_amount else node.left, scope)
        case ast.IfExp():
            return _last_name(node.body, scope) or _last_name(node.orelse, scope)
        case ast.BoolOp():
            return next(filter(None, (_last_name(one, scope) for one in node.values)), "")
        case ast.Await() | ast.Starred() | ast.FormattedValue():
            return _last_name(node.value, scope)
        case ast.NamedExpr():
            return _last_name(node.target, scope)
        case ast.GeneratorExp() | ast.ListComp():
            return _last_name(node.generators[0].iter, scope)
        case ast.JoinedStr():
            return next(filter(None, (_last_name(one, scope) for one in node.values)), "")
        case ast.Tuple() | ast.List():
            return next(filter(None, (_last_name(one, scope) for one in node.elts)), "")
        case _:
            return ""


def _name_of_call(node: ast.Call, scope: Scope) -> str:
    called = called_name(node).strip("_")
    first = node.args[0] if node.args else None
    if called == "len" or called.startswith("count"):
        return "count"
    if isinstance(node.func, ast.Attribute) and (called == "get" or _STRING_METHOD.fullmatch(called)):
        is_table = isinstance(node.func.value, ast.Name) and node.func.value.id.isupper()
        return _last_name(first if first is not None and is_table else node.func.value, scope)
    if called == "map" and len(node.args) > 1:
        return _last_name(node.args[1], scope)
    if first is not None and _FORMATTER.match(called):
        return next(filter(None, (_last_name(one, scope) for one in node.args)), called)
    return called.removesuffix("_text").removesuffix("_of").removeprefix("get_")


def error_texts(call: ast.Call, scope: Scope, owner: tuple[ast.ClassDef, Module] | None = None) -> list[str]:
    """The texts of an error, as its constructor and those of its bases make them of their arguments."""
    found = owner
    if found is None and isinstance(call.func, ast.Name):
        defined = scope.module.find(call.func.id)
        found = (defined[0], defined[1]) if defined and isinstance(defined[0], ast.ClassDef) else None
    made = _member(found[0], "__init__", found[1]) if found else None
    constructor, module = made or (None, scope.module)
    if not isinstance(constructor, Function):
        return texts(call.args[0], scope) if call.args else []
    inside = bind(constructor, call, scope, module)
    for node in ast.walk(constructor):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__":
            return error_texts(node, inside, _base(module.owner(constructor), module))
    return []


def _base(owner: ast.ClassDef | None, module: Module) -> tuple[ast.ClassDef, Module] | None:
    for base in owner.bases if owner else ():
        found = module.find(base.id) if isinstance(base, ast.Name) else None
        if found and isinstance(found[0], ast.ClassDef):
            return found[0], found[1]
    return None
