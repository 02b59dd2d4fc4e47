"""Converts content blocks between the client's form and the session's messages."""

import base64
import binascii
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

import msgspec

from app.modes.acp.request_errors import make_invalid_params_error
from app.modes.acp.request_params import (
    AudioBlock,
    EmbeddedResource,
    ImageBlock,
    LinkBlock,
    PromptBlock,
    TextBlock,
)
from app.modes.acp.update_messages import Block, ImageContent, TextContent
from app.values.content import Image, Text, UserContent


class PromptContent(msgspec.Struct, frozen=True, kw_only=True):
    """The content of an ACP client's prompt: its text and its images."""

    text: str
    images: tuple[Image, ...] = ()


def prompt_content_from_blocks(blocks: Sequence[PromptBlock]) -> PromptContent:
    """Returns the text and images of a prompt. Raises an `AcpRequestError` for content that cannot be sent."""
    pieces: list[str] = []
    images: list[Image] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            pieces.append(block.text)
        elif isinstance(block, ImageBlock):
            images.append(_decode_image(block.data, block.mime_type))
        elif isinstance(block, LinkBlock):
            pieces.append(_mentioned_path(block.uri))
        elif isinstance(block, AudioBlock):
            raise make_invalid_params_error("audio is not supported (see promptCapabilities)")
        elif (block.resource.mime_type or "").startswith("image/") and block.resource.text is None:
            images.append(_decode_image(block.resource.blob, block.resource.mime_type or ""))
        else:
            pieces.append(_file_section(_mentioned_path(block.resource.uri), _resource_text(block.resource)))
    text = "".join(pieces)
    if not text.strip() and not images:
        raise make_invalid_params_error("the prompt is empty")
    return PromptContent(text=text, images=tuple(images))


def acp_content_blocks(content: str | Sequence[UserContent]) -> list[Block]:
    """Returns the content of a message as the client shows it."""
    if isinstance(content, str):
        return [TextContent(text=content)]
    shown: list[Block] = []
    for part in content:
        if isinstance(part, Text) and part.text:
            shown.append(TextContent(text=part.text))
        elif isinstance(part, Image):
            shown.append(ImageContent(data=part.data, mime_type=part.mime_type))
    return shown


def _decode_image(data: str, kind: str) -> Image:
    if not kind.startswith("image/"):
        raise make_invalid_params_error(
            f"the type of an image must begin with image/, not {kind or '(none)'}"
        )
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise make_invalid_params_error("the data of an image is not Base64") from None
    return Image(data=data, mime_type=kind)


def _mentioned_path(uri: str) -> str:
    """Returns the path of a file, as people write it; any other address as it is."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri
    if parts.scheme != "file":
        return uri
    path = unquote(parts.path)
    return f"{path}#{parts.fragment}" if parts.fragment else path


def _file_section(name: str, text: str) -> str:
    return f'\n<file name="{name}">\n{text}\n</file>\n'


def _resource_text(resource: EmbeddedResource) -> str:
    if resource.text is not None:
        return resource.text
    try:
        data = base64.b64decode(resource.blob, validate=True)
    except (binascii.Error, ValueError):
        raise make_invalid_params_error("the data of an embedded resource is not Base64") from None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"({len(data):,} bytes of {resource.mime_type or 'a file'}, not text)"
