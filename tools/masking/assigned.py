"""Files that hold secrets under names: `.env` and its like, `.netrc`, `.npmrc`, credentials of clouds."""

import re
from collections.abc import Iterator
from pathlib import PurePath

import msgspec

from tools.masking.known import KnownValue
from tools.patterns import late
from tools.running.withheld import looks_secret

_EXAMPLES = frozenset(("example", "sample", "template", "dist", "defaults", "schema"))
_ENV = late(r"(?:.+)?\.env(?:\.[\w.-]+)?|\.envrc|\.flaskenv|\.dev\.vars")
_NAMED = frozenset(
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
_LOGIN = late(r"://[^\s/:@]*:([^\s/@]{3,})@")

_HARMLESS_NAME = late(
    r".*(?:PUBLIC|PUBLISHABLE|ANON|SITE)_?KEY|.*(?:^|_)(?:ID|GUID|UUID|SHA\d*|COMMIT|REVISION|DIGEST|CHECKSUM|INTEGRITY"
    r"|VERSION|TAG|IMAGE|MODEL|REGION|ZONE|HOST|DOMAIN|URL|URI|ENDPOINT|PATH|FILE|DIR|ADDRESS|DSN)S?"
)
"""What identifies or leads somewhere may look random, and is handed to everybody."""
_LEADS = late(
    r"[a-zA-Z][\w+.-]*:/|[~.]{0,2}/|[A-Za-z]:[\\/]|(?:[^\s/@]+@)?(?:[\w*-]+\.)+[a-z]{2,24}(?::\d+)?(?:/[\w./:-]*)?$"
    r"|(?i:0x[0-9a-f]{40}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$"
)
"""A place, a host, a mail address, a public address of a chain, an identifier."""
_PIECE = late(r"(?:[^\W_]|[!^#$~%*])+")
_USUAL_PIECE = late(
    r"\d+[A-Za-z]{0,3}|[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,})*\d*|[A-Z]+\d*|[a-z]\d*|\d+x\d+(?:x\d+)?"
)
"""A number with its unit, a word or words with a number behind them, a size."""
_RANDOM_CHARS = 12
_RANDOM_KINDS = 6

_PATTERNS = {
    ".pgpass": (_PGPASS,),
    ".npmrc": (_NPMRC,),
    ".yarnrc": (_NPMRC,),
    ".git-credentials": (_LOGIN,),
}


class Assigned(msgspec.Struct, frozen=True):
    """A secret where it stands."""

    name: str
    value: str
    start: int
    end: int


def holds_secrets(path: str) -> bool:
    """By its name: a file whose assignments are secrets. An example of one is not."""
    name = PurePath(path).name.lower()
    if name in _NAMED:
        return name != "credentials" or ".aws" in PurePath(path).parts
    if not _ENV.fullmatch(name):
        return False
    return not _EXAMPLES & set(name.split("."))


def assigned(path: str, text: str) -> Iterator[Assigned]:
    """The secrets in a file of that name, or in what was printed of it."""
    name = PurePath(path).name.lower()
    if name in _NAMED:
        for pattern in _PATTERNS.get(name, (_NETRC, _INI)):
            for found in pattern.finditer(text):
                yield Assigned(name.lstrip("._"), found[1], *found.span(1))
        return
    yield from variables(text)


def variables(text: str) -> Iterator[Assigned]:
    """`NAME=value` whose name or value tells a secret, and what no word, number or place explains."""
    for found in _LINE.finditer(text):
        group = next((number for number in (2, 3, 4, 5) if found[number]), None)
        if group is None:
            continue
        name, value = found[1], found[group]
        if len(value) < 4 or "${" in value or value.startswith(("$", "[secret:")):
            continue
        if looks_secret(name, value) or _is_unexplained(name, value):
            login = _LOGIN.search(value)
            start = found.start(group)
            if login is not None:
                yield Assigned(name, login[1], start + login.start(1), start + login.end(1))
            else:
                yield Assigned(name, value, start, found.end(group))


def _is_unexplained(name: str, value: str) -> bool:
    """Whether a value in a file of secrets is none of what such files hold besides. A name proves nothing there: a key
    may stand under any."""
    if any(one.isspace() for one in value) or _HARMLESS_NAME.fullmatch(name.upper()) or _LEADS.match(value):
        return False
    odd = "".join(piece for piece in _PIECE.findall(value) if not _USUAL_PIECE.fullmatch(piece))
    return len(odd) >= _RANDOM_CHARS and len(set(odd)) >= _RANDOM_KINDS


def known_in(path: str, text: str) -> Iterator[KnownValue]:
    for one in assigned(path, text):
        yield KnownValue(one.name, one.value)
        if "\\n" in one.value:
            yield KnownValue(one.name, one.value.replace("\\n", "\n"))
