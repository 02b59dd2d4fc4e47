"""Defines the command line's flags as a table, parses the command line, and makes the help text."""

from collections.abc import Mapping
from typing import Any

import msgspec

from app.assembly.command_line_options import UsageError
from app.cli.subcommands import SUBCOMMAND_HELP


class CommandLineFlag(msgspec.Struct, frozen=True, kw_only=True):
    """One flag of the command line."""

    name: str
    """The long name without dashes; the option's field is the same with underscores."""
    short: str = ""
    value_placeholder: str = ""
    """The argument's name in the help; empty: the flag takes none."""
    help: str
    is_repeatable: bool = False
    choices: tuple[str, ...] = ()

    @property
    def field_name(self) -> str:
        return self.name.replace("-", "_")


class CommandLineFlagGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group of flags under one heading of the help."""

    title: str
    flags: tuple[CommandLineFlag, ...]


THINKING_LEVEL_NAMES = ("off", "minimal", "low", "medium", "high", "xhigh", "max")

COMMAND_LINE_FLAG_GROUPS: tuple[CommandLineFlagGroup, ...] = (
    CommandLineFlagGroup(
        title="Model",
        flags=(
            CommandLineFlag(
                name="model",
                value_placeholder="PATTERN",
                help="model id, provider/id or part of a name; add :LEVEL to set thinking",
            ),
            CommandLineFlag(
                name="provider",
                value_placeholder="NAME",
                help="search --model only among this provider's models",
            ),
            CommandLineFlag(
                name="api-key",
                value_placeholder="KEY",
                help="key for this run; not stored (prefer the environment or /login)",
            ),
            CommandLineFlag(
                name="thinking",
                value_placeholder="LEVEL",
                help="how much the model thinks",
                choices=THINKING_LEVEL_NAMES,
            ),
            CommandLineFlag(
                name="models", value_placeholder="PATTERNS", help="comma-separated models to cycle through"
            ),
            CommandLineFlag(name="list-models", help="list the models (a search word may follow) and exit"),
        ),
    ),
    CommandLineFlagGroup(
        title="Session",
        flags=(
            CommandLineFlag(name="continue", short="c", help="continue this folder's latest session"),
            CommandLineFlag(name="resume", short="r", help="choose a session to resume"),
            CommandLineFlag(name="session", value_placeholder="FILE|ID", help="open this session"),
            CommandLineFlag(
                name="session-id", value_placeholder="ID", help="open the session with this id, or start it"
            ),
            CommandLineFlag(
                name="fork", value_placeholder="FILE|ID", help="copy a session and continue in the copy"
            ),
            CommandLineFlag(
                name="session-dir", value_placeholder="DIR", help="store session files in this folder"
            ),
            CommandLineFlag(name="no-session", help="do not save the session"),
            CommandLineFlag(name="name", short="n", value_placeholder="NAME", help="name the session"),
            CommandLineFlag(
                name="export",
                value_placeholder="FILE",
                help="write a session as HTML (an output name may follow) and exit",
            ),
        ),
    ),
    CommandLineFlagGroup(
        title="Output",
        flags=(
            CommandLineFlag(name="print", short="p", help="answer the prompt on standard output and exit"),
            CommandLineFlag(
                name="mode",
                value_placeholder="MODE",
                help="output format: text, json (one event a line), rpc, or acp (for editors)",
                choices=("text", "json", "rpc", "acp"),
            ),
            CommandLineFlag(
                name="output-schema",
                value_placeholder="FILE",
                help="require an answer that matches the JSON Schema in this file (text and json output)",
            ),
            CommandLineFlag(
                name="result",
                value_placeholder="DIR",
                help="write answer, patch, usage, trajectory and session into this folder (text and json output)",
            ),
            CommandLineFlag(
                name="no-merge-deltas",
                help="json and rpc: print each text delta as the provider sent it, without joining",
            ),
            CommandLineFlag(name="rpc-ready", help="rpc: print a line when ready for commands"),
            CommandLineFlag(name="verbose", help="show model, tools, skills and extensions at startup"),
        ),
    ),
    CommandLineFlagGroup(
        title="Limits",
        flags=(
            CommandLineFlag(
                name="max-turns", value_placeholder="N", help="make at most N requests to the model"
            ),
            CommandLineFlag(
                name="max-cost",
                value_placeholder="USD",
                help="stop before the next request once this much is spent",
            ),
            CommandLineFlag(
                name="max-tokens",
                value_placeholder="N",
                help="stop before the next request once this many tokens were sent and received",
            ),
            CommandLineFlag(
                name="time-limit",
                value_placeholder="SECONDS",
                help="stop after this many seconds, running tools too",
            ),
            CommandLineFlag(
                name="goal-check",
                value_placeholder="COMMAND",
                is_repeatable=True,
                help="the prompt is a goal: continue until this command exits with 0 (text and json output)",
            ),
        ),
    ),
    CommandLineFlagGroup(
        title="Prompt and tools",
        flags=(
            CommandLineFlag(
                name="system-prompt", value_placeholder="TEXT|FILE", help="replace the system prompt"
            ),
            CommandLineFlag(
                name="append-system-prompt",
                value_placeholder="TEXT|FILE",
                is_repeatable=True,
                help="add to the system prompt",
            ),
            CommandLineFlag(
                name="tools",
                short="t",
                value_placeholder="NAMES",
                help="use only these tools, or +name,-name to change the default",
            ),
            CommandLineFlag(
                name="exclude-tools",
                short="xt",
                value_placeholder="NAMES",
                help="do not use these tools (patterns with *)",
            ),
            CommandLineFlag(name="no-tools", short="nt", help="use no tools"),
            CommandLineFlag(name="no-builtin-tools", short="nbt", help="use none of bayou's built-in tools"),
            CommandLineFlag(
                name="permissions",
                value_placeholder="MODE",
                help="permission mode: what runs without approval",
                choices=("read-only", "ask", "auto-edit", "full"),
            ),
            CommandLineFlag(name="plan", help="start in plan mode: no changes until you accept a plan"),
            CommandLineFlag(name="no-context-files", short="nc", help="do not read AGENTS.md and CLAUDE.md"),
        ),
    ),
    CommandLineFlagGroup(
        title="Resources",
        flags=(
            CommandLineFlag(
                name="extension",
                short="e",
                value_placeholder="PATH",
                is_repeatable=True,
                help="load an extension (builtin:NAME for a built-in one)",
            ),
            CommandLineFlag(name="no-extensions", short="ne", help="load only extensions given with -e"),
            CommandLineFlag(name="safe", help="start without extensions"),
            CommandLineFlag(name="skill", value_placeholder="PATH", is_repeatable=True, help="load a skill"),
            CommandLineFlag(name="no-skills", short="ns", help="load only skills given with --skill"),
            CommandLineFlag(
                name="prompt-template",
                value_placeholder="PATH",
                is_repeatable=True,
                help="load a prompt template",
            ),
            CommandLineFlag(
                name="no-prompt-templates",
                short="np",
                help="load only templates given with --prompt-template",
            ),
            CommandLineFlag(
                name="theme", value_placeholder="PATH", is_repeatable=True, help="load a theme file or folder"
            ),
            CommandLineFlag(name="use-theme", value_placeholder="NAME", help="start with this theme"),
            CommandLineFlag(name="no-themes", help="load only built-in themes and those given with --theme"),
            CommandLineFlag(
                name="mcp-config", value_placeholder="FILE", help="also use the MCP servers in this file"
            ),
            CommandLineFlag(name="no-mcp", help="use no MCP servers"),
            CommandLineFlag(name="approve", short="a", help="trust this project for this run"),
            CommandLineFlag(name="no-approve", short="na", help="do not trust this project for this run"),
        ),
    ),
    CommandLineFlagGroup(
        title="Other",
        flags=(
            CommandLineFlag(name="cwd", value_placeholder="DIR", help="use this working folder"),
            CommandLineFlag(
                name="add-dir",
                value_placeholder="DIR",
                is_repeatable=True,
                help="also read and change files in this folder",
            ),
            CommandLineFlag(
                name="offline", help="make no automatic network requests (like the setting offline)"
            ),
            CommandLineFlag(name="help", short="h", help="show this help and exit"),
            CommandLineFlag(name="version", short="v", help="show the version and exit"),
        ),
    ),
)

COMMAND_LINE_FLAGS = tuple(flag for group in COMMAND_LINE_FLAG_GROUPS for flag in group.flags)


class ParsedCommandLine(msgspec.Struct, frozen=True, kw_only=True):
    """The parsed command line, before its values are checked."""

    values: Mapping[str, Any]
    """Values by field: True for a switch, text for a value, a list for a repeatable flag."""
    words: tuple[str, ...]
    """The words that are neither flags nor values of flags."""
    unknown: Mapping[str, str | bool] = {}
    """Long flags that are not in the table; an extension may define them."""
    unknown_flag_positions: Mapping[str, int] = {}
    """For each unknown flag, the index of the word behind it, which is its value if the extension expects
    one."""


def parse_command_line(arguments: list[str]) -> ParsedCommandLine:
    """Parses the command line. Raises `UsageError`."""
    by_name = {f"--{flag.name}": flag for flag in COMMAND_LINE_FLAGS} | {
        f"-{flag.short}": flag for flag in COMMAND_LINE_FLAGS if flag.short
    }
    values: dict[str, Any] = {}
    words: list[str] = []
    unknown: dict[str, str | bool] = {}
    follows: dict[str, int] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if not word.startswith("-") or word == "-" or word.startswith("---"):
            words.append(word)
            continue
        name, separator, inline = word.partition("=")
        flag = by_name.get(name)
        if flag is None:
            if not name.startswith("--"):
                raise UsageError(f"Unknown option: {name}. See bayou --help.")
            unknown[name[2:]] = inline if separator else True
            follows.pop(name[2:], None)
            if not separator and rest and not rest[0].startswith("-"):
                follows[name[2:]] = len(words)
            continue
        _read_value(flag, inline if separator else None, rest, values)
    return ParsedCommandLine(
        values=values, words=tuple(words), unknown=unknown, unknown_flag_positions=follows
    )


def _read_value(flag: CommandLineFlag, inline: str | None, rest: list[str], values: dict[str, Any]) -> None:
    if not flag.value_placeholder:
        if inline is not None:
            raise UsageError(f"--{flag.name} takes no value.")
        values[flag.field_name] = True
        return
    if inline is None and not rest:
        raise UsageError(f"--{flag.name} needs a value: {flag.value_placeholder}.")
    value = rest.pop(0) if inline is None else inline
    if flag.choices and value not in flag.choices:
        raise UsageError(f"--{flag.name} {value}: not one of {', '.join(flag.choices)}.")
    if flag.is_repeatable:
        values.setdefault(flag.field_name, []).append(value)
    else:
        values[flag.field_name] = value


def command_line_help_text() -> str:
    lines = [
        "bayou: a coding agent in your terminal",
        "",
        "Usage: bayou [options] [@file…] [message…]",
        "       bayou COMMAND …",
        "",
        "Without a message bayou opens full screen. The text of each @file is put before the first message.",
    ]
    lines += ["", "Commands:", *(f"  {name:<34}{text}" for name, text in SUBCOMMAND_HELP.items())]
    for group in COMMAND_LINE_FLAG_GROUPS:
        lines += ["", f"{group.title}:"]
        lines += [_help_line(flag) for flag in group.flags]
    return "\n".join(lines)


def _help_line(flag: CommandLineFlag) -> str:
    short = f"-{flag.short}, " if flag.short else ""
    name = f"  {short}--{flag.name}{' ' + flag.value_placeholder if flag.value_placeholder else ''}"
    if len(name) > 34:
        return f"{name}\n{'':36}{flag.help}"
    return f"{name:<36}{flag.help}"
