"""Lists of command lines, and the place they are judged at; `¶` in them is a line feed."""

from pathlib import Path

from app.permits.command_place import CommandPlace

_HERE = Path(__file__).parent


def commands(name: str) -> list[str]:
    text = (_HERE / name).read_text(encoding="utf-8")
    return [line.replace("¶", "\n") for line in text.splitlines() if line]


def examples() -> list[tuple[str, str]]:
    """Each with what it is: a class, or `network` for a contained one that is a known network command."""
    rows = (_HERE / "examples.tsv").read_text(encoding="utf-8").splitlines()
    return [(kind, command.replace("¶", "\n")) for kind, command in (row.split("\t", 1) for row in rows)]


PLACE = CommandPlace(
    workspace="/home/me/proj",
    working_folder="/home/me/proj",
    home_folder="/home/me",
    user_name="me",
    bayou_folders=("/home/me/.bayou/agent",),
    has_sandbox=True,
    hides_secrets=True,
)
"""A project where commands that read run in a sandbox."""
