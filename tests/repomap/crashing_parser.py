"""Stands in for what a process of the pool does, and dies at one file as by a parser that crashes."""

import os
from collections.abc import Sequence
from pathlib import Path

from tools.repomap.index.indexing_pool import pack_complete_records, pack_outline_records


def crash_at_poison(root: Path, paths: Sequence[str]) -> bytes:
    if any("poison" in path for path in paths):
        os._exit(1)
    return pack_outline_records(root, paths)


def crash_with_all_at_poison(root: Path, paths: Sequence[str]) -> bytes:
    if any("poison" in path for path in paths):
        os._exit(1)
    return pack_complete_records(root, paths)
