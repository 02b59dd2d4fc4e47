"""Converts images between the editor's chips and the session's messages."""

import base64
from collections.abc import Sequence

from app.values.content import Image, UserContent
from app.values.user_errors import UserError
from tools.files.images import identify_image, prepare_image_for_model
from tools.files.regular_files import read_regular_file
from widgets.editor.graphemes import FIRST_CHIP_CODE_POINT
from widgets.editor.image_attachments import image_from_bytes
from widgets.editor.prompt_chips import ImageAttachment, ImageChip, PromptChip, UnsentPrompt


def load_attached_images(attachments: Sequence[ImageAttachment], *, resizes: bool) -> tuple[Image, ...]:
    """Reads the images that are attached to a prompt, and shrinks large ones if `resizes`. Reads files, so call it in a
    thread. Raises `UserError`."""
    return tuple(_load_image(attachment, resizes=resizes) for attachment in attachments)


def _load_image(attachment: ImageAttachment, *, resizes: bool) -> Image:
    try:
        data = attachment.data or (read_regular_file(attachment.path) if attachment.path else b"")
    except OSError as problem:
        raise UserError(
            f"{attachment.path}: {problem.strerror or problem}. Remove the image from the prompt."
        ) from None
    info = identify_image(data)
    if info is None:
        raise UserError(f"{attachment.name} is no longer an image. Remove it from the prompt.")
    ready = prepare_image_for_model(data, info, resizes=resizes)
    if ready.problem:
        raise UserError(f"{attachment.name}: {ready.problem}")
    return Image(data=ready.data, mime_type=ready.info.mime_type)


def make_base64_image(data: bytes, mime_type: str) -> Image:
    return Image(data=base64.b64encode(data).decode("ascii"), mime_type=mime_type)


def message_images(content: str | tuple[UserContent, ...]) -> tuple[Image, ...]:
    """Returns the images in the content of a message."""
    return () if isinstance(content, str) else tuple(part for part in content if isinstance(part, Image))


def make_image_attachment(image: Image, name: str = "") -> ImageAttachment:
    data = base64.b64decode(image.data)
    return image_from_bytes(data, name) or ImageAttachment(
        name=name, mime_type=image.mime_type, byte_count=len(data), data=data
    )


def draft_with_images(text: str, attachments: Sequence[ImageAttachment]) -> UnsentPrompt:
    """Returns a draft from a text with `[image #1]` marks: images are put there as chips, those without a mark at the
    end."""
    chips: dict[str, PromptChip] = {}
    for number, attachment in enumerate(attachments, 1):
        char, mark = chr(FIRST_CHIP_CODE_POINT + number - 1), f"[image #{number}]"
        chips[char] = ImageChip(image=attachment)
        text = text.replace(mark, char, 1) if mark in text else f"{text}{char}"
    return _draft_with_chips_at_end(text, chips)


def join_unsent_prompts(drafts: Sequence[UnsentPrompt]) -> UnsentPrompt:
    """Joins several drafts to one, separated by blank lines, and keeps their pastes and images."""
    texts: list[str] = []
    chips: dict[str, PromptChip] = {}
    for draft in drafts:
        renamed = {
            ord(char): chr(FIRST_CHIP_CODE_POINT + len(chips) + at) for at, char in enumerate(draft.chips)
        }
        chips |= {renamed[ord(char)]: chip for char, chip in draft.chips.items()}
        texts.append(draft.text.translate(renamed))
    return _draft_with_chips_at_end("\n\n".join(texts), chips)


def _draft_with_chips_at_end(text: str, chips: dict[str, PromptChip]) -> UnsentPrompt:
    lines = text.split("\n")
    return UnsentPrompt(text=text, chips=chips, row=len(lines) - 1, column=len(lines[-1]))
