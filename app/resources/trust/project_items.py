"""Lists and hashes, without running anything, all that a project would run or bring into force if its user
trusted it."""

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.resources.claude_command_files import CLAUDE_COMMANDS_FOLDER, command_files, shell_commands_in_body
from app.resources.context_files import project_context_files
from app.resources.context_imports import make_project_import_test, read_context_file_imports
from app.resources.hook_files import (
    HOOKS_SETTING_KEY,
    STATUS_LINE_SETTING_KEY,
    project_hook_files,
    read_hook_file,
)
from app.resources.mcp_server_files import (
    project_mcp_server_files,
    read_mcp_server_file,
    user_mcp_servers_file,
)
from app.resources.paths import BayouPaths, folders_up_to_project_top
from app.resources.skills import SHARED_SKILL_FOLDERS
from app.resources.text_files import read_text
from app.resources.trust.content_fingerprint import (
    MAX_FINGERPRINT_FILES,
    ContentTooLargeToHash,
    fingerprint,
    hash_of_text,
)
from app.values.json_comments import JsonSyntaxError, parse_json_with_comments
from app.values.user_errors import FileError
from tools.files.path_existence import exists, is_dir, is_file
from tools.git.git_repository import find_repository
from tools.lazy_patterns import lazy_regex
from tools.text_sanitizing import reveal_hidden_characters

ProjectItemKind = Literal[
    "extension", "settings", "command", "hook", "server", "prompt", "rules", "models", "git"
]
_SETTINGS_THAT_NAME_PATHS = (
    *("extensions", "skills", "prompts", "themes"),
    *("eval.python", "shellPath", "externalEditor", "shellCommandPrefix"),
)
"""Settings whose values may contain paths."""
_MAX_SHOWN_ITEM_CHARS = 10_000
"""The maximum number of characters of one value that are shown."""
_CURRENT_FOLDER_PATTERN = lazy_regex(r"\$\(\s*pwd(?:\s+-\w)?\s*\)|`\s*pwd(?:\s+-\w)?\s*`|~\+(?=/|\s|$)")
_SHELL_VARIABLE_PATTERN = lazy_regex(r"\$(?:\{(?P<braced>[A-Za-z_]\w*)[^}]*\}|(?P<bare>[A-Za-z_]\w*))")
_GLOB_CHARACTERS = lazy_regex(r"[*?\[]")
_MOST_STEPS, _MOST_PATTERNS = 3, 20
"""Limits on wildcards per pattern and on patterns, so that no large folder is walked before the question."""


class ProjectTrustItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item that trusting the project lets run or come into force."""

    kind: ProjectItemKind
    path: str
    """The path of the item, relative to the project for files in it."""
    detail: str = ""
    fingerprint: str = ""
    exceeded_limit: str = ""
    """The limit that the item exceeds so that it cannot be checked completely; empty if it exceeds none."""

    @property
    def runs_code(self) -> bool:
        """Says whether the item is code or names a program; other items are text for the model, and looks."""
        return self.kind in ("command", "extension", "git", "hook", "server", "models")

    @property
    def display_text(self) -> str:
        """The item's description with hidden characters made visible."""
        what = (
            f"{self.detail} ({self.exceeded_limit}: too large to check)"
            if self.exceeded_limit
            else self.detail
        )
        return reveal_hidden_characters(what)

    @property
    def display_line(self) -> str:
        return f"{self.kind} {reveal_hidden_characters(self.path)} {self.display_text}".rstrip()


def project_items(paths: BayouPaths) -> tuple[ProjectTrustItem, ...]:
    """Returns the project's items; those that start something come first."""
    return tuple(
        sorted(map(_shorten_detail, _TrustItemCollector(paths).items()), key=lambda item: not item.runs_code)
    )


def _shorten_detail(item: ProjectTrustItem) -> ProjectTrustItem:
    """Shortens a detail that is too long to read, and marks the item as too large to check."""
    if len(item.detail) <= _MAX_SHOWN_ITEM_CHARS:
        return item
    begin = f"{item.detail[:200]} …"
    return msgspec.structs.replace(item, detail=begin, exceeded_limit=f"{len(item.detail):,} characters")


class _TrustItemCollector:
    """Collects the items of one project."""

    def __init__(self, paths: BayouPaths) -> None:
        self._paths = paths
        self._project = paths.project_dir
        self._top = paths.top
        self._patterns = 0
        self._known: dict[str, str | ContentTooLargeToHash] = {}
        """Fingerprints by resolved path, cached so that a file with several names is read once."""

    def items(self) -> Iterator[ProjectTrustItem]:
        yield from self._extension_items()
        yield from self._setting_items()
        yield from self._hook_items()
        for name in ("SYSTEM.md", "APPEND_SYSTEM.md"):
            if is_file(self._project / name):
                yield self._make_item("prompt", self._project / name, "replaces or extends the system prompt")
        models = self._project / "models.json"
        if is_file(models):
            yield self._make_item("models", models, programs_and_addresses_in_json(models))
        yield from self._server_items()
        for name in ("skills", "prompts", "agents", "rules", "themes"):
            if _is_not_empty(self._project / name):
                own: ProjectItemKind = "rules" if name == "rules" else "prompt"
                yield self._make_item(own, self._project / name, f"the project's own {name}")
        for folder in folders_up_to_project_top(self._paths.cwd, self._top):
            for name in SHARED_SKILL_FOLDERS:
                if _is_not_empty(folder / name / "skills"):
                    yield self._make_item("prompt", folder / name / "skills", "the project's own skills")
        shared_agents = self._top / ".claude" / "agents"
        if _is_not_empty(shared_agents):
            yield self._make_item("prompt", shared_agents, "the project's own kinds of helpers")
        yield from self._command_items()
        yield from self._context_import_items()
        yield from self._foreign_rule_items()
        yield from self._repository_items()

    def _extension_items(self) -> Iterator[ProjectTrustItem]:
        folder = self._project / "extensions"
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            return
        for path in entries:
            is_code = path.suffix == ".py" or is_dir(path)
            yield self._make_item(
                "extension", path, "Python code" if is_code else "is in the extensions folder"
            )

    def _setting_items(self) -> Iterator[ProjectTrustItem]:
        file = self._paths.project_settings_file
        try:
            text = read_text(file)
            data = None if text is None else parse_json_with_comments(text)
        except (FileError, JsonSyntaxError) as problem:
            why = problem.what if isinstance(problem, FileError) else problem
            yield self._make_item("settings", file, f"cannot be used: {why}")
            return
        if text is None:
            return
        from app.resources.settings.settings import all_setting_keys  # noqa: PLC0415  (only a project with settings pays for the table)

        yield self._make_item("settings", file, "the project's settings")
        known = {key.path: key for key in all_setting_keys()}
        named: dict[str, str] = {}
        for path, value in _leaf_settings(data, (), set(known)):
            if path[0] in (HOOKS_SETTING_KEY, STATUS_LINE_SETTING_KEY):
                continue  # each hook and the status line are separate items
            key, name = known.get(path), ".".join(path)
            shown = json.dumps(value, ensure_ascii=False)
            yield ProjectTrustItem(
                kind="command" if key is not None and key.runs else "settings",
                path=self._display_path(file),
                detail=f"{name} = {shown}",
                fingerprint=hash_of_text(shown),
            )
            if name in _SETTINGS_THAT_NAME_PATHS:
                named.update((word, name) for word in self._possible_paths(value))
        for word, name in named.items():
            yield from self._named_file_items(word, name)

    def _hook_items(self) -> Iterator[ProjectTrustItem]:
        """Yields one item per hook, and the files in the project that its command names, as scripts are."""
        named: dict[str, None] = {}
        for file in project_hook_files(self._paths):
            if not exists(file) or self._paths.symlink_escape(file):
                continue
            read = read_hook_file(file, is_project=True)
            for hook in read.hooks:
                yield ProjectTrustItem(
                    kind="hook",
                    path=self._display_path(file),
                    detail=hook.detail,
                    fingerprint=hash_of_text(f"{hook.detail}\0{hook.timeout_seconds}"),
                )
                named.update(dict.fromkeys(self._possible_paths(hook.command_line)))
            if read.status_line is not None:
                command = read.status_line.command
                yield ProjectTrustItem(
                    kind="hook",
                    path=self._display_path(file),
                    detail=f"{STATUS_LINE_SETTING_KEY}: {command}",
                    fingerprint=hash_of_text(command),
                )
                named.update(dict.fromkeys(self._possible_paths(command)))
            if not read.hooks and read.problems:
                yield self._make_item("hook", file, f"cannot be used: {read.problems[0]}")
        for word in named:
            path = self._paths.home / word[2:] if word.startswith("~/") else self._paths.cwd / word
            if path.is_relative_to(self._top) and is_file(path):  # what a folder contains may change often
                yield self._make_item("hook", path, "named by a hook")
        scripts = self._paths.cwd / ".claude" / "hooks"
        if named and _is_not_empty(scripts):  # scripts there use one another
            yield self._make_item("hook", scripts, "the scripts of hooks")

    def _possible_paths(self, value: Any) -> Iterator[str]:
        """Yields the parts of a setting's value that may be paths: each text of a list, or each word of a
        command in shell syntax."""
        if isinstance(value, list):
            yield from (word.removeprefix("+") for word in value if isinstance(word, str) and word)
        elif isinstance(value, str):
            yield value
            here = {name: path for name, path in os.environ.items() if path.startswith(f"{self._top}/")}
            known = {**here, "PWD": ".", "HOME": str(self._paths.home)}
            known |= dict.fromkeys(("CLAUDE_PROJECT_DIR", "BAYOU_PROJECT_DIR"), str(self._paths.cwd))
            for word in shell_words(value, known):
                # Words such as `.` or `..` would name the whole folder, which a command does not mean.
                if not self._paths.cwd.is_relative_to(os.path.normpath(self._paths.cwd / word)):
                    yield from self._matching_files(word)

    def _matching_files(self, word: str) -> Iterator[str]:
        yield word
        pattern = word.removeprefix("./").replace("**", "*")
        steps = sum(_GLOB_CHARACTERS.search(part) is not None for part in pattern.split("/"))
        if not 0 < steps <= _MOST_STEPS or self._patterns >= _MOST_PATTERNS:
            return
        self._patterns += 1
        try:
            found = sorted(islice(self._paths.cwd.glob(pattern), MAX_FINGERPRINT_FILES + 1))
        except (
            ValueError,
            NotImplementedError,
            OSError,
        ):  # not a valid pattern, or one that begins at the root
            return
        yield from map(str, found)

    def _named_file_items(self, word: str, setting: str) -> Iterator[ProjectTrustItem]:
        """Yields the file or folder that a setting names. Programs outside the project are left out, because
        the project cannot change them."""
        path = self._paths.home / word[2:] if word.startswith("~/") else self._paths.cwd / word
        is_program = setting in ("shellPath", "externalEditor", "eval.python")
        if exists(path) and not (is_program and not path.is_relative_to(self._top)):
            yield self._make_item("command" if is_program else "extension", path, f"named by {setting}")

    def _server_items(self) -> Iterator[ProjectTrustItem]:
        """Yields one item per server, so that a later question names the servers that changed."""
        files = [path for path in project_mcp_server_files(self._paths) if exists(path)]
        if not files:
            return
        from app.resources.trust.project_servers import project_servers  # noqa: PLC0415  (most projects bring none)

        for file in files:
            if file == user_mcp_servers_file(self._paths) or self._paths.symlink_escape(file):
                continue  # the user's own file, and files that are not read anyway
            for each in project_servers(read_mcp_server_file(file)):
                yield ProjectTrustItem(
                    kind="server",
                    path=self._display_path(file),
                    detail=each.detail,
                    fingerprint=hash_of_text(each.content),
                    exceeded_limit=each.exceeded_limit,
                )

    def _command_items(self) -> Iterator[ProjectTrustItem]:
        """Yields one item per command file, with the commands of the shell that it runs."""
        folder = self._paths.cwd / CLAUDE_COMMANDS_FOLDER
        if self._paths.cwd == self._paths.home:
            return
        for name, file in command_files(folder):
            if self._paths.symlink_escape(file):
                continue
            try:
                runs = shell_commands_in_body(read_text(file) or "")
            except FileError:
                continue
            words = "; ".join(runs)
            yield self._make_item(
                "command" if runs else "prompt", file, f"/{name}{f' runs {words}' if runs else ''}"
            )

    def _context_import_items(self) -> Iterator[ProjectTrustItem]:
        """Yields one item per import of a context file, with the text of the imported page. Of a context file, which
        is read without trust, only the name counts."""
        context_files = project_context_files(self._paths)
        for file in context_files:
            try:
                text = read_text(file) or ""
            except FileError:
                continue
            if "@" not in text:
                continue
            imported = read_context_file_imports(
                file, text, home=self._paths.home, may_import=make_project_import_test(self._paths)
            )
            for one in imported.files:
                detail = f"imports {self._display_path(one.path)}"
                text = "" if one.path in context_files else one.text
                yield ProjectTrustItem(
                    kind="prompt",
                    path=self._display_path(file),
                    detail=detail,
                    fingerprint=hash_of_text(f"{detail}\0{text}"),
                )

    def _foreign_rule_items(self) -> Iterator[ProjectTrustItem]:
        cwd = self._paths.cwd
        places = [cwd / ".cursor" / "rules", cwd / ".windsurf" / "rules"]
        places += [folder / ".clinerules" for folder in folders_up_to_project_top(cwd, self._top)]
        for place in places:
            if is_file(place) or _is_not_empty(place):
                yield self._make_item("rules", place, "rules written for another agent")

    def _repository_items(self) -> Iterator[ProjectTrustItem]:
        """Yields the programs that git would start, in added folders too: undo and maps call git there."""
        for folder in (self._paths.cwd, *self._paths.added_folders.paths):
            repository = find_repository(folder)
            for oddity in repository.risky_settings(self._paths.home) if repository is not None else ():
                yield ProjectTrustItem(
                    kind="git",
                    path=self._display_path(oddity.file),
                    detail=oddity.text,
                    fingerprint=hash_of_text(oddity.text),
                )

    def _make_item(self, kind: ProjectItemKind, path: Path, detail: str) -> ProjectTrustItem:
        mark = self._file_fingerprint(path)
        if isinstance(mark, ContentTooLargeToHash):
            return ProjectTrustItem(
                kind=kind, path=self._display_path(path), detail=detail, exceeded_limit=str(mark)
            )
        return ProjectTrustItem(kind=kind, path=self._display_path(path), detail=detail, fingerprint=mark)

    def _file_fingerprint(self, path: Path) -> "str | ContentTooLargeToHash":
        real = os.path.realpath(path)
        key = f"{path.name}\0{real}"
        if key not in self._known:
            try:
                self._known[key] = fingerprint(path)
            except ContentTooLargeToHash as problem:
                self._known[key] = problem
        return self._known[key]

    def _display_path(self, path: Path) -> str:
        if path.is_relative_to(self._paths.cwd):
            return path.relative_to(self._paths.cwd).as_posix()
        return str(path)


def _is_not_empty(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def _leaf_settings(
    data: Any, path: tuple[str, ...], known: set[tuple[str, ...]]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields each setting with its value; an unknown key is yielded with its whole value."""
    if isinstance(data, dict) and path not in known:
        for name, value in data.items():
            yield from _leaf_settings(value, (*path, name), known)
    elif path != ("$schema",):
        yield path, data


def shell_words(command: str, variables: Mapping[str, str]) -> Iterator[str]:
    """Yields the words of a shell command, with these variables expanded as in a shell."""

    def value(match: re.Match[str]) -> str:
        name = match["braced"] or match["bare"]
        return variables.get(name, match[0])

    text = _SHELL_VARIABLE_PATTERN.sub(value, _CURRENT_FOLDER_PATTERN.sub(variables.get("PWD", "."), command))
    try:
        words = shlex.split(re.sub(r"[;&|<>()`]", " ", text))
    except ValueError:
        words = re.split(r"[\s;&|<>()`'\"]+", text)
    for word in words:
        name, is_set, rest = word.partition("=")
        yield from (part for part in (word, rest if is_set and name else "") if part)


def programs_and_addresses_in_json(file: Path) -> str:
    """Returns the `!command` values, server commands and addresses in a JSON file; empty if there are none."""
    try:
        data = parse_json_with_comments(read_text(file) or "{}")
    except (FileError, JsonSyntaxError):
        return "cannot be read"
    return "; ".join(sorted(set(_describing_texts(data))))


def _describing_texts(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        command = data.get("command")
        if isinstance(command, str):
            arguments = data.get("args")
            words = [command, *map(str, arguments)] if isinstance(arguments, list) else [command]
            yield " ".join(words)
        for value in data.values():
            yield from _describing_texts(value)
    elif isinstance(data, list):
        for value in data:
            yield from _describing_texts(value)
    elif isinstance(data, str) and (data.startswith("!") or "://" in data):
        yield data
