"""Lists of commands with the letter each must get, and the place they are judged at."""

from pathlib import Path

from app.permits.place import CommandPlace
from app.permits.verdicts import risk_of

HERE = Path(__file__).parent


def listed(name: str) -> list[tuple[str, str]]:
    """Class and command; `¶` is a line feed."""
    rows = [line.split("\t", 1) for line in (HERE / name).read_text(encoding="utf-8").splitlines() if line]
    return [(risk_of(letter) or "", command.replace("¶", "\n")) for letter, command in rows]


PLACE = CommandPlace(
    workspace="/home/me/proj",
    folder="/home/me/proj",
    home="/home/me",
    user="me",
    own=("/home/me/.bayou/agent",),
    hooks=frozenset({"pre-commit"}),
    hides_secrets=True,
)
"""A project under git with an enabled hook, where commands that read run in a box."""
