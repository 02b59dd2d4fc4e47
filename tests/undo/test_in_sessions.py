"""A whole session over a scripted model: what its tools do to files can be taken back, by verbs that every face has."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.engine.core.hook_results import NavigationOptions
from app.engine.files.file_restorer import RestoreFilesToEntry, UndoFilesOfLastPrompts, UndoLastRestore
from app.providers.scripted import ScriptedAnswer, say
from app.sessions.file.quarantine import read_quarantine
from app.sessions.session_ids import session_sidecar_path
from app.undo.change_ledger import FileChangeLedger, UndoLedgerLine
from app.undo.change_records import (
    FILE_CHANGES_ENTRY_TYPE,
    FILE_RESTORE_ENTRY_TYPE,
    RecordedFileChange,
    StoredFileState,
    file_changes_data_of_entry,
    file_restore_data_of_entry,
)
from app.undo.content_store import blob_hash
from app.values.content import ToolCall
from app.values.entries import CustomEntry, CustomMessageEntry
from app.values.events import EntryAppended, FileChanged
from app.values.messages import ToolResultMessage
from app.values.user_errors import UserError
from tests.compaction.project_session import ProjectSession
from tests.undo.test_footprints import git, needs_git


class Page:
    """A project with a scripted session."""

    def __init__(self, scene: ProjectSession) -> None:
        self.scene = scene
        self.session = scene.session
        self.events: list[Any] = []
        self.session.subscribe(self.events.append)

    @property
    def project(self) -> Path:
        return self.scene.project

    async def prompt(self, text: str, *calls: ToolCall) -> None:
        self.scene.script.responses += [ScriptedAnswer(blocks=calls), say("done")]
        await self.session.prompt(text)
        await self.session.wait_until_idle()

    async def undo(self, count: int = 1) -> None:
        await self.session.file_restorer.carry_out_restore(
            await self.session.file_restorer.plan_restore(UndoFilesOfLastPrompts(count=count))
        )

    async def redo(self) -> None:
        await self.session.file_restorer.carry_out_restore(
            await self.session.file_restorer.plan_restore(UndoLastRestore())
        )

    def read(self, name: str) -> str | None:
        path = self.project / name
        return path.read_text() if path.exists() else None

    def custom(self, kind: str) -> list[CustomEntry]:
        return [
            entry
            for entry in self.session.log.entries
            if isinstance(entry, CustomEntry) and entry.custom_type == kind
        ]


def write(path: str, content: str, number: int = 1) -> ToolCall:
    return ToolCall(id=f"write-{path}-{number}", name="write", arguments={"path": path, "content": content})


def bash(command: str, number: int = 1, **more: Any) -> ToolCall:
    return ToolCall(id=f"bash-{number}", name="bash", arguments={"command": command, **more})


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[Page]:
    scene = await ProjectSession(tmp_path).open()
    made = Page(scene)
    yield made
    await scene.session.close()


async def test_each_result_has_a_change_entry_that_undo_reverses(page: Page) -> None:
    await page.prompt("make", write("deep/er/a.txt", "one\n"), write("b.txt", "b\n"))
    await page.prompt("change", write("deep/er/a.txt", "two\n", 2))
    kinds = [type(entry).__name__ for entry in page.session.log.entries]
    results = [
        index for index, entry in enumerate(page.session.log.entries) if file_changes_data_of_entry(entry)
    ]
    assert len(results) == 3
    for index in results:
        assert kinds[index - 1] == "MessageEntry"
    await page.undo()
    assert page.read("deep/er/a.txt") == "one\n"
    await page.undo()
    assert not (page.project / "deep").exists() and page.read("b.txt") is None
    await page.redo()
    await page.redo()
    assert (page.read("deep/er/a.txt"), page.read("b.txt")) == ("two\n", "b\n")
    assert len(page.custom(FILE_RESTORE_ENTRY_TYPE)) == 4


async def test_what_a_cell_of_python_changes_goes_back(page: Page) -> None:
    (page.project / "old.txt").write_text("old\n")
    code = "open('old.txt', 'w').write('new')\nopen('made.txt', 'w').write('made')"
    await page.prompt("compute", ToolCall(id="eval-1", name="eval", arguments={"code": code}))
    assert (page.read("old.txt"), page.read("made.txt")) == ("new", "made")
    await page.undo()
    assert (page.read("old.txt"), page.read("made.txt")) == ("old\n", None)
    await page.redo()
    assert (page.read("old.txt"), page.read("made.txt")) == ("new", "made")


async def test_the_model_is_reported_and_has_to_read_again(page: Page) -> None:
    await page.prompt("make", write("a.txt", "one\n"))
    await page.prompt("change", write("a.txt", "two\n", 2))
    await page.undo()
    (told,) = [entry for entry in page.session.log.entries if isinstance(entry, CustomMessageEntry)]
    assert "restored these files" in str(told.content) and "a.txt" in str(told.content)
    assert any("a.txt" in str(getattr(message, "content", "")) for message in page.session.messages[-1:])
    changed = [event for event in page.events if isinstance(event, FileChanged)]
    assert [Path(event.path).name for event in changed] == ["a.txt"] * 3
    assert changed[-1].after_hash == changed[0].after_hash


async def test_what_a_command_changes_is_behind_its_result_and_on_its_card(page: Page) -> None:
    (page.project / "old.txt").write_text("old\n")
    await page.prompt("move", bash("mv old.txt new.txt && echo more >> new.txt && chmod +x new.txt"))
    (entry,) = page.custom(FILE_CHANGES_ENTRY_TYPE)
    data = file_changes_data_of_entry(entry)
    assert data is not None and data.tool == "bash"
    assert [(change.path, change.by) for change in data.changes] == [
        ("new.txt", "command"),
        ("old.txt", "command"),
    ]
    result = page.session.messages[-2]
    assert isinstance(result, ToolResultMessage) and result.details is not None
    assert result.details["files"]["changed"] == 2
    await page.undo()
    assert (page.read("old.txt"), page.read("new.txt")) == ("old\n", None)
    await page.redo()
    assert page.read("new.txt") == "old\nmore\n" and os.access(page.project / "new.txt", os.X_OK)


async def test_a_command_that_changes_nothing_leaves_no_entry(page: Page) -> None:
    await page.prompt("look", bash("ls"))
    assert page.custom(FILE_CHANGES_ENTRY_TYPE) == []
    with pytest.raises(UserError, match="Nothing to undo on this branch"):
        await page.undo()


async def test_a_command_that_only_reads_is_not_looked_for(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    monkeypatch.setattr(
        "app.undo.session_undo.open_folder_scanner", lambda *args, **more: looked.append("") or "no way"
    )
    await page.prompt("look", bash("ls; cat a.txt | wc -l; echo $HOME"))
    assert looked == []
    await page.prompt("touch", bash("touch a.txt", 2))
    assert looked == [""]


async def test_a_background_job_is_recorded_when_it_ends(page: Page) -> None:
    (page.project / "a.txt").write_text("one\n")
    os.mkfifo(page.scene.home / "go")
    job = bash(f"read x < {page.scene.home}/go; echo two > a.txt", background=True)
    await page.prompt("start", job)
    assert page.custom(FILE_CHANGES_ENTRY_TYPE) == []
    page.scene.script.responses.append(say("heard"))
    ended = asyncio.Event()
    page.session.subscribe(lambda event: ended.set() if isinstance(event, EntryAppended) else None)
    await asyncio.to_thread((page.scene.home / "go").write_text, "x\n")
    async with asyncio.timeout(20):
        while not page.custom(FILE_CHANGES_ENTRY_TYPE):
            await ended.wait()
            ended.clear()
    await page.session.jobs.wait("job1", 10)
    await page.session.wait_until_idle()
    data = file_changes_data_of_entry(page.custom(FILE_CHANGES_ENTRY_TYPE)[0])
    assert data is not None and [change.path for change in data.changes] == ["a.txt"]
    await page.undo()
    assert page.read("a.txt") == "one\n"


async def test_moving_in_the_tree_can_take_files_along(page: Page) -> None:
    await page.prompt("base", write("a.txt", "base\n"))
    base = page.session.state.leaf_id
    await page.prompt("left", write("a.txt", "left\n", 2), write("left.txt", "l\n"))
    left = page.session.state.leaf_id
    await page.session.branches.go_to_entry(base, NavigationOptions(should_restore_files=True))
    assert (page.read("a.txt"), page.read("left.txt")) == ("base\n", None)
    await page.prompt("right", write("a.txt", "right\n", 3))
    arrival = await page.session.branches.go_to_entry(left, NavigationOptions(should_restore_files=True))
    assert (page.read("a.txt"), page.read("left.txt")) == ("left\n", "l\n")
    assert arrival.files is not None and arrival.files.total == 2
    await page.redo()
    assert (page.read("a.txt"), page.read("left.txt")) == ("right\n", None)
    await page.session.branches.go_to_entry(base)
    assert page.read("a.txt") == "right\n", "files stay unless one asks"


async def test_files_go_to_any_entry_without_the_conversation(page: Page) -> None:
    await page.prompt("one", write("a.txt", "one\n"))
    await page.prompt("two", write("a.txt", "two\n", 2))
    results = [entry for entry in page.session.log.entries if file_changes_data_of_entry(entry)]
    first = page.session.log.parent(results[0].id)
    leaf = page.session.state.leaf_id
    plan = await page.session.file_restorer.plan_restore(RestoreFilesToEntry(entry_id=first))
    assert [(row.path, row.deed) for row in plan.rows] == [("a.txt", "changes")]
    assert "-two" in plan.diff("a.txt")
    await page.session.file_restorer.carry_out_restore(plan)
    assert page.read("a.txt") == "one\n"
    assert leaf in [entry.id for entry in page.session.log.path_to()]


async def test_forks_keep_what_they_need(page: Page) -> None:
    await page.prompt("one", write("a.txt", "one\n"))
    await page.prompt("two", write("a.txt", "two\n", 2))
    assert page.session.state.leaf_id is not None
    await page.session.branches.fork(page.session.state.leaf_id, "at")
    await page.undo()
    assert page.read("a.txt") == "one\n"
    store = page.scene.paths.agent_dir / "blobs" / "needed"
    assert len(list(store.iterdir())) == 2


async def test_a_resumed_session_goes_on_where_it_was(page: Page, tmp_path: Path) -> None:
    await page.prompt("one", write("a.txt", "one\n"))
    await page.prompt("two", write("a.txt", "two\n", 2))
    path = page.session.log.path
    await page.session.close()
    again = Page(await page.scene.open(session=str(path)))
    await again.undo()
    assert again.read("a.txt") == "one\n"
    await again.session.close()


@pytest.mark.parametrize(
    "bad", [b'{"kind":"change","id":"\xff"}', b"\xff", b"{", b"[" * 100_000, b'{"kind":"x","id":""}']
)
async def test_a_bad_line_of_the_ledger_costs_only_itself_and_is_set_aside(page: Page, bad: bytes) -> None:
    await page.prompt("one", write("a.txt", "one\n"))
    await page.prompt("two", write("a.txt", "two\n", 2))
    path = page.session.log.path
    assert path is not None
    await page.session.close()
    ledger = session_sidecar_path(path, "files")
    with ledger.open("ab") as file:
        file.write(bad + b"\n")
    again = Page(await page.scene.open(session=str(path)))
    told = " ".join(again.scene.assembled.problems)
    assert (
        f"A line of {ledger.name} cannot be read; copied to {session_sidecar_path(path, 'quarantine').name}."
        in told
    )
    assert len(read_quarantine(path)) == 1
    await again.undo()
    assert again.read("a.txt") == "one\n"
    await again.session.close()
    once_more = Page(await page.scene.open(session=str(path)))
    assert ledger.name not in " ".join(once_more.scene.assembled.problems)
    await once_more.session.close()


async def test_changes_before_a_crash_are_in_the_reopened_session(page: Page) -> None:
    await page.prompt("one", write("a.txt", "one\n"))
    path = page.session.log.path
    assert path is not None
    await page.session.close()
    data = (page.project / "a.txt").read_bytes()
    before = StoredFileState(
        hash=blob_hash(data), size=len(data), mode=(page.project / "a.txt").stat().st_mode & 0o777
    )
    after = msgspec.structs.replace(before, hash=blob_hash(b"two\n"))
    ledger = FileChangeLedger(session_sidecar_path(path, "files"))
    ledger.append_operation_begin(
        UndoLedgerLine(
            kind="change",
            id="call9",
            tool="edit",
            change=RecordedFileChange(path="a.txt", before=before, after=after),
        )
    )
    ledger.append_operation_begin(UndoLedgerLine(kind="command", id="call10", tool="bash"))
    (page.project / "a.txt").write_text("two\n")
    again = Page(await page.scene.open(session=str(path)))
    told = " ".join(again.scene.assembled.problems)
    assert (
        "while edit changed 1 file" in told
        and "while bash ran. Its later file changes are not recorded" in told
    )
    changed, ran = (file_changes_data_of_entry(entry) for entry in again.custom(FILE_CHANGES_ENTRY_TYPE)[-2:])
    assert changed is not None and changed.interrupted and [one.path for one in changed.changes] == ["a.txt"]
    assert ran is not None and [one.why for one in ran.uncovered] == ["bayou ended while a command ran"]
    await again.undo()
    assert again.read("a.txt") is None, "both, as no prompt stands between them"
    await again.redo()
    assert again.read("a.txt") == "two\n"
    await again.session.close()
    once_more = Page(await page.scene.open(session=str(path)))
    assert not any("bayou ended" in text for text in once_more.scene.assembled.problems)
    await once_more.session.close()


async def test_switched_off_nothing_is_kept(page: Page) -> None:
    page.scene.settings({"undo": {"enabled": False}})
    page.session.settings.reload_if_changed()
    await page.prompt("one", write("a.txt", "one\n"))
    assert page.custom(FILE_CHANGES_ENTRY_TYPE) == []
    assert not (page.scene.paths.agent_dir / "blobs").exists()
    with pytest.raises(UserError, match=r"undo\.enabled"):
        await page.undo()


async def test_a_plan_that_is_out_of_date_is_refused(page: Page) -> None:
    await page.prompt("one", write("a.txt", "one\n"))
    plan = await page.session.file_restorer.plan_restore(UndoFilesOfLastPrompts())
    await page.prompt("two", write("a.txt", "two\n", 2))
    with pytest.raises(UserError, match="Preview again"):
        await page.session.file_restorer.carry_out_restore(plan)


def full(*names: str) -> Callable[..., Any]:
    def refuse(*args: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    return refuse


async def test_what_could_not_be_held_is_named(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    await page.prompt("one", write("a.txt", "one\n"))
    monkeypatch.setattr("app.undo.content_store.BlobStore.put", full())
    await page.prompt("two", write("a.txt", "two\n", 2))
    data = file_changes_data_of_entry(page.custom(FILE_CHANGES_ENTRY_TYPE)[-1])
    assert data is not None and data.changes == ()
    assert [(one.path, one.why) for one in data.uncovered] == [
        ("a.txt", "its old content could not be stored first: No space left on device")
    ]
    monkeypatch.undo()
    plan = await page.session.file_restorer.plan_restore(UndoFilesOfLastPrompts())
    assert [(row.path, row.state) for row in plan.rows] == [("a.txt", "unheld")]
    assert page.read("a.txt") == "two\n"


async def test_the_record_of_a_restore_names_what_stayed(page: Page) -> None:
    await page.prompt("one", write("a.txt", "one\n"), write("b.txt", "one\n"))
    (page.project / "a.txt").write_text("mine\n")
    await page.undo()
    data = file_restore_data_of_entry(page.custom(FILE_RESTORE_ENTRY_TYPE)[0])
    assert data is not None
    assert [change.path for change in data.changes] == ["b.txt"]
    assert [(one.path, one.why) for one in data.kept] == [("a.txt", "you changed it since")]
    assert page.read("a.txt") == "mine\n"


def as_tree(folder: Path) -> dict[str, str]:
    """Every name with what it is; folders too."""
    found: dict[str, str] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if ".git" in name.split("/"):
            continue
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = "folder" if path.is_dir() else path.read_text()
    return found


@pytest.mark.parametrize("has_git", [False, pytest.param(True, marks=needs_git)])
@pytest.mark.parametrize(
    "command",
    [
        "rm -rf sub && ln -s new sub",
        "mv sub moved",
        "mkdir -p made/here",
        "rmdir empty",
        "rm -rf sub && mkdir sub",
        "rm a && mkdir a",
        "rmdir empty && echo file > empty",
        "rm -rf sub new empty",
    ],
)
async def test_what_a_command_did_to_folders_goes_back_and_forth(
    page: Page, command: str, has_git: bool
) -> None:
    for name in ("a", "sub/deep/b", "sub/c", "new/c", "new/d"):
        (page.project / name).parent.mkdir(parents=True, exist_ok=True)
        (page.project / name).write_text(f"{name}\n")
        os.utime(page.project / name, (1e9, 1e9))
    if has_git:
        git(page.project, "init", "-q")
        git(page.project, "add", "-A")
        git(page.project, "commit", "-qm", "one")
    (page.project / "empty").mkdir()
    (page.project / "sub/untracked").write_text("untracked\n")
    await asyncio.sleep(0.1)  # so that what is renamed is older than the first look
    before = as_tree(page.project)
    await page.prompt("do it", bash(command))
    after = as_tree(page.project)
    assert after != before
    await page.undo()
    assert as_tree(page.project) == before
    await page.redo()
    assert as_tree(page.project) == after
    await page.undo()
    assert as_tree(page.project) == before


async def test_a_folder_that_a_command_made_stays_when_a_person_put_something_in(page: Page) -> None:
    await page.prompt("make it", bash("mkdir made"))
    (page.project / "made/mine").write_text("mine\n")
    plan = await page.session.file_restorer.plan_restore(UndoFilesOfLastPrompts())
    assert [(row.path, row.state, row.why) for row in plan.rows] == [
        ("made", "refused", "it now contains other files")
    ]
    await page.session.file_restorer.carry_out_restore(plan)
    assert page.read("made/mine") == "mine\n"


@pytest.mark.parametrize("goes_back", ["uncompact", "tree"])
async def test_a_restore_still_counts_when_only_the_conversation_goes_elsewhere(
    page: Page, goes_back: str
) -> None:
    await page.prompt("one", write("a.txt", "one\n"))
    await page.prompt("two", write("a.txt", "two\n", 2))
    leaf = page.session.log.leaf_id
    page.session.settings.save_setting("compaction.keepRecentTokens", 1)
    page.scene.script.responses += [say("a summary"), say("its beginning")]
    await page.session.compaction.compact()
    await page.undo()
    assert page.read("a.txt") == "one\n"
    if goes_back == "uncompact":
        await page.session.compaction.undo_compaction()
    else:
        await page.session.branches.go_to_entry(leaf, NavigationOptions())
    assert page.read("a.txt") == "one\n"
    note = page.session.log.path_to()[-1]
    assert isinstance(note, CustomMessageEntry) and "restored these files" in str(note.content)
    await page.redo()
    assert page.read("a.txt") == "two\n"
    await page.undo()
    await page.undo()
    assert page.read("a.txt") is None


async def test_going_to_where_the_files_are_as_restored_records_nothing(page: Page) -> None:
    await page.prompt("one", write("a.txt", "one\n"))
    leaf = page.session.log.leaf_id
    await page.prompt("two", write("a.txt", "two\n", 2))
    await page.undo()
    await page.session.branches.go_to_entry(leaf, NavigationOptions())
    assert page.session.log.leaf_id == leaf
    await page.undo()
    assert page.read("a.txt") is None
