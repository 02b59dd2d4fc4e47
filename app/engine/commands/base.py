"""What a session command is: a name, typed parameters, and what it does. Every face calls sessions through these.

The tables are in the modules beside this one; `table` puts them together.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from app.engine.session import Session
from app.values.unable import Unable


class Null:
    """Data that is JSON's null, where no data means something else."""


class Params(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Fields of a command beside `id` and `type`. Fields that it does not know are passed over."""


class NoParams(Params, frozen=True, kw_only=True):
    pass


def for_the_system(text: str, field: str) -> str:
    """A command line or a path, as an operating system can take it. Raises `Unable`."""
    if "\0" in text:
        raise Unable(f"{field} has a NUL character, which no command line and no path can have.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Unable(f"{field} is not valid Unicode: it has half a surrogate pair.") from None
    return text


P = TypeVar("P", bound=Params)


class Command(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    help: str
    params: type[Params]
    run: Callable[[Session, Any], Awaitable[Any]]
    """Returns the response's data, as plain JSON data or wire structs; None: no data; `Null`: null."""
    data: Any = None
    """The type of the response's data, for the reference; None: there is none."""


def command(
    name: str, params: type[P], run: Callable[[Session, P], Awaitable[Any]], help: str, data: Any = None
) -> Command:
    return Command(name=name, help=help, params=params, run=run, data=data)
