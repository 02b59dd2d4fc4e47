"""Asks for confirmation before something that is hard to undo."""

import sys

from app.printing import print_text


def confirm(question: str) -> bool:
    """Asks a question; only an explicit yes counts."""
    print_text(f"{question} [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
