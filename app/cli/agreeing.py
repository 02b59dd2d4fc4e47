"""Asking before something is done that cannot simply be taken back."""

import sys


def agreed(question: str) -> bool:
    """Only a yes is one."""
    sys.stdout.write(f"{question} [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
