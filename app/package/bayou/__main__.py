"""Starts bayou, as `python -m bayou`, by this file's path, or from the command `bayou`.

People run bayou inside projects that have their own `app/` or `bayou.py` and may have `PYTHONPATH=.`
set, so the program's folder goes first on the path, and `bayou` is imported from where this file lies.
"""

import os
import sys


def main() -> int:
    if "bayou" not in sys.modules:
        sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        import bayou  # noqa: PLC0415  (from here, for every later import)

        del sys.path[0]
    from bayou.program import program_folder  # noqa: PLC0415  (only importable now)

    program = program_folder()
    sys.path[:] = [program, *(entry for entry in sys.path if entry != program)]
    from app.cli.main import main as run  # noqa: PLC0415  (only importable once the path is set)

    return run()


if __name__ == "__main__":
    sys.exit(main())
