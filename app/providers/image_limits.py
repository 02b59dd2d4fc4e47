"""Replaces the oldest images by a text when a request has more images than its model accepts. Pure."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import msgspec

from app.providers.provider_messages import ProviderMessage
from app.values.content import Image, Text
from app.values.messages import AssistantMessage
from app.values.models import Model

OMITTED_IMAGE_TEXT = "(An image was here; the model does not take more of them in one request.)"
_IMAGE_BYTES_SHARE = 0.75
"""The share of a request's bytes that images may use; the rest is for text."""


def drop_old_images(messages: Sequence[ProviderMessage], model: Model) -> list[ProviderMessage]:
    """Returns the messages with at most as many images as the model's `inputLimits` allow."""
    images = (model.input_limits or {}).get("images")
    per_request, per_message = _limit_value(images, "maxPerRequest"), _limit_value(images, "maxPerMessage")
    bytes_allowed = _limit_value(model.input_limits, "maxRequestBytes")
    if not (per_request or per_message or bytes_allowed):
        return list(messages)
    sizes = [[len(image.data) for image in _images_of(message)] for message in messages]
    surplus = [max(len(own) - per_message, 0) if per_message else 0 for own in sizes]
    kept = [size for own, extra in zip(sizes, surplus, strict=True) for size in own[extra:]]
    drop = _drop_count(kept, per_request, int(bytes_allowed * _IMAGE_BYTES_SHARE))
    out: list[ProviderMessage] = []
    for message, own, extra in zip(messages, sizes, surplus, strict=True):
        more = min(drop, len(own) - extra)
        drop -= more
        out.append(_without_first_images(message, extra + more))
    return out


def _drop_count(sizes: Sequence[int], most: int, most_bytes: int) -> int:
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


def has_image(message: ProviderMessage) -> bool:
    return bool(_images_of(message))


def _images_of(message: ProviderMessage) -> list[Image]:
    if isinstance(message, AssistantMessage) or isinstance(message.content, str):
        return []
    return [block for block in message.content if isinstance(block, Image)]


def _without_first_images(message: ProviderMessage, count: int) -> ProviderMessage:
    """Replaces the first `count` images of a message by a text."""
    if not count or isinstance(message, AssistantMessage) or isinstance(message.content, str):
        return message
    blocks = list(message.content)
    for index, block in enumerate(blocks):
        if count and isinstance(block, Image):
            blocks[index] = Text(text=OMITTED_IMAGE_TEXT)
            count -= 1
    return msgspec.structs.replace(message, content=tuple(blocks))


def _limit_value(limits: Any, name: str) -> int:
    value = limits.get(name) if isinstance(limits, Mapping) else None
    return value if isinstance(value, int) and value > 0 else 0
