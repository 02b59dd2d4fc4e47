"""Content blocks: what a message is made of."""

from typing import Any

import msgspec

from app.values.wire import PRIVATE, Wire


class Text(Wire, frozen=True, kw_only=True, tag_field="type", tag="text"):
    text: str
    text_signature: str | None = None


IMAGE_CHARACTERS = 4_800
"""As much text is an image reckoned for where nobody has counted its tokens."""


class Image(Wire, frozen=True, kw_only=True, tag_field="type", tag="image"):
    data: str
    """Base64."""
    mime_type: str


class Thinking(Wire, frozen=True, kw_only=True, tag_field="type", tag="thinking"):
    thinking: str
    thinking_signature: str | None = None
    """Replayed to the same provider and model only."""
    redacted: bool | None = None


class ToolCall(Wire, frozen=True, kw_only=True, tag_field="type", tag="toolCall"):
    id: str
    name: str
    arguments: dict[str, Any]
    thought_signature: str | None = None
    namespace: str | None = None
    arguments_error: str | None = None
    """Why the model's arguments could not be read; `arguments` is empty then."""


class UnknownContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="*unknown"):
    """A block of a type that this version does not know; kept and written back."""

    raw: dict[str, Any] = msgspec.field(name=PRIVATE + "raw")


Content = Text | Image | Thinking | ToolCall | UnknownContent
AssistantContent = Text | Thinking | ToolCall | UnknownContent
UserContent = Text | Image | UnknownContent


def text_of(
    content: "str | tuple[Content, ...] | tuple[UserContent, ...] | tuple[AssistantContent, ...]",
) -> str:
    """The readable text of a message's content, blocks joined by line feeds."""
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, Text))
