"""The secrets that a session knows, from the environment, bayou's credentials, and `.env` files."""

import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, cast

import msgspec

from app.values.codec import decode_json
from app.values.json_comments import JsonSyntaxError, parse_json_with_comments
from tools.masking.assigned import assigned_secrets, holds_secrets, known_values_in
from tools.masking.known import KnownValue, is_distinctive
from tools.masking.pem import BASE64_BEGIN, PRIVATE_KEY_LITERAL, find_private_keys
from tools.patterns import late
from tools.running.withheld import looks_secret

_MAX_FILE_BYTES = 1 << 20
_MAX_FILES = 200
_MAX_NAMED_FILES = 40
_MAX_KEY_LINES = 4_000
_LOGIN = late(r"://[^\s/:@]*:([^\s/@]{3,})@")
_SERVER_FILES = ("mcp.json", ".mcp.json", ".bayou/mcp.json")
_PATHS = late(
    r"[\w./~@+-]*(?:\.env(?:\.[\w.-]+)?|\.envrc|\.netrc|\.npmrc|\.pypirc|\.pgpass|\.git-credentials|\.aws/credentials)"
    r"(?![\w-])"
)
FileStamp = tuple[int, int, int]
SecretsOfFile = tuple[tuple[KnownValue, ...], tuple[KnownValue, ...]]
"""The secrets of a file, and assignments that are only recognised with their name."""
ReadSecrets = Callable[[str, str], SecretsOfFile]
"""Reads secrets from a file's path and text."""


class SecretSources(msgspec.Struct, frozen=True, kw_only=True):
    """Where known secrets come from."""

    agent_dir: Path | None = None
    home: Path = msgspec.field(default_factory=Path.home)
    env: Mapping[str, str] = {}


class KnownSecrets:
    """The known secrets, growing with the files that are searched. Searching is for a thread."""

    def __init__(self, places: SecretSources) -> None:
        self._places = places
        self._seen: dict[str, FileStamp] = {}
        self._of: dict[str, tuple[KnownValue, ...]] = {"": tuple(_from_variables(places.env))}
        self._named_of: dict[str, tuple[KnownValue, ...]] = {}
        self._numbers = count(1)
        self.version = 0
        """A number that changes whenever more secrets are known."""
        self._taking = threading.Lock()
        """Callers wait while a file is being searched, because a secret in it would otherwise be sent unmasked."""

    def values(self) -> Iterator[KnownValue]:
        for known in tuple(self._of.values()):
            yield from known

    def named(self) -> Iterator[KnownValue]:
        """Yields secrets that are only recognised with their name: short values and words."""
        for named in tuple(self._named_of.values()):
            yield from named

    def look(self, cwd: Path | None, texts: Iterable[str] = ()) -> None:
        """Searches bayou's files, the files of the folder, and files named in `texts`. Without a folder: the
        work is on another machine."""
        if self._places.agent_dir is not None:
            own: tuple[tuple[str, ReadSecrets], ...] = (
                ("auth.json", _from_auth_file),
                ("models.json", _from_models_file),
                ("mcp.json", _from_mcp_file),
                ("mcp-auth.json", _from_sign_ins_file),
            )
            for name, read in own:
                self._read_file(self._places.agent_dir / name, read)
        if cwd is not None:
            for name in _SERVER_FILES:
                self._read_file(cwd / name, _from_mcp_file)
            for path in (*_env_files(cwd), *self._named(cwd, texts)):
                self.look_into(path)

    def learn(self, source: str, values: Iterable[KnownValue]) -> None:
        """Adds secrets that are in no file: output of a command, or from an extension. `source`: their owner."""
        before = self._of.get(source, ())
        added = tuple(one for one in dict.fromkeys(values) if one not in before)
        if added:
            self._of[source] = before + added
            self.version = next(self._numbers)

    def look_into(self, path: Path) -> None:
        """Searches a file whose name marks it as secret, or a private key."""
        if holds_secrets(str(path)):
            self._read_file(path, _from_env_file)
        else:
            self._read_file(path, _from_key_file)

    def _named(self, cwd: Path, texts: Iterable[str]) -> Iterator[Path]:
        left = _MAX_NAMED_FILES
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

    def _read_file(self, path: Path, read: ReadSecrets) -> None:
        with self._taking:
            self._read_changed_file(path, read)

    def _read_changed_file(self, path: Path, read: ReadSecrets) -> None:
        key = str(path)
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if (
                self._seen.get(key) == stamp
                or status.st_size > _MAX_FILE_BYTES
                or not stat.S_ISREG(status.st_mode)
            ):
                return
            text = path.read_bytes().decode("utf-8", "replace")
        except (OSError, ValueError):
            return
        if len(self._seen) > _MAX_FILES and key not in self._seen:
            self._seen.pop(next(iter(self._seen)))
        self._seen[key] = stamp
        known, named = read(key, text)
        # A value that was in a file stays secret after the file has changed.
        before = self._of.get(key, ())
        added = tuple(one for one in known if one not in before)
        self._named_of[key] = tuple(dict.fromkeys((*self._named_of.get(key, ()), *named)))
        if added or named:
            self._of[key] = before + added
            self.version = next(self._numbers)


def _from_variables(env: Mapping[str, str]) -> Iterator[KnownValue]:
    for name, value in env.items():
        if looks_secret(name, value):
            login = _LOGIN.search(value)
            yield KnownValue(name, login[1] if login is not None else value)


def _from_auth_file(path: str, text: str) -> SecretsOfFile:
    """Returns keys and tokens by provider, without expiry and account names."""
    return tuple(
        KnownValue(f"{provider}-{field}", value)
        for provider, entry in _parse_object(text).items()
        for field in ("key", "access", "refresh")
        if (value := _literal_key(_as_dict(entry).get(field)))
    ), ()


def _from_models_file(path: str, text: str) -> SecretsOfFile:
    found: list[KnownValue] = []
    for provider, entry in _as_dict(_parse_object(text).get("providers")).items():
        if key := _literal_key(_as_dict(entry).get("apiKey")):
            found.append(KnownValue(f"{provider}-key", key))
        found += _from_headers(provider, _as_dict(_as_dict(entry).get("headers")))
    return tuple(found), ()


def _from_headers(owner: str, headers: Mapping[str, Any]) -> Iterator[KnownValue]:
    """Yields headers whose name sounds secret."""
    for name, said in headers.items():
        value = _literal_key(said)
        if value and (name.lower() == "authorization" or looks_secret(name.replace("-", "_"), value)):
            yield KnownValue(f"{owner}-{name}", value.rpartition(" ")[2])


def _from_mcp_file(path: str, text: str) -> SecretsOfFile:
    """Returns secrets of MCP servers: headers and variables that sound secret, and client secrets."""
    found: list[KnownValue] = []
    for server, entry in _as_dict(_parse_commented_object(text).get("mcpServers")).items():
        said = {**_as_dict(_as_dict(entry).get("env")), **_as_dict(_as_dict(entry).get("headers"))}
        found += _from_headers(server, {name: each for name, each in said.items() if "${" not in str(each)})
        for field, name in (("clientSecret", "client-secret"), ("privateKey", "private-key")):
            if secret := _literal_key(_as_dict(_as_dict(entry).get("oauth")).get(field)):
                found.append(KnownValue(f"{server}-{name}", secret))
    return tuple(found), ()


def _from_sign_ins_file(path: str, text: str) -> SecretsOfFile:
    return tuple(
        KnownValue(f"{server.partition(' ')[0]}-{field}", value)
        for server, entry in _parse_object(text).items()
        for part in ("tokens", "client")
        for field in ("access_token", "refresh_token", "client_secret")
        if (value := _literal_key(_as_dict(_as_dict(entry).get(part)).get(field)))
    ), ()


def _from_env_file(path: str, text: str) -> SecretsOfFile:
    named = tuple(
        KnownValue(one.name, one.value)
        for one in assigned_secrets(path, text)
        if not is_distinctive(one.value)
    )
    return tuple(known_values_in(path, text)), named


def _from_key_file(path: str, text: str) -> SecretsOfFile:
    """Returns the lines of a private key, since a page may show some without the beginning."""
    lines = find_private_keys(text).spans if PRIVATE_KEY_LITERAL in text or BASE64_BEGIN in text else ()
    return tuple(
        KnownValue("private-key", text[start:end], is_plain=True) for start, end in lines[:_MAX_KEY_LINES]
    ), ()


def _parse_object(text: str) -> dict[str, Any]:
    try:
        return _as_dict(decode_json(text))
    except (ValueError, msgspec.DecodeError):
        return {}


def _parse_commented_object(text: str) -> dict[str, Any]:
    """Parses a JSON file that people edit, with comments."""
    try:
        return _as_dict(parse_json_with_comments(text))
    except JsonSyntaxError:
        return {}


def _as_dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _literal_key(value: Any) -> str:
    """Returns a literal key, not the name of a variable or a command."""
    return value if isinstance(value, str) and not value.startswith(("$", "!")) else ""


def _env_files(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name for entry in entries if "env" in entry.name or entry.name in (".npmrc", ".netrc")
            ]
    except OSError:
        return
    for name in sorted(names)[:_MAX_NAMED_FILES]:
        if holds_secrets(name):
            yield folder / name
