"""The console script's entry: puts bayou's own folder first on `sys.path`, then starts the command line.

Shipped as the top-level module `bayou_launcher`, a name no project uses, because people run bayou inside
projects that have an `app/` or `tools/` of their own and may have `PYTHONPATH=.` set.
"""

import os
import sys


def main() -> int:
    home = _own_folder()
    sys.path[:] = [home, *(entry for entry in sys.path if entry != home)]
    from app.cli.main import main as run  # noqa: PLC0415  (only importable once the path is set)

    return run()


def _own_folder() -> str:
    # As the installed module this file lies beside `app/`; in a checkout it lies inside it; of an editable
    # installation it is a copy, and the checkout is one of the path's folders.
    here = os.path.dirname(os.path.abspath(__file__))
    if os.path.basename(here) == "app":
        return os.path.dirname(here)
    if os.path.isfile(os.path.join(here, "app", "version.py")):
        return here
    folders = [entry for entry in sys.path if os.path.isfile(os.path.join(entry, "app", "launcher.py"))]
    return folders[-1] if folders else here
