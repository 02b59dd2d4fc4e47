"""Images that are not sent because the person wants none sent: in their place stands a word for the model."""

import msgspec

from app.values.content import Image, Text
from app.values.messages import CustomMessage, Message, ToolResultMessage, UserMessage

_WORD = "[An image stood here. It is not sent: the user's setting images.blockImages is on.]"


class HeldBack:
    """The same message becomes the same one each time, so that a request begins like the one before it."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[Message, Message]] = {}

    def without_images(self, message: Message) -> Message:
        if not isinstance(message, UserMessage | ToolResultMessage | CustomMessage) or not _has_image(
            message
        ):
            return message
        known = self._made.get(message.id)
        if known is None or known[0] is not message:
            content = tuple(
                Text(text=_WORD) if isinstance(block, Image) else block for block in message.content
            )
            known = self._made[message.id] = message, msgspec.structs.replace(message, content=content)
        return known[1]


def _has_image(message: UserMessage | ToolResultMessage | CustomMessage) -> bool:
    return not isinstance(message.content, str) and any(isinstance(block, Image) for block in message.content)
