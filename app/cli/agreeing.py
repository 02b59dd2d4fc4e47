"""Asking before something is done that cannot simply be taken back."""

import sys

from app.printing import print_text


def agreed(question: str) -> bool:
    """Only a yes is one."""
    print_text(f"{question} [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
