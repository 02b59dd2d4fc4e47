"""Finds the program that belongs to this package, and the command that starts it."""

import os
import sys


def program_folder() -> str:
    """Returns the folder with the program's own packages: `_program` here, or the top of a checkout."""
    package = os.path.dirname(os.path.abspath(__file__))
    installed = os.path.join(package, "_program")
    return (
        installed if os.path.isdir(installed) else os.path.dirname(os.path.dirname(os.path.dirname(package)))
    )


def version() -> str:
    """Returns the version of the program, of an installation as of a checkout."""
    from runpy import run_path  # noqa: PLC0415  (only for those who ask)

    return run_path(os.path.join(program_folder(), "app", "version.py"))["VERSION"]


def command() -> tuple[str, ...]:
    """Returns the command that starts this installation from any folder."""
    start = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__main__.py")
    return sys.executable, "-P", start
