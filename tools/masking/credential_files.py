"""Reads files of credentials as their programs do: with quotes and escapes removed, addresses decoded, any case of
names. `assigned_secrets` finds the same values as they are written."""

import base64
import codecs
import configparser
import re
import shlex
from collections.abc import Callable, Iterator
from urllib.parse import unquote, urlsplit

from tools.lazy_patterns import lazy_regex
from tools.running.withheld_environment_variables import is_secret_variable

_URL_PATTERN = lazy_regex(r"[a-zA-Z][\w+.-]*://[^\s\"'`]+")
_VARIABLE_ASSIGNMENT_PATTERN = lazy_regex(r"#?([A-Za-z_][\w.-]*)=(.+)", re.DOTALL)
_PGPASS_LINE_PATTERN = lazy_regex(r"(?:(?:\\.|[^:\\])*:){4}(.+)")
_NPMRC_LINE_PATTERN = lazy_regex(r"\s*\S*?(_authToken|_auth|_password|npmAuthToken)\"?\s*[=: ]\s*(.+)")
_ANSI_C_QUOTE_PATTERN = lazy_regex(r"\$'((?:[^'\\\n]|\\.)*)'")
_DEFAULT_VALUE_PATTERN = lazy_regex(r"\$\{([A-Za-z_]\w*)(?:\[[^]\n]{0,60}\])?:?[-=+]([^{}\n]*)\}")
_OTHER_ASSIGNMENT_PATTERN = lazy_regex(
    r"\b([A-Za-z_]\w*)(?:(?:\[[^]\n]{0,60}\]\+?|\+)=|[ \t]{0,9}<<<[ \t]*)"
    r"|^[ \t]*#+[ \t]*([A-Za-z_][\w.-]*):[ \t]+(?=\S+[ \t]*$)",
    re.MULTILINE,
)
"""Matches the start of an assignment to an item of an array, of an addition, of `read NAME <<< VALUE`, and of a value
behind a colon in a comment."""
_MAX_NESTED_DEFAULTS = 8
_MIN_TOKEN_CHARS_AS_URL_USER = 8
_PASSWORDS_BESIDE_TOKEN_USER = ("", "x-oauth-basic", "x-token-auth")
"""What stands in place of the password where the user name is a token."""


def decode_text_by_byte_order_mark(data: bytes) -> str:
    """Decodes a text file by its byte order mark; without one, it is UTF-8."""
    is_utf_16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if is_utf_16 else "utf-8-sig", "replace")


def find_passwords_in_urls(text: str, *, has_tokens: bool = False) -> Iterator[str]:
    """Yields the passwords of the addresses in a text, as written and decoded. With `has_tokens`, a user without a
    password is a token."""
    for found in _URL_PATTERN.finditer(text):
        try:
            login = urlsplit(found[0])
        except ValueError:
            continue
        password = login.password or ""
        if (
            password in _PASSWORDS_BESIDE_TOKEN_USER
            and has_tokens
            and len(login.username or "") >= _MIN_TOKEN_CHARS_AS_URL_USER
        ):
            password = login.username or ""
        if password:
            yield from dict.fromkeys((password, unquote(password)))


def passwords_or_value_itself(value: str) -> tuple[str, ...]:
    """Returns the passwords of the addresses in a secret value; without one, the value itself."""
    return tuple(find_passwords_in_urls(value)) or (value,)


def find_secrets_as_programs_read_them(file_name: str, text: str) -> Iterator[tuple[str, str]]:
    """Yields the secrets of a file with that name, each after the name that it is assigned to."""
    read = _SECRET_READER_BY_FILE_NAME.get(file_name, _variables)
    try:
        yield from read(text)
    except (ValueError, configparser.Error):
        return


def with_plain_assignments(text: str) -> str:
    """Returns a file of variables with plain assignments in place of a shell's other spellings: `$'…'`, default values
    (`${NAME:-…}`, also assigned to their own names), items of arrays, `read NAME <<< …`."""
    text = _ANSI_C_QUOTE_PATTERN.sub(lambda found: shlex.quote(_unescaped(found[1])), text).replace('$"', '"')
    more: list[str] = []
    for _ in range(_MAX_NESTED_DEFAULTS):  # from the innermost to the outermost
        more += (f"{found[1]}={found[2]}" for found in _DEFAULT_VALUE_PATTERN.finditer(text))
        text, count = _DEFAULT_VALUE_PATTERN.subn(lambda found: found[2], text)
        if not count:
            break
    text = _OTHER_ASSIGNMENT_PATTERN.sub(lambda found: f"{found[1] or found[2]}=", text)
    return "\n".join((text, *more))


def _unescaped(text: str) -> str:
    return text.encode("latin-1", "backslashreplace").decode("unicode_escape", "replace")


def _variables(text: str) -> Iterator[tuple[str, str]]:
    """Yields variables as a shell reads them, also several of a line; a reference to another is none."""
    for line in text.splitlines():
        if "=" not in line:
            continue
        words = shlex.shlex(line, posix=True, punctuation_chars=";&|")
        words.whitespace_split, words.commenters = True, ""
        try:
            assigned = [found for word in words if (found := _VARIABLE_ASSIGNMENT_PATTERN.fullmatch(word))]
        except ValueError:  # an apostrophe in a comment
            continue
        for name, value in (found.groups() for found in assigned):
            if (
                is_secret_variable(name, value)
                and not value.startswith(("$", "[secret:"))
                and "${" not in value
            ):
                for one in passwords_or_value_itself(value):
                    yield name, one


def _sections(text: str) -> Iterator[tuple[str, str]]:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    parser.read_string(text)
    for section in parser.sections():
        for name, value in parser.items(section):
            if value and is_secret_variable(name, value):
                for one in passwords_or_value_itself(value):
                    yield name, one


def _logins(text: str) -> Iterator[tuple[str, str]]:
    words = shlex.shlex(text, posix=True)
    words.whitespace_split, words.commenters, words.quotes = True, "", '"'
    before = ""
    for word in words:
        if before in ("password", "passwd", "account"):
            yield before, word
        before = word


def _tokens_of_npm(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        for one in find_passwords_in_urls(line):
            yield "npmrc", one
        if found := _NPMRC_LINE_PATTERN.fullmatch(line):
            value = found[2].strip().strip("\"'")
            yield "npmrc", value
            if found[1] in ("_auth", "_password"):
                decoded = base64.b64decode(value).decode("utf-8", "replace")
                yield "npmrc", decoded.partition(":")[2] if found[1] == "_auth" else decoded


def _passwords_of_postgres(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if found := _PGPASS_LINE_PATTERN.fullmatch(line):
            yield "pgpass", re.sub(r"\\(.)", r"\1", found[1])


def _logins_of_git(text: str) -> Iterator[tuple[str, str]]:
    for one in find_passwords_in_urls(text, has_tokens=True):
        yield "git-credentials", one


_SECRET_READER_BY_FILE_NAME: dict[str, Callable[[str], Iterator[tuple[str, str]]]] = {
    ".netrc": _logins,
    "_netrc": _logins,
    ".npmrc": _tokens_of_npm,
    ".yarnrc": _tokens_of_npm,
    ".pgpass": _passwords_of_postgres,
    ".pypirc": _sections,
    "credentials": _sections,
    ".git-credentials": _logins_of_git,
}
