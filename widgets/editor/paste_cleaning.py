"""Cleans pasted text: uniform line breaks, no control characters, escape sequences or chip characters.

It also recognises the file paths, quoted or escaped, that terminals paste when files are dropped on them."""

import asyncio
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tools.lazy_patterns import lazy_regex
from widgets.editor.prompt_chips import strip_chip_characters

MIN_PASTE_CHIP_LINES = 10
MIN_PASTE_CHIP_CHARS = 1000
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")

_ESCAPE_SEQUENCE_PATTERN = lazy_regex(
    "\x1b(?:\\[[0-?]*[ -/]*[@-~]"  # CSI
    "|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?"  # OSC, DCS and other strings
    "|[ -/]*[0-~])?"
)
_CONTROL_CHARACTER_PATTERN = lazy_regex(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff]"
)
_LINE_BREAK_PATTERN = lazy_regex("\r\n?|\u2028|\u2029")


def clean_pasted_text(text: str) -> str:
    """Returns pasted text as a user could have typed it, without control characters and chips. Tabs are kept, because
    they matter in pasted code."""
    if "\x1b" in text:
        text = _ESCAPE_SEQUENCE_PATTERN.sub("", text)
    return strip_chip_characters(_CONTROL_CHARACTER_PATTERN.sub("", _LINE_BREAK_PATTERN.sub("\n", text)))


async def clean_pasted_text_in_chunks(text: str, piece: int = 100_000) -> str:
    """Cleans a pasted text of megabytes, yielding to the event loop between chunks."""
    cleaned: list[str] = []
    start = 0
    while start < len(text):
        end = text.find("\n", start + piece)
        end = len(text) if end < 0 or end - start > 4 * piece else end + 1
        if end - start > 8 * piece:  # a single endless line
            end = start + piece
        cleaned.append(clean_pasted_text(text[start:end]))
        start = end
        await asyncio.sleep(0)
    return "".join(cleaned)


def is_long_paste(text: str, *, lines: int = MIN_PASTE_CHIP_LINES) -> bool:
    """Returns whether a pasted text is so long that the editor shows it as a chip."""
    return len(text) > MIN_PASTE_CHIP_CHARS or text.count("\n") >= lines


def find_dropped_image_paths(text: str) -> tuple[Path, ...]:
    """Returns the paths of image files if a pasted text consists only of such paths, otherwise nothing; whether the
    files exist is not checked."""
    text = text.strip()
    if not text or len(text) > 10_000 or not text.lower().rstrip("'\"").endswith(IMAGE_SUFFIXES):
        return ()
    paths: list[Path] = []
    for line in text.split("\n"):
        whole = _parse_image_path(line.strip())
        if whole is not None and " " in line and "\\" not in line and line.strip()[0] not in "'\"":
            words = [line.strip()] if line.lower().count(".") == 1 else _split_quoted_words(line)
        else:
            words = _split_quoted_words(line)
        for word in words:
            path = _parse_image_path(word)
            if path is None:
                return ()
            paths.append(path)
    return tuple(paths)


def _split_quoted_words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return [line]


def _parse_image_path(word: str) -> Path | None:
    if word.startswith("file://"):
        word = unquote(urlsplit(word).path)
    if not word.startswith(("/", "~/", "./", "../")) or not word.lower().endswith(IMAGE_SUFFIXES):
        return None
    return Path(word).expanduser() if word.startswith("~") else Path(word)


def pasted_path_needs_space(text: str, before: str) -> bool:
    """Returns whether a space is inserted before a pasted path, because the cursor follows a word directly."""
    is_path = text.startswith(("/", "~/", "./", "../")) and "\n" not in text
    return is_path and bool(before) and (before[-1].isalnum() or before[-1] == "_")
