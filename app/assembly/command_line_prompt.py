"""Builds the first prompt from the command line: standard input, `@file`s and words, combined as pi does."""

import base64
import sys
from pathlib import Path

import msgspec

from app.assembly.command_line_options import CommandLineOptions, UsageError
from app.engine.permissions.permission_gate import PermissionGate
from app.values.content import Image
from tools.files.regular_files import read_file_or_pipe

_IMAGE_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


class CommandLinePrompts(msgspec.Struct, frozen=True, kw_only=True):
    """The prompts of a command line, and the images that go with the first prompt."""

    prompts: tuple[str, ...] = ()
    images: tuple[Image, ...] = ()


def read_piped_text() -> str:
    """Reads standard input, unless it is a terminal."""
    return "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8", "replace")


def combine_command_line_prompts(
    options: CommandLineOptions, cwd: Path, permissions: PermissionGate, piped: str = ""
) -> CommandLinePrompts:
    """Combines the piped text, the texts of `@file`s and the first message of the command line in one prompt."""
    files = read_at_file_arguments(options.files, cwd, permissions)
    first, *others = options.messages or ("",)
    opening = piped + files.prompts[0] + first
    prompts = (*([opening] if opening.strip() or files.images else []), *others)
    return CommandLinePrompts(prompts=tuple(prompts), images=files.images)


def read_at_file_arguments(
    names: tuple[str, ...], cwd: Path, permissions: PermissionGate
) -> CommandLinePrompts:
    """Reads the files of `@name` words into one text and their images. Raises `UsageError` for a missing file,
    and for one that `read` would need approval for, since no one can be asked yet."""
    texts: list[str] = []
    images: list[Image] = []
    for name in names:
        named = cwd / Path(name).expanduser()
        path = named.resolve()
        if why := permissions.hidden_file_reason(named):
            raise UsageError(
                f"@{name}: {why}. It is not sent; what you mean to send all the same can be piped in."
            )
        try:
            data = read_file_or_pipe(named)
        except OSError as problem:
            raise UsageError(f"@{name}: {problem.strerror or problem}.") from None
        mime_type = detect_image_mime_type(data)
        if mime_type is not None:
            images.append(Image(data=base64.b64encode(data).decode("ascii"), mime_type=mime_type))
            texts.append(f'<file name="{path}"></file>\n')
        else:
            texts.append(f'<file name="{path}">\n{data.decode("utf-8", "replace")}\n</file>\n')
    return CommandLinePrompts(prompts=("".join(texts),), images=tuple(images))


def detect_image_mime_type(data: bytes) -> str | None:
    """Returns the image type by content, not by name."""
    for start, mime_type in _IMAGE_SIGNATURES.items():
        if data.startswith(start):
            return mime_type
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None
