"""Changes and restores files in the session of a folder, until the process is killed."""

import itertools
import sys
from pathlib import Path

from app.sessions.session_log import SessionLog
from app.undo.change_records import FILE_CHANGES_ENTRY_TYPE, FILE_RESTORE_ENTRY_TYPE, file_data_to_entry_data
from app.undo.content_store import UndoStoreSettings
from app.undo.session_undo import NothingToRestore, SessionUndo, open_session_undo
from app.values.entries import CustomEntry, MessageEntry
from app.values.messages import user_message
from tools.file_and_process_operations import LocalFileOperations
from tools.files.file_changes import FileStateBeforeChange, PendingFileChange, hash_file_content
from tools.tool_definition import FileChange

NAMES = tuple(f"f{number}" for number in range(12))


def content(number: int, name: str) -> bytes:
    """Large enough to be half written, and tells whether it is whole."""
    line = f"{name} {number}\n".encode()
    return line * (40_000 // len(line)) + b"end\n"


def is_whole(data: bytes) -> bool:
    lines = data.split(b"\n")
    return data.endswith(b"end\n") and len(set(lines[:-2])) == 1


def parts_of(session: Path, project: Path) -> SessionUndo:
    found = sorted(session.glob("*.jsonl"))
    log = SessionLog.open(found[0]) if found else SessionLog.create(session, project)
    place = UndoStoreSettings(store=session / "blobs", home=session, may_ask_git=lambda: False)
    return open_session_undo(log, place, project, limit=lambda: 1 << 20)


def write(parts: SessionUndo, project: Path, call_id: str, name: str, data: bytes) -> None:
    files = LocalFileOperations()
    place = str(project / name)
    state = None
    if (project / name).exists():
        state = FileStateBeforeChange(data=(project / name).read_bytes(), stat=files.stat(place))
    intent = PendingFileChange(
        path=place,
        real_path=place,
        call_id=call_id,
        before=state,
        before_hash=hash_file_content(state.data) if state else None,
        data=data,
        after_hash=hash_file_content(data),
    )
    parts.recorder.record_before_write(intent)
    files.replace(place, data)

    change = FileChange(
        path=place,
        call_id=call_id,
        before_hash=intent.before_hash,
        after_hash=intent.after_hash,
        mode_after=files.stat(place).mode,
    )
    parts.recorder.record_write_done(change)


def work(session: Path, project: Path) -> None:
    parts = parts_of(session, project)
    log = parts.log
    start = len(log.entries)
    for number in itertools.count(start):
        log.append(MessageEntry(parent_id=None, message=user_message(f"prompt {number}")))
        call_id = f"call{number}"
        for name in NAMES:
            write(parts, project, call_id, name, content(number, name))
        data = parts.recorder.take_changes_of_call(call_id, "write")
        assert data is not None
        log.append(
            CustomEntry(
                parent_id=None, custom_type=FILE_CHANGES_ENTRY_TYPE, data=file_data_to_entry_data(data)
            )
        )
        parts.recorder.mark_recorded(call_id)
        try:
            plan = parts.restores.plan_undo(1 + number % 2) if number % 3 else parts.restores.plan_redo()
        except NothingToRestore:
            continue
        done = parts.restores.carry_out_restore_plan(plan, {})
        log.append(
            CustomEntry(
                parent_id=None, custom_type=FILE_RESTORE_ENTRY_TYPE, data=file_data_to_entry_data(done)
            )
        )
        parts.recorder.mark_recorded(done.id)
        sys.stdout.write(".")
        sys.stdout.flush()


if __name__ == "__main__":
    work(Path(sys.argv[1]), Path(sys.argv[2]))
