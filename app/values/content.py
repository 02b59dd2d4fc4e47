"""The content blocks of messages."""

from typing import Any

import msgspec

from app.values.wire import PRIVATE_PREFIX, Wire


class Text(Wire, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """A block of text."""

    text: str
    text_signature: str | None = None


ESTIMATED_IMAGE_CHARACTERS = 4_800
"""The number of characters that an image counts for in estimates of tokens."""


class Image(Wire, frozen=True, kw_only=True, tag_field="type", tag="image"):
    """An image, encoded in Base64."""

    data: str
    """The image's data in Base64."""
    mime_type: str


class Thinking(Wire, frozen=True, kw_only=True, tag_field="type", tag="thinking"):
    """The model's reasoning."""

    thinking: str
    thinking_signature: str | None = None
    """The provider's signature of the reasoning, which is sent back to the same provider and model only."""
    redacted: bool | None = None


class ToolCall(Wire, frozen=True, kw_only=True, tag_field="type", tag="toolCall"):
    """A call of a tool by the model."""

    id: str
    name: str
    arguments: dict[str, Any]
    thought_signature: str | None = None
    namespace: str | None = None
    arguments_error: str | None = None
    """The reason why the model's arguments could not be parsed, in which case `arguments` is empty."""


class UnknownContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="*unknown"):
    """A block of a type that this version does not know; preserved when written."""

    raw: dict[str, Any] = msgspec.field(name=PRIVATE_PREFIX + "raw")


Content = Text | Image | Thinking | ToolCall | UnknownContent
AssistantContent = Text | Thinking | ToolCall | UnknownContent
UserContent = Text | Image | UnknownContent


def text_of(
    content: "str | tuple[Content, ...] | tuple[UserContent, ...] | tuple[AssistantContent, ...]",
) -> str:
    """Returns the text blocks of a message's content, joined by line feeds."""
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, Text))
