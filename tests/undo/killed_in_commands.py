"""Runs commands that change files, and restores some of them, until the process is killed."""

import asyncio
import itertools
import subprocess
import sys
from pathlib import Path

from app.undo.change_ledger import UndoLedgerLine
from app.undo.change_records import FILE_CHANGES_ENTRY_TYPE, FILE_RESTORE_ENTRY_TYPE, file_data_to_entry_data
from app.undo.session_undo import NothingToRestore, SessionUndo
from app.values.entries import CustomEntry, MessageEntry
from app.values.messages import user_message
from tests.undo.killed_worker import parts_of

NAMES = tuple(f"f{number}" for number in range(8))


async def command(parts: SessionUndo, project: Path, call_id: str, number: int) -> None:
    parts.recorder.ledger.append_operation_begin(UndoLedgerLine(kind="command", id=call_id, tool="bash"))
    await parts.watch.scan_before(call_id)
    words = "; ".join(f"printf '{number} {name}' > {name}; sleep 0.002" for name in NAMES)
    if number % 4 == 3:
        words += "; rm f0 f1; mv f2 f1"
    subprocess.run(["sh", "-c", words], cwd=project, check=True)  # noqa: ASYNC221  (nothing else goes on)
    parts.recorder.add_command_changes(call_id, await parts.watch.scan_after(call_id))


def work(session: Path, project: Path) -> None:
    parts = parts_of(session, project)
    log = parts.log
    for number in itertools.count(len(log.entries)):
        log.append(MessageEntry(parent_id=None, message=user_message(f"prompt {number}")))
        call_id = f"call{number}"
        asyncio.run(command(parts, project, call_id, number))
        data = parts.recorder.take_changes_of_call(call_id, "bash")
        if data is not None:
            log.append(
                CustomEntry(
                    parent_id=None, custom_type=FILE_CHANGES_ENTRY_TYPE, data=file_data_to_entry_data(data)
                )
            )
        parts.recorder.mark_recorded(call_id)
        if number % 3 == 0:
            try:
                done = parts.restores.carry_out_restore_plan(parts.restores.plan_undo(), {})
            except NothingToRestore:
                continue
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
