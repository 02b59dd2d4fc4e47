"""Withholds variables that look like secrets from commands, and words a note when a command would have needed one."""

import os
import re
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Final

from tools.files.path_existence import exists
from tools.lazy_patterns import lazy_regex

_SECRET_VARIABLE_NAMES: Final = frozenset(
    {
        "ANTHROPIC_IDENTITY_TOKEN_FILE",
        "COMPOSER_AUTH",
        "DOCKER_AUTH_CONFIG",
        "PASS",
        "PASSPHRASE",
        "PGPASSWORD",
        "SSHPASS",
        "TOKEN",
    }
)
_SECRET_VARIABLE_NAME_PATTERN: Final = lazy_regex(
    r".*_(?:KEYS?|TOKENS?|PASS|PASSWD|PWD|PASSPHRASE|CREDENTIALS?|CREDS|PAT|AUTH)"
    r"|.*(?:API|AUTH|ACCESS|BEARER|REFRESH)_?(?:KEY|TOKEN)S?(?:_\w+)?"
)
_HARMLESS_VARIABLE_NAME_PATTERN: Final = lazy_regex(
    r".*(?:PUBLIC|PUBLISHABLE|HOST|GPG|PRIMARY|SORT|CACHE|PARTITION)_KEYS?"
    r"|.*_(?:ID|URL|URI|ENDPOINT|FILE|PATH|DIR|NAME|TYPE|HEADER|EXPIRES\w*)"
)
_PACKAGE_INDEX_NAME_PATTERN: Final = lazy_regex(
    r".*(?:PROXY|INDEX|INDEX_URL|REGISTRY|FIND_LINKS)(?:_URL)?|.*_INDEX_.*_URL"
)
"""Matches names of variables that are passed on although they may contain a password, because they name package
indexes: without them, commands would use a public index instead of the company's, which is worse."""
_TRIVIAL_VARIABLE_VALUE_PATTERN: Final = lazy_regex(
    r"\d{0,7}|true|false|yes|no|on|off|none|null", re.IGNORECASE
)
_PASSWORD_IN_VALUE_PATTERN: Final = lazy_regex(
    r"[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s:@]*:[^/\s@]+@|(?:^|[\s;])(?i:password|pwd)=\S"
)
_SECRET_VARIABLE_VALUE_PATTERN: Final = lazy_regex(
    r"-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|sk-[\w-]{20}|gh[pousr]_\w{30}|github_pat_\w{30}|glpat-[\w-]{18}|xox[abeprs]-[\w-]{10}|npm_\w{30}|pypi-\w{30}"
    r"|hf_\w{30}|AIza[\w-]{30}|[rs]k_live_\w{16}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\."
)
_LOGIN_ERROR_PATTERN: Final = lazy_regex(
    r"\b40[13] (?:unauthorized|forbidden)|unauthori[sz]ed|not logged in|\beneedauth\b|no password supplied"
    r"|(?:authentication|login) (?:is )?(?:failed|required)"
    r"|(?:no|missing|invalid|unable to (?:find|locate)) credentials"
    r"|could not read (?:username|password)|(?:api key|token|password) (?:is )?(?:missing|required|not (?:set|found))",
    re.IGNORECASE,
)
_MAX_VARIABLES_NAMED_IN_NOTE: Final = 6


@lru_cache(maxsize=1024)  # every command checks all variables
def is_secret_variable(name: str, value: str) -> bool:
    """Returns whether an environment variable looks like a secret: by its name, unless the value cannot be a secret; or
    by the value."""
    upper = name.upper()
    if _PACKAGE_INDEX_NAME_PATTERN.fullmatch(upper):
        return False
    if _PASSWORD_IN_VALUE_PATTERN.search(value) or _SECRET_VARIABLE_VALUE_PATTERN.match(value):
        return True
    if _TRIVIAL_VARIABLE_VALUE_PATTERN.fullmatch(value) or _is_existing_path(value):
        return upper in _SECRET_VARIABLE_NAMES and not _TRIVIAL_VARIABLE_VALUE_PATTERN.fullmatch(value)
    if upper in _SECRET_VARIABLE_NAMES or "SECRET" in upper or "PASSWORD" in upper:
        return True
    return _SECRET_VARIABLE_NAME_PATTERN.fullmatch(
        upper
    ) is not None and not _HARMLESS_VARIABLE_NAME_PATTERN.fullmatch(upper)


def withheld_variable_names(variables: Mapping[str, str], passed: Collection[str] = ()) -> frozenset[str]:
    """Returns the names of environment variables that commands do not get. `passed` are names, or patterns with `*`,
    that are passed anyway."""
    return frozenset(
        name
        for name, value in variables.items()
        if is_secret_variable(name, value) and not any(fnmatchcase(name, pattern) for pattern in passed)
    )


def find_withheld_variables_needed(
    command: str, output: str, *, has_failed: bool, names: Iterable[str]
) -> tuple[str, ...]:
    """Returns those of the withheld variables that a command probably needed: it names them, or it failed and its
    output mentions them, or it failed for lack of a login."""
    known = sorted(names)
    found = [
        name
        for name in known
        if _mentions_name(command, name) or (has_failed and _mentions_name(output, name))
    ]
    if not found and has_failed and _LOGIN_ERROR_PATTERN.search(output):
        found = known
    return tuple(found)


def format_withheld_variables_note(found: tuple[str, ...]) -> str:
    shown = ", ".join(found[:_MAX_VARIABLES_NAMED_IN_NOTE]) + (
        " and others" if len(found) > _MAX_VARIABLES_NAMED_IN_NOTE else ""
    )
    return (
        f"Commands do not get variables that look like secrets: {shown}. "
        "The user can pass them on with the setting shellPassEnvironment."
    )


def _mentions_name(text: str, name: str) -> bool:
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _is_existing_path(value: str) -> bool:
    """Returns whether a variable's value is an existing path: the location of a secret is not a secret."""
    try:
        return value.startswith(("/", "~/", "./", "../")) and exists(Path(value).expanduser())
    except (OSError, ValueError, RuntimeError):
        return False


def environment_for_child_processes(
    passed: Collection[str] = (), variables: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Returns this process's variables without the withheld ones, for child processes."""
    hidden = withheld_variable_names(variables, passed)
    return {name: value for name, value in variables.items() if name not in hidden}
