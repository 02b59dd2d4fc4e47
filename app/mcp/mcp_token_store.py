"""Stores the tokens of sign-ins to MCP servers in `mcp-auth.json`: mode 0600, written whole under a lock, never
overwritten when it is broken.

The file is read again for each connection, so that a sign-in in one process applies to all of them at once. One process
at a time refreshes an expired token: a refresh token often works only once."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from app.resources.paths import BayouPaths
from app.resources.text_files import read_text, write_text
from app.values.user_errors import FileError, UserError

_TOKEN_LOCK_TIMEOUT_SECONDS = 40.0
_TOKEN_EXPIRY_MARGIN_SECONDS = 30.0
"""A token that expires within this time is not sent any more."""


class StoredOAuthTokens(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The stored OAuth data of the sign-in to one MCP server: the SDK's values as plain JSON."""

    tokens: dict[str, Any] = {}
    client: dict[str, Any] = {}
    server: dict[str, Any] = {}
    """The metadata of the authorization server."""
    resource: dict[str, Any] = {}
    """The metadata of the protected resource, which names its authorization servers."""
    expires_at: float = 0.0
    """Unix seconds; 0: the server named no expiry."""
    wanted_scope: str = ""
    """The scope whose lack caused a refusal; the next sign-in requests it."""

    @property
    def is_expired(self) -> bool:
        return 0 < self.expires_at < time.time() + _TOKEN_EXPIRY_MARGIN_SECONDS


class McpTokenStore:
    """The stored sign-ins to MCP servers, by the server's name and address: after a change of the address a
    new sign-in is needed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load_sign_in(self, name: str, url: str) -> StoredOAuthTokens | None:
        """Returns the stored sign-in to an MCP server; None when it is missing or invalid. Raises `FileError`
        for a broken file."""
        entry = self._read_entries().get(_server_entry_key(name, url))
        try:
            return msgspec.convert(entry, StoredOAuthTokens) if entry is not None else None
        except msgspec.ValidationError:
            return None

    def store_sign_in(self, name: str, url: str, sign_in: StoredOAuthTokens) -> None:
        def put(table: dict[str, Any]) -> None:
            table[_server_entry_key(name, url)] = msgspec.to_builtins(sign_in)

        self._change_entries(put)

    def remove_sign_in(self, name: str, url: str) -> bool:
        """Removes the stored sign-in to an MCP server. Returns False when there was none."""
        found = _server_entry_key(name, url) in self._read_entries()
        if found:
            self._change_entries(lambda table: table.pop(_server_entry_key(name, url), None))
        return found

    @asynccontextmanager
    async def lock_token_for_refresh(self, name: str, url: str) -> AsyncIterator[None]:
        """Lets only one process at a time refresh a server's token, as an async context manager. Raises `UserError`."""
        from filelock import FileLock, Timeout  # noqa: PLC0415  (only where a token has run out)

        mark = hashlib.sha256(_server_entry_key(name, url).encode("utf-8", "surrogatepass")).hexdigest()[:12]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(
            f"{self.path}.{mark}.lock", timeout=_TOKEN_LOCK_TIMEOUT_SECONDS, mode=0o600, thread_local=False
        )
        taking = asyncio.ensure_future(asyncio.to_thread(lock.acquire))
        try:
            await asyncio.shield(taking)
        except Timeout:
            raise UserError(
                f"another bayou has been refreshing the sign-in to {name} for too long; try again"
            ) from None
        except asyncio.CancelledError:
            taking.add_done_callback(lambda done: None if done.exception() else lock.release(force=True))
            raise
        try:
            yield
        finally:
            lock.release(force=True)

    def _read_entries(self) -> dict[str, Any]:
        text = read_text(self.path)
        if text is None or not text.strip():
            return {}
        try:
            table = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            table = None
        if not isinstance(table, dict):
            raise FileError(self.path, "is damaged and was not changed; delete it and sign in again")
        return table

    def _change_entries(self, edit: Any) -> None:
        from filelock import FileLock, Timeout  # noqa: PLC0415  (only changes need it)

        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{self.path}.lock", timeout=5, mode=0o600):
                table = self._read_entries()
                edit(table)
                text = msgspec.json.format(msgspec.json.encode(table), indent=2).decode()
                write_text(self.path, text + "\n", mode=0o600)
        except Timeout:
            raise FileError(self.path, "is locked by another process; try again") from None
        except OSError as problem:
            raise FileError(self.path, f"cannot be written: {problem.strerror or problem}") from None


def open_mcp_token_store(paths: BayouPaths) -> McpTokenStore:
    return McpTokenStore(paths.agent_dir / "mcp-auth.json")


def _server_entry_key(name: str, url: str) -> str:
    return f"{name.replace('-', '_')} {url.partition('?')[0]}"
