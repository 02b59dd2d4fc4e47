"""What a session's kernel goes by; asked for when it matters."""

from collections.abc import Awaitable, Callable

import msgspec


async def _nothing_is_the_folders() -> tuple[str | None, bool]:
    return None, True


class KernelSettings(msgspec.Struct, frozen=True, kw_only=True):
    counting: Callable[[], Awaitable[tuple[str | None, bool]]] = _nothing_is_the_folders
    """The interpreter that somebody chose, and whether what lies in the folder may be run."""
    idle_seconds: float = 900.0
    """Without a cell; then it ends. 0: never."""
    default_timeout: float | None = None
    """Seconds for a cell that names none."""
