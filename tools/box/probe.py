"""Tries the instructions of a box on itself and prints what stood in the way, or `.`.

A program of its own, run and not imported: bayou forbids looking into its memory, and a child that only forks inherits
that, so that an ordinary user's could not write the maps of its user namespace. A program that is started fresh holds
nothing secret and can.
"""

import os
import sys


def main() -> None:
    sys.path.append(os.path.dirname(__file__))  # noqa: PTH120  (no `pathlib`: it doubles what a start costs)
    confinement = __import__("confine").Confinement([])
    try:
        confinement.obey([os.fsencode(word) for word in sys.argv[1:]])
        found = "."
    except OSError as problem:
        found = f"{problem.errno or 0} {problem.filename}"
    os.write(1, found.encode(errors="replace"))
    os._exit(0)


if __name__ == "__main__":
    main()
