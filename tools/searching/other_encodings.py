"""Finds text files whose encoding ripgrep does not detect, because they lack a byte order mark.
`tools.files.text_encoding` detects them, so that a search covers them too."""

import asyncio
from typing import Final

from tools.file_and_process_operations import FileOperations
from tools.files.text_encoding import ENCODING_SAMPLE_BYTES, detect_encoding
from tools.searching.ripgrep import run_ripgrep
from tools.session_workspace import SessionWorkspace

_RIPGREP_NAME_BY_ENCODING: Final = {
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
"""ripgrep's names of encodings, by Python's names."""
_CONTINUATION_BYTE_REGEX: Final = r"[\x80-\xBF]"
_NOT_CONTINUATION_REGEX: Final = r"(?:[^\x80-\xBF]|$)"
_NOT_UTF8_REGEX: Final = (
    r"(?-u:\x00|[\xC0\xC1\xF5-\xFF]|(?:^|[\x00-\x7F])[\x80-\xBF]"
    rf"|[\xC2-\xF4]{_NOT_CONTINUATION_REGEX}|[\xE0-\xF4]{_CONTINUATION_BYTE_REGEX}{_NOT_CONTINUATION_REGEX}|[\xF0-\xF4]{_CONTINUATION_BYTE_REGEX}{_CONTINUATION_BYTE_REGEX}{_NOT_CONTINUATION_REGEX})"
)
"""Matches a zero byte, or bytes that are not UTF-8."""
_MAX_FILES_CHECKED_FOR_ENCODING: Final = 300
_MAX_FILE_SIZE_CHECKED_FOR_ENCODING: Final = "20M"


async def find_files_in_other_encodings(
    workspace: SessionWorkspace, rg: str, options: tuple[str, ...], folder: str, target: str
) -> dict[str, list[str]]:
    """Returns the text files below a folder whose encoding ripgrep does not detect, by ripgrep's name of the
    encoding."""
    found: list[str] = []

    def take(records: list[bytes]) -> bool:
        found.extend(record.decode("utf-8", "surrogateescape") for record in records if record)
        return len(found) < _MAX_FILES_CHECKED_FOR_ENCODING

    sizes = (
        f"--max-filesize={_MAX_FILE_SIZE_CHECKED_FOR_ENCODING}",
        "--files-with-matches",
        "--null",
        "--text",
    )
    await run_ripgrep(workspace, (rg, *options, *sizes, "-e", _NOT_UTF8_REGEX, target), folder, b"\0", take)
    return await asyncio.to_thread(
        _group_paths_by_encoding, workspace.files, folder, found[:_MAX_FILES_CHECKED_FOR_ENCODING]
    )


def _group_paths_by_encoding(files: FileOperations, folder: str, paths: list[str]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for path in paths:
        try:
            with files.open(f"{folder}/{path}") as file:
                sample = file.read(ENCODING_SAMPLE_BYTES)
        except (OSError, ValueError):
            continue
        encoding = detect_encoding(sample, is_whole=len(sample) < ENCODING_SAMPLE_BYTES)
        label = (
            _RIPGREP_NAME_BY_ENCODING.get(encoding.name)
            if encoding is not None and not encoding.byte_order_mark
            else None
        )
        if label is not None:
            out.setdefault(label, []).append(path)
    return out
