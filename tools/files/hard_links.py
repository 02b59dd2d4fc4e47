"""Finds the hard links of a file, which change together when one of them is written in place."""

import os
import stat
from typing import Final

MAX_ENTRIES_SEARCHED_FOR_OTHER_NAMES: Final = 50_000
"""The maximum number of directory entries that are searched for a file's other names, which limits how long an edit
waits."""


def find_other_hard_links(place: str, root: str) -> tuple[list[str], bool]:
    """Returns the other names below `root` of the file at `place`, and whether these are all. Blocks.

    A file with one name, as nearly all have, costs one `stat`."""
    try:
        found = os.lstat(place)
    except OSError:
        return [], True
    if found.st_nlink <= 1 or not stat.S_ISREG(found.st_mode):
        return [], True
    names: list[str] = []
    waiting, looked_at = [root], 0
    while waiting and looked_at < MAX_ENTRIES_SEARCHED_FOR_OTHER_NAMES and len(names) < found.st_nlink - 1:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    looked_at += 1
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name != ".git":
                            waiting.append(entry.path)
                    elif (
                        entry.inode() == found.st_ino and entry.path != place and _is_same_file(entry, found)
                    ):
                        names.append(entry.path)
        except OSError:
            continue
    return sorted(names), len(names) == found.st_nlink - 1


def _is_same_file(entry: "os.DirEntry[str]", found: os.stat_result) -> bool:
    return entry.stat(follow_symlinks=False).st_dev == found.st_dev
