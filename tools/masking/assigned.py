"""Finds secrets in files that assign them to names: `.env` files, `.netrc`, `.npmrc`, cloud credentials."""

import re
from collections.abc import Iterator
from pathlib import PurePath

import msgspec

from tools.masking.known import KnownValue
from tools.patterns import late
from tools.running.withheld import looks_secret

_EXAMPLE_ENDINGS = frozenset(("example", "sample", "template", "dist", "defaults", "schema"))
_ENV = late(r"(?:.+)?\.env(?:\.[\w.-]+)?|\.envrc|\.flaskenv|\.dev\.vars")
_SECRET_FILE_NAMES = frozenset(
    (".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", "credentials", ".yarnrc")
)
_LINE = late(
    r"^[ \t+\-|>]{0,8}(?:[^\s:=]{1,300}[:-]\d+[:-][ \t]?)?(?:\d+[:\t ]\s*)?(?:export[ \t]+|set[ \t]+|ENV[ \t]+)?"
    r"([A-Za-z_][\w.-]{0,200})[ \t]*[=:][ \t]*"
    r"(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|`([^`]*)`|([^\s#'\"`][^\n#]*?(?:#\S[^\n#]*?)*))[ \t\r]*(?:#.*)?$",
    re.MULTILINE,
)
_NETRC = late(r"(?:^|\s)(?:password|passwd)[ \t\n]+(\S{4,})")
_NPMRC = late(r"(?:_authToken|_auth|_password|npmAuthToken)\"?\s*[=: ]\s*\"?([^\s\"]{6,})")
_PGPASS = late(r"^(?:[^:\n]*:){4}(.{3,})$", re.MULTILINE)
_INI = late(r"^\s*(?:password|aws_secret_access_key|aws_session_token)\s*=\s*(\S{6,})\s*$", re.MULTILINE)
_URL_PASSWORD = late(r"://[^\s/:@]*:([^\s/@]{3,})@")

_HARMLESS_NAME = late(
    r".*(?:PUBLIC|PUBLISHABLE|ANON|SITE)_?KEY|.*(?:^|_)(?:ID|GUID|UUID|SHA\d*|COMMIT|REVISION|DIGEST|CHECKSUM|INTEGRITY"
    r"|VERSION|TAG|IMAGE|MODEL|REGION|ZONE|HOST|DOMAIN|URL|URI|ENDPOINT|PATH|FILE|DIR|ADDRESS|DSN)S?"
)
"""Names of identifiers and addresses, whose values may look random and are public."""
_PUBLIC_VALUE = late(
    r"[a-zA-Z][\w+.-]*:/|[~.]{0,2}/|[A-Za-z]:[\\/]|(?:[^\s/@]+@)?(?:[\w*-]+\.)+[a-z]{2,24}(?::\d+)?(?:/[\w./:-]*)?$"
    r"|(?i:0x[0-9a-f]{40}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$"
)
"""Matches a path, a host, a mail address, a public blockchain address, or an identifier."""
_VALUE_PIECE = late(r"(?:[^\W_]|[!^#$~%*])+")
_ORDINARY_PIECE = late(
    r"\d+[A-Za-z]{0,3}|[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,})*\d*|[A-Z]+\d*|[a-z]\d*|\d+x\d+(?:x\d+)?"
)
"""Matches a number with its unit, words with a number behind them, or a size."""
_MIN_RANDOM_CHARS = 12
_MIN_RANDOM_KINDS = 6

_PATTERNS = {
    ".pgpass": (_PGPASS,),
    ".npmrc": (_NPMRC,),
    ".yarnrc": (_NPMRC,),
    ".git-credentials": (_URL_PASSWORD,),
}


class AssignedSecret(msgspec.Struct, frozen=True):
    """A secret and its position."""

    name: str
    value: str
    start: int
    end: int


def holds_secrets(path: str) -> bool:
    """Returns whether the file name says that its assignments are secrets. Example files are not."""
    name = PurePath(path).name.lower()
    if name in _SECRET_FILE_NAMES:
        return name != "credentials" or ".aws" in PurePath(path).parts
    if not _ENV.fullmatch(name):
        return False
    return not _EXAMPLE_ENDINGS & set(name.split("."))


def assigned_secrets(path: str, text: str) -> Iterator[AssignedSecret]:
    """Yields the secrets in a file of that name, or in printed parts of it."""
    name = PurePath(path).name.lower()
    if name in _SECRET_FILE_NAMES:
        for pattern in _PATTERNS.get(name, (_NETRC, _INI)):
            for found in pattern.finditer(text):
                yield AssignedSecret(name.lstrip("._"), found[1], *found.span(1))
        return
    yield from secret_variables(text)


def secret_variables(text: str) -> Iterator[AssignedSecret]:
    """Yields `NAME=value` pairs whose name or value indicates a secret, and values that are no word, number or
    place."""
    for found in _LINE.finditer(text):
        group = next((number for number in (2, 3, 4, 5) if found[number]), None)
        if group is None:
            continue
        name, value = found[1], found[group]
        if len(value) < 4 or "${" in value or value.startswith(("$", "[secret:")):
            continue
        if looks_secret(name, value) or _looks_random(name, value):
            login = _URL_PASSWORD.search(value)
            start = found.start(group)
            if login is not None:
                yield AssignedSecret(name, login[1], start + login.start(1), start + login.end(1))
            else:
                yield AssignedSecret(name, value, start, found.end(group))


def _looks_random(name: str, value: str) -> bool:
    """Returns whether a value in a secrets file is none of the ordinary values of such files. The name is ignored:
    a key may stand under any name."""
    if (
        any(one.isspace() for one in value)
        or _HARMLESS_NAME.fullmatch(name.upper())
        or _PUBLIC_VALUE.match(value)
    ):
        return False
    odd = "".join(piece for piece in _VALUE_PIECE.findall(value) if not _ORDINARY_PIECE.fullmatch(piece))
    return len(odd) >= _MIN_RANDOM_CHARS and len(set(odd)) >= _MIN_RANDOM_KINDS


def known_values_in(path: str, text: str) -> Iterator[KnownValue]:
    for one in assigned_secrets(path, text):
        yield KnownValue(one.name, one.value)
        if "\\n" in one.value:
            yield KnownValue(one.name, one.value.replace("\\n", "\n"))
