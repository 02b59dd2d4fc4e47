"""Where the contents of files are kept, and what may be asked; light, as every session is handed one."""

from collections.abc import Callable
from pathlib import Path

import msgspec


class UndoPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where contents are kept, and what may be asked."""

    store: Path
    home: Path
    may_ask_git: Callable[[], bool]
    """Whether git may be asked about a repository whose configuration is not as git makes it."""
