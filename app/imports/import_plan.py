"""Plans the import from Claude Code, codex or opencode: each item with its source, its target, and the reason if
it is left out. A plan writes nothing. The items are applied one by one, each completely or not at all."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, assert_never, get_args

import msgspec

from app.imports import claude_sessions, codex_sessions, opencode_sessions
from app.imports.file_copies import copy_atomically, link_target_outside_folder
from app.imports.imported_permission_rules import (
    ImportedPermissionRule,
    convert_claude_permission_rules,
    convert_codex_permission_rules,
    convert_opencode_permission_rules,
    remove_duplicate_rules,
)
from app.imports.session_builder import ImportedSession, SessionNotImportable
from app.mcp.import_server_configs import ImportableMcpServer, find_mcp_servers_of_program
from app.mcp.server_config import add_mcp_server_to_file, find_mcp_server_name_in_file
from app.mcp.server_config_entries import (
    HIDDEN_VALUE_MARK,
    decode_mcp_server_entry,
    mcp_server_display_address,
)
from app.resources.claude_command_files import shell_commands_in_body
from app.resources.context_files import CONTEXT_FILE_NAMES
from app.resources.context_imports import FILE_MENTION_PATTERN
from app.resources.mcp_server_files import user_mcp_servers_file
from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from app.resources.text_files import read_text, write_text
from app.sessions.session_folders import session_files
from app.values.json_comments import JsonSyntaxError, parse_json_with_comments
from app.values.user_errors import FileError, UserError
from tools.running.withheld_environment_variables import is_secret_variable

ImportProgram = Literal["claude", "codex", "opencode"]
PROGRAMS: tuple[ImportProgram, ...] = get_args(ImportProgram)
ImportKind = Literal["sessions", "instructions", "skills", "commands", "permissions", "servers"]
IMPORT_KINDS: tuple[ImportKind, ...] = get_args(ImportKind)
PROGRAM_TITLES: Mapping[ImportProgram, str] = {
    "claude": "Claude Code",
    "codex": "codex",
    "opencode": "opencode",
}
LoadImportedSession = Callable[[], ImportedSession]


class PlannedImportItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item of another program that can be imported, or the reason why not."""

    kind: ImportKind
    name: str
    """What it is: a title, a file, a rule, a server."""
    source: str
    target: str = ""
    refused: str = ""
    """Why it is left where it is; empty: it can be taken over."""
    notes: tuple[str, ...] = ()
    left_out: dict[str, int] = {}
    """What of it bayou cannot represent, with counts."""
    apply: Callable[[], object] | None = None

    def as_json(self) -> dict[str, Any]:
        shown = {name: getattr(self, name) for name in self.__struct_fields__ if name != "apply"}
        return {"kind": shown.pop("kind"), "taken": not self.refused, **{k: v for k, v in shown.items() if v}}


class ImportPlan(msgspec.Struct, frozen=True, kw_only=True):
    """All items of one program that can be imported, and the files that could not be read."""

    program: ImportProgram
    items: tuple[PlannedImportItem, ...]
    problems: tuple[str, ...] = ()

    def of_kind(self, kind: ImportKind) -> list[PlannedImportItem]:
        return [item for item in self.items if item.kind == kind]


class ImportPlanner:
    """Plans the import of one program's items for one user."""

    def __init__(
        self, program: ImportProgram, paths: BayouPaths, env: Mapping[str, str], *, with_secrets: bool = False
    ) -> None:
        self.program: ImportProgram = program
        self._paths = paths
        self._env = env
        self._with_secrets = with_secrets
        self._settings = EffectiveSettings(paths)
        self._problems: list[str] = []
        config = Path(env.get("XDG_CONFIG_HOME") or paths.home / ".config")
        data = Path(env.get("XDG_DATA_HOME") or paths.home / ".local" / "share")
        match program:
            case "claude":
                self.folder = Path(env.get("CLAUDE_CONFIG_DIR") or paths.home / ".claude")
                self.data = self.folder
            case "codex":
                self.folder = self.data = Path(env.get("CODEX_HOME") or paths.home / ".codex")
            case "opencode":
                self.folder, self.data = config / "opencode", data / "opencode"
            case _:
                assert_never(program)

    def plan(self, kinds: Iterable[ImportKind], *, only_here: bool = False) -> ImportPlan:
        """Returns the plan of an import. Reads files and writes nothing."""
        found: dict[ImportKind, Callable[[], Iterator[PlannedImportItem]]] = {
            "sessions": partial(self._session_items, only_here),
            "instructions": self._instruction_items,
            "skills": self._skill_items,
            "commands": self._command_items,
            "permissions": self._permission_items,
            "servers": self._server_items,
        }
        items = tuple(item for kind in IMPORT_KINDS if kind in set(kinds) for item in found[kind]())
        return ImportPlan(program=self.program, items=items, problems=tuple(self._problems))

    # Sessions

    def _session_items(self, only_here: bool) -> Iterator[PlannedImportItem]:
        root = self._paths.sessions_dir
        known = {Path(entry.name).stem.partition("_")[2] for entry in session_files(root)}
        for source, session_id, load in self._session_loaders():
            item = partial(PlannedImportItem, kind="sessions", source=str(source))
            if session_id in known:
                yield item(name=session_id, refused=_ALREADY_IMPORTED_REASON)
                continue
            if link_target_outside_folder(source, self.data):
                yield item(name=source.name, refused="is a link out of the folder")
                continue
            try:
                session = load()
            except (SessionNotImportable, OSError) as problem:
                yield item(name=session_id or source.name, refused=_failure_reason(problem))
                continue
            if session.id in known:
                yield item(name=session.id, refused=_ALREADY_IMPORTED_REASON)
            elif not only_here or session.cwd == str(self._paths.cwd):
                known.add(session.id)
                yield item(
                    name=session.title or session.id,
                    target=session.cwd,
                    left_out=session.left_out,
                    apply=lambda load=load: load().write(root),
                )

    def _session_loaders(self) -> Iterator[tuple[Path, str, LoadImportedSession]]:
        """Yields the source of each session, its id if that is known already, and the function that reads it."""
        home, folder = self._paths.home, self.data
        match self.program:
            case "claude":
                for file in claude_sessions.session_files(folder):
                    yield file, file.stem, partial(claude_sessions.read_session, file, home)
            case "codex":
                names = codex_sessions.codex_thread_names(folder)
                for file in codex_sessions.session_files(folder):
                    yield (
                        file,
                        codex_sessions.session_id_in_file_name(file),
                        partial(codex_sessions.read_session, file, home, names),
                    )
            case "opencode":
                for stored in opencode_sessions.stored_opencode_sessions(folder, self._problems):
                    yield stored.source, stored.id, partial(opencode_sessions.read_session, stored, home)
            case _:
                assert_never(self.program)

    # Files

    def _instruction_items(self) -> Iterator[PlannedImportItem]:
        names = {
            "claude": ("CLAUDE.md",),
            "codex": ("AGENTS.override.md", "AGENTS.md"),
            "opencode": ("AGENTS.md",),
        }
        source = next(
            (self.folder / one for one in names[self.program] if (self.folder / one).is_file()), None
        )
        if source is None:
            return
        target = self._paths.agent_dir / "AGENTS.md"
        own = next((one for one in CONTEXT_FILE_NAMES if (target.parent / one).exists()), None)
        refused = link_target_outside_folder(source, self.folder)
        notes: tuple[str, ...] = ()
        try:
            told = read_text(source) or ""
        except FileError as problem:
            told, refused = "", str(problem)
        if own is not None:
            own_path = self._shown_path(target.parent / own)
            refused = f"{own_path} is there already; add the line @{self._shown_path(source)} to it"
        elif FILE_MENTION_PATTERN.search(told):
            notes = (f"paths behind @ are read from {self._shown_path(target.parent)} now",)
        yield PlannedImportItem(
            kind="instructions",
            name=self._shown_path(source),
            source=str(source),
            target=self._shown_path(target),
            refused=refused,
            notes=notes,
            apply=partial(_write_new, target, told),
        )

    def _skill_items(self) -> Iterator[PlannedImportItem]:
        if self.program == "claude":
            yield from self._read_in_place("skills", "skills", "*/SKILL.md")
            return
        for name in ("skill", "skills"):
            for file in sorted((self.folder / name).glob("*/SKILL.md")):
                yield self._copy_item(
                    "skills", file.parent, self._paths.agent_dir / "skills" / file.parent.name
                )

    def _command_items(self) -> Iterator[PlannedImportItem]:
        if self.program == "claude":
            yield from self._read_in_place("commands", "commands", "**/*.md")
            return
        for name in ("prompts",) if self.program == "codex" else ("command", "commands"):
            for file in sorted((self.folder / name).glob("**/*.md")):
                refused = ""
                try:
                    if shell_commands_in_body(read_text(file) or ""):
                        refused = "runs commands of the shell; in ~/.claude/commands bayou runs them, after a question"
                except FileError as problem:
                    refused = str(problem)
                if file.parent != self.folder / name:
                    refused = refused or "is in a folder below; copy it by hand under the name you want"
                target = self._paths.agent_dir / "prompts" / file.name
                yield self._copy_item("commands", file, target, refused=refused)

    def _read_in_place(self, kind: ImportKind, name: str, pattern: str) -> Iterator[PlannedImportItem]:
        """Yields a note for files that bayou reads where they are."""
        count = sum(1 for _ in (self.folder / name).glob(pattern))
        if count:
            place = self._shown_path(self.folder / name)
            is_read = self.folder == self._paths.home / ".claude"
            refused = (
                "bayou reads them where they are"
                if is_read
                else f"bayou reads only ~/.claude/{name}; link or copy them"
            )
            yield PlannedImportItem(kind=kind, name=f"{count} in {place}", source=place, refused=refused)

    def _copy_item(
        self, kind: ImportKind, source: Path, target: Path, *, refused: str = ""
    ) -> PlannedImportItem:
        if os.path.lexists(target):
            refused = f"{self._shown_path(target)} is there already"
        return PlannedImportItem(
            kind=kind,
            name=self._shown_path(source),
            source=str(source),
            target=self._shown_path(target),
            refused=refused or link_target_outside_folder(source, self.folder),
            apply=partial(copy_atomically, source, target),
        )

    # Permissions

    def _permission_items(self) -> Iterator[PlannedImportItem]:
        for source, is_project, rules in self._rule_files():
            for rule in remove_duplicate_rules(rules):
                yield self._rule_item(rule, source, is_project=is_project)

    def _rule_files(self) -> Iterator[tuple[Path, bool, list[ImportedPermissionRule]]]:
        match self.program:
            case "claude":
                here = self._paths.cwd / ".claude"
                own = self.folder / "settings.json"
                for file in dict.fromkeys((own, here / "settings.json", here / "settings.local.json")):
                    told = self._read_settings(file).get("permissions")
                    yield (
                        file,
                        file != own,
                        list(convert_claude_permission_rules(told, is_project=file != own)),
                    )
            case "codex":
                for file in sorted((self.folder / "rules").glob("*.rules")):
                    try:
                        yield file, False, list(convert_codex_permission_rules(read_text(file) or ""))
                    except (ValueError, FileError) as problem:
                        self._problems.append(f"{file}: {problem}")
            case "opencode":
                for name in ("opencode.json", "opencode.jsonc"):
                    file = self.folder / name
                    yield (
                        file,
                        False,
                        list(convert_opencode_permission_rules(self._read_settings(file).get("permission"))),
                    )
            case _:
                assert_never(self.program)

    def _rule_item(
        self, rule: ImportedPermissionRule, source: Path, *, is_project: bool
    ) -> PlannedImportItem:
        name, here = f"permissions.{rule.action}", str(self._paths.cwd)
        said = self._settings.layer_values(name).get("global", ())
        refused = rule.refused
        if is_project:
            said = dict(self._settings.layer_values("permissions.allowIn").get("global", {})).get(here, ())
            if rule.action != "allow" and not refused:
                refused = f'is a rule of the project; add "{rule.rule}" to {name} in .bayou/settings.json'
        if not refused and rule.rule in said:
            refused = "is a rule here already"
        return PlannedImportItem(
            kind="permissions",
            name=f"{rule.action} {rule.original}",
            source=self._shown_path(source),
            target=f"{rule.rule}{' (in this folder)' if is_project else ''}" if rule.rule else "",
            refused=refused,
            apply=partial(self._save_rule, name, rule.rule, here if is_project else None),
        )

    def _save_rule(self, name: str, rule: str, folder: str | None) -> None:
        if folder is None:
            self._settings.save_value(name, (*self._settings.layer_values(name).get("global", ()), rule))
            return
        known = dict(self._settings.layer_values("permissions.allowIn").get("global", {}))
        known[folder] = (*known.get(folder, ()), rule)
        self._settings.save_value("permissions.allowIn", known)

    # MCP servers

    def _server_items(self) -> Iterator[PlannedImportItem]:
        found = find_mcp_servers_of_program(self.program, self._paths.home, self._paths.cwd, self._env)
        self._problems += found.problems
        file = user_mcp_servers_file(self._paths)
        for server in found.servers:
            yield self._server_item(server, file)

    def _server_item(self, found: ImportableMcpServer, file: Path) -> PlannedImportItem:
        entry, notes = dict(found.entry), list(found.conversion_notes)
        if not self._with_secrets:
            entry = _without_secrets(found.name, entry, notes)
        refused = found.problem
        server, _ = decode_mcp_server_entry(found.name, entry, origin="user")
        address = mcp_server_display_address(server)
        try:
            if not refused and find_mcp_server_name_in_file(file, found.name) is not None:
                refused = f"{self._shown_path(file)} has a server of that name"
        except UserError as problem:
            refused = str(problem)
        if not refused and not self._with_secrets and HIDDEN_VALUE_MARK in address:
            refused = "its command or address contains a secret; --with-secrets copies it"
        return PlannedImportItem(
            kind="servers",
            name=found.name,
            source=self._shown_path(found.source_file),
            target=address,
            refused=refused,
            notes=tuple(notes),
            apply=partial(add_mcp_server_to_file, file, found.name, entry),
        )

    def _read_settings(self, file: Path) -> dict[str, Any]:
        """Returns a settings file; a broken one becomes a problem."""
        try:
            text = read_text(file)
            data = parse_json_with_comments(text) if text is not None and text.strip() else {}
        except FileError as problem:
            self._problems.append(str(problem))
            return {}
        except JsonSyntaxError as problem:
            self._problems.append(f"{file}, line {problem.line}: {problem.message}")
            return {}
        return data if isinstance(data, dict) else {}

    def _shown_path(self, path: Path) -> str:
        return self._paths.shown(path) if not path.is_relative_to(self._paths.cwd) else str(path)


_ALREADY_IMPORTED_REASON = "is here already"


def _failure_reason(problem: Exception) -> str:
    return (problem.strerror or str(problem)) if isinstance(problem, OSError) else str(problem)


def _write_new(target: Path, text: str) -> None:
    if os.path.lexists(target):
        raise FileExistsError(f"{target} already exists")
    write_text(target, text)


def _without_secrets(server: str, entry: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """Replaces literal secrets by variables, which the notes name."""

    def variable(name: str) -> str:
        known = re.sub(r"\W+", "_", name).strip("_").upper() or "SECRET"
        notes.append(f"set the variable {known}: its value is not copied")
        return f"${{{known}}}"

    for field in ("env", "headers", "oauth"):
        values = entry.get(field)
        if not isinstance(values, dict):
            continue
        kept = dict(values)
        for name, value in values.items():
            if not isinstance(value, str) or value.startswith("!") or "${" in value:
                continue
            scheme, _, secret = value.rpartition(" ") if field == "headers" else ("", "", value)
            plain = name.replace("-", "_")
            if name.lower() in ("authorization", "clientsecret") or is_secret_variable(plain, secret):
                known = plain if field == "env" else f"{server}_{plain}"
                kept[name] = f"{scheme} {variable(known)}".strip()
        entry = {**entry, field: kept}
    return entry


def count_left_out_parts(items: Iterable[PlannedImportItem]) -> dict[str, int]:
    """Returns the parts that the import leaves out of all items, with their counts, the most frequent first."""
    whole = Counter[str]()
    for item in items:
        whole.update(item.left_out)
    return dict(whole.most_common())
