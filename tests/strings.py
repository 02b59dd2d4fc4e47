"""Prints every string of the interface, grouped by kind, with the file and line where it is written.

    python -m tests.strings                       all of them
    python -m tests.strings --kind errors hints   some kinds only
    python -m tests.strings app/tui widgets       those of some folders only

Settings, flags, commands and keys come from their tables. The other kinds are the literals that the sources raise as
errors, hand to hints, titles and empty states, or have as sentences in a folder whose sentences a person reads.
What only the model reads (tool descriptions, tool results, prompts) is left out, and what programs read (header values,
OAuth scopes, sandbox profiles). A text that the code joins to another one is listed in the sentence that a person sees,
and not alone: `tests.string_texts` evaluates what is joined, `tests.string_sentences` what functions and errors are
given. `{path}` stands for what is filled in.
"""

import argparse
import ast
import gc
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

from app.cli.flags import COMMAND_LINE_FLAG_GROUPS
from app.cli.subcommands import SUBCOMMAND_HELP
from app.engine.commands.command_table import COMMANDS as SESSION_COMMANDS
from app.permits import command_findings
from app.providers.errors import ProviderError
from app.resources.settings.settings import all_setting_keys as setting_keys
from app.tui.feature_register import ALL_SLASH_COMMANDS as SLASH_COMMANDS
from app.values.user_errors import UserError
from tests import string_texts
from tests.architecture.sources import SHIPPED, files, name
from tests.string_sentences import Program
from tests.string_texts import Module, Scope, called_name, module_of, parts
from tests.tui.keys_pressed import PLACES
from widgets.key_labels import format_key_name
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
        command_findings.safe_risk_finding,
        command_findings.contained_risk_finding,
        command_findings.forbidden_risk_finding,
        command_findings.network_risk_finding,
    )
}
"""The kind of a literal by the function that it is passed to, in any folder."""
LABEL_KINDS = {"messages", "empty states", "command line", "titles"}
MAX_LABEL_WORDS = 5
"""Longer texts are understood without the name of their page or part."""
SUBJECTS = {
    "app/engine/goals/": "goal",
    "app/cli/commands/secrets_command": "{file}",
    "app/extensions/loading/": "{extension}",
    "app/imports/": "{session to import}",
    "app/mcp/": "{server}",
    "app/modes/acp/": "answer to the editor",
    "app/permits/permission_decisions": "decided by",
    "app/permits/plain_commands": "{command}",
    "app/permits/sandbox_exceptions": "rule",
    "app/permits/secret_files": "{path}",
    "app/permits/shell/": "{command}",
    "app/permits/tool_call_judge": "{tool call}",
    "app/resources/trust/": "{file of the project}",
    "app/undo/": "{path}",
    "tools/box/abilities": "no sandbox",
}
"""What the reasons of a folder, which begin with a small letter, are shown beside."""
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
    "app/engine/commands/review_texts",
    "app/engine/helpers/task_tool",
    "app/engine/models/provider_search",
    "app/resources/system_prompt",
    "app/cli/commands/completions_command",
    "app/engine/commands/written_prompts",
    "app/engine/core/active_skills",
    "app/engine/jobs/jobs_tool",
    "app/engine/planning/planning_tools",
    "app/permits/programs",
    "app/permits/rules",
    "app/mcp/server_manifest",
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
    "tools/box/probe",
    "tools/box/seatbelt",
)
"""Parts of those folders whose literals are data (programs, queries, generated code), or what the model reads."""
NOT_SHOWN = {
    "get",
    "word_set",
    "late",
    "compile",
    "execute",
    "executemany",
    "cast",
    "TypeVar",
    "ToolError",
    "_any_of",
}
"""Functions whose literals are patterns, queries and types, or what the model reads."""
PLACE_BY_ACTION = {
    action: titles.pop()
    for action in {one.id for place in PLACES for one in place.bindings}
    if len(titles := {place.title for place in PLACES for one in place.bindings if one.id == action}) == 1
}
"""The only place where an action has keys."""
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
    "prog",
    "headers",
}
DETAILS = {"detail", "hint", "description", "help", "text", "remedy"}
"""Fields whose text is read beside the title of the same object."""
DATA_TABLES = {"_SEARCH_WORDS", "_PLAIN_PROGRAMS", "_FAILURE_TIPS", "COMMANDS_BY_GROUP", "KEY_ORDER"}
"""Tables of words that are searched or ordered by, and not shown as they are written."""
TABLES = ("app/resources/settings", "app/cli", "app/tui", "app/engine", "widgets")
"""Where the tables are written."""
QUOTED = re.compile(r'"([^"\n]*)"')
_START = 16
"""Characters by which a literal is looked up."""
CLASS = re.compile(r"^class (\w+)\(([^)]*)\)", re.MULTILINE)
WORD = re.compile(r".*[A-Za-z]{2}")
SENTENCE = re.compile(r"[A-Za-z{“\"'/(…][^\n]*?[a-z’']{2,}[,:;)]? (?:[\w{(“\"'/·]|\{)")
"""Two words or more, the second of which begins like one."""
ROW_NAME = re.compile(r"[a-z][\w.-]*|[^\w\s]")
FILLED_IN = re.compile(r"\{[\w. ]+\}")
CODE = re.compile(
    r"""^[a-z]+:[A-Z{]|[{}]\s*\n|;\s*$|</|="|^[#.]?[A-Z]\w+[^{]* \{ """
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


def default_kind(file: str) -> str:
    """The kind of the sentences of a file that have no other; empty if no person reads them."""
    by_folder = [folder for folder in FOLDERS if file.startswith(f"{folder}/")]
    is_read = by_folder and not file.startswith(NOT_READ)
    return FOLDERS[max(by_folder, key=len)] if is_read else ""


class Literals:
    """The literals of a module that a person may read, each with its kind."""

    def __init__(self, module: Module, program: Program) -> None:
        file = module.file
        self._file = file
        self._module = module
        self._program = program
        self._errors = program.errors
        self._subject = next((text for folder, text in SUBJECTS.items() if file.startswith(folder)), "")
        self._default = default_kind(file)

    def __iter__(self) -> Iterator[InterfaceString]:
        yield from self._below(self._module.tree, self._default, needs_sentence=True)

    def _found(
        self, node: ast.AST, kind: str, texts: Iterable[str], form: re.Pattern[str]
    ) -> Iterator[InterfaceString]:
        if id(node) not in self._program.completing and id(node) not in self._program.consumed:
            for text in texts:
                plain = FILLED_IN.sub("{…}", text.strip())
                if kind and form.match(plain) and not CODE.search(text):
                    context = self._subject if text[:1].islower() else ""
                    if not context and kind in LABEL_KINDS and len(plain.split()) <= MAX_LABEL_WORDS:
                        context = "" if plain.endswith((".", "?", ":")) else self._page
                    yield InterfaceString(kind, self._file, getattr(node, "lineno", 0), text.strip(), context)

    def _texts(self, node: ast.AST) -> list[str]:
        if isinstance(node, ast.AugAssign):
            before = next((one for one in string_texts.texts(node.target, self._scope(node)) if one), "")
            return [before + text for text in string_texts.texts(node.value, self._scope(node))]
        return string_texts.texts(node, self._scope(node))

    def _scope(self, node: ast.AST) -> Scope:
        return self._module.scope(node)

    def _below(self, node: ast.AST, kind: str, *, needs_sentence: bool) -> Iterator[InterfaceString]:
        is_continued = isinstance(node, ast.AugAssign)
        if is_continued or isinstance(node, ast.Constant | ast.JoinedStr) or parts(node):
            texts = self._texts(node)
            yield from self._found(node, kind, texts, SENTENCE if needs_sentence else WORD)
            if texts or isinstance(node, ast.Constant):
                return
        if isinstance(node, ast.Call):
            yield from self._call(node, kind, needs_sentence=needs_sentence)
            return
        for field, child in _children(node):
            if _is_shown(node, field, child):
                heading = _row_name(node, child)
                for found in self._below(child, kind, needs_sentence=needs_sentence):
                    yield found._replace(context=heading or found.context)

    def _error(self, node: ast.Call) -> Iterator[InterfaceString]:
        """The sentence of an error, as its constructor or the place where it is caught makes it."""
        texts = string_texts.error_texts(node, self._scope(node))
        for text in texts:
            whole = self._program.caught_texts(called_name(node), text, self._module)
            yield from self._found(node, "errors", whole[:1] or [text], SENTENCE)

    def _call(self, node: ast.Call, kind: str, *, needs_sentence: bool) -> Iterator[InterfaceString]:
        called = called_name(node)
        if called in NOT_SHOWN or (
            called == "split" and isinstance(node.func, ast.Attribute) and not node.args
        ):
            return
        if called in self._errors:
            yield from self._error(node)
            return
        yield from self._below(node.func, kind, needs_sentence=needs_sentence)
        is_finding = called == "Finding" and self._default == "reasons"
        own = "reasons" if is_finding else CALLS.get(called)
        heading = self._heading(node, own)
        sinks = self._program.sinks(node, self._scope(node)) if kind or own else {}
        for argument in node.args:
            if own == "hints" and argument is not node.args[1]:
                continue
            if id(argument) in sinks:
                yield from self._found(argument, kind, sinks[id(argument)], SENTENCE)
                continue
            for found in self._below(argument, own or kind, needs_sentence=own != "hints" and needs_sentence):
                yield found._replace(context=heading) if own in {"hints", "reasons"} else found
        for keyword in node.keywords:
            if keyword.arg in DATA_FIELDS:
                continue
            if id(keyword.value) in sinks:
                yield from self._found(keyword.value, kind, sinks[id(keyword.value)], SENTENCE)
                continue
            role = ROLES.get(keyword.arg or "") if self._default else None
            for found in self._below(
                keyword.value, own or role or kind, needs_sentence=role is None and needs_sentence
            ):
                context = f"{self._page}: enter" if keyword.arg == "choose" else heading
                has_context = keyword.arg in {*DETAILS, "choose"} or (
                    role == "hints" and context != found.text
                )
                yield found._replace(context=context) if has_context else found

    @property
    def _page(self) -> str:
        """The name of the folder of a page, or of the file of a widget."""
        folder, _, file = self._file.removesuffix(".py").rpartition("/")
        page = folder.rpartition("/")[2] if folder.startswith("app/tui/features/") else file
        return re.sub("_(texts?|commands?|page|screen)$", "", page).replace("_", " ")

    def _heading(self, node: ast.Call, kind: str | None) -> str:
        """Where a hint is shown and its key, the command of a reason, or the title of the row of a detail."""
        if kind == "reasons":
            return "{command}"
        if kind == "hints":
            action = next((text for one in node.args[3:4] for text in self._texts(one)), "")
            key = next((text for text in self._texts(node.args[0])), "{key}")
            page = PLACE_BY_ACTION.get(action.split("/")[0], "lists")
            shown = "/" if key == "/" else "/".join(map(format_key_name, key.split("/")))
            return f"{self._page if page == 'lists' else page}: {shown}"
        by_name = {keyword.arg: keyword.value for keyword in node.keywords}
        if {"id", "keys", "label"} <= by_name.keys():
            action, keys = (next(iter(self._texts(by_name[one])), "") for one in ("id", "keys"))
            return f"{PLACE_BY_ACTION.get(action, self._page)}: {'/'.join(map(format_key_name, keys.split(',')))}"
        titles = [keyword.value for keyword in node.keywords if keyword.arg in {"title", "subject", "label"}]
        title = next((text for one in titles for text in self._texts(one)), "")
        name = next((text for one in node.args[:1] for text in self._texts(one)), "")
        return title or (name if ROW_NAME.fullmatch(name) else "")


def _row_name(node: ast.AST, child: ast.AST) -> str:
    """The name of the row of a table, if the child is its text."""
    rows: Iterable[tuple[ast.expr | None, ast.expr]] = ()
    if isinstance(node, ast.Dict):
        rows = zip(node.keys, node.values, strict=True)
    elif isinstance(node, ast.Tuple):
        rows = ((node.elts[0], one) for one in node.elts[1:])
    key = next((name for name, text in rows if text is child), None)
    if not isinstance(key, ast.Constant) or not isinstance(child, ast.Constant | ast.JoinedStr):
        return ""
    return key.value if isinstance(key.value, str) and ROW_NAME.fullmatch(key.value) else ""


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield field, child


def _is_shown(node: ast.AST, field: str, child: ast.AST) -> bool:
    """Docstrings, annotations, subscripts and comparisons are not."""
    is_of_a_bug = isinstance(node, ast.Assert) and field == "msg"
    is_docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
    is_key = isinstance(node, ast.Dict) and field == "keys"
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    is_style = isinstance(target, ast.Name) and ("CSS" in target.id or target.id in DATA_TABLES)
    is_header = isinstance(target, ast.Subscript) and ast.unparse(target.value).endswith("headers")
    return not (
        is_docstring
        or is_of_a_bug
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
    for group in COMMAND_LINE_FLAG_GROUPS:
        yield "flags", "heading of a list of flags", group.title
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
        yield "keys", "heading of a list of keys", place.title
        for binding in place.bindings:
            if binding.description:
                yield "keys", _key_context(place.title, binding.key, binding.id or ""), binding.description


def _key_context(place: str, keys: str, action: str) -> str:
    """Where a key works, the key as it is shown, and the name of its action."""
    shown = "/".join(map(format_key_name, keys.split(",")))
    return f"{place}: {shown} ({action})" if action else f"{place}: {shown}"


def table_strings() -> list[InterfaceString]:
    rows = list(dict.fromkeys(registered()))
    actions = [_action(context) for kind, context, _ in rows if kind == "keys"]
    places = _places((*(text for _, _, text in rows), *filter(None, actions)))
    return [
        InterfaceString(kind, *(places.get(_action(context)) or places.get(text, ("", 0))), text, context)
        for kind, context, text in rows
    ]


def _action(context: str) -> str:
    """The name of the action in the context of a key, whose text may be written in several places."""
    return context.partition("(")[2].removesuffix(")")


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


@cache
def read_modules() -> tuple[Module, ...]:
    """The modules with texts that a person reads."""
    shown_anywhere = re.compile(rf"\b({'|'.join((*error_classes(), *CALLS))})\(")
    read = tuple(
        module_of(path)
        for path in files(*SHIPPED)
        if default_kind(name(path)) or shown_anywhere.search(path.read_text("utf-8"))
    )
    gc.freeze()  # a million nodes that stay: to look for garbage among them costs more than to read them
    return read


@cache
def shipped_program() -> Program:
    return Program(read_modules(), error_classes())


def strings(within: tuple[str, ...] = ("",)) -> list[InterfaceString]:
    """Those of some folders by kind, file and line. A text that a table has is left out of the other kinds."""
    tables = table_strings()
    modules = read_modules()
    program = shipped_program()
    known = {one.text for one in tables} | {slash.hint for slash in SLASH_COMMANDS}
    key_labels = {one.text.casefold() for one in tables if one.kind == "keys"}
    keys = {(one.context.partition(" (")[0], one.text.casefold()) for one in tables}
    rest = [
        one
        for module in modules
        if module.file.startswith(within)
        for one in Literals(module, program)
        if one.text not in known and (one.context, one.text.casefold()) not in keys
        if one.kind != "hints" or one.context or one.text.casefold() not in key_labels
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
