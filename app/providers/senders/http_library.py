"""What bayou has of httpcore2, and the one place where it is imported: of its parts those that send.

The package imports all of itself: a copy of everything for threads, stand-ins for tests, SOCKS, and anyio with its
event loop, which is more than the rest together. So its parts are imported here each by itself, and the packages that
they lie in are run when somebody asks them for anything else, as the SDK of MCP servers does. What httpcore2 wants of
anyio (a lock, an event, a shield) is asyncio's own, unless something else works with anyio in this process.
"""

import asyncio
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tools.lean_imports import unrun

with unrun("httpcore2", "httpcore2._async"):
    from httpcore2._async.connection_pool import AsyncConnectionPool
    from httpcore2._backends.base import AsyncNetworkBackend, AsyncNetworkStream
    from httpcore2._exceptions import (
        ConnectError,
        ConnectTimeout,
        ReadError,
        ReadTimeout,
        RemoteProtocolError,
        WriteError,
        WriteTimeout,
        map_exceptions,
    )
    from httpcore2._models import URL, Proxy, Request, Response
    from httpcore2._utils import is_socket_readable


class _Waiting:
    """In anyio's place, for the library's locks, events and shields."""

    def __init__(self, anyio: Any) -> None:
        self._anyio = anyio

    def fail_after(self, seconds: float | None) -> AbstractContextManager[Any]:
        return nullcontext() if seconds is None else self._anyio.fail_after(seconds)

    def __getattr__(self, name: str) -> Any:
        is_at_work = "anyio._backends._asyncio" in sys.modules
        return getattr(self._anyio, name) if is_at_work or name not in OWN else OWN[name]


def _lock(*, fast_acquire: bool) -> asyncio.Lock:
    """asyncio's is always as fast."""
    return asyncio.Lock()


def _scope(*, shield: bool) -> AbstractContextManager[None]:
    """anyio's shields keep off anyio's scopes, which are not there: no task is kept from being cancelled by either."""
    return nullcontext()


OWN: dict[str, Any] = {"Lock": _lock, "Event": asyncio.Event, "CancelScope": _scope}

_waiting = sys.modules["httpcore2._synchronization"].__dict__
if not isinstance(_waiting["anyio"], _Waiting):
    _waiting["anyio"] = _Waiting(_waiting["anyio"])


def has_more(response: Response) -> bool:
    """Whether words have come behind an answer that was read to its end. The library keeps them for the next one."""
    held: Any = response.stream
    return bool(held._stream._connection._h11_state.trailing_data[0])


__all__ = [
    "URL",
    "AsyncConnectionPool",
    "AsyncNetworkBackend",
    "AsyncNetworkStream",
    "ConnectError",
    "ConnectTimeout",
    "Proxy",
    "ReadError",
    "ReadTimeout",
    "RemoteProtocolError",
    "Request",
    "Response",
    "WriteError",
    "WriteTimeout",
    "has_more",
    "is_socket_readable",
    "map_exceptions",
]
