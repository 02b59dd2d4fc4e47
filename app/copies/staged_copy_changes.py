"""Turns the changed files of a repository copy into staged changes, so that each file is merged into what it has
become meanwhile."""

from collections.abc import Iterable
from pathlib import Path

from app.copies.changed_files import ChangedFile
from tools.edits.diffs import make_diff_of_texts
from tools.edits.staged_actions import StagedFile
from tools.files.file_changes import hash_file_content
from tools.files.paths import display_path
from tools.session_workspace import SessionWorkspace

_MAX_DIFF_BYTES = 1 << 20


def stage_copy_changes(
    changed: Iterable[ChangedFile], top: Path, workspace: SessionWorkspace
) -> list[StagedFile]:
    """Returns staged changes for the changed files that are not the same below `top` already. Blocks."""
    staged = (_staged_file(file, top, workspace) for file in changed)
    return [file for file in staged if not _has_same_content(file, workspace)]


def _staged_file(file: ChangedFile, top: Path, workspace: SessionWorkspace) -> StagedFile:
    path = str(top / file.path)
    shown = display_path(path, workspace.cwd)
    return StagedFile(
        path=path,
        display_path=shown,
        before_hash=hash_file_content(file.before) if file.before is not None else None,
        merge_base=file.before,
        new_content=file.after,
        is_executable=file.is_executable,
        diff=make_diff_of_texts(shown, _text_for_diff(file.before), _text_for_diff(file.after)),
    )


def _has_same_content(staged: StagedFile, workspace: SessionWorkspace) -> bool:
    files = workspace.files
    try:
        with files.open(staged.path) as file:
            is_same = file.read() == staged.new_content
            can_run = bool(files.stat(staged.path).mode & 0o100)
    except FileNotFoundError:
        return staged.new_content is None
    except OSError:
        return False
    return is_same and staged.is_executable in (None, can_run)


def _text_for_diff(data: bytes | None) -> str:
    if data is None:
        return ""
    if len(data) > _MAX_DIFF_BYTES or b"\0" in data[:8192]:
        return f"({len(data):,} bytes)\n"
    return data.decode("utf-8", "replace")
