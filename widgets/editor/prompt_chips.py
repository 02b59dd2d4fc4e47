"""Chips: long pastes and images, each represented by one character of the prompt's text.

The characters come from the last private-use plane, which is stripped from foreign text, so pasted text cannot contain
a chip. This module maps the characters to the pastes and images."""

from collections.abc import Iterable
from pathlib import Path
from typing import assert_never

import msgspec

from tools.number_formatting import format_byte_count
from widgets.editor.graphemes import FIRST_CHIP_CODE_POINT, is_chip_character


class ImageAttachment(msgspec.Struct, frozen=True, kw_only=True):
    """An image attached to a prompt: a file, or bytes from the clipboard."""

    name: str
    mime_type: str
    byte_count: int
    width: int = 0
    height: int = 0
    path: Path | None = None
    data: bytes = b""


class PasteChip(msgspec.Struct, frozen=True, kw_only=True, tag="paste"):
    """A long pasted text that the editor shows as one label."""

    text: str


class ImageChip(msgspec.Struct, frozen=True, kw_only=True, tag="image"):
    """An attached image that the editor shows as one label."""

    image: ImageAttachment


PromptChip = PasteChip | ImageChip


class UnsentPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """The editor's content: its text and the pastes and images of its chips. It can be saved and restored."""

    text: str = ""
    chips: dict[str, PromptChip] = {}
    row: int = 0
    column: int = 0

    @property
    def is_empty(self) -> bool:
        return not self.text.strip()


def draft_text_with_chip_labels(draft: UnsentPrompt) -> str:
    """Returns the text of an unsent prompt with each chip replaced by its label, as the editor shows it."""
    chips = PromptChipTable()
    chips.chip_by_character = dict(draft.chips)
    return draft.text.translate(
        {ord(char): label for char, label in chips.chip_labels_in(draft.text).items()}
    )


class PromptChipTable:
    """Maps the chip characters of an editor's text to their pastes and images. Deleted chips are kept, because undo may
    restore them."""

    def __init__(self) -> None:
        self.chip_by_character: dict[str, PromptChip] = {}

    def add_chip(self, chip: PromptChip) -> str:
        """Stores the chip and returns the character that represents it."""
        char = chr(FIRST_CHIP_CODE_POINT + len(self.chip_by_character))
        while char in self.chip_by_character:
            char = chr(ord(char) + 1)
        self.chip_by_character[char] = chip
        return char

    def import_chips(self, text: str, chips: dict[str, PromptChip]) -> str:
        """Adds the chips of a text from an earlier session and returns the text: chip characters that are already in
        use get new ones, and characters without a chip are removed."""
        renamed: dict[int, str] = {}
        for char, chip in chips.items():
            if self.chip_by_character.get(char, chip) == chip:
                self.chip_by_character[char] = chip
            else:
                renamed[ord(char)] = self.add_chip(chip)
        text = text.translate(renamed) if renamed else text
        if text.isascii():
            return text
        return "".join(char for char in text if not is_chip_character(char) or char in self.chip_by_character)

    def forget_chips_missing_from(self, text: str) -> None:
        """Forgets the pastes and images whose chip characters do not occur in the text."""
        self.chip_by_character = self.chips_in(text)

    def chips_in(self, text: str) -> dict[str, PromptChip]:
        """Returns the chips in a text, in order and without duplicates."""
        if text.isascii():
            return {}
        return {
            char: self.chip_by_character[char]
            for char in text
            if is_chip_character(char) and char in self.chip_by_character
        }

    def chip_labels_in(self, text: str) -> dict[str, str]:
        """Returns the label of each chip character in a text: `[paste #1 …]` or `[image #1 …]`, numbered by kind, with
        the size."""
        labels: dict[str, str] = {}
        pastes = images = 0
        for char, chip in self.chips_in(text).items():
            match chip:
                case PasteChip():
                    pastes += 1
                    labels[char] = f"[paste #{pastes} {_format_paste_size(chip.text)}]"
                case ImageChip():
                    images += 1
                    labels[char] = f"[image #{images} {_format_image_size(chip.image)}]"
                case _:
                    assert_never(chip)
        return labels

    def expand_chips(self, text: str) -> str:
        """Returns a prompt's text as it is sent: chips of pastes become the pasted text, chips of images `[image
        #1]`."""
        used = self.chips_in(text)
        if not used:
            return text
        images = 0
        for char, chip in used.items():
            if isinstance(chip, PasteChip):
                text = text.replace(char, chip.text)
            else:
                images += 1
                text = text.replace(char, f"[image #{images}]")
        return text

    def images_of_chips_in(self, text: str) -> tuple[ImageAttachment, ...]:
        return tuple(chip.image for chip in self.chips_in(text).values() if isinstance(chip, ImageChip))


def strip_chip_characters(text: str) -> str:
    """Removes the characters that represent chips from foreign text, so that it cannot fake a chip."""
    if text.isascii():
        return text
    return "".join(char for char in text if not is_chip_character(char))


def _format_paste_size(text: str) -> str:
    lines = text.count("\n") + 1
    return f"+{lines:,} lines" if lines > 1 else f"{len(text):,} chars"


def _format_image_size(image: ImageAttachment) -> str:
    parts: Iterable[str] = (
        image.name,
        f"{image.width}x{image.height}" if image.width else "",
        format_byte_count(image.byte_count),
    )
    return " ".join(filter(None, parts))
