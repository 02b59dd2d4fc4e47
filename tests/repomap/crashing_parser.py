"""Stands in for what a process of the pool does, and dies at one file as by a parser that crashes."""

import os
from collections.abc import Sequence
from pathlib import Path

from tools.repomap.index.indexing_pool import index_files_completely, outline_files


def crash_at_poison(root: Path, paths: Sequence[str]) -> bytes:
    if any("poison" in path for path in paths):
        os._exit(1)
    return outline_files(root, paths)


def crash_with_all_at_poison(root: Path, paths: Sequence[str]) -> bytes:
    if any("poison" in path for path in paths):
        os._exit(1)
    return index_files_completely(root, paths)
