"""Finds secrets in files that assign them to names: `.env` files, `.netrc`, `.npmrc`, cloud credentials."""

import re
from collections.abc import Iterator
from pathlib import PurePath

import msgspec

from tools.lazy_patterns import lazy_regex
from tools.masking.credential_files import find_secrets_as_programs_read_them, with_plain_assignments
from tools.masking.encoded_secret_forms import KnownSecret
from tools.running.withheld_environment_variables import is_secret_variable

_EXAMPLE_FILE_ENDINGS = frozenset(("example", "sample", "template", "dist", "defaults", "schema"))
_ENV_FILE_PATTERN = lazy_regex(r"(?:.+)?\.env(?:\.[\w.-]+)?|\.envrc|\.flaskenv|\.dev\.vars")
_FILE_NAMES_WITH_ASSIGNED_SECRETS = frozenset(
    (".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", "credentials", ".yarnrc")
)
_ENV_ASSIGNMENT_PATTERN = lazy_regex(
    r"^[ \t+\-|>]{0,8}(?:[^\s:=]{1,300}[:-]\d+[:-][ \t]?)?(?:\d+[:\t ]\s*)?(?:export[ \t]+|set[ \t]+|ENV[ \t]+)?"
    r"([A-Za-z_][\w.-]{0,200})[ \t]*[=:][ \t]*"
    r"(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|`([^`]*)`|([^\s#'\"`][^\n#]*?(?:#\S[^\n#]*?)*))[ \t\r]*(?:#.*)?$",
    re.MULTILINE,
)
_NETRC_PASSWORD_PATTERN = lazy_regex(r"(?:^|\s)(?:password|passwd)[ \t\n]+(\S{4,})")
_NPMRC_TOKEN_PATTERN = lazy_regex(
    r"(?:_authToken|_auth|_password|npmAuthToken)\"?\s*[=: ]\s*\"?([^\s\"]{6,})"
)
_PGPASS_PASSWORD_PATTERN = lazy_regex(r"^(?:[^:\n]*:){4}(.{3,})$", re.MULTILINE)
_INI_SECRET_PATTERN = lazy_regex(
    r"^\s*(?:password|aws_secret_access_key|aws_session_token)\s*=\s*(\S{6,})\s*$", re.MULTILINE
)
_URL_PASSWORD_PATTERN = lazy_regex(r"://[^\s/:@]*:([^\s/@]{3,})@")

_ENV_VALUE_ESCAPE_PATTERN = lazy_regex(r"\\([n\"$`\\'])")
"""Matches an escaped character in a quoted value of an `.env` file."""
_PUBLIC_VARIABLE_NAME_PATTERN = lazy_regex(
    r".*(?:PUBLIC|PUBLISHABLE|ANON|SITE)_?KEY|.*(?:^|_)(?:ID|GUID|UUID|SHA\d*|COMMIT|REVISION|DIGEST|CHECKSUM|INTEGRITY"
    r"|VERSION|TAG|IMAGE|MODEL|REGION|ZONE|HOST|DOMAIN|URL|URI|ENDPOINT|PATH|FILE|DIR|ADDRESS|DSN)S?"
)
"""Matches names of variables with identifiers and addresses, whose values are public although they may look random."""
_PUBLIC_VALUE_PATTERN = lazy_regex(
    r"[a-zA-Z][\w+.-]*:/|[~.]{0,2}/|[A-Za-z]:[\\/]|(?:[^\s/@]+@)?(?:[\w*-]+\.)+[a-z]{2,24}(?::\d+)?(?:/[\w./:-]*)?$"
    r"|(?i:0x[0-9a-f]{40}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$"
)
"""Matches a path, a host, a mail address, a public blockchain address, or an identifier."""
_SECRET_VALUE_PIECE_PATTERN = lazy_regex(r"(?:[^\W_]|[!^#$~%*])+")
_NOT_RANDOM_PIECE_PATTERN = lazy_regex(
    r"\d+[A-Za-z]{0,3}|[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,})*\d*|[A-Z]+\d*|[a-z]\d*|\d+x\d+(?:x\d+)?"
)
"""Matches a number with its unit, words with a number behind them, or a size."""
_MIN_RANDOM_CHARS_OF_SECRET = 12
_MIN_DISTINCT_RANDOM_CHARS_OF_SECRET = 6

_SECRET_PATTERNS_BY_FILE_NAME = {
    ".pgpass": (_PGPASS_PASSWORD_PATTERN,),
    ".npmrc": (_NPMRC_TOKEN_PATTERN,),
    ".yarnrc": (_NPMRC_TOKEN_PATTERN,),
    ".git-credentials": (_URL_PASSWORD_PATTERN,),
}


class AssignedSecret(msgspec.Struct, frozen=True):
    """A secret that a file assigns to a name, and its position."""

    name: str
    value: str
    start: int
    end: int


def is_secret_file_name(path: str) -> bool:
    """Returns whether a file's name says that its assignments are secrets (`.env`). Example files are not."""
    name = PurePath(path).name.lower()
    if name in _FILE_NAMES_WITH_ASSIGNED_SECRETS:
        return name != "credentials" or ".aws" in PurePath(path).parts
    if not _ENV_FILE_PATTERN.fullmatch(name):
        return False
    return not _EXAMPLE_FILE_ENDINGS & set(name.split("."))


def find_assigned_secrets(path: str, text: str) -> Iterator[AssignedSecret]:
    """Yields the secrets in the text of a file with that name, or in printed parts of it."""
    name = PurePath(path).name.lower()
    if name in _FILE_NAMES_WITH_ASSIGNED_SECRETS:
        for pattern in _SECRET_PATTERNS_BY_FILE_NAME.get(
            name, (_NETRC_PASSWORD_PATTERN, _INI_SECRET_PATTERN)
        ):
            for found in pattern.finditer(text):
                yield AssignedSecret(name.lstrip("._"), found[1], *found.span(1))
        return
    yield from find_secret_variables(text)


def find_secret_variables(text: str) -> Iterator[AssignedSecret]:
    """Yields the variables of an environment file whose name or value indicates a secret."""
    for found in _ENV_ASSIGNMENT_PATTERN.finditer(text):
        group = next((number for number in (2, 3, 4, 5) if found[number]), None)
        if group is None:
            continue
        name, value = found[1], found[group]
        is_reference = group != 3 and ("${" in value or value.startswith("$"))  # not within single quotes
        if len(value) < 4 or is_reference or value.startswith("[secret:"):
            continue
        if is_secret_variable(name, value) or _looks_random(name, value):
            login = _URL_PASSWORD_PATTERN.search(value)
            start = found.start(group)
            if login is not None:
                yield AssignedSecret(name, login[1], start + login.start(1), start + login.end(1))
            else:
                yield AssignedSecret(name, value, start, found.end(group))


def _looks_random(name: str, value: str) -> bool:
    """Returns whether a value in a secrets file looks random, unlike the words, numbers and paths of such files. The
    name is ignored: a key may have any name."""
    if (
        any(one.isspace() for one in value)
        or _PUBLIC_VARIABLE_NAME_PATTERN.fullmatch(name.upper())
        or _PUBLIC_VALUE_PATTERN.match(value)
    ):
        return False
    odd = "".join(
        piece
        for piece in _SECRET_VALUE_PIECE_PATTERN.findall(value)
        if not _NOT_RANDOM_PIECE_PATTERN.fullmatch(piece)
    )
    return len(odd) >= _MIN_RANDOM_CHARS_OF_SECRET and len(set(odd)) >= _MIN_DISTINCT_RANDOM_CHARS_OF_SECRET


def find_known_secrets_in_file(path: str, text: str) -> Iterator[KnownSecret]:
    """Yields the secrets in the text of a file, as they are written and as the file's program reads them."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    file_name = PurePath(path).name.lower()
    plain = text if file_name in _FILE_NAMES_WITH_ASSIGNED_SECRETS else with_plain_assignments(text)
    for one in dict.fromkeys((text, plain)):
        yield from (
            KnownSecret(name, value) for name, value in find_secrets_as_programs_read_them(file_name, one)
        )
        for found in find_assigned_secrets(path, one):
            yield KnownSecret(found.name, found.value)
            if "\\" in found.value:
                yield KnownSecret(found.name, _ENV_VALUE_ESCAPE_PATTERN.sub(_escaped_character, found.value))


def _escaped_character(found: re.Match[str]) -> str:
    return "\n" if found[1] == "n" else found[1]
