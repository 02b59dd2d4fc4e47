"""A session over a folder in which anything may happen: tools, commands, a person, and moves with and without files."""

import asyncio
import os
import subprocess
from pathlib import Path

from app.sessions.session_log import SessionLog
from app.undo.change_ledger import FileChangeLedger
from app.undo.change_recorder import FileChangeRecorder
from app.undo.change_records import (
    FILE_CHANGES_ENTRY_TYPE,
    FILE_RESTORE_ENTRY_TYPE,
    FileChangesData,
    FileRestoreData,
    file_data_to_entry_data,
)
from app.undo.command_file_watcher import CommandFileWatcher
from app.undo.content_store import BlobStore, ContentReferences
from app.undo.file_history import RestoreTarget
from app.undo.folder_scanners import open_folder_scanner
from app.undo.folder_scans import ScannedContentStore
from app.undo.restore_plan import ContentStoreWithLimit, RestorePlan
from app.undo.session_undo import NothingToRestore, SessionFileRestores
from app.values.entries import CustomEntry, Entry, MessageEntry
from app.values.messages import user_message
from tools.file_and_process_operations import LocalFileOperations
from tools.files.file_changes import FileChangeQueue, FileStateBeforeChange, NewFileContent
from tools.tool_definition import FileChange

Snapshot = dict[str, tuple[str, bytes, bool]]
"""By name: its kind, its bytes or where it leads, whether it is executable."""


class World:
    def __init__(self, folder: Path, *, has_git: bool) -> None:
        self.folder = Path(os.path.realpath(folder))
        self.root = self.folder / "project"
        self.root.mkdir()
        for name in ("a", "b", "sub/c"):
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text(f"{name} at first\n")
        if has_git:
            self._shell("git init -q . && git add -A && git commit -qm first")
        store = BlobStore(self.folder / "agent" / "blobs")
        self.log = SessionLog.in_memory(self.root)
        needed = ContentReferences(store.folder, "session")
        needed.open(tuple)
        self.recorder = FileChangeRecorder(
            ContentStoreWithLimit(store, lambda: 1 << 20), FileChangeLedger(None), needed, self.root
        )
        self.restores = SessionFileRestores(self.log, self.recorder)
        self.watch = CommandFileWatcher(self._scanner)
        self.holder = ScannedContentStore(store, self.recorder.store_content)
        self.mutations = FileChangeQueue(LocalFileOperations())
        self.mutations.subscribe_before_changes(self.recorder.record_before_write)
        self.mutations.subscribe(self._changed)
        self.theirs: set[str] = set()
        """Files that other programs changed, which must stay unchanged."""
        self.at: dict[str | None, Snapshot] = {None: self.snapshot()}
        self._number = 0

    def _scanner(self):
        return open_folder_scanner(
            self.root,
            self.holder,
            home=self.folder,
            store=self.folder / "agent" / "blobs",
            may_ask_git=lambda: True,
            max_bytes=1 << 20,
        )

    def _changed(self, change: FileChange) -> None:
        for name, image in self.recorder.record_write_done(change):
            self.watch.note_change_by_others(name, image)

    def _shell(self, command: str) -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1"}
        for who in ("AUTHOR", "COMMITTER"):
            environment |= {f"GIT_{who}_NAME": "t", f"GIT_{who}_EMAIL": "t@example.org"}
        subprocess.run(
            ["sh", "-c", command], cwd=self.root, env=environment, capture_output=True, check=False
        )

    def snapshot(self) -> Snapshot:
        found: Snapshot = {}
        for folder, folders, names in os.walk(self.root):
            links = [name for name in folders if (Path(folder) / name).is_symlink()]
            folders[:] = [name for name in folders if name != ".git" and name not in links]
            for name in (*names, *links):
                path = Path(folder) / name
                key = str(path.relative_to(self.root))
                if path.is_symlink():
                    found[key] = ("link", os.fsencode(path.readlink()), False)
                else:
                    found[key] = ("file", path.read_bytes(), bool(path.stat().st_mode & 0o100))
        return found

    # What the session does

    def _append(self, entry: Entry) -> str:
        stored = self.log.append(entry)
        self.at[stored.id] = self.snapshot()
        return stored.id

    def prompt(self) -> str:
        self._number += 1
        return self._append(MessageEntry(parent_id=None, message=user_message(f"prompt {self._number}")))

    def _ended(self, call_id: str, tool: str) -> None:
        data: FileChangesData | None = self.recorder.take_changes_of_call(call_id, tool)
        if data is not None:
            self._append(
                CustomEntry(
                    parent_id=None, custom_type=FILE_CHANGES_ENTRY_TYPE, data=file_data_to_entry_data(data)
                )
            )

    def write(self, name: str, text: str) -> None:
        self._number += 1
        key = f"write{self._number}"

        def compute(state: FileStateBeforeChange | None) -> NewFileContent:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            return NewFileContent(data=text.encode())

        try:
            asyncio.run(self.mutations.change_file(str(self.root / name), key, compute))
        except OSError:
            pass  # a folder has that name, or a file the folder's
        self._ended(key, "write")

    def command(self, command: str) -> None:
        self._number += 1
        key = f"command{self._number}"

        async def run() -> None:
            await self.watch.scan_before(key)
            self._shell(command)
            self.recorder.add_command_changes(key, await self.watch.scan_after(key))

        asyncio.run(run())
        self._ended(key, "bash")

    # What a person does

    def person(self, name: str, text: str) -> None:
        path = self.root / name
        before = self.snapshot()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        except OSError:
            return
        self.theirs |= {
            key for key in {**before, **self.snapshot()} if before.get(key) != self.snapshot().get(key)
        }

    # Going back and forth

    def restore(self, plan: RestorePlan, *, goes_to: RestoreTarget | None = None) -> FileRestoreData:
        """With what the plan proposes; what has to be so afterwards is checked."""
        before = self.snapshot()
        expected = self.at[plan.target.entry_id]
        data = self.restores.carry_out_restore_plan(plan, {})
        if goes_to is not None:
            self.log.move_leaf(goes_to.entry_id)
        after = self.snapshot()
        kept = {
            one.path for one in data.kept if not one.why.startswith("you ")
        }  # only the session changed them
        unknown = any(one.path == "." for one in data.kept)
        for name in sorted({*before, *after, *expected}):
            if name in self.theirs:
                continue
            is_announced = name in kept or any(name.startswith(f"{one}/") for one in kept) or unknown
            assert after.get(name) == expected.get(name) or (
                is_announced and after.get(name) == before.get(name)
            ), (
                f"{name}: {before.get(name)} became {after.get(name)} and should be {expected.get(name)}; {kept}"
            )
        for name in self.theirs & set(before):
            row = next((row for row in plan.rows if row.path == name), None)
            if row is None or row.choice == "keep":
                assert after.get(name) == before[name], f"{name} was changed by another program"
        if data.total:
            self._append(
                CustomEntry(
                    parent_id=None, custom_type=FILE_RESTORE_ENTRY_TYPE, data=file_data_to_entry_data(data)
                )
            )
        return data

    def undo(self, count: int) -> None:
        try:
            plan = self.restores.plan_undo(count)
        except NothingToRestore:
            return
        self.restore(plan)

    def redo(self) -> None:
        try:
            plan = self.restores.plan_redo()
        except NothingToRestore:
            return
        self.restore(plan)

    def entries(self) -> list[str | None]:
        return [None, *(entry.id for entry in self.log.entries if entry.id in self.at)]

    def put_back(self, entry_id: str | None) -> None:
        self.restore(self.restores.plan_restore_to_entry(entry_id))

    def go(self, entry_id: str | None, *, takes_files: bool) -> None:
        if takes_files:
            target = RestoreTarget(entry_id=entry_id, title="")
            self.restore(self.restores.plan_restore_to_entry(entry_id, is_move=True), goes_to=target)
            return
        now, there = self.snapshot(), self.at[entry_id]
        self.theirs |= {name for name in {**now, **there} if now.get(name) != there.get(name)}
        self.log.move_leaf(entry_id)
