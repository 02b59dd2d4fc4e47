"""Defines the settings for running commands: shell, environment, prefix. `running_command` runs them."""

import os
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from tools.files.path_existence import exists, is_file
from tools.lazy_patterns import lazy_regex
from tools.running.withheld_environment_variables import environment_for_child_processes
from tools.tool_definition import ToolError

if TYPE_CHECKING:
    from tools.running.command_interceptor import CommandInterceptRule
    from tools.running.user_shell.shell_snapshot import UserShellSnapshotCache

NON_INTERACTIVE_VARIABLES: Final[Mapping[str, str]] = {
    # Pagers show everything at once.
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "GH_PAGER": "cat",
    "AWS_PAGER": "",
    "BAT_PAGER": "cat",
    "DELTA_PAGER": "cat",
    "PSQL_PAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "LESS": "FRX",
    # Editors accept the present text.
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "HGEDITOR": "true",
    # Prompts are disabled, because no user can answer.
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS": "/usr/bin/false",
    "GIT_ASKPASS": "/usr/bin/false",
    "CI": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "NPM_CONFIG_YES": "true",
    "npm_config_yes": "true",
    "npm_config_fund": "false",
    "npm_config_audit": "false",
    "TF_INPUT": "0",
    "GH_PROMPT_DISABLED": "1",
    "POETRY_NO_INTERACTION": "1",
    "COMPOSER_NO_INTERACTION": "1",
    "HOMEBREW_NO_AUTO_UPDATE": "1",
    # Plain output.
    "TERM": "dumb",
    "NO_COLOR": "1",
    "CARGO_TERM_PROGRESS_WHEN": "never",
    "PYTHONUNBUFFERED": "1",
}

VARIABLES_READ_BY_SHELL: Final = ("PWD", "OLDPWD", "CDPATH", "GLOBIGNORE", "BASHOPTS", "SHELLOPTS")
"""Variables by which a shell takes `cd` or a pattern for something else than the permission check does."""
POSIX_SHELLS: Final = frozenset({"bash", "zsh", "sh", "dash", "ksh"})
_VARIABLE_NAME_PATTERN: Final = lazy_regex(r"[A-Za-z_][A-Za-z0-9_]*")
_LEADING_CD_PATTERN: Final = lazy_regex(
    r"""\s*cd\s+(?:"(?P<double>[^"$`\\]+)"|'(?P<single>[^']+)'|(?P<bare>[^\s"'$`\\;&|<>(){}*?\[\]#!-][^\s"'$`\\;&|<>(){}*?\[\]#!]*))\s*&&\s*(?P<rest>\S.*)""",
    re.DOTALL,
)


class CommandToSpawn(msgspec.Struct, frozen=True, kw_only=True):
    """The command that is about to run, with its folder and environment. A spawn hook may return another."""

    command: str
    cwd: str
    environment: dict[str, str]


BeforeSpawnHook = Callable[[CommandToSpawn], Awaitable[CommandToSpawn]]


class ShellSettings(msgspec.Struct, frozen=True, kw_only=True):
    shell_path: str | None = None
    """The path of the shell; None: the user's if it reads POSIX syntax, otherwise bash, otherwise sh."""
    command_prefix: str = ""
    """A text that is put before every command."""
    may_use_shell: Callable[[], Awaitable[bool]] | None = None
    """A function that is called before every command: returns whether `shell_path` and `command_prefix` may be
    used; if not, the settings in `fallback` apply."""
    fallback: "ShellSettings | None" = None
    is_persistent: bool = False
    """Whether one shell runs all commands of the session, so that `cd`, exports and functions last."""
    user_shell: "UserShellSnapshotCache | None" = None
    """The snapshot of the user's shell, which gives commands its aliases, functions and options; None: commands get
    none."""
    intercepts_commands: bool = False
    """Whether commands are refused for which there is a better tool."""
    intercept_rules: "tuple[CommandInterceptRule, ...]" = ()
    """The user's rules for refusing commands in favour of a tool; they precede the built-in ones."""
    has_terminals: bool = True
    """Whether the model may run a command in a visible terminal."""
    default_timeout: float | None = None
    """The time limit in seconds of a command that sets none; None: no limit."""
    background_after_seconds: float | None = None
    """The number of seconds after which a command moves to the background by itself; None: never."""
    passed_variable_names: tuple[str, ...] = ()
    """Names of variables, or patterns with `*`, that commands get although they look like secrets."""


def command_environment(
    settings: ShellSettings,
    *,
    extra: Mapping[str, str] | None = None,
    is_interactive: bool = False,
) -> dict[str, str]:
    """Returns the environment variables for commands: bayou's own without secrets, and such that disable prompts unless
    a user can answer."""
    variables = environment_for_child_processes(settings.passed_variable_names)
    for name in VARIABLES_READ_BY_SHELL:
        variables.pop(name, None)
    if not is_interactive:
        variables.update(NON_INTERACTIVE_VARIABLES)
    variables.update({"AI_AGENT": "bayou", "BAYOU": "1", "PI_CODING_AGENT": "true"})
    variables.update(extra or {})
    return variables


def check_environment_variable_names(variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        if not _VARIABLE_NAME_PATTERN.fullmatch(name):
            raise ToolError(f"Invalid bash env name: {name}")
        if "\0" in value:
            raise ToolError(
                f"The value of the env variable {name} contains a null byte, which no process accepts. "
                f"Remove it."
            )


def split_leading_cd(command: str) -> tuple[str | None, str]:
    """Splits `cd X && rest` into (X, rest), where X is a plain path; any other command is returned as (None,
    command)."""
    match = _LEADING_CD_PATTERN.fullmatch(command)
    if not match:
        return None, command
    return match["double"] or match["single"] or match["bare"], match["rest"]


def make_shell_argv(settings: ShellSettings, find_program: Callable[[str], str | None]) -> tuple[str, ...]:
    """Returns the arguments that start the shell, to which a command is appended."""
    if settings.shell_path:
        if not is_file(Path(settings.shell_path)):
            raise ToolError(
                f"The shell {settings.shell_path} does not exist. Correct the shellPath setting or remove it."
            )
        return (settings.shell_path, "-c")
    own = os.environ.get("SHELL", "")
    for name in (own if Path(own).name in POSIX_SHELLS else "", "/bin/bash", "bash", "/bin/sh"):
        found = name if name.startswith("/") and exists(Path(name)) else find_program(name) if name else None
        if found:
            return (found, "-c")
    raise ToolError("No shell was found, neither bash nor /bin/sh. Set shellPath to one.")


def add_command_prefix(settings: ShellSettings, command: str) -> str:
    return f"{settings.command_prefix} {command}" if settings.command_prefix else command
