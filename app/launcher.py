"""The console script's entry: puts bayou's own folder first on `sys.path`, then starts the command line.

Shipped as the top-level module `bayou_launcher`, a name no project uses, because people run bayou inside
projects that have an `app/` or `tools/` of their own and may have `PYTHONPATH=.` set.
"""

import sys


def main() -> int:
    home = _own_folder()
    sys.path[:] = [home, *(entry for entry in sys.path if entry != home)]
    from app.cli.main import main as run  # noqa: PLC0415  (only importable once the path is set)

    return run()


def _own_folder() -> str:
    # As the installed module this file lies beside `app/`; in a checkout it lies inside it.
    here = __file__.replace("\\", "/").rsplit("/", 1)[0]
    return here.rsplit("/", 1)[0] if here.endswith("/app") else here
