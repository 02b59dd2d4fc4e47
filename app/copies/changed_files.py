"""Lists the files that differ between a tree and an index of git, with both contents."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec

from app.copies.repository_copies import FolderBaseline, GitFailed

GIT_SUBMODULE_FILE_MODE = "160000"
_LINK_MODE, _EXECUTABLE_MODE, _NO_MODE = "120000", "100755", "000000"
_NULL_OBJECT_ID_DIGIT = "0"
_GIT_RAW_DIFF_COMMAND = (
    "diff",
    "--cached",
    "--raw",
    "-z",
    "--no-renames",
    "--no-abbrev",
    "--ignore-submodules=none",
)


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that differs from the state of which its repository copy was made."""

    path: str
    """The path of the file, relative to the top folder."""
    before: bytes | None
    after: bytes | None
    is_executable: bool | None = None
    """Whether the file became executable (True) or stopped being so (False); None: it did not change."""


class RepositoryCopyChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The changed files of a repository copy."""

    files: tuple[ChangedFile, ...] = ()
    unsupported_files: tuple[str, ...] = ()
    """Paths that cannot be delivered as files: links and repositories."""


async def changed_files_since_baseline(baseline: FolderBaseline, folder: Path) -> RepositoryCopyChanges:
    """Returns the files that differ between a baseline's tree and its index. Raises `UserError`."""
    rows = list(
        _parse_raw_diff(await baseline.run_and_read_text(folder, *_GIT_RAW_DIFF_COMMAND, baseline.tree))
    )
    files = [
        row for row in rows if not {row.mode_before, row.mode_after} & {GIT_SUBMODULE_FILE_MODE, _LINK_MODE}
    ]
    ids = [one for row in files for one in (row.id_before, row.id_after)]
    blobs = [one async for one in _read_blobs(baseline, folder, ids)]
    found = [
        ChangedFile(
            path=row.path,
            before=blobs[2 * at],
            after=blobs[2 * at + 1],
            is_executable=_becomes_executable(row),
        )
        for at, row in enumerate(files)
    ]
    return RepositoryCopyChanges(
        files=tuple(found), unsupported_files=tuple(row.path for row in rows if row not in files)
    )


class _RawDiffRow(msgspec.Struct, frozen=True):
    mode_before: str
    mode_after: str
    id_before: str
    id_after: str
    path: str


def _becomes_executable(row: _RawDiffRow) -> bool | None:
    """Returns whether a change makes the file executable or not; None if that does not change. A new file is not
    executable until it is made so."""
    was = row.mode_before == _EXECUTABLE_MODE
    now = row.mode_after == _EXECUTABLE_MODE
    return now if was != now and row.mode_after != _NO_MODE else None


def _parse_raw_diff(told: str) -> Iterator[_RawDiffRow]:
    words = told.split("\0")
    for head, path in zip(words[::2], words[1::2], strict=False):
        before, after, old, new, _ = head.removeprefix(":").split(" ")
        yield _RawDiffRow(before, after, old, new, path)


async def _read_blobs(baseline: FolderBaseline, folder: Path, ids: list[str]) -> AsyncIterator[bytes | None]:
    """Yields the content of each git object; None for an id of zeros, which means no object."""
    wanted = "".join(f"{one}\n" for one in ids if one.strip(_NULL_OBJECT_ID_DIGIT))
    told = await baseline.read_bytes(folder, "cat-file", "--batch", given=wanted.encode()) if wanted else b""
    at = 0
    for one in ids:
        if not one.strip(_NULL_OBJECT_ID_DIGIT):
            yield None
            continue
        end = told.index(b"\n", at)
        head = told[at:end].split(b" ")
        if len(head) != 3:
            raise GitFailed(f"git has no content with the id {one}.")
        size = int(head[2])
        yield told[end + 1 : end + 1 + size]
        at = end + size + 2
