"""A form that another program asks a person to fill in. Answers are texts as they are typed; what they mean, and
whether they fit, is checked by whoever asked.
"""

from typing import Literal

import msgspec

FieldKind = Literal["text", "number", "integer", "yes-no", "choice", "several"]


class FormChoice(msgspec.Struct, frozen=True, kw_only=True):
    value: str
    title: str


class FormField(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    title: str
    kind: FieldKind = "text"
    description: str = ""
    is_required: bool = False
    default: str = ""
    choices: tuple[FormChoice, ...] = ()
    format: str = ""
    least: float | None = None
    """Of a number; of characters; of how many are chosen."""
    most: float | None = None


class AskedForm(msgspec.Struct, frozen=True, kw_only=True):
    server: str
    """Who asks."""
    message: str = ""
    fields: tuple[FormField, ...] = ()
    url: str = ""
    """Instead of fields: a page that is to be opened."""
