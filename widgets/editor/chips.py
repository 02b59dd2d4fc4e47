"""Chips: long pastes and images, each represented by one character of the text.

The characters come from the last private-use plane, which is stripped from foreign text, so pasted text cannot contain
a chip. This module maps characters to contents."""

from collections.abc import Iterable
from pathlib import Path
from typing import assert_never

import msgspec

from tools.amounts import size
from widgets.editor.graphemes import CHIP_FIRST, is_chip


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """An image attached to a prompt: a file, or bytes from the clipboard."""

    name: str
    mime_type: str
    byte_count: int
    width: int = 0
    height: int = 0
    path: Path | None = None
    data: bytes = b""


class PasteChip(msgspec.Struct, frozen=True, kw_only=True, tag="paste"):
    """A long paste, represented by a chip."""

    text: str


class ImageChip(msgspec.Struct, frozen=True, kw_only=True, tag="image"):
    """An image, represented by a chip."""

    image: Attachment


Chip = PasteChip | ImageChip


class UnsentPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """An unsent prompt with its chips: it is saved, and put back by `restore`."""

    text: str = ""
    chips: dict[str, Chip] = {}
    row: int = 0
    column: int = 0

    @property
    def is_empty(self) -> bool:
        return not self.text.strip()


def text_with_labels(draft: UnsentPrompt) -> str:
    """Returns the draft's text with the chips' labels, as the editor shows it."""
    chips = Chips()
    chips.known = dict(draft.chips)
    return draft.text.translate({ord(char): label for char, label in chips.labels(draft.text).items()})


class Chips:
    """Maps the chips of an editor's text to their contents. Deleted chips are kept, because undo may
    restore them."""

    def __init__(self) -> None:
        self.known: dict[str, Chip] = {}

    def add(self, chip: Chip) -> str:
        """Stores the chip and returns the character that represents it."""
        char = chr(CHIP_FIRST + len(self.known))
        while char in self.known:
            char = chr(ord(char) + 1)
        self.known[char] = chip
        return char

    def adopt_chips(self, text: str, chips: dict[str, Chip]) -> str:
        """Takes over text with chips of an earlier session; characters that are already in use are replaced."""
        renamed: dict[int, str] = {}
        for char, chip in chips.items():
            if self.known.get(char, chip) == chip:
                self.known[char] = chip
            else:
                renamed[ord(char)] = self.add(chip)
        text = text.translate(renamed) if renamed else text
        if text.isascii():
            return text
        return "".join(char for char in text if not is_chip(char) or char in self.known)

    def keep_only_in(self, text: str) -> None:
        """Forgets all chips that do not occur in the text."""
        self.known = self.chips_in(text)

    def chips_in(self, text: str) -> dict[str, Chip]:
        """Returns the chips in a text, in order and without duplicates."""
        if text.isascii():
            return {}
        return {char: self.known[char] for char in text if is_chip(char) and char in self.known}

    def labels(self, text: str) -> dict[str, str]:
        """Returns the label of each chip in a text, numbered by kind."""
        labels: dict[str, str] = {}
        pastes = images = 0
        for char, chip in self.chips_in(text).items():
            match chip:
                case PasteChip():
                    pastes += 1
                    labels[char] = f"[paste #{pastes} {_paste_size(chip.text)}]"
                case ImageChip():
                    images += 1
                    labels[char] = f"[image #{images} {_image_size(chip.image)}]"
                case _:
                    assert_never(chip)
        return labels

    def expand(self, text: str) -> str:
        """Returns the full text: pastes in full, images as their number."""
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

    def images(self, text: str) -> tuple[Attachment, ...]:
        return tuple(chip.image for chip in self.chips_in(text).values() if isinstance(chip, ImageChip))


def strip_chips(text: str) -> str:
    """Removes characters that represent chips from foreign text."""
    if text.isascii():
        return text
    return "".join(char for char in text if not is_chip(char))


def _paste_size(text: str) -> str:
    lines = text.count("\n") + 1
    return f"+{lines:,} lines" if lines > 1 else f"{len(text):,} chars"


def _image_size(image: Attachment) -> str:
    parts: Iterable[str] = (
        image.name,
        f"{image.width}x{image.height}" if image.width else "",
        size(image.byte_count),
    )
    return " ".join(filter(None, parts))
