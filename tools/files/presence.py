"""Whether something is there, as far as one can see: what may not be looked at counts as not there.

`Path.is_file` and its like raise where a folder on the way may not be entered, on some Pythons; nobody who only asks
whether there is a file wants to end for that.
"""

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
