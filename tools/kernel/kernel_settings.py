"""Settings of a session's kernel, read on demand."""

from collections.abc import Awaitable, Callable

import msgspec


async def _no_interpreter_choice() -> tuple[str | None, bool]:
    return None, True


class KernelSettings(msgspec.Struct, frozen=True, kw_only=True):
    interpreter_choice: Callable[[], Awaitable[tuple[str | None, bool]]] = _no_interpreter_choice
    """A function that returns the configured interpreter (None: none), and whether programs in the project's folder
    may run."""
    idle_seconds: float = 900.0
    """The time in seconds after which an idle kernel is ended; 0 means never."""
    default_timeout: float | None = None
    """The time limit in seconds of a cell that sets none; None means no limit."""
