"""Settings of a session's kernel, read on demand."""

from collections.abc import Awaitable, Callable

import msgspec


async def _no_interpreter_choice() -> tuple[str | None, bool]:
    return None, True


class KernelSettings(msgspec.Struct, frozen=True, kw_only=True):
    interpreter_choice: Callable[[], Awaitable[tuple[str | None, bool]]] = _no_interpreter_choice
    """Returns the configured interpreter, and whether programs in the folder may run."""
    idle_seconds: float = 900.0
    """Idle time after which the kernel ends. 0 means never."""
    default_timeout: float | None = None
    """Timeout in seconds for a cell without one."""
