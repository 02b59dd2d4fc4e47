"""What a session's kernel goes by; asked for when it matters."""

from collections.abc import Awaitable, Callable

import msgspec


async def _no_choice() -> tuple[str | None, bool]:
    return None, True


class KernelSettings(msgspec.Struct, frozen=True, kw_only=True):
    interpreter_choice: Callable[[], Awaitable[tuple[str | None, bool]]] = _no_choice
    """The interpreter that somebody chose, and whether what lies in the folder may be run."""
    idle_seconds: float = 900.0
    """Without a cell; then it ends. 0: never."""
    default_timeout: float | None = None
    """Seconds for a cell that names none."""
