"""Prints every string of the interface, grouped by kind, with the file and line where it is written.

    python -m tests.strings                       all of them
    python -m tests.strings --kind errors hints   some kinds only
    python -m tests.strings app/tui widgets       those of some folders only

Settings, flags, commands and keys come from their tables. The other kinds are the literals that the sources raise as
errors, hand to hints, titles and empty states, or have as sentences in a folder whose sentences a person reads.
What only the model reads (tool descriptions, tool results, prompts) is left out.
"""

import argparse
import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

from app.cli.flags import FLAG_GROUPS
from app.cli.subcommands import HELP
from app.engine.commands.command_table import COMMANDS as SESSION_COMMANDS
from app.permits import command_findings
from app.providers.errors import ProviderError
from app.resources.settings.settings import keys as setting_keys
from app.tui.register import COMMANDS as SLASH_COMMANDS
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
        command_findings.safe,
        command_findings.contained,
        command_findings.forbidden,
        command_findings.network,
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
    "app/engine/commands/written_prompts",
    "app/engine/core/active_skills",
    "app/engine/jobs/jobs_tool",
    "app/engine/planning/planning_tools",
    "app/permits/programs",
    "app/permits/rules",
    "app/modes/rpc/reference",
    "app/package",
    "app/resources/prompts",
    "app/resources/settings/settings_docs",
    "app/sessions/export",
    "app/sessions/index",
    "app/undo/patches",
)
"""Parts of those folders whose literals are data (programs, queries, generated code), or what the model reads."""
NOT_SHOWN = {"get", "late", "compile", "execute", "executemany", "cast", "TypeVar", "ToolError"}
"""Functions whose literals are patterns, queries and types, or what the model reads."""
DATA_FIELDS = {"id", "classes", "name", "keys", "do", "options", "snippet", "guidelines", "usage"}
TABLES = ("app/resources/settings", "app/cli", "app/tui", "app/engine", "widgets")
"""Where the tables are written."""
QUOTED = re.compile(r'"([^"\n]*)"')
_START = 16
"""Characters by which a literal is looked up."""
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


def literal(node: ast.AST) -> str | None:
    """A string as it is written: what an f-string inserts is its expression in braces."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) or f"{{{_placeholder(part)}}}" for part in node.values)
    return None


def _placeholder(part: ast.AST) -> str:
    expression = ast.unparse(part.value) if isinstance(part, ast.FormattedValue) else ""
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
            yield from self._below(ast.parse(self._source), self._default, needs_sentence=True)

    def _below(self, node: ast.AST, kind: str, *, needs_sentence: bool) -> Iterator[InterfaceString]:
        text = literal(node)
        if text is not None:
            form = SENTENCE if needs_sentence else WORD
            if kind and form.match(text.strip()) and not CODE.search(text):
                yield InterfaceString(kind, self._file, getattr(node, "lineno", 0), text)
            return
        if isinstance(node, ast.Call):
            yield from self._call(node, kind, needs_sentence=needs_sentence)
            return
        for field, child in _children(node):
            if _is_shown(node, field, child):
                yield from self._below(child, kind, needs_sentence=needs_sentence)

    def _call(self, node: ast.Call, kind: str, *, needs_sentence: bool) -> Iterator[InterfaceString]:
        called = _called(node)
        if called in NOT_SHOWN:
            return
        yield from self._below(node.func, kind, needs_sentence=needs_sentence)
        own = "errors" if called in self._errors else CALLS.get(called)
        for argument in node.args:
            if own == "hints" and argument is not node.args[1]:
                continue
            yield from self._below(argument, own or kind, needs_sentence=own != "hints" and needs_sentence)
        for keyword in node.keywords:
            if keyword.arg in DATA_FIELDS:
                continue
            role = ROLES.get(keyword.arg or "") if self._default else None
            yield from self._below(
                keyword.value, own or role or kind, needs_sentence=role is None and needs_sentence
            )


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
    is_style = isinstance(target, ast.Name) and "CSS" in target.id
    return not (
        is_docstring
        or is_key
        or is_style
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
    for command, text in HELP.items():
        yield "flags", f"bayou {command}", text
    for slash in SLASH_COMMANDS:
        yield (
            "slash commands",
            f"/{slash.name} {slash.hint}".strip(),
            slash.help or SESSION_COMMANDS[slash.verb].words,
        )
    for each in SESSION_COMMANDS.values():
        yield "session commands", each.name, each.description
    for place in PLACES:
        yield "keys", "place", place.title
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
