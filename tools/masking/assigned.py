"""Files that hold secrets under names: `.env` and its like, `.netrc`, `.npmrc`, credentials of clouds."""

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
"""What identifies or leads somewhere may look random, and is handed to everybody."""
_PUBLIC_VALUE = late(
    r"[a-zA-Z][\w+.-]*:/|[~.]{0,2}/|[A-Za-z]:[\\/]|(?:[^\s/@]+@)?(?:[\w*-]+\.)+[a-z]{2,24}(?::\d+)?(?:/[\w./:-]*)?$"
    r"|(?i:0x[0-9a-f]{40}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$"
)
"""A place, a host, a mail address, a public address of a chain, an identifier."""
_VALUE_PIECE = late(r"(?:[^\W_]|[!^#$~%*])+")
_ORDINARY_PIECE = late(
    r"\d+[A-Za-z]{0,3}|[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,})*\d*|[A-Z]+\d*|[a-z]\d*|\d+x\d+(?:x\d+)?"
)
"""A number with its unit, a word or words with a number behind them, a size."""
_MIN_RANDOM_CHARS = 12
_MIN_RANDOM_KINDS = 6

_PATTERNS = {
    ".pgpass": (_PGPASS,),
    ".npmrc": (_NPMRC,),
    ".yarnrc": (_NPMRC,),
    ".git-credentials": (_URL_PASSWORD,),
}


class AssignedSecret(msgspec.Struct, frozen=True):
    """A secret where it stands."""

    name: str
    value: str
    start: int
    end: int


def holds_secrets(path: str) -> bool:
    """By its name: a file whose assignments are secrets. An example of one is not."""
    name = PurePath(path).name.lower()
    if name in _SECRET_FILE_NAMES:
        return name != "credentials" or ".aws" in PurePath(path).parts
    if not _ENV.fullmatch(name):
        return False
    return not _EXAMPLE_ENDINGS & set(name.split("."))


def assigned_secrets(path: str, text: str) -> Iterator[AssignedSecret]:
    """The secrets in a file of that name, or in what was printed of it."""
    name = PurePath(path).name.lower()
    if name in _SECRET_FILE_NAMES:
        for pattern in _PATTERNS.get(name, (_NETRC, _INI)):
            for found in pattern.finditer(text):
                yield AssignedSecret(name.lstrip("._"), found[1], *found.span(1))
        return
    yield from secret_variables(text)


def secret_variables(text: str) -> Iterator[AssignedSecret]:
    """`NAME=value` whose name or value tells a secret, and what no word, number or place explains."""
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
    """Whether a value in a file of secrets is none of what such files hold besides. A name proves nothing there: a key
    may stand under any."""
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
