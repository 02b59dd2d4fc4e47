"""Replaces images by a text in requests: the oldest when there are more than the model accepts, those that providers
reject, and all while images are blocked. Does no I/O."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import msgspec

from app.providers.provider_messages import ProviderMessage
from app.values.content import Image, Text, UserContent
from app.values.messages import AssistantMessage, CustomMessage, Message, ToolResultMessage, UserMessage
from app.values.models import Model
from tools.files.images import decode_base64_image, find_image_problem

OMITTED_IMAGE_TEXT = "(An image was here; the model does not take more of them in one request.)"
_BLOCKED_IMAGE_TEXT = "[An image stood here. It is not sent: the user's setting images.blockImages is on.]"
_INVALID_IMAGE_REASON = "it is no PNG, JPEG, GIF or WebP image in Base64"
_MAX_IMAGE_SHARE_OF_REQUEST_BYTES = 0.75
"""The share of a request's bytes that images may use; the rest is for text."""


def drop_old_images(messages: Sequence[ProviderMessage], model: Model) -> list[ProviderMessage]:
    """Returns the messages with at most as many images as the model's `inputLimits` allow."""
    images = (model.input_limits or {}).get("images")
    per_request, per_message = (
        _read_input_limit(images, "maxPerRequest"),
        _read_input_limit(images, "maxPerMessage"),
    )
    bytes_allowed = _read_input_limit(model.input_limits, "maxRequestBytes")
    if not (per_request or per_message or bytes_allowed):
        return list(messages)
    sizes = [[len(image.data) for image in _images_of(message)] for message in messages]
    surplus = [max(len(own) - per_message, 0) if per_message else 0 for own in sizes]
    kept = [size for own, extra in zip(sizes, surplus, strict=True) for size in own[extra:]]
    drop = _count_images_to_drop(kept, per_request, int(bytes_allowed * _MAX_IMAGE_SHARE_OF_REQUEST_BYTES))
    out: list[ProviderMessage] = []
    for message, own, extra in zip(messages, sizes, surplus, strict=True):
        more = min(drop, len(own) - extra)
        drop -= more
        out.append(_replace_first_images(message, extra + more))
    return out


def _count_images_to_drop(sizes: Sequence[int], most: int, most_bytes: int) -> int:
    """Returns how many images to drop. The number grows in steps, so that the cached beginning of the
    conversation does not change on every turn."""
    drop = 0
    if most and len(sizes) > most:
        step = ceil(most / 2)
        drop = min(ceil((len(sizes) - most) / step) * step, len(sizes) - 1)
    if most_bytes:
        while drop < len(sizes) - 1 and sum(sizes[drop:]) > most_bytes:
            drop += max(1, (len(sizes) - drop) // 2)
        drop = min(drop, max(len(sizes) - 1, 0))
    return drop


def message_has_image(message: ProviderMessage) -> bool:
    return bool(_images_of(message))


def _images_of(message: ProviderMessage) -> list[Image]:
    if isinstance(message, AssistantMessage) or isinstance(message.content, str):
        return []
    return [block for block in message.content if isinstance(block, Image)]


def _replace_first_images(message: ProviderMessage, count: int) -> ProviderMessage:
    """Returns the messages with their first `count` images replaced by a text."""
    if not count or isinstance(message, AssistantMessage) or isinstance(message.content, str):
        return message
    blocks = list(message.content)
    for index, block in enumerate(blocks):
        if count and isinstance(block, Image):
            blocks[index] = Text(text=OMITTED_IMAGE_TEXT)
            count -= 1
    return msgspec.structs.replace(message, content=tuple(blocks))


def _read_input_limit(limits: Any, name: str) -> int:
    value = limits.get(name) if isinstance(limits, Mapping) else None
    return value if isinstance(value, int) and value > 0 else 0


_MessageWithImages = UserMessage | ToolResultMessage | CustomMessage


class RequestImageFilter:
    """Replaces images in requests by a short text: all while `images.blockImages` is on, otherwise those that
    providers reject, because one of them would make every later request of the session fail.

    Prompts and bayou's own tools check images earlier; this finds those of session files, extensions and clients. A
    message always gets the same replacement, so that requests keep the same beginning.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, bool], tuple[Message, Message]] = {}
        """The messages to send, cached by the id of each message with images and by whether images are blocked."""

    def replace_unsendable_images(
        self, messages: Sequence[Message], *, are_blocked: bool
    ) -> Sequence[Message]:
        """Returns the messages as they are sent: the same sequence if all images may be sent."""
        changed = {
            index: sent
            for index, message in enumerate(messages)
            if _may_have_image(message) and (sent := self._as_sent(message, are_blocked)) is not message
        }
        return tuple(changed.get(index, one) for index, one in enumerate(messages)) if changed else messages

    def _as_sent(self, message: Message, are_blocked: bool) -> Message:
        assert isinstance(message, _MessageWithImages)
        known = self._known.get((message.id, are_blocked))
        if known is None or known[0] is not message:
            content = tuple(_as_sent(block, are_blocked) for block in message.content)
            sent = (
                message if content == message.content else msgspec.structs.replace(message, content=content)
            )
            known = self._known[message.id, are_blocked] = (message, sent)
        return known[1]


def _as_sent(block: UserContent | str, are_blocked: bool) -> UserContent | str:
    if not isinstance(block, Image):
        return block
    if are_blocked:
        return Text(text=_BLOCKED_IMAGE_TEXT)
    found = decode_base64_image(block.data)
    problem = find_image_problem(*found) if found is not None else _INVALID_IMAGE_REASON
    if found is None or problem:
        return Text(text=f"[An image stood here. It is not sent: {problem}.]")
    return (
        block
        if found[1].mime_type == block.mime_type
        else Image(data=block.data, mime_type=found[1].mime_type)
    )


def _may_have_image(message: Message) -> bool:
    return (
        isinstance(message, _MessageWithImages)
        and not isinstance(message.content, str)
        and any(isinstance(block, Image) for block in message.content)
    )
