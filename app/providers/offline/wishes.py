"""What a person can ask the offline guide for, as values. How words become wishes is in `words`."""

from typing import Literal

import msgspec


class _Wish(msgspec.Struct, frozen=True, kw_only=True):
    pass


class ReadFile(_Wish, frozen=True, kw_only=True):
    path: str
    first: int | None = None
    last: int | None = None
    symbol: str | None = None


class MapFile(_Wish, frozen=True, kw_only=True):
    path: str


class FindName(_Wish, frozen=True, kw_only=True):
    name: str
    folder: str | None = None


class SearchText(_Wish, frozen=True, kw_only=True):
    pattern: str
    where: str | None = None
    """A file, a folder, or a glob."""


class ListFolder(_Wish, frozen=True, kw_only=True):
    path: str | None = None


class RunCommand(_Wish, frozen=True, kw_only=True):
    command: str


class RunPython(_Wish, frozen=True, kw_only=True):
    code: str


class Overview(_Wish, frozen=True, kw_only=True):
    """What is this project? Its folder, and what it says of itself."""


class EditFile(_Wish, frozen=True, kw_only=True):
    path: str | None
    """None: not said."""
    replacements: tuple[tuple[str, str], ...]


class WriteFile(_Wish, frozen=True, kw_only=True):
    path: str
    text: str


class KeepTodos(_Wish, frozen=True, kw_only=True):
    """The list of what is to be done: told, or changed."""

    op: Literal["view", "add", "start", "done", "drop"] = "view"
    tasks: tuple[str, ...] = ()


class Help(_Wish, frozen=True, kw_only=True):
    is_greeting: bool = False


class Demo(_Wish, frozen=True, kw_only=True):
    """Shows a part of the interface."""

    kind: str


class Incomplete(_Wish, frozen=True, kw_only=True):
    """The verb is clear, what it is about is not."""

    verb: str
    question: str


class Remark(_Wish, frozen=True, kw_only=True):
    """Something that is said and not asked for, with what there is to say to it."""

    answer: str


class Unclear(_Wish, frozen=True, kw_only=True):
    text: str


Doing = (
    ReadFile
    | MapFile
    | FindName
    | SearchText
    | ListFolder
    | Overview
    | RunCommand
    | RunPython
    | EditFile
    | WriteFile
    | KeepTodos
)
Talking = Help | Demo | Incomplete | Remark | Unclear
Wish = Doing | Talking

IT = "it"
"""A path that stands for the file spoken of last."""
