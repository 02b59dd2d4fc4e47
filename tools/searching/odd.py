"""Files that ripgrep does not take for what they are: text in an encoding without a mark. `read` knows them by
`tools.files.encoding`, so a search finds what is in them, too."""

import asyncio
from typing import Final

from tools.files.encoding import SAMPLE_BYTES, detect
from tools.operations import FileOperations
from tools.searching.ripgrep import run_ripgrep
from tools.workspace import Workspace

_LABELS: Final = {
    "utf-16-le": "utf-16le",
    "utf-16-be": "utf-16be",
    "shift_jis": "shift_jis",
    "euc_jp": "euc-jp",
    "euc_kr": "euc-kr",
    "gb18030": "gb18030",
    "big5": "big5",
    "koi8_r": "koi8-r",
    "cp1251": "windows-1251",
    "cp1252": "windows-1252",
    "latin-1": "windows-1252",
}
"""Names of encodings, as ripgrep has them."""
_TAIL: Final = r"[\x80-\xBF]"
_OTHER: Final = r"(?:[^\x80-\xBF]|$)"
_ODD: Final = (
    r"(?-u:\x00|[\xC0\xC1\xF5-\xFF]|(?:^|[\x00-\x7F])[\x80-\xBF]"
    rf"|[\xC2-\xF4]{_OTHER}|[\xE0-\xF4]{_TAIL}{_OTHER}|[\xF0-\xF4]{_TAIL}{_TAIL}{_OTHER})"
)
"""A zero, or bytes that are not UTF-8."""
_MOST: Final = 300
_LARGEST: Final = "20M"


async def odd_files(
    workspace: Workspace, rg: str, options: tuple[str, ...], folder: str, target: str
) -> dict[str, list[str]]:
    """Their paths below `folder`, by what ripgrep calls their encoding."""
    found: list[str] = []

    def take(records: list[bytes]) -> bool:
        found.extend(record.decode("utf-8", "surrogateescape") for record in records if record)
        return len(found) < _MOST

    sizes = (f"--max-filesize={_LARGEST}", "--files-with-matches", "--null", "--text")
    await run_ripgrep(workspace, (rg, *options, *sizes, "-e", _ODD, target), folder, b"\0", take)
    return await asyncio.to_thread(_by_encoding, workspace.files, folder, found[:_MOST])


def _by_encoding(files: FileOperations, folder: str, paths: list[str]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for path in paths:
        try:
            with files.open(f"{folder}/{path}") as file:
                sample = file.read(SAMPLE_BYTES)
        except (OSError, ValueError):
            continue
        encoding = detect(sample, is_whole=len(sample) < SAMPLE_BYTES)
        label = _LABELS.get(encoding.name) if encoding is not None and not encoding.mark else None
        if label is not None:
            out.setdefault(label, []).append(path)
    return out
