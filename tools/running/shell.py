"""How commands are run: which shell, in what environment, after which changes. Running them is in `commands`."""

import os
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from tools.base import ToolError
from tools.files.presence import exists, is_file
from tools.patterns import late
from tools.running.withheld import child_variables

if TYPE_CHECKING:
    from tools.running.interceptor import InterceptRule
    from tools.running.user_shell.shell_snapshot import UserShell

NON_INTERACTIVE: Final[Mapping[str, str]] = {
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
    # Editors accept what there is.
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "HGEDITOR": "true",
    # Nobody is there to be asked.
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

POSIX_SHELLS: Final = frozenset({"bash", "zsh", "sh", "dash", "ksh"})
_VARIABLE_NAME: Final = late(r"[A-Za-z_][A-Za-z0-9_]*")
_LEADING_CD: Final = late(
    r"""\s*cd\s+(?:"(?P<double>[^"$`\\]+)"|'(?P<single>[^']+)'|(?P<bare>[^\s"'$`\\;&|<>(){}*?\[\]#!-][^\s"'$`\\;&|<>(){}*?\[\]#!]*))\s*&&\s*(?P<rest>\S.*)""",
    re.DOTALL,
)


class SpawnPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is about to run. A hook may answer another."""

    command: str
    cwd: str
    environment: dict[str, str]


SpawnHook = Callable[[SpawnPlan], Awaitable[SpawnPlan]]


class ShellSettings(msgspec.Struct, frozen=True, kw_only=True):
    path: str | None = None
    """The shell; without one, the person's if it reads POSIX syntax, else bash, else sh."""
    prefix: str = ""
    """Put before every command."""
    may_use_shell: Callable[[], Awaitable[bool]] | None = None
    """Asked before every command whether path and prefix may be used; else `fallback` is."""
    fallback: "ShellSettings | None" = None
    is_persistent: bool = False
    """One shell for all commands of the session, so that `cd`, exports and functions last."""
    own: "UserShell | None" = None
    """Commands have the aliases, functions and options of the person's shell."""
    is_intercepting: bool = False
    """Refuse commands for which there is a better tool."""
    intercept_rules: "tuple[InterceptRule, ...]" = ()
    """The person's own rules of that kind, which go before bayou's."""
    has_terminals: bool = True
    """The model may run a command in a terminal that the person sees."""
    default_timeout: float | None = None
    """Seconds for a command that names none."""
    background_after_seconds: float | None = None
    """A command that takes longer goes to the background by itself."""
    passed_names: tuple[str, ...] = ()
    """Variables, or patterns with `*`, that commands see although they look like secrets."""


def child_environment(
    settings: ShellSettings,
    *,
    extra: Mapping[str, str] | None = None,
    is_interactive: bool = False,
) -> dict[str, str]:
    """What a command sees: this process's variables without secrets, prompts off unless someone can answer."""
    variables = child_variables(settings.passed_names)
    if not is_interactive:
        variables.update(NON_INTERACTIVE)
    variables.update({"AI_AGENT": "bayou", "BAYOU": "1", "PI_CODING_AGENT": "true"})
    variables.update(extra or {})
    return variables


def check_names(variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        if not _VARIABLE_NAME.fullmatch(name):
            raise ToolError(f"Invalid bash env name: {name}")
        if "\0" in value:
            raise ToolError(
                f"The value of the env variable {name} holds a null byte, which no process can get."
            )


def split_leading_cd(command: str) -> tuple[str | None, str]:
    """`cd X && rest` as (X, rest), where X is a plain path; anything else as (None, command)."""
    match = _LEADING_CD.fullmatch(command)
    if not match:
        return None, command
    return match["double"] or match["single"] or match["bare"], match["rest"]


def shell_argv(settings: ShellSettings, find_program: Callable[[str], str | None]) -> tuple[str, ...]:
    """The shell, ready for a command as its last argument."""
    if settings.path:
        if not is_file(Path(settings.path)):
            raise ToolError(
                f"The shell {settings.path} does not exist. Correct the shellPath setting or remove it."
            )
        return (settings.path, "-c")
    own = os.environ.get("SHELL", "")
    for name in (own if Path(own).name in POSIX_SHELLS else "", "/bin/bash", "bash", "/bin/sh"):
        found = name if name.startswith("/") and exists(Path(name)) else find_program(name) if name else None
        if found:
            return (found, "-c")
    raise ToolError("There is no shell: neither bash nor /bin/sh was found. Set shellPath to one.")


def with_prefix(settings: ShellSettings, command: str) -> str:
    return f"{settings.prefix} {command}" if settings.prefix else command
