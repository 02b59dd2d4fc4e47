"""Lists of commands with the letter each must get, and the place they are judged at."""

from pathlib import Path
from typing import NamedTuple

import msgspec

from app.permits.place import CommandPlace

HERE = Path(__file__).parent


def listed(name: str) -> list[tuple[str, str]]:
    """Letter and command; `¶` is a line feed."""
    rows = [line.split("\t", 1) for line in (HERE / name).read_text(encoding="utf-8").splitlines() if line]
    return [(letter, command.replace("¶", "\n")) for letter, command in rows]


class PublicCommand(NamedTuple):
    """A command of a public project; its own programs are those that the project has or declares."""

    letter: str
    command: str
    place: str
    own: frozenset[str]

    @property
    def judged_at(self) -> CommandPlace:
        return msgspec.structs.replace(PLACE, has_program=lambda name, folders: name in self.own)


def public() -> list[PublicCommand]:
    """Letter, command, where it stands, and the programs of the project that it runs; `¶` is a line feed."""
    rows = (HERE / "public.tsv").read_text(encoding="utf-8").splitlines()
    return [
        PublicCommand(letter, command.replace("¶", "\n"), place, frozenset(" ".join(own).split()))
        for letter, command, place, *own in (row.split("\t") for row in rows)
    ]


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
