"""Defines session commands: operations that every interface offers, each written once as a function.

    @command("Queue a message for the next request", answer="disposition")
    async def steer(session: Session, message: str, images: Sequence[Image] = ()) -> Disposition:

The function gives the command its name, parameters and result. The camel-case JSON fields of requests and
responses, the RPC schema and page, the Python client's method, and the help of slash commands and keys are made
from it. The commands are in the modules beside this one; `table` lists all of them by name."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import (
    Any,
    Concatenate,
    Generic,
    NotRequired,
    ParamSpec,
    TypedDict,
    TypeVar,
    get_args,
    get_type_hints,
)

import msgspec
from msgspec import structs

from app.engine.session import Session
from app.values.user_errors import UserError
from app.values.wire import convert, from_wire, to_wire

P = ParamSpec("P")
R = TypeVar("R")


class SessionCommandDefinition(Generic[P, R]):
    """An operation on a session; calling it with a session runs it."""

    def __init__(
        self,
        run: Callable[Concatenate[Session, P], Awaitable[R]],
        words: str,
        *,
        more: str = "",
        answer: str = "",
        data: Any = None,
        stops: bool = False,
        name: str = "",
    ) -> None:
        self.function = run
        """The decorated function, which carries the command out."""
        self._data = data
        self.name = name or run.__name__
        self.words = words
        """A description of the command in a few words without a period, for lists."""
        self.more = more
        """Further sentences of the command's help."""
        self.answer = answer
        """The field of the response's data that has the result; empty: the result itself is the data."""
        self.stops = stops
        """Whether the command stops something, and runs even while its output is not read."""

    def __call__(self, session: Session, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        return self.function(session, *args, **kwargs)

    @property
    def description(self) -> str:
        return f"{self.words}. {self.more}".strip()

    def with_alias(self, name: str) -> "SessionCommandDefinition[P, R]":
        """Returns the same session command under another name."""
        return SessionCommandDefinition(
            self.function,
            f"The same as {self.name}",
            answer=self.answer,
            data=self._data,
            stops=self.stops,
            name=name,
        )

    @cached_property
    def parameters_struct(self) -> type[msgspec.Struct]:
        """A struct type with the parameters of the session command, without `id` and `type`. Unknown fields of a
        request are ignored."""
        types = get_type_hints(self.function)
        taken = list(inspect.signature(self.function).parameters.values())[1:]
        return msgspec.defstruct(
            f"{self.name}_fields",
            [
                (each.name, types[each.name])
                if each.default is each.empty
                else (each.name, types[each.name], each.default)
                for each in taken
            ],
            frozen=True,
            kw_only=True,
            rename="camel",
        )

    @cached_property
    def response_data_type(self) -> Any:
        """The type of the data in the command's response; None: the response has no data."""
        if self._data is not None:
            return self._data
        kind = self._result_type
        if not self.answer:
            return kind
        is_optional = type(None) in get_args(kind)
        field = NotRequired[get_args(kind)[0]] if is_optional else kind
        dictionary: Any = TypedDict  # the type is made at run time, which a type checker cannot follow
        return dictionary(self.response_type_name, {self.answer: field})

    @property
    def response_type_name(self) -> str:
        """The name of the generated type for response data with a single field."""
        return f"{self.name}_data"

    @cached_property
    def _result_type(self) -> Any:
        kind = get_type_hints(self.function)["return"]
        return None if kind is type(None) else kind

    def decode_arguments(self, line: Mapping[str, Any]) -> dict[str, Any]:
        """Decodes the command's parameters from a request's fields. Raises `msgspec.ValidationError`."""
        given = convert(
            {key: value for key, value in line.items() if value is not None}, self.parameters_struct
        )
        return structs.asdict(given)

    def encode_arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Returns a request's fields for these arguments of the command; the reverse of `decode_arguments`."""
        return {
            field.encode_name: given[field.name]
            for field in structs.fields(self.parameters_struct)
            if field.name in given
        }

    def encode_result(self, answer: Any) -> dict[str, Any]:
        """Returns the response's `data` for a result of the command; None: the response has no data."""
        if self._result_type is None:
            return {}
        if self.answer:
            answer = {} if answer is None else {self.answer: answer}
        return {"data": to_wire(answer)}

    def decode_result(self, data: Any) -> Any:
        """Returns the command's result from the data of a response; the reverse of `encode_result`."""
        if self._result_type is None:
            return None
        if self.answer:
            data = data.get(self.answer)
        return from_wire(data, self._result_type)


def session_command(
    words: str, more: str = "", *, answer: str = "", data: Any = None, stops: bool = False
) -> Callable[[Callable[Concatenate[Session, P], Awaitable[R]]], SessionCommandDefinition[P, R]]:
    """Makes a session command of a function. `data` is the type of the response's data, if the function's return
    type is less precise."""

    def made(run: Callable[Concatenate[Session, P], Awaitable[R]]) -> SessionCommandDefinition[P, R]:
        return SessionCommandDefinition(run, words, more=more, answer=answer, data=data, stops=stops)

    return made


def omit_none_fields(**data: Any) -> Any:
    """Returns the given fields as a dictionary, without those that are None."""
    return {name: value for name, value in data.items() if value is not None}


def require_entry_exists(session: Session, entry_id: str | None) -> None:
    """Checks that the session entry exists; None stands for the root. Raises `UserError`."""
    if entry_id is not None and entry_id not in session.log:
        raise UserError(f"Entry not found: {entry_id}")


def require_text_for_os(text: str, field: str) -> str:
    """Returns the text if the operating system accepts it as a command line or path. Raises `UserError`."""
    if "\0" in text:
        raise UserError(
            f"{field} has a NUL character, which is not allowed in command lines and paths. Remove it."
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError(f"{field} is not valid Unicode: it has half a surrogate pair.") from None
    return text
