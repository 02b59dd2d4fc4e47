"""Converts content blocks between the client's form and the session's messages."""

import base64
import binascii
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

import msgspec

from app.modes.acp.faults import invalid
from app.modes.acp.requests import AudioBlock, ImageBlock, LinkBlock, PromptBlock, Resource, TextBlock
from app.modes.acp.update_values import Block, ShownImage, ShownText
from app.values.content import Image, Text, UserContent


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt as text and images."""

    text: str
    images: tuple[Image, ...] = ()


def words_of(blocks: Sequence[PromptBlock]) -> Words:
    """Returns the text and images of a prompt. Raises a `RequestError` for content that cannot be sent."""
    pieces: list[str] = []
    images: list[Image] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            pieces.append(block.text)
        elif isinstance(block, ImageBlock):
            images.append(_image(block.data, block.mime_type))
        elif isinstance(block, LinkBlock):
            pieces.append(_mention(block.uri))
        elif isinstance(block, AudioBlock):
            raise invalid("bayou takes no audio; it is not among its prompt capabilities")
        elif (block.resource.mime_type or "").startswith("image/") and block.resource.text is None:
            images.append(_image(block.resource.blob, block.resource.mime_type or ""))
        else:
            pieces.append(_file(_mention(block.resource.uri), _text_of(block.resource)))
    text = "".join(pieces)
    if not text.strip() and not images:
        raise invalid("the prompt is empty")
    return Words(text=text, images=tuple(images))


def shown_blocks(content: str | Sequence[UserContent]) -> list[Block]:
    """Returns the content of a message as the client shows it."""
    if isinstance(content, str):
        return [ShownText(text=content)]
    shown: list[Block] = []
    for part in content:
        if isinstance(part, Text) and part.text:
            shown.append(ShownText(text=part.text))
        elif isinstance(part, Image):
            shown.append(ShownImage(data=part.data, mime_type=part.mime_type))
    return shown


def _image(data: str, kind: str) -> Image:
    if not kind.startswith("image/"):
        raise invalid(f"an image has the type {kind or '(none)'}")
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise invalid("the data of an image is not Base64") from None
    return Image(data=data, mime_type=kind)


def _mention(uri: str) -> str:
    """Returns the path of a file, as people write it; any other address as it is."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri
    if parts.scheme != "file":
        return uri
    path = unquote(parts.path)
    return f"{path}#{parts.fragment}" if parts.fragment else path


def _file(name: str, text: str) -> str:
    return f'\n<file name="{name}">\n{text}\n</file>\n'


def _text_of(resource: Resource) -> str:
    if resource.text is not None:
        return resource.text
    try:
        data = base64.b64decode(resource.blob, validate=True)
    except (binascii.Error, ValueError):
        raise invalid("the data of an embedded resource is not Base64") from None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"({len(data):,} bytes of {resource.mime_type or 'a file'}, which is no text)"
