"""Implements `bayou import PROGRAM`: takes over sessions, instructions, skills, commands, permissions and MCP
servers of another agent, after showing what would be imported."""

import os
import sys

import msgspec

from app.assembly.command_line_options import UsageError
from app.cli.change_folder import current_folder
from app.cli.confirm import confirm
from app.imports.import_plan import (
    IMPORT_KINDS,
    PROGRAM_TITLES,
    PROGRAMS,
    ImportKind,
    ImportPlan,
    ImportPlanner,
    ImportProgram,
    PlannedImportItem,
    count_left_out_parts,
)
from app.printing import print_json, print_line, print_note, print_problem, print_text
from app.resources.paths import BayouPaths
from app.values.user_errors import UserError
from tools.text_sanitizing import one_line, reveal_hidden_characters

IMPORT_USAGE_TEXT = (
    "usage: bayou import claude|codex|opencode|pi [--only KIND,…] [--here] [--with-secrets]\n"
    "                    [--dry-run] [--yes] [--json]\n\n"
    "Lists what bayou can import from another agent, then asks for each kind:\n"
    f"{', '.join(IMPORT_KINDS)}. The other agent's files stay unchanged, and\n"
    "existing files of bayou are not overwritten. For pi see bayou import-pi --help.\n\n"
    "  --only KIND,…   import only these kinds\n"
    "  --here          import only sessions of this folder\n"
    "  --with-secrets  also copy keys from the configuration of MCP servers\n"
    "  --dry-run       only list\n"
    "  --yes           import without asking\n"
    "  --json          print the list, or with --yes the result, as JSON\n"
)
_MAX_SHOWN_IMPORT_ITEMS = 20
"""How many things of one kind and outcome are listed; --json lists all."""
_IMPORT_SWITCH_FLAGS = ("--here", "--with-secrets", "--dry-run", "--yes", "--json")


class _ImportArguments(msgspec.Struct, kw_only=True):
    """The arguments of `bayou import`."""

    program: str = ""
    kinds: tuple[ImportKind, ...] = IMPORT_KINDS
    flags: set[str] = msgspec.field(default_factory=set)


def run(words: list[str]) -> int:
    if {"-h", "--help"} & set(words) or not words:
        print_text(IMPORT_USAGE_TEXT)
        return 0 if words else 2
    if words[0] == "pi":
        from app.cli.commands.imports.import_pi_command import run as import_pi  # noqa: PLC0415  (another program's folder)

        return import_pi(words[1:])
    request = _parse_arguments(words)
    program: ImportProgram = next(one for one in PROGRAMS if one == request.program)
    paths = BayouPaths.from_env(os.environ, current_folder())
    importer = ImportPlanner(program, paths, os.environ, with_secrets="--with-secrets" in request.flags)
    if sys.stderr.isatty():
        print_note(f"Reading {paths.shown(importer.data)} …")
    plan = importer.plan(request.kinds, only_here="--here" in request.flags)
    is_json, is_agreed = "--json" in request.flags, "--yes" in request.flags
    if not is_json:
        _print_preview(plan, request.kinds, paths.shown(importer.folder))
    if "--dry-run" in request.flags or (is_json and not is_agreed):
        failed: dict[int, str] = {}
    else:
        failed = _import_items(plan, request.kinds, is_agreed=is_agreed, is_quiet=is_json)
    if is_json:
        items = [{**item.as_json(), **_refusal_data(failed.get(id(item)))} for item in plan.items]
        print_json({"program": program, "items": items, "problems": list(plan.problems)}, indent=2)
    return 1 if any(failed.values()) else 0


def _refusal_data(reason: str | None) -> dict[str, object]:
    return {"taken": False, "refused": reason} if reason else {}


def _parse_arguments(words: list[str]) -> _ImportArguments:
    request, rest = _ImportArguments(), list(words)
    while rest:
        word = rest.pop(0)
        word, is_joined, value = word.partition("=") if word.startswith("--only") else (word, "", "")
        if word == "--only":
            value = value if is_joined else rest.pop(0) if rest else ""
            names = [name.strip() for name in value.split(",")]
            request.kinds = tuple(kind for kind in IMPORT_KINDS if kind in names)
            unknown = [name for name in names if name not in IMPORT_KINDS]
            if unknown or not request.kinds:
                raise UsageError(f'--only takes {", ".join(IMPORT_KINDS)}, not "{", ".join(unknown)}".')
        elif word in _IMPORT_SWITCH_FLAGS:
            request.flags.add(word)
        elif word.startswith("-") or request.program:
            raise UsageError(f"Unknown argument: {word}.\n{IMPORT_USAGE_TEXT.partition(chr(10) * 2)[0]}")
        else:
            request.program = word
    if request.program not in PROGRAMS:
        raise UsageError(f'Unknown program "{request.program}". Programs: {", ".join(PROGRAMS)}, pi.')
    return request


def _print_preview(plan: ImportPlan, kinds: tuple[ImportKind, ...], folder: str) -> None:
    print_line(f"{PROGRAM_TITLES[plan.program]} ({folder})")
    for kind in kinds:
        items = plan.of_kind(kind)
        taken = [item for item in items if not item.refused]
        left = [item for item in items if item.refused]
        total = f"{len(taken)} of {len(items)}" if left else str(len(taken))
        print_line(f"\n{kind}  {total if items else 'none'}")
        for item in taken[:_MAX_SHOWN_IMPORT_ITEMS]:
            _print_taken_item(item)
        _print_rest_count(len(taken))
        _print_left_items(left)
        for what, count in count_left_out_parts(taken).items():
            print_line(f"  left out: {count} {what}")
    for problem in plan.problems:
        print_problem(problem)


def _print_taken_item(item: PlannedImportItem) -> None:
    target = f" → {_safe_line(item.target)}" if item.target else ""
    print_line(f"  take   {_safe_line(item.name)}{target}")
    for note in item.notes:
        print_line(f"         {_safe_line(note)}")


def _print_left_items(left: list[PlannedImportItem]) -> None:
    """Prints the items that are not imported, together where one reason covers several."""
    reasons: dict[str, list[PlannedImportItem]] = {}
    for item in left:
        reasons.setdefault(item.refused, []).append(item)
    for reason, items in list(reasons.items())[:_MAX_SHOWN_IMPORT_ITEMS]:
        if len(items) > 1:
            print_line(f"  leave  {len(items)}: {_safe_line(reason)}")
            names = items if items[0].kind == "permissions" else []
            for item in names[:_MAX_SHOWN_IMPORT_ITEMS]:
                print_line(f"           {_safe_line(item.name)}")
            _print_rest_count(len(names))
        else:
            print_line(f"  leave  {_safe_line(items[0].name)}: {_safe_line(reason)}")
    _print_rest_count(len(reasons))


def _print_rest_count(count: int) -> None:
    if count > _MAX_SHOWN_IMPORT_ITEMS:
        print_line(f"  … and {count - _MAX_SHOWN_IMPORT_ITEMS} more; --json lists all")


def _safe_line(text: str) -> str:
    return reveal_hidden_characters(one_line(text))


def _import_items(
    plan: ImportPlan, kinds: tuple[ImportKind, ...], *, is_agreed: bool, is_quiet: bool
) -> dict[int, str]:
    """Imports the items that the user agrees to. Returns the reasons of failures, by the identity of the item."""
    failed: dict[int, str] = {}
    if not is_agreed and not sys.stdin.isatty():
        if all(item.refused for item in plan.items):
            print_line("\nThere is nothing to import.")
            return failed
        print_line("\nNothing was imported. Add --yes to import without confirmation.")
        return {0: "not confirmed"}
    for kind in kinds:
        taken = [item for item in plan.of_kind(kind) if not item.refused]
        if not taken or not (is_agreed or confirm(f"\nImport {_counted_kind(len(taken), kind)}?")):
            continue
        done = 0
        for item in taken:
            try:
                if item.apply is not None:
                    item.apply()
                done += 1
            except (UserError, OSError) as problem:
                failed[id(item)] = str(problem)
                if not is_quiet:
                    print_problem(f"{_safe_line(item.name)}: {problem}")
        if not is_quiet:
            print_line(
                f"Imported {_counted_kind(done, kind)}.{_NEXT_STEP_BY_IMPORTED_KIND.get(kind, '') if done else ''}"
            )
    return failed


def _counted_kind(count: int, kind: ImportKind) -> str:
    return f"{count} {kind.removesuffix('s') if count == 1 else kind}"


_NEXT_STEP_BY_IMPORTED_KIND = {
    "sessions": " Open one: bayou --resume",
    "permissions": " See them: /permissions",
}
