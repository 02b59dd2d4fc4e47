"""The secrets that a session knows, from the environment, bayou's credentials, and `.env` files."""

import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count, islice
from pathlib import Path
from typing import Any, cast

import msgspec

from app.values.codec import decode_json
from app.values.json_comments import JsonSyntaxError, parse_json_with_comments
from tools.lazy_patterns import lazy_regex
from tools.masking.assigned_secrets import find_known_secrets_in_file, is_secret_file_name
from tools.masking.credential_files import decode_text_by_byte_order_mark, passwords_or_value_itself
from tools.masking.encoded_secret_forms import KnownSecret, is_distinctive_secret
from tools.masking.pem_private_keys import BASE64_OF_PEM_BEGIN, PEM_PRIVATE_KEY_LITERAL, find_private_keys
from tools.running.withheld_environment_variables import is_secret_variable

_MAX_SECRET_FILE_BYTES = 1 << 20
_MAX_SEARCHED_SECRET_FILES = 200
_MAX_FILES_SEARCHED_FOR_SECRETS = 40
_MAX_PRIVATE_KEY_LINES = 4_000
_MCP_CONFIG_FILES = ("mcp.json", ".mcp.json", ".bayou/mcp.json")
_SECRET_PATH_PATTERN = lazy_regex(
    r"[\w./~@+-]*(?:\.env(?:\.[\w.-]+)?|\.envrc|\.netrc|\.npmrc|\.pypirc|\.pgpass|\.git-credentials|\.aws/credentials)"
    r"(?![\w-])"
)
FileStamp = tuple[int, int, int]
SecretsOfFile = tuple[tuple[KnownSecret, ...], tuple[KnownSecret, ...]]
"""The secrets of a file, and assignments that are only recognised together with their names."""
ReadSecrets = Callable[[str, str], SecretsOfFile]
"""A function that reads secrets from a file's path and text."""

FindSecretFiles = Callable[[Path, bool], Iterable[str]]
"""A function that returns the files with secrets below a folder; if the second argument is true, also files that were
created just now."""


def find_no_secret_files(folder: Path, is_fresh: bool) -> Iterable[str]:
    """Stands in for a search for files where there is no workspace."""
    return ()


class SecretSources(msgspec.Struct, frozen=True, kw_only=True):
    """The files and variables from which a session learns secrets."""

    agent_dir: Path | None = None
    home: Path = msgspec.field(default_factory=Path.home)
    environment: Mapping[str, str] = {}


class KnownSecrets:
    """The secrets that a session knows, more with each file that is searched. Searching is for a thread."""

    def __init__(self, places: SecretSources, secret_files: FindSecretFiles = find_no_secret_files) -> None:
        self._sources = places
        self._secret_files = secret_files
        self._file_stamps: dict[str, FileStamp] = {}
        self._values_by_file: dict[str, tuple[KnownSecret, ...]] = {
            "": tuple(_secrets_from_variables(places.environment))
        }
        self._named_values_by_file: dict[str, tuple[KnownSecret, ...]] = {}
        self._version_numbers = count(1)
        self.version = 0
        """A number that changes whenever further secrets become known."""
        self._search_lock = threading.Lock()
        """A lock that makes callers wait while a file is being searched, because a secret in it would otherwise be
        sent unmasked."""

    def known_values(self) -> Iterator[KnownSecret]:
        for known in tuple(self._values_by_file.values()):
            yield from known

    def secrets_known_by_name(self) -> Iterator[KnownSecret]:
        """Yields secrets that are only recognised with their name: short values and words."""
        for named in tuple(self._named_values_by_file.values()):
            yield from named

    def search_files(self, cwd: Path | None, texts: Iterable[str] = ()) -> None:
        """Searches bayou's files, the files in and below the folder, and files named in `texts` for secrets. Without
        a folder, because the work is on another machine, searches bayou's files only."""
        if self._sources.agent_dir is not None:
            own: tuple[tuple[str, ReadSecrets], ...] = (
                ("auth.json", _secrets_from_auth_file),
                ("models.json", _secrets_from_models_file),
                ("mcp.json", _secrets_from_mcp_file),
                ("mcp-auth.json", _secrets_from_sign_ins_file),
            )
            for name, read in own:
                self._read_file_if_changed(self._sources.agent_dir / name, read)
        if cwd is not None:
            for name in _MCP_CONFIG_FILES:
                self._read_file_if_changed(cwd / name, _secrets_from_mcp_file)
            named = tuple(self._files_named_in(cwd, texts))
            below = (Path(path) for path in self._secret_files(cwd, bool(named)) if is_secret_file_name(path))
            for path in (*_secret_files(cwd), *islice(below, _MAX_SEARCHED_SECRET_FILES // 2), *named):
                self.search_file(path)

    def add_values(self, source: str, values: Iterable[KnownSecret]) -> None:
        """Adds secrets that are in no file: output of a command, or from an extension. `source`: their owner."""
        before = self._values_by_file.get(source, ())
        added = tuple(one for one in dict.fromkeys(values) if one not in before)
        if added:
            self._values_by_file[source] = before + added
            self.version = next(self._version_numbers)

    def search_file(self, path: Path) -> None:
        """Searches a file for secrets if its name marks it as secret, or if it is a private key."""
        if is_secret_file_name(str(path)):
            self._read_file_if_changed(path, _secrets_from_env_file)
        else:
            self._read_file_if_changed(path, _secrets_from_key_file)

    def _files_named_in(self, cwd: Path, texts: Iterable[str]) -> Iterator[Path]:
        left = _MAX_FILES_SEARCHED_FOR_SECRETS
        for text in texts:
            if (
                ".env" not in text
                and "rc" not in text
                and "credentials" not in text
                and ".pgpass" not in text
            ):
                continue
            for name in dict.fromkeys(found[0] for found in _SECRET_PATH_PATTERN.finditer(text)):
                left -= 1
                if left < 0:
                    return
                path = Path(name.replace("~", str(self._sources.home), 1) if name.startswith("~/") else name)
                if is_secret_file_name(str(path)):
                    yield cwd / path

    def _read_file_if_changed(self, path: Path, read: ReadSecrets) -> None:
        with self._search_lock:
            self._read_changed_file(path, read)

    def _read_changed_file(self, path: Path, read: ReadSecrets) -> None:
        key = str(path)
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if (
                self._file_stamps.get(key) == stamp
                or status.st_size > _MAX_SECRET_FILE_BYTES
                or not stat.S_ISREG(status.st_mode)
            ):
                return
            text = decode_text_by_byte_order_mark(path.read_bytes())
        except (OSError, ValueError):
            return
        if len(self._file_stamps) > _MAX_SEARCHED_SECRET_FILES and key not in self._file_stamps:
            self._file_stamps.pop(next(iter(self._file_stamps)))
        self._file_stamps[key] = stamp
        known, named = read(key, text)
        # A value that was in a file stays secret after the file has changed.
        before = self._values_by_file.get(key, ())
        added = tuple(one for one in known if one not in before)
        self._named_values_by_file[key] = tuple(
            dict.fromkeys((*self._named_values_by_file.get(key, ()), *named))
        )
        if added or named:
            self._values_by_file[key] = before + added
            self.version = next(self._version_numbers)


def _secrets_from_variables(env: Mapping[str, str]) -> Iterator[KnownSecret]:
    for name, value in env.items():
        if is_secret_variable(name, value):
            for one in passwords_or_value_itself(value):
                yield KnownSecret(name, one)


def _secrets_from_auth_file(path: str, text: str) -> SecretsOfFile:
    """Returns the keys and tokens in bayou's file of credentials, by provider, without expiry and account names."""
    return tuple(
        KnownSecret(f"{provider}-{field}", value)
        for provider, entry in _parse_json_object(text).items()
        for field in ("key", "access", "refresh")
        if (value := _literal_key(_as_dict(entry).get(field)))
    ), ()


def _secrets_from_models_file(path: str, text: str) -> SecretsOfFile:
    found: list[KnownSecret] = []
    for provider, entry in _as_dict(_parse_json_object(text).get("providers")).items():
        if key := _literal_key(_as_dict(entry).get("apiKey")):
            found.append(KnownSecret(f"{provider}-key", key))
        found += _secrets_from_headers(provider, _as_dict(_as_dict(entry).get("headers")))
    return tuple(found), ()


def _secrets_from_headers(owner: str, headers: Mapping[str, Any]) -> Iterator[KnownSecret]:
    """Yields the values of HTTP headers whose name sounds secret."""
    for name, said in headers.items():
        value = _literal_key(said)
        if value and (name.lower() == "authorization" or is_secret_variable(name.replace("-", "_"), value)):
            yield KnownSecret(f"{owner}-{name}", value.rpartition(" ")[2])


def _secrets_from_mcp_file(path: str, text: str) -> SecretsOfFile:
    """Returns the secrets in a configuration of MCP servers: headers and variables that sound secret, and
    client secrets."""
    found: list[KnownSecret] = []
    for server, entry in _as_dict(_parse_commented_object(text).get("mcpServers")).items():
        said = {**_as_dict(_as_dict(entry).get("env")), **_as_dict(_as_dict(entry).get("headers"))}
        found += _secrets_from_headers(
            server, {name: each for name, each in said.items() if "${" not in str(each)}
        )
        for field, name in (("clientSecret", "client-secret"), ("privateKey", "private-key")):
            if secret := _literal_key(_as_dict(_as_dict(entry).get("oauth")).get(field)):
                found.append(KnownSecret(f"{server}-{name}", secret))
    return tuple(found), ()


def _secrets_from_sign_ins_file(path: str, text: str) -> SecretsOfFile:
    return tuple(
        KnownSecret(f"{server.partition(' ')[0]}-{field}", value)
        for server, entry in _parse_json_object(text).items()
        for part in ("tokens", "client")
        for field in ("access_token", "refresh_token", "client_secret")
        if (value := _literal_key(_as_dict(_as_dict(entry).get(part)).get(field)))
    ), ()


def _secrets_from_env_file(path: str, text: str) -> SecretsOfFile:
    known = tuple(find_known_secrets_in_file(path, text))
    named = tuple(one for one in known if not is_distinctive_secret(one.value))
    return known, named


def _secrets_from_key_file(path: str, text: str) -> SecretsOfFile:
    """Returns the lines of a private key as secrets, since a text may quote some lines without the beginning."""
    lines = (
        find_private_keys(text).spans
        if PEM_PRIVATE_KEY_LITERAL in text or BASE64_OF_PEM_BEGIN in text
        else ()
    )
    return tuple(
        KnownSecret("private-key", text[start:end], is_plain=True)
        for start, end in lines[:_MAX_PRIVATE_KEY_LINES]
    ), ()


def _parse_json_object(text: str) -> dict[str, Any]:
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
    """Returns an API key that is written literally; empty for a value that names a variable or a command."""
    return value if isinstance(value, str) and not value.startswith(("$", "!")) else ""


def _secret_files(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name for entry in entries if "env" in entry.name or entry.name.startswith((".", "_"))
            ]
    except OSError:
        return
    yield folder / ".aws" / "credentials"
    for name in sorted(filter(is_secret_file_name, names))[:_MAX_FILES_SEARCHED_FOR_SECRETS]:
        yield folder / name
