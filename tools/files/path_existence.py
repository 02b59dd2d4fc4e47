"""Checks whether a path exists; an inaccessible path counts as missing.

`Path.is_file` and similar methods raise on some Pythons where a parent folder is inaccessible."""

import os
from pathlib import Path


def is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113  (the whole point)


def is_dir(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112  (as above)


def exists(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110  (as above)


def is_link(path: Path) -> bool:
    return os.path.islink(path)  # noqa: PTH114  (as above)
