"""A form that an MCP server or the agent asks the user to fill in.

Answers are texts as typed; the code that asked converts and validates them."""

from typing import Literal

import msgspec

FieldKind = Literal["text", "number", "integer", "yes-no", "choice", "several"]


class FormChoice(msgspec.Struct, frozen=True, kw_only=True):
    """One option of a form field."""

    value: str
    title: str
    detail: str = ""


class FormField(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a form."""

    name: str
    title: str
    kind: FieldKind = "text"
    description: str = ""
    is_required: bool = False
    default: str = ""
    choices: tuple[FormChoice, ...] = ()
    takes_text: bool = False
    """Whether an answer may also be a text that is none of the choices."""
    format: str = ""
    least: float | None = None
    """The minimum of a number, of the text's length, or of the number of choices."""
    most: float | None = None


class UserForm(msgspec.Struct, frozen=True, kw_only=True):
    """A form for the user with its fields, or a web page to open."""

    server: str = ""
    """The name of the MCP server that asks; empty if the agent asks."""
    message: str = ""
    fields: tuple[FormField, ...] = ()
    url: str = ""
    """The address of a web page that the user is asked to open instead of filling in fields."""

    @property
    def title(self) -> str:
        return f"{self.server or 'The agent'} asks"
