"""Commands in Claude Code's form: Markdown files below `.claude/commands`, which are prompt templates that may run
commands of the shell and name files."""

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from app.resources.context_imports import FILE_MENTION_PATTERN
from tools.files.path_existence import is_dir
from tools.lazy_patterns import lazy_regex

CLAUDE_COMMANDS_FOLDER = Path(".claude") / "commands"
MAX_COMMAND_FILES = 500
_MAX_COMMAND_FOLDER_DEPTH = 4
_SHELL_COMMAND_IN_BODY_PATTERN = lazy_regex(r"!`([^`\n]+)`")
_ALLOWED_TOOL_ENTRY_PATTERN = lazy_regex(r"[\w*.\-]+(?:\([^)]*\))?")
_PLAIN_SHELL_COMMAND_PATTERN = lazy_regex(r"[^;&|<>$`\n()]*\Z")


class CommandAllowedTools(msgspec.Struct, frozen=True, kw_only=True):
    """The tools that a command's `allowed-tools` names, such as `Read` and `Bash(git add:*)`."""

    entries: tuple[str, ...]

    def allows_call(self, names: Sequence[str], command: str | None) -> bool:
        """Says whether the entries allow a call of the tool with these names. `command`: the command line of a
        shell call; a pattern covers single plain commands only."""
        for entry in self.entries:
            name, _, pattern = entry.partition("(")
            is_named = name in names or (
                name.endswith("*") and any(one.startswith(name[:-1]) for one in names)
            )
            if is_named and (
                not pattern or command is None or _matches_pattern(pattern.removesuffix(")"), command)
            ):
                return True
        return False


def _matches_pattern(pattern: str, command: str) -> bool:
    words, pattern = command.strip(), pattern.strip()
    if pattern in ("", "*", ":*"):
        return True
    if _PLAIN_SHELL_COMMAND_PATTERN.match(words) is None:
        return False
    begin = pattern.removesuffix("*").removesuffix(":").strip()
    return words == begin or (pattern.endswith("*") and words.startswith(f"{begin} "))


def read_allowed_tools(value: Any) -> CommandAllowedTools | None:
    """Reads the field `allowed-tools`, a text or a list; None if it names nothing."""
    texts = value if isinstance(value, list) else [value]
    entries = [
        entry
        for text in texts
        if isinstance(text, str)
        for entry in _ALLOWED_TOOL_ENTRY_PATTERN.findall(text)
    ]
    return CommandAllowedTools(entries=tuple(entries)) if entries else None


class ShellCommandInBody(msgspec.Struct, frozen=True, kw_only=True):
    """A command of the shell in a body, whose output is inserted."""

    command: str

    def with_arguments(self, arguments: Sequence[str]) -> str:
        """Returns the shell command preceded by a line that sets `$1`, `$@` and `$ARGUMENTS`. They reach the shell
        as values, so that no argument becomes code."""
        if "$" not in self.command:
            return self.command
        words = " ".join(map(shlex.quote, arguments))
        return f"set -- {words}; ARGUMENTS={shlex.quote(' '.join(arguments))}\n{self.command}"


def parts_of_command_body(body: str) -> Iterator[str | ShellCommandInBody]:
    """Yields the parts of a command file's body in order: texts, and the shell commands between them."""
    at = 0
    for found in _SHELL_COMMAND_IN_BODY_PATTERN.finditer(body):
        yield body[at : found.start()]
        yield ShellCommandInBody(command=found[1].strip())
        at = found.end()
    yield body[at:]


def shell_commands_in_body(body: str) -> tuple[str, ...]:
    """Returns the commands of the shell in a body."""
    return tuple(part.command for part in parts_of_command_body(body) if isinstance(part, ShellCommandInBody))


def files_mentioned_in_command(text: str) -> tuple[str, ...]:
    """Returns the words after an `@` in a command file's body, which may be files, each once."""
    return tuple(
        dict.fromkeys(name.rstrip(".") for name in FILE_MENTION_PATTERN.findall(text) if name.rstrip("."))
    )


def command_files(folder: Path) -> tuple[tuple[str, Path], ...]:
    """Returns the commands below a folder with their names: `review`, and `web:form` for `web/form.md`. Folders
    that are links are not entered."""
    found: list[tuple[str, Path]] = []
    for place, folders, files in os.walk(folder):
        parts = Path(place).relative_to(folder).parts
        folders[:] = (
            sorted(name for name in folders if not name.startswith("."))
            if len(parts) < _MAX_COMMAND_FOLDER_DEPTH
            else []
        )
        for name in sorted(files):
            if name.endswith(".md") and len(found) < MAX_COMMAND_FILES:
                found.append((":".join((*parts, name.removesuffix(".md"))), Path(place) / name))
    return tuple(found) if is_dir(folder) else ()
