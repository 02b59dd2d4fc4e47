"""Tells which files the user's rules hide: they are neither indexed nor shown."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import msgspec


class FileHidingRules(msgspec.Struct, frozen=True, array_like=True):
    hiding_patterns: tuple[str, ...] = ()
    """Regular expressions for whole paths, with links resolved."""

    def make_hidden_file_test(self, root: Path) -> Callable[[str], bool]:
        """Returns a function that says whether the rules hide a file below `root`; it takes paths relative to the
        root."""
        if not self.hiding_patterns:
            return lambda path: False
        whole = re.compile(
            "|".join(f"(?:{form})" for form in self.hiding_patterns), re.DOTALL | re.IGNORECASE
        )
        folder = os.path.realpath(root).rstrip("/")
        return lambda path: whole.fullmatch(f"{folder}/{path}") is not None
