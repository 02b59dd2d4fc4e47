"""Which paths a command names, read off its words: enough to keep the order of calls, not to tell what it does."""

import os
from pathlib import Path
from typing import Final

from tools.files.paths import absolute
from tools.patterns import late
from tools.running.shell import split_leading_cd

_WORD: Final = late(r"""(?P<into>>>?\s*)?(?:"([^"\n]{1,500})"|'([^'\n]{1,500})'|([^\s"'`;|&()<>=]{1,500}))""")
_MOST: Final = 500


def written_and_named(command: str, cwd: Path) -> tuple[frozenset[str], frozenset[str]]:
    """What its output is redirected into, and every other word that can be a path."""
    folder, rest = split_leading_cd(command)
    inside = Path(absolute(folder, cwd)) if folder else cwd
    written: set[str] = set()
    named: set[str] = set()
    for match in _WORD.finditer(rest):
        word = match[2] or match[3] or match[4]
        if word.startswith("-") or "\0" in word or len(named) >= _MOST:
            continue
        path = absolute(word, inside)
        if not _holds(path, cwd):
            (written if match["into"] else named).add(path)
    return frozenset(written), frozenset(named)


def _holds(path: str, cwd: Path) -> bool:
    """A folder that everything lies in tells nothing."""
    return os.path.commonpath((path, cwd)) == path
