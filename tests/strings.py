"""Prints every string of the interface, grouped by kind, with the file and line where it is written.

    python -m tests.strings                       all of them
    python -m tests.strings --kind errors hints   some kinds only
    python -m tests.strings app/tui widgets       those of some folders only

Settings, flags, commands and keys come from their tables. The other kinds are the literals that the sources raise as
errors, hand to hints, titles and empty states, or have as sentences in a folder whose sentences a person reads.
What only the model reads (tool descriptions, tool results, prompts) is left out, and what programs read (header values,
OAuth scopes, sandbox profiles). A text that the code joins to another one, by an f-string, by `+` or through a local
name, is listed in the sentence that it completes, and not alone.
"""

import argparse
import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import NamedTuple

from app.cli.flags import FLAG_GROUPS
from app.cli.subcommands import SUBCOMMAND_HELP
from app.engine.commands.command_table import COMMANDS as SESSION_COMMANDS
from app.permits import command_findings
from app.providers.errors import ProviderError
from app.resources.settings.settings import all_keys as setting_keys
from app.tui.feature_register import COMMANDS as SLASH_COMMANDS
from app.values.user_errors import UserError
from tests.architecture.sources import SHIPPED, files, name
from tests.tui.keys_pressed import PLACES
from widgets.screens.screen_parts import KeyHint

ROLES = {
    "hint": "hints",
    "label": "hints",
    "choose": "hints",
    "title": "titles",
    "placeholder": "titles",
    "empty": "empty states",
    "help": "messages",
    "description": "messages",
}
"""The kind of a literal by the name of the argument or the field that it is given to."""
CALLS = {KeyHint.__name__: "hints", "notify": "messages", "warn": "messages"} | {
    one.__name__: "reasons"
    for one in (
        command_findings.safe_finding,
        command_findings.contained_finding,
        command_findings.forbidden_finding,
        command_findings.network_finding,
    )
}
"""The kind of a literal by the function that it is passed to, in any folder."""
FOLDERS = {
    "app/permits": "reasons",
    "app/tui": "messages",
    "widgets": "messages",
    "app/cli": "command line",
    "app/extensions/packages": "command line",
    "app/modes": "command line",
    "app/assembly": "messages",
    "app/mcp": "messages",
    "app/engine": "messages",
    "app/undo": "messages",
    "app/sessions": "messages",
    "app/resources": "messages",
    "app/providers/signin": "messages",
    "tools/box": "messages",
}
"""Folders whose sentences a person reads, with the kind of those that have no other."""
NOT_READ = (
    "app/cli/commands/completions_command",
    "app/engine/commands/written_prompts",
    "app/engine/core/active_skills",
    "app/engine/jobs/jobs_tool",
    "app/engine/planning/planning_tools",
    "app/permits/programs",
    "app/permits/rules",
    "app/modes/answer_schema",
    "app/modes/rpc/client_methods",
    "app/modes/rpc/reference",
    "app/package",
    "app/resources/prompts",
    "app/resources/settings/settings_docs",
    "app/sessions/export",
    "app/sessions/index",
    "app/undo/patches",
    "tools/box/host_groups",
    "tools/box/plan",
    "tools/box/seatbelt",
)
"""Parts of those folders whose literals are data (programs, queries, generated code), or what the model reads."""
NOT_SHOWN = {"get", "late", "compile", "execute", "executemany", "cast", "TypeVar", "ToolError", "_any_of"}
"""Functions whose literals are patterns, queries and types, or what the model reads."""
DATA_FIELDS = {
    "id",
    "classes",
    "name",
    "keys",
    "do",
    "options",
    "snippet",
    "guidelines",
    "usage",
    "scope",
    "headers",
}
DETAILS = {"detail", "hint", "description", "help"}
"""Fields whose text is read beside the title of the same object."""
DATA_TABLES = {"_SEARCH_WORDS"}
"""Tables of words that are searched, and never shown."""
TABLES = ("app/resources/settings", "app/cli", "app/tui", "app/engine", "widgets")
"""Where the tables are written."""
QUOTED = re.compile(r'"([^"\n]*)"')
_START = 16
"""Characters by which a literal is looked up."""
MAX_ALTERNATIVES = 6
"""How many sentences are listed for one f-string whose parts have several texts."""
CLASS = re.compile(r"^class (\w+)\(([^)]*)\)", re.MULTILINE)
WORD = re.compile(r".*[A-Za-z]{2}")
SENTENCE = re.compile(r"[A-Za-z{“\"'/(…][^\n]*?[a-z’']{2,}[,:;)]? (?:[\w{(“\"'/·]|\{)")
"""Two words or more, the second of which begins like one."""
CODE = re.compile(
    r"""[{}]\s*\n|;\s*$|</|="|^[#.]?[A-Z]\w+[^{]* \{ """
    r"""|\bselect \w+.* from\b|\b(?:insert|delete|update) (?:or|into|from)\b|^\s*\(\?|\\[sSwWdb]"""
)
"""Style sheets, queries, markup and patterns."""


class InterfaceString(NamedTuple):
    kind: str
    file: str
    line: int
    text: str
    context: str = ""
    """What the text belongs to: the setting's key, the flag, the command's name."""

    def __str__(self) -> str:
        context = f"{self.context} — " if self.context else ""
        return f"{self.file}:{self.line}: {context}{self.text}"


class Composition:
    """Joins the parts of a text that the code of a file has in several literals."""

    def __init__(self, tree: ast.AST) -> None:
        self._returned = {
            each.name: [one.value for one in ast.walk(each) if isinstance(one, ast.Return) and one.value]
            for each in ast.walk(tree)
            if isinstance(each, ast.FunctionDef) and each.name.startswith("_")
        }
        self._assigned: dict[tuple[int, str], list[ast.expr]] = {}
        self._function: dict[int, int] = {}
        self.joined = set[int]()
        """The literals that only complete other texts."""
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                self._add_function(function)
        uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Call)]
        inside = {id(part) for node in ast.walk(tree) for part in _parts(node)}
        for use in uses:
            if id(use) in inside:
                self.joined |= {id(one) for value in self._values(use) for one in _literals(value)}
        for use in uses:
            if id(use) not in inside and (isinstance(use, ast.Call) or isinstance(use.ctx, ast.Load)):
                self.joined -= {id(one) for value in self._values(use) for one in _literals(value)}

    def _add_function(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for node in ast.walk(function):
            self._function[id(node)] = id(function)
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
            ):
                self._assigned.setdefault((id(function), node.targets[0].id), []).append(node.value)

    def _values(self, node: ast.AST) -> list[ast.expr]:
        """The expressions that a name or a call of a private function of the file may have as its value."""
        if isinstance(node, ast.Name):
            return self._assigned.get((self._function.get(id(node), 0), node.id), [])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._returned.get(node.func.id, [])
        return []

    def texts(self, node: ast.AST, depth: int = 0) -> list[str]:
        """The texts that an expression can have; none if it is not made of literals."""
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str) else []
        if isinstance(node, ast.IfExp):
            return [*self.texts(node.body, depth), *self.texts(node.orelse, depth)]
        if isinstance(node, ast.Name | ast.Call) and depth < 3:
            values = [self.texts(value, depth + 1) for value in self._values(node)]
            return [text for found in values for text in found] if all(values) else []
        parts = _parts(node)
        return self._join(parts, depth) if any(map(self._is_text, parts)) else []

    def continued(self, node: ast.AugAssign) -> list[str]:
        """The texts of `name += "…"`, behind the text that the name has before."""
        before = next((text for value in self._values(node.target) for text in self.texts(value) if text), "")
        return [before + text for text in self.texts(node.value)]

    def _is_text(self, part: ast.AST) -> bool:
        return isinstance(part, ast.Constant | ast.JoinedStr) or bool(_parts(part))

    def _texts_of_part(self, part: ast.expr, depth: int) -> list[str]:
        texts = self.texts(part, depth)
        is_filled = isinstance(part, ast.Constant) or any(map(str.strip, texts))
        return texts if texts and is_filled else [f"{{{_placeholder(part)}}}"]

    def _join(self, parts: list[ast.expr], depth: int) -> list[str]:
        """One text for each alternative of the first part that has several; the other parts have their longest."""
        found = [self._texts_of_part(part, depth) for part in parts]
        chosen = [max(texts, key=len) for texts in found]
        varied = next((at for at, texts in enumerate(found) if len(set(filter(str.strip, texts))) > 1), None)
        if varied is None or any(len(text) < _START // 2 for text in found[varied]):
            return ["".join(chosen)]
        return [
            "".join((*chosen[:varied], text, *chosen[varied + 1 :]))
            for text in islice(filter(str.strip, dict.fromkeys(found[varied])), MAX_ALTERNATIVES)
        ]


def _parts(node: ast.AST) -> list[ast.expr]:
    """The parts of an f-string or of a sum of texts, from left to right."""
    if isinstance(node, ast.JoinedStr):
        return [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [_parts(side) or [side] for side in (node.left, node.right)]
        texts = [*sides[0], *sides[1]]
        has_text = any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in texts)
        return texts if has_text else []
    return []


def _literals(node: ast.AST) -> list[ast.AST]:
    """The literals that are the value of an expression, also by a condition."""
    if isinstance(node, ast.IfExp):
        return [*_literals(node.body), *_literals(node.orelse)]
    return [node] if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp) else []


def _placeholder(part: ast.AST) -> str:
    expression = ast.unparse(part)
    return expression if len(expression) <= 24 and "'" not in expression else "…"


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


@cache
def error_classes() -> frozenset[str]:
    """The names of the errors whose text a person reads, and of all classes below them."""
    bases = defaultdict[str, set[str]](set)
    for path in files(*SHIPPED):
        for one, parents in CLASS.findall(path.read_text("utf-8")):
            bases[one] |= set(re.findall(r"\w+", parents))
    found = {UserError.__name__, ProviderError.__name__}
    while more := {each for each, parents in bases.items() if parents & found} - found:
        found |= more
    return frozenset(found)


class Literals:
    """The literals of a file that a person may read, each with its kind."""

    def __init__(self, file: str, source: str) -> None:
        self._file = file
        self._source = source
        self._errors = error_classes()
        by_folder = [folder for folder in FOLDERS if file.startswith(f"{folder}/")]
        is_read = by_folder and not file.startswith(NOT_READ)
        self._default = FOLDERS[max(by_folder, key=len)] if is_read else ""

    def __iter__(self) -> Iterator[InterfaceString]:
        shown_anywhere = rf"\b({'|'.join((*self._errors, *CALLS))})\("
        if self._default or re.search(shown_anywhere, self._source):
            tree = ast.parse(self._source)
            self._composition = Composition(tree)
            yield from self._below(tree, self._default, needs_sentence=True)

    def _below(self, node: ast.AST, kind: str, *, needs_sentence: bool) -> Iterator[InterfaceString]:
        is_continued = isinstance(node, ast.AugAssign)
        if is_continued or isinstance(node, ast.Constant | ast.JoinedStr) or _parts(node):
            texts = self._composition.continued(node) if is_continued else self._composition.texts(node)
            form = SENTENCE if needs_sentence else WORD
            for text in texts if id(node) not in self._composition.joined else ():
                if kind and form.match(text.strip()) and not CODE.search(text):
                    yield InterfaceString(kind, self._file, getattr(node, "lineno", 0), text.strip())
            if texts or isinstance(node, ast.Constant):
                return
        if isinstance(node, ast.Call):
            yield from self._call(node, kind, needs_sentence=needs_sentence)
            return
        for field, child in _children(node):
            if _is_shown(node, field, child):
                yield from self._below(child, kind, needs_sentence=needs_sentence)

    def _call(self, node: ast.Call, kind: str, *, needs_sentence: bool) -> Iterator[InterfaceString]:
        called = _called(node)
        if called in NOT_SHOWN or (
            called == "split" and isinstance(node.func, ast.Attribute) and not node.args
        ):
            return
        yield from self._below(node.func, kind, needs_sentence=needs_sentence)
        own = "errors" if called in self._errors else CALLS.get(called)
        heading = self._heading(node, is_hint=own == "hints")
        for argument in node.args:
            if own == "hints" and argument is not node.args[1]:
                continue
            for found in self._below(argument, own or kind, needs_sentence=own != "hints" and needs_sentence):
                yield found._replace(context=heading) if own == "hints" else found
        for keyword in node.keywords:
            if keyword.arg in DATA_FIELDS:
                continue
            role = ROLES.get(keyword.arg or "") if self._default else None
            for found in self._below(
                keyword.value, own or role or kind, needs_sentence=role is None and needs_sentence
            ):
                yield found._replace(context=heading) if keyword.arg in DETAILS else found

    def _heading(self, node: ast.Call, *, is_hint: bool) -> str:
        """The key that a hint is about, or the title of the row or question whose detail is listed."""
        titles = [keyword.value for keyword in node.keywords if keyword.arg in {"title", "label"}]
        named = node.args[:1] if is_hint else titles
        return next((text for one in named for text in self._composition.texts(one)), "")


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield field, child


def _is_shown(node: ast.AST, field: str, child: ast.AST) -> bool:
    """Docstrings, annotations, subscripts and comparisons are not."""
    is_docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
    is_key = isinstance(node, ast.Dict) and field == "keys"
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    is_style = isinstance(target, ast.Name) and ("CSS" in target.id or target.id in DATA_TABLES)
    is_header = isinstance(target, ast.Subscript) and ast.unparse(target.value).endswith("headers")
    return not (
        is_docstring
        or is_key
        or is_style
        or is_header
        or field in {"annotation", "returns", "slice", "decorator_list", "bases"}
        or isinstance(node, ast.Compare)
    )


def registered() -> Iterator[tuple[str, str, str]]:
    """Kind, context and text of what the tables of the program say."""
    for key in setting_keys():
        yield "settings", key.name, key.description
    for group in FLAG_GROUPS:
        yield "flags", group.title, group.title
        for flag in group.flags:
            yield "flags", f"--{flag.name}", flag.help
    for command, text in SUBCOMMAND_HELP.items():
        yield "flags", f"bayou {command}", text
    for slash in SLASH_COMMANDS:
        yield (
            "slash commands",
            f"/{slash.name} {slash.hint}".strip(),
            slash.help or SESSION_COMMANDS[slash.session_command].words,
        )
    for each in SESSION_COMMANDS.values():
        yield "session commands", each.name, each.description
    for place in PLACES:
        yield "keys", "group of keys", place.title
        for binding in place.bindings:
            yield "keys", binding.id or binding.key, binding.description


def table_strings() -> list[InterfaceString]:
    rows = list(dict.fromkeys(registered()))
    places = _places(text for _, _, text in rows)
    return [InterfaceString(kind, *places.get(text, ("", 0)), text, context) for kind, context, text in rows]


def _places(texts: Iterable[str]) -> dict[str, tuple[str, int]]:
    """File and line where each text of a table begins. A binding that is made from a hint begins with a capital."""
    by_start = defaultdict[str, set[str]](set)
    for text in texts:
        for part in (text, text.rstrip("."), text.split(". ")[0]):
            by_start[part[:_START].casefold()].add(text)
    found: dict[str, tuple[str, int]] = {}
    for path in files(*TABLES):
        source = path.read_text("utf-8")
        for written in QUOTED.finditer(source):
            start = written[1].casefold()
            for text in by_start.get(start[:_START], ()):
                if text not in found and text.casefold().startswith(start):
                    found[text] = (name(path), source.count("\n", 0, written.start()) + 1)
    return found


def strings(within: tuple[str, ...] = ("",)) -> list[InterfaceString]:
    """Those of some folders by kind, file and line. A text that a table has is left out of the other kinds."""
    tables = table_strings()
    known = {one.text for one in tables}
    rest = [
        one
        for path in files(*SHIPPED)
        if name(path).startswith(within)
        for one in Literals(name(path), path.read_text("utf-8"))
        if one.text not in known
    ]
    return sorted({*(one for one in tables if one.file.startswith(within)), *rest})


def main(arguments: list[str] | None = None, write: Callable[[str], object] = print) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.strings", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("folders", nargs="*", help="files and folders, from the top of the project")
    parser.add_argument("--kind", nargs="+", metavar="KIND", help="kinds to print, or how their names begin")
    wanted = parser.parse_args(arguments)
    groups = defaultdict[str, list[InterfaceString]](list)
    for one in strings(tuple(wanted.folders) or ("",)):
        if wanted.kind is None or one.kind.startswith(tuple(wanted.kind)):
            groups[one.kind].append(one)
    for kind, found in groups.items():
        write(f"# {kind} ({len(found)})\n")
        for one in found:
            write(str(one).replace("\n", "⏎"))
        write("")


if __name__ == "__main__":
    main()
