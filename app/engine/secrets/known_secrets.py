"""What this session knows to be secret, and where from: the environment, bayou's own credentials, `.env` files."""

import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, cast

import msgspec

from app.values.codec import decode_json
from app.values.json_comments import JsonFault, parse
from tools.masking.assigned import assigned, holds_secrets, known_in
from tools.masking.known import KnownValue, is_telling
from tools.masking.pem import ENCODED, LITERAL, key_lines
from tools.patterns import late
from tools.running.withheld import looks_secret

_LARGEST = 1 << 20
_MOST_FILES = 200
_MOST_NAMED = 40
_KEPT_LINES = 4_000
_LOGIN = late(r"://[^\s/:@]*:([^\s/@]{3,})@")
_SERVER_FILES = ("mcp.json", ".mcp.json", ".bayou/mcp.json")
_PATHS = late(
    r"[\w./~@+-]*(?:\.env(?:\.[\w.-]+)?|\.envrc|\.netrc|\.npmrc|\.pypirc|\.pgpass|\.git-credentials|\.aws/credentials)"
    r"(?![\w-])"
)
Stamp = tuple[int, int, int]
Read = tuple[tuple[KnownValue, ...], tuple[KnownValue, ...]]
"""What is known of a file, and its assignments whose value alone tells nothing."""
Reader = Callable[[str, str], Read]
"""From path and text."""


class SecretPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """Where what is known comes from."""

    agent_dir: Path | None = None
    home: Path = msgspec.field(default_factory=Path.home)
    env: Mapping[str, str] = {}


class KnownSecrets:
    """Grows with the files that are looked at. Looking is for a thread."""

    def __init__(self, places: SecretPlaces) -> None:
        self._places = places
        self._seen: dict[str, Stamp] = {}
        self._of: dict[str, tuple[KnownValue, ...]] = {"": tuple(_of_variables(places.env))}
        self._named_of: dict[str, tuple[KnownValue, ...]] = {}
        self._numbers = count(1)
        self.version = 0
        """Another one whenever more is known."""
        self._taking = threading.Lock()
        """Who finds a file that is being looked at waits: what it has not been asked for yet would go out."""

    def values(self) -> Iterator[KnownValue]:
        for known in tuple(self._of.values()):
            yield from known

    def named(self) -> Iterator[KnownValue]:
        """Those whose value alone tells nothing: too short, or a word."""
        for named in tuple(self._named_of.values()):
            yield from named

    def look(self, cwd: Path | None, texts: Iterable[str] = ()) -> None:
        """At bayou's own files, at those of the folder, and at those that the texts name. Without a folder: what is
        worked with is on another machine."""
        if self._places.agent_dir is not None:
            own: tuple[tuple[str, Reader], ...] = (
                ("auth.json", _of_auth),
                ("models.json", _of_models),
                ("mcp.json", _of_servers),
                ("mcp-auth.json", _of_sign_ins),
            )
            for name, read in own:
                self._take(self._places.agent_dir / name, read)
        if cwd is not None:
            for name in _SERVER_FILES:
                self._take(cwd / name, _of_servers)
            for path in (*_env_files(cwd), *self._named(cwd, texts)):
                self.look_into(path)

    def learn(self, source: str, values: Iterable[KnownValue]) -> None:
        """What stands in no file: a command printed it, or an extension brought it. `source`: whose they are."""
        before = self._of.get(source, ())
        added = tuple(one for one in dict.fromkeys(values) if one not in before)
        if added:
            self._of[source] = before + added
            self.version = next(self._numbers)

    def look_into(self, path: Path) -> None:
        """At one file that holds secrets by its name, or a private key."""
        if holds_secrets(str(path)):
            self._take(path, _of_assignments)
        else:
            self._take(path, _of_keys)

    def _named(self, cwd: Path, texts: Iterable[str]) -> Iterator[Path]:
        left = _MOST_NAMED
        for text in texts:
            if (
                ".env" not in text
                and "rc" not in text
                and "credentials" not in text
                and ".pgpass" not in text
            ):
                continue
            for name in dict.fromkeys(found[0] for found in _PATHS.finditer(text)):
                left -= 1
                if left < 0:
                    return
                path = Path(name.replace("~", str(self._places.home), 1) if name.startswith("~/") else name)
                if holds_secrets(str(path)):
                    yield cwd / path

    def _take(self, path: Path, read: Reader) -> None:
        with self._taking:
            self._taken(path, read)

    def _taken(self, path: Path, read: Reader) -> None:
        key = str(path)
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if self._seen.get(key) == stamp or status.st_size > _LARGEST or not stat.S_ISREG(status.st_mode):
                return
            text = path.read_bytes().decode("utf-8", "replace")
        except (OSError, ValueError):
            return
        if len(self._seen) > _MOST_FILES and key not in self._seen:
            self._seen.pop(next(iter(self._seen)))
        self._seen[key] = stamp
        known, named = read(key, text)
        # A value that was in a file stays a secret when the file says another.
        before = self._of.get(key, ())
        added = tuple(one for one in known if one not in before)
        self._named_of[key] = tuple(dict.fromkeys((*self._named_of.get(key, ()), *named)))
        if added or named:
            self._of[key] = before + added
            self.version = next(self._numbers)


def _of_variables(env: Mapping[str, str]) -> Iterator[KnownValue]:
    for name, value in env.items():
        if looks_secret(name, value):
            login = _LOGIN.search(value)
            yield KnownValue(name, login[1] if login is not None else value)


def _of_auth(path: str, text: str) -> Read:
    """Keys and tokens by provider; expiry and account names are none."""
    return tuple(
        KnownValue(f"{provider}-{field}", value)
        for provider, entry in _object(text).items()
        for field in ("key", "access", "refresh")
        if (value := _written_out(_fields(entry).get(field)))
    ), ()


def _of_models(path: str, text: str) -> Read:
    found: list[KnownValue] = []
    for provider, entry in _fields(_object(text).get("providers")).items():
        if key := _written_out(_fields(entry).get("apiKey")):
            found.append(KnownValue(f"{provider}-key", key))
        found += _of_headers(provider, _fields(_fields(entry).get("headers")))
    return tuple(found), ()


def _of_headers(owner: str, headers: Mapping[str, Any]) -> Iterator[KnownValue]:
    """Those that sound secret."""
    for name, said in headers.items():
        value = _written_out(said)
        if value and (name.lower() == "authorization" or looks_secret(name.replace("-", "_"), value)):
            yield KnownValue(f"{owner}-{name}", value.rpartition(" ")[2])


def _of_servers(path: str, text: str) -> Read:
    """What MCP servers are handed: headers and variables that sound secret, and a client's own secret."""
    found: list[KnownValue] = []
    for server, entry in _fields(_edited(text).get("mcpServers")).items():
        said = {**_fields(_fields(entry).get("env")), **_fields(_fields(entry).get("headers"))}
        found += _of_headers(server, {name: each for name, each in said.items() if "${" not in str(each)})
        for field, name in (("clientSecret", "client-secret"), ("privateKey", "private-key")):
            if secret := _written_out(_fields(_fields(entry).get("oauth")).get(field)):
                found.append(KnownValue(f"{server}-{name}", secret))
    return tuple(found), ()


def _of_sign_ins(path: str, text: str) -> Read:
    return tuple(
        KnownValue(f"{server.partition(' ')[0]}-{field}", value)
        for server, entry in _object(text).items()
        for part in ("tokens", "client")
        for field in ("access_token", "refresh_token", "client_secret")
        if (value := _written_out(_fields(_fields(entry).get(part)).get(field)))
    ), ()


def _of_assignments(path: str, text: str) -> Read:
    named = tuple(
        KnownValue(one.name, one.value) for one in assigned(path, text) if not is_telling(one.value)
    )
    return tuple(known_in(path, text)), named


def _of_keys(path: str, text: str) -> Read:
    """The lines of a private key, of which a page may show some without its beginning."""
    lines = key_lines(text).spans if LITERAL in text or ENCODED in text else ()
    return tuple(
        KnownValue("private-key", text[start:end], is_plain=True) for start, end in lines[:_KEPT_LINES]
    ), ()


def _object(text: str) -> dict[str, Any]:
    try:
        return _fields(decode_json(text))
    except (ValueError, msgspec.DecodeError):
        return {}


def _edited(text: str) -> dict[str, Any]:
    """Of a file that people edit, comments and all."""
    try:
        return _fields(parse(text))
    except JsonFault:
        return {}


def _fields(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _written_out(value: Any) -> str:
    """A key itself, and not the name of a variable or a command that tells it."""
    return value if isinstance(value, str) and not value.startswith(("$", "!")) else ""


def _env_files(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name for entry in entries if "env" in entry.name or entry.name in (".npmrc", ".netrc")
            ]
    except OSError:
        return
    for name in sorted(names)[:_MOST_NAMED]:
        if holds_secrets(name):
            yield folder / name
