"""Boxes of processes that last for several calls: a kernel, a shell, an MCP server, a background job.

What came after such a process began is no part of its box: places that would be guarded now are compared before and
behind each call, and where more would be hidden now the process has to begin anew. Everything only looks.
"""

import os
import stat

import msgspec

from tools.box.policy import Box, covering


def compared(box: Box | None) -> Box | None:
    """`box`: as one would be made now. The same for a look at what the process did, whatever its own box holds."""
    if box is None:
        return None
    objects = tuple(f"{folder}/objects" for folder in box.repositories)
    places = tuple(path for path in box.guarded if covering(path, objects) is None)
    return msgspec.structs.replace(box, watched=(*box.watched, *places), guarded=())


def hides_more(box: Box, before: Box) -> tuple[str, ...]:
    """What the process sees, and would not see if it began now. Not sockets, which come and go."""
    known = (*before.hidden_folders, *before.hidden_files)
    return tuple(path for path in box.hidden if covering(path, known) is None and not _is_socket(path))


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)  # noqa: PTH116  (a text)
    except OSError:
        return True
