"""A `match` over one of our unions goes over all of it and ends in `assert_never`.

So whoever adds a member is told by pyright of each place that has to decide. Whoever asks for one or two of many asks
with `isinstance`. Matches over literals are pyright's business in the packages that it checks strictly.
"""

import ast
from collections.abc import Iterator
from functools import cache

from tests.architecture.sources import SHIPPED, files, name, nodes, tree


def _module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


@cache
def names_in(module: str, tree_: ast.Module) -> dict[str, str]:
    """What a module calls by a name: the full name of it."""
    found = {node.name: f"{module}.{node.name}" for node in tree_.body if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree_):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _joined(expression: ast.expr) -> list[str]:
    """The names in `A | B | C`; none if it is anything else."""
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.BitOr):
        left, right = _joined(expression.left), _joined(expression.right)
        return [*left, *right] if left and right else []
    return [expression.id] if isinstance(expression, ast.Name) else []


def members() -> set[str]:
    """Full names of the classes that are in a union of ours: a name that stands for `A | B | C`."""
    found: set[str] = set()
    for path in files(*SHIPPED):
        unions = [
            node.value
            for node in tree(path).body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp)
        ]
        names = names_in(_module(name(path)), tree(path)) if unions else {}
        for union in unions:
            found |= {names[each] for each in _joined(union) if each in names}
    return found


def _classes(match: ast.Match) -> Iterator[str]:
    for case in match.cases:
        for pattern in ast.walk(case.pattern):
            if isinstance(pattern, ast.MatchClass) and isinstance(pattern.cls, ast.Name):
                yield pattern.cls.id
            elif isinstance(pattern, ast.MatchClass) and isinstance(pattern.cls, ast.Attribute):
                yield pattern.cls.attr


def _ends_in_never(match: ast.Match) -> bool:
    last = match.cases[-1]
    is_rest = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None
    told = last.body[0]
    return (
        is_rest
        and isinstance(told, ast.Expr)
        and isinstance(told.value, ast.Call)
        and isinstance(told.value.func, ast.Name)
        and told.value.func.id == "assert_never"
    )


def open_matches(module: str, tree_: ast.Module, union_members: set[str]) -> list[int]:
    found = [node for node in ast.walk(tree_) if isinstance(node, ast.Match) and not _ends_in_never(node)]
    names = names_in(module, tree_) if found else {}
    return [
        node.lineno
        for node in found
        if any(names.get(each, each) in union_members for each in _classes(node))
    ]


def test_every_match_over_a_union_of_ours_ends_in_assert_never():
    ours = members()
    assert {"app.values.events.AgentEnd", "tools.tool_result_values.TextBlock"} <= ours
    found = [
        f"{name(path)}:{line}"
        for path in files(*SHIPPED)
        if nodes(path, ast.Match)
        for line in open_matches(_module(name(path)), tree(path), ours)
    ]
    assert found == [], "End it in `case _: assert_never(…)`, or ask with isinstance."


def test_an_open_match_would_be_found():
    source = "match x:\n    case A():\n        pass\n    case _:\n        pass\n"
    assert open_matches("m", ast.parse(f"from app.b import A\n{source}"), {"app.b.A"}) == [2]
    closed = source.replace("case _:\n        pass", "case _:\n        assert_never(x)")
    assert open_matches("m", ast.parse(f"from app.b import A\n{closed}"), {"app.b.A"}) == []
