"""A change of several files that is killed in the middle: each file is whole, the next start knows which are new."""

import signal
import subprocess
import sys
from pathlib import Path

from tests.undo.killed_worker import parts_of

ROOT = Path(__file__).parents[2]
FILES = tuple(f"f{number}" for number in range(10))
WORK = """
import asyncio, os, signal, sys
from pathlib import Path
from app.values.entries import MessageEntry
from app.values.messages import user_message
from tests.undo.killed_worker import parts_of
from tools.files.file_changes import FileChangeQueue, NewFileContent
from tools.file_and_process_operations import LocalFileOperations

session, project = map(Path, sys.argv[1:])
parts = parts_of(session, project)
parts.log.append(MessageEntry(parent_id=None, message=user_message("go")))
queue, seen = FileChangeQueue(LocalFileOperations()), []

def before(intent):
    seen.append(intent)
    parts.recorder.record_before_write(intent)
    if len(seen) == 6:
        os.kill(os.getpid(), signal.SIGKILL)

queue.subscribe_before_changes(before)
paths = [str(project / f"f{number}") for number in range(10)]
new = [NewFileContent(data=b"new\\n" * 9000)] * 10
asyncio.run(queue.change_files_together(paths, "call", lambda states: new))
"""


def test_each_file_is_whole_and_the_next_start_knows(tmp_path: Path) -> None:
    session, project = tmp_path / "session", tmp_path / "project"
    for folder in (session, project):
        folder.mkdir()
    old, new = b"old\n" * 9000, b"new\n" * 9000
    for name in FILES:
        (project / name).write_bytes(old)
    done = subprocess.run([sys.executable, "-c", WORK, str(session), str(project)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    found = {name: (project / name).read_bytes() for name in FILES}
    assert set(found.values()) <= {old, new}
    written = {name for name, data in found.items() if data == new}
    assert len(written) == 5
    [(key, data)] = parts_of(session, project).restores.unrecorded_file_changes()
    assert key == "call"
    assert {change.path for change in data.changes} == written
