"""Makes the type stubs of `bayou` for an installation, where a type checker does not find the program's packages.

`bayou/extensions.pyi` names what an extension may import; `bayou/_types` has the public part of each definition
that these need, one stub for each module of the program. Only the standard library is imported, because this
runs while a wheel is built.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from app.package.closure import OWN, Closure, Module, references

PUBLIC = "app.extensions.public"
TYPES = "bayou._types"
_SPECIAL = re.compile("__(init|call|a?enter|a?exit|a?iter|a?next|len|getitem|contains|bool|eq|hash)__")
_INTERNAL = (
    "app.engine",
    "app.assembly",
    "app.extensions.extension_session_binding.Bound",
    "app.extensions.hooks.hook_registry",
    "app.extensions.extension_runner",
    "app.permits",
    "app.sessions",
    "app.resources",
    "app.undo",
)
_ANY = ast.Name("Any")


def stubs(root: Path) -> dict[str, str]:
    """Returns the text of each stub, by its path in `bayou`. Raises `TypeError` where a public name has no type."""
    closure = _Stubs(root)
    public = closure.module(PUBLIC)
    closure.add(PUBLIC, public.imports)
    names = sorted(name for name in public.imports if not name.startswith("_"))
    lines = [f"from {_home(closure, public, name)} import {name} as {name}\n" for name in names]
    head = '"""The names for extensions."""\n\n'
    listed = "".join(f"from bayou.extensions import {name} as {name}\n" for name in names)
    made = {"extensions.pyi": head + "".join(lines), "__init__.pyi": head + listed}
    for name in closure.ordered_modules():
        path = Path("_types", *name.split("."))
        made[f"{path}.pyi"] = closure.text(name)
        made |= {f"{folder}/__init__.pyi": "" for folder in path.parents if folder != Path()}
    return made


def _home(closure: Closure, module: Module, name: str) -> str:
    found = closure.defining_place(module, name)
    assert found is not None
    return f"{TYPES}.{found[0]}"


class _Stubs(Closure):
    """Keeps the public part of each definition. A session and its parts are no part of the API, so they are `Any`."""

    def defining_place(self, module: Module, name: str) -> tuple[str, str] | None:
        found = super().defining_place(module, name)
        return None if found is not None and ".".join(found).startswith(_INTERNAL) else found

    def wanted_part(self, node: ast.stmt) -> ast.stmt:
        match node:
            case ast.ClassDef():
                return _class(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return _function(node)
            case ast.Assign(targets=[ast.Name(id=name)]) if not _is_type(node.value):
                return ast.AnnAssign(ast.Name(name), _literal_type(node.value, name), simple=1)
            case ast.AnnAssign():
                return ast.AnnAssign(node.target, node.annotation, simple=1)
            case _:
                return node

    def text(self, name: str) -> str:
        """Returns the text of a module's type stub."""
        module = self.module(name)
        chosen = {id(node): node for own in self.needed[name] for node in module.definitions[own]}
        nodes = [self.wanted_part(node) for node in sorted(chosen.values(), key=lambda one: one.lineno)]
        body = "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in nodes)
        return "".join(sorted(self._imports(module, nodes))) + "\n" + body + "\n"

    def _imports(self, module: Module, nodes: list[ast.stmt]) -> Iterator[str]:
        used = {one.id for node in nodes for one in references(node) if isinstance(one, ast.Name)}
        yield "from typing import Any\n"
        for name in sorted(used - set(module.definitions)):
            if name not in module.imports:
                continue
            origin, original = module.imports[name]
            found = self.defining_place(module, name)
            if found is not None and found[1]:
                yield f"from {TYPES}.{found[0]} import {found[1]} as {name}\n"
            elif found is not None:
                folder, _, last = found[0].rpartition(".")
                yield f"from {TYPES}.{folder} import {last} as {name}\n"
            elif origin.split(".")[0] in OWN:
                yield f"from typing import Any as {name}\n"
            else:
                yield f"from {origin} import {original} as {name}\n" if original else f"import {origin}\n"


def _is_public(name: str) -> bool:
    return not name.startswith("_") or _SPECIAL.fullmatch(name) is not None


def _class(node: ast.ClassDef) -> ast.ClassDef:
    is_enum = any(isinstance(base, ast.Name) and base.id.endswith("Enum") for base in node.bases)
    body: list[ast.stmt] = []
    typed: dict[str, ast.expr] = {}
    declared: set[str] = set()
    for one in node.body:
        match one:
            case ast.Expr(value=ast.Constant(value=str())):
                body.append(one)
            case ast.AnnAssign(target=ast.Name(id=name)) if _is_public(name):
                value = ast.Constant(...) if one.value is not None else None
                body.append(ast.AnnAssign(one.target, one.annotation, value, simple=1))
                declared.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) if _is_public(name):
                kept = (
                    one
                    if is_enum
                    else ast.AnnAssign(ast.Name(name), _literal_type(one.value, name), simple=1)
                )
                body.append(kept)
                declared.add(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef() if _is_public(one.name):
                body.append(_function(one))
                declared.add(one.name)
            case ast.ClassDef() if _is_public(one.name):
                body.append(_class(one))
            case _:
                pass
        if isinstance(one, ast.FunctionDef) and one.name == "__init__":
            typed |= _attributes(one, node.name)
    fields = [
        ast.AnnAssign(ast.Name(name), kind, simple=1) for name, kind in typed.items() if name not in declared
    ]
    return ast.ClassDef(
        node.name, node.bases, node.keywords, [*fields, *body] or [_dots()], node.decorator_list
    )


def _attributes(node: ast.FunctionDef, owner: str) -> dict[str, ast.expr]:
    """Returns the types of the public attributes that a constructor sets."""
    given = {one.arg: one.annotation for one in (*node.args.args, *node.args.kwonlyargs)}
    found: dict[str, ast.expr] = {}
    for one in ast.walk(node):
        match one:
            case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=name)):
                kind: ast.expr | None = one.annotation
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)]):
                kind = _assigned(one.value, given)
                if kind is None and not name.startswith("_"):
                    raise TypeError(f"{owner}.{name} needs an annotation")
            case _:
                continue
        if not name.startswith("_") and kind is not None:
            found[name] = kind
    return found


def _assigned(value: ast.expr, given: dict[str, ast.expr | None]) -> ast.expr | None:
    match value:
        case ast.Name(id=name):
            return given.get(name)
        case ast.Constant():
            return _literal_type(value, "")
        case ast.Call(func=ast.Name(id=name)) if name[:1].isupper():
            return ast.Name(name)
        case _:
            return None


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.FunctionDef | ast.AsyncFunctionDef:
    arguments = node.args
    described = ast.get_docstring(node, clean=False)
    body: list[ast.stmt] = [ast.Expr(ast.Constant(described))] if described else [_dots()]
    plain = ast.arguments(
        posonlyargs=arguments.posonlyargs,
        args=arguments.args,
        vararg=arguments.vararg,
        kwonlyargs=arguments.kwonlyargs,
        kw_defaults=[None if one is None else ast.Constant(...) for one in arguments.kw_defaults],
        kwarg=arguments.kwarg,
        defaults=[ast.Constant(...) for _ in arguments.defaults],
    )
    decorators = [one for one in node.decorator_list if not _is_cached(one)]
    if len(decorators) < len(node.decorator_list):
        decorators.append(ast.Name("property"))
    returns = node.returns or (ast.Constant(None) if node.name == "__init__" else None)
    return type(node)(node.name, plain, body, decorators, returns)


def _is_cached(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "cached_property"


def _dots() -> ast.Expr:
    return ast.Expr(ast.Constant(...))


def _is_type(node: ast.expr) -> bool:
    """Whether a value is a type, an alias of types or a variable for types."""
    match node:
        case ast.Name() | ast.Attribute():
            return True
        case ast.BinOp(op=ast.BitOr()):
            return True
        case ast.Subscript(value=ast.Name()):
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in ("TypeVar", "ParamSpec", "NewType", "TypeAliasType")
        case _:
            return False


def _literal_type(node: ast.expr, name: str) -> ast.expr:
    match node:
        case ast.Constant(value=value) if value is not None:
            return ast.Name(type(value).__name__)
        case ast.Tuple() | ast.List() | ast.Dict() | ast.Set() | ast.JoinedStr() | ast.Call():
            return _ANY
        case _:
            raise TypeError(f"{name} needs an annotation")
