"""Reads hooks from settings files, Claude Code's and bayou's own, without running anything.

A hook is a command that an event starts. `app.extensions.command_hooks` runs them; the trust question lists
those of a project."""

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from app.resources.paths import BayouPaths
from app.resources.plugin_folder import PluginFolder
from app.resources.text_files import read_text
from app.values.json_comments import JsonSyntaxError, parse_json_with_comments
from app.values.user_errors import FileError
from tools.lazy_patterns import lazy_regex
from tools.text_sanitizing import one_line

HOOKS_SETTING_KEY = "hooks"
HOOKS_OFF_SETTING_KEY = "disableAllHooks"
STATUS_LINE_SETTING_KEY = "statusLine"
HookEvent = Literal[
    "PreToolUse",
    "PostToolUse",
    "UserPromptSubmit",
    "Stop",
    "SubagentStop",
    "SessionStart",
    "SessionEnd",
    "PreCompact",
    "Notification",
]
HOOK_EVENTS: tuple[HookEvent, ...] = get_args(HookEvent)
DEFAULT_HOOK_TIMEOUT_SECONDS = 60.0
MAX_HOOK_TIMEOUT_SECONDS = 3600.0
_MAX_HOOK_NAME_CHARS = 80
_PLAIN_HOOK_MATCHER_PATTERN = lazy_regex(r"[\w|\- ]+")


class HookMatcher(msgspec.Struct, frozen=True, kw_only=True):
    """A pattern that selects the tools, sources or triggers that a hook is for: `Bash`, `Edit|Write`, an
    expression, or all."""

    text: str = ""

    def matches(self, names: tuple[str, ...]) -> bool:
        """Says whether one of the names matches. A text that is no expression matches everything, so that no
        guard is lost to a mistake."""
        if self.text in ("", "*"):
            return True
        if _PLAIN_HOOK_MATCHER_PATTERN.fullmatch(self.text):
            return not {part.strip() for part in self.text.split("|")}.isdisjoint(names)
        try:
            pattern = re.compile(self.text)
        except re.error:
            return True
        return any(pattern.search(name) for name in names)


class ConfiguredHook(msgspec.Struct, frozen=True, kw_only=True):
    """One hook of a settings file: the event, the matcher and the command to run."""

    event: HookEvent
    command: str
    arguments: tuple[str, ...] | None = None
    """The arguments of the hook's program; None: `command` is a line for the shell."""
    matcher: HookMatcher = HookMatcher()
    timeout_seconds: float = DEFAULT_HOOK_TIMEOUT_SECONDS
    fails_open: bool = False
    """Whether a failure of the hook lets pass what it guards."""
    file: Path
    is_project: bool = False
    plugin: PluginFolder | None = None

    @property
    def command_line(self) -> str:
        return self.command if self.arguments is None else shlex.join((self.command, *self.arguments))

    @property
    def name(self) -> str:
        """The command line in at most 80 characters, for messages."""
        line = one_line(self.command_line)
        return line if len(line) <= _MAX_HOOK_NAME_CHARS else f"{line[: _MAX_HOOK_NAME_CHARS - 1]}…"

    @property
    def purpose(self) -> str:
        """The hook's event, matcher and options in one line."""
        words = [self.event, self.matcher.text if self.matcher.text not in ("", "*") else ""]
        if self.fails_open:
            words.append("(failOpen)")
        return " ".join(filter(None, words))

    @property
    def detail(self) -> str:
        """All values of the hook in one line."""
        return f"{self.purpose}: {self.command_line}"


class ConfiguredStatusLine(msgspec.Struct, frozen=True, kw_only=True):
    """The command that makes the status line."""

    command: str
    is_project: bool = False


class HooksOfFile(msgspec.Struct, frozen=True, kw_only=True):
    """The valid hooks of one settings file, and the problems of the others."""

    path: Path
    hooks: tuple[ConfiguredHook, ...] = ()
    status_line: ConfiguredStatusLine | None = None
    problems: tuple[str, ...] = ()
    is_switched_off: bool = False
    """Whether the file switches hooks off (`disableAllHooks`)."""
    is_unreadable: bool = False
    is_of_plugin: bool = False


class FoundHooks(msgspec.Struct, frozen=True, kw_only=True):
    """The hooks that apply, in the order in which their answers count, and the problems of their files."""

    hooks: tuple[ConfiguredHook, ...] = ()
    status_line: ConfiguredStatusLine | None = None
    """The command of the status line from the last file that has one; None if no file has."""
    problems: tuple[str, ...] = ()


def user_hook_files(paths: BayouPaths) -> tuple[Path, ...]:
    return (paths.home / ".claude" / "settings.json", paths.settings_file)


def project_hook_files(paths: BayouPaths) -> tuple[Path, ...]:
    """Returns the project's files, without those that are the user's own because the project is the home."""
    claude = paths.cwd / ".claude"
    files = (claude / "settings.json", claude / "settings.local.json", paths.project_settings_file)
    return tuple(file for file in files if file not in user_hook_files(paths))


def find_hooks(
    paths: BayouPaths, *, is_trusted: bool, plugins: Iterable[tuple[PluginFolder, Path]] = ()
) -> FoundHooks:
    """Reads the user's files, those of installed plugins and, if the project is trusted, the project's.
    `disableAllHooks` in a file of the user switches all hooks off, in a file of the project the project's."""
    own = [read_hook_file(file) for file in user_hook_files(paths)]
    if any(file.is_switched_off for file in own):
        return FoundHooks()
    own += [read_hook_file(file, plugin=plugin) for plugin, file in plugins]
    project: list[HooksOfFile] = []
    if is_trusted:
        for file in project_hook_files(paths):
            escape = paths.symlink_escape(file)
            project.append(read_hook_file(file, is_project=True, symlink_escape=escape))
    if any(file.is_switched_off for file in project):
        project = []
    files = [*own, *project]
    settings = (
        paths.settings_file,
        paths.project_settings_file,
    )  # the settings say when these are unreadable
    reported = [file for file in files if not (file.is_unreadable and file.path in settings)]
    # What of a plugin does not run was said when it was installed.
    reported = [file for file in reported if file.is_unreadable or not file.is_of_plugin]
    return FoundHooks(
        hooks=tuple(hook for file in files for hook in file.hooks),
        status_line=next(
            (file.status_line for file in reversed(files) if file.status_line is not None), None
        ),
        problems=tuple(f"{file.path}: {problem}" for file in reported for problem in file.problems),
    )


def read_hook_file(
    path: Path, *, is_project: bool = False, symlink_escape: str = "", plugin: PluginFolder | None = None
) -> HooksOfFile:
    """Reads the hooks of a settings file and never raises: a fault becomes a problem. A missing file has no
    hooks."""
    if symlink_escape:
        return HooksOfFile(path=path, problems=(f"{symlink_escape}.",))
    try:
        text = read_text(path)
        data = parse_json_with_comments(text) if text is not None and text.strip() else {}
    except FileError as problem:
        return HooksOfFile(
            path=path, problems=(f"{problem.what}. None of its hooks run.",), is_unreadable=True
        )
    except JsonSyntaxError as problem:
        words = f"line {problem.line}: {problem.message}. None of its hooks run."
        return HooksOfFile(path=path, problems=(words,), is_unreadable=True)
    table = data.get(HOOKS_SETTING_KEY, {}) if isinstance(data, dict) else None
    if plugin is not None and isinstance(data, dict):
        table = _plugin_table(data)
    if not isinstance(data, dict) or not isinstance(table, dict):
        words = f'`{HOOKS_SETTING_KEY}` must be an object: {{ "EVENT": [ … ] }}.'
        return HooksOfFile(path=path, problems=(words,), is_unreadable=table is None)
    reader = _HookReader(path, is_project=is_project, plugin=plugin)
    hooks = tuple(reader.read_hooks(table))
    has_line = STATUS_LINE_SETTING_KEY in data and plugin is None
    line = reader.read_status_line(data[STATUS_LINE_SETTING_KEY]) if has_line else None
    return HooksOfFile(
        path=path,
        hooks=hooks,
        status_line=line,
        problems=tuple(reader.problems),
        is_switched_off=data.get(HOOKS_OFF_SETTING_KEY) is True and plugin is None,
        is_of_plugin=plugin is not None,
    )


def _plugin_table(data: dict[str, Any]) -> Any:
    """Returns the hooks of a plugin's file: a table below `hooks`, which a manifest may nest once more, or the events
    themselves."""
    table = data.get(HOOKS_SETTING_KEY, {})
    if isinstance(table, dict) and isinstance(table.get(HOOKS_SETTING_KEY), dict):
        return table[HOOKS_SETTING_KEY]
    is_bare = HOOKS_SETTING_KEY not in data and any(event in HOOK_EVENTS for event in data)
    return data if is_bare else table


class _HookReader:
    """Reads the table of hooks of one file."""

    def __init__(self, path: Path, *, is_project: bool, plugin: PluginFolder | None) -> None:
        self.problems: list[str] = []
        self._path = path
        self._is_project = is_project
        self._plugin = plugin

    def read_hooks(self, table: dict[str, Any]) -> Iterator[ConfiguredHook]:
        for event, groups in table.items():
            if event not in HOOK_EVENTS:
                self.problems.append(f"{event}: bayou has no such event; its hooks do not run.")
                continue
            if not isinstance(groups, list):
                self.problems.append(f"{event}: must be a list of groups: [ {{ … }} ].")
                continue
            for number, group in enumerate(groups, 1):
                yield from self._read_group(event, group, f"{event}, group {number}")

    def read_status_line(self, entry: Any) -> ConfiguredStatusLine | None:
        command = entry.get("command") if isinstance(entry, dict) else None
        if not isinstance(command, str) or not command.strip() or "\0" in command:
            self.problems.append(
                f'{STATUS_LINE_SETTING_KEY}: needs a command: {{ "command": "…" }}; it is ignored.'
            )
            return None
        return ConfiguredStatusLine(command=command, is_project=self._is_project)

    def _read_group(self, event: HookEvent, group: Any, where: str) -> Iterator[ConfiguredHook]:
        entries = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(entries, list):
            self.problems.append(f"{where}: needs a list `hooks`; it is ignored.")
            return
        matcher = group.get("matcher") or ""
        if not isinstance(matcher, str):
            self.problems.append(f"{where}: `matcher` must be a text; its hooks run for everything.")
            matcher = ""
        elif not _PLAIN_HOOK_MATCHER_PATTERN.fullmatch(matcher) and matcher not in ("", "*"):
            try:
                re.compile(matcher)
            except re.error as problem:
                self.problems.append(
                    f"{where}: the matcher {matcher!r} is not a valid expression ({problem}); its hooks "
                    f"run for everything."
                )
        for number, entry in enumerate(entries, 1):
            hook = self._read_hook(event, HookMatcher(text=matcher), entry, f"{where}, hook {number}")
            if hook is not None:
                yield hook

    def _read_hook(
        self, event: HookEvent, matcher: HookMatcher, entry: Any, where: str
    ) -> ConfiguredHook | None:
        if not isinstance(entry, dict):
            self.problems.append(f"{where}: must be an object; it is ignored.")
            return None
        if entry.get("type", "command") != "command":
            self.problems.append(f"{where}: bayou runs hooks of type `command` only; it is ignored.")
            return None
        command, arguments = entry.get("command"), entry.get("args")
        if not isinstance(command, str) or not command.strip() or "\0" in command:
            self.problems.append(f"{where}: needs a `command`; it is ignored.")
            return None
        if arguments is not None and not (
            isinstance(arguments, list) and all(isinstance(one, str) for one in arguments)
        ):
            self.problems.append(f"{where}: `args` must be a list of texts; it is ignored.")
            return None
        return ConfiguredHook(
            event=event,
            command=command,
            arguments=None if arguments is None else tuple(arguments),
            matcher=matcher,
            timeout_seconds=self._read_timeout(entry.get("timeout"), where),
            fails_open=entry.get("failOpen") is True,
            file=self._path,
            is_project=self._is_project,
            plugin=self._plugin,
        )

    def _read_timeout(self, value: Any, where: str) -> float:
        if value is None:
            return DEFAULT_HOOK_TIMEOUT_SECONDS
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            self.problems.append(
                f"{where}: `timeout` must be a number of seconds above 0; {DEFAULT_HOOK_TIMEOUT_SECONDS:g} is "
                f"used."
            )
            return DEFAULT_HOOK_TIMEOUT_SECONDS
        return min(float(value), MAX_HOOK_TIMEOUT_SECONDS)
