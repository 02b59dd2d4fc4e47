"""Files that their person keeps from being read: they are neither indexed nor shown."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import msgspec


class HiddenFiles(msgspec.Struct, frozen=True, array_like=True):
    forms: tuple[str, ...] = ()
    """Regular expressions of whole paths, links followed."""

    def matcher_for(self, root: Path) -> Callable[[str], bool]:
        """Whether a file of that folder is one of them; for paths as the index names them."""
        if not self.forms:
            return lambda path: False
        whole = re.compile("|".join(f"(?:{form})" for form in self.forms), re.DOTALL)
        folder = os.path.realpath(root).rstrip("/")
        return lambda path: whole.fullmatch(f"{folder}/{path}") is not None
