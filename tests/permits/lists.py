"""Lists of commands with the letter each must get, and the place they are judged at."""

from pathlib import Path

from app.permits.place import CommandPlace

HERE = Path(__file__).parent


def listed(name: str) -> list[tuple[str, str]]:
    """Letter and command; `¶` is a line feed."""
    rows = [line.split("\t", 1) for line in (HERE / name).read_text(encoding="utf-8").splitlines() if line]
    return [(letter, command.replace("¶", "\n")) for letter, command in rows]


def public() -> list[tuple[str, str, str]]:
    """Letter, command and where it stands in a public project; `¶` is a line feed."""
    rows = (HERE / "public.tsv").read_text(encoding="utf-8").splitlines()
    return [
        (letter, command.replace("¶", "\n"), place)
        for letter, command, place in (row.split("\t") for row in rows)
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
