"""`/resume`, `/new`, `/fork`, `/name` …: the sessions of one person, under their keys."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from app.engine.tree.session_paths import SessionPaths
from app.providers.scripted import say
from app.sessions.index.background_indexing import BackgroundSessionIndexer
from app.sessions.session_log import SessionLog
from app.tui.features.sessions.page import SessionsPage
from app.values.entries import MessageEntry
from app.values.messages import AssistantMessage
from app.values.usage import Cost, Usage
from app.values.user_errors import UserError
from tests.engine.scripted_session import ScriptedSession
from tests.sessions.make_entries import assistant_entry
from tests.sessions.make_entries import user_entry as said
from tests.tui.pages.person import Person, at_the_keyboard


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    a_session(tmp_path, "the zebra in the config")
    a_session(tmp_path, "a plan for Monday")
    a_session(tmp_path, "of another folder", tmp_path / "elsewhere")
    return tmp_path


def a_session(home: Path, text: str, cwd: Path | None = None) -> Path:
    log = SessionPaths(default_root=home / "sessions", cwd=cwd or home).create_session()
    log.append(said(text))
    log.append(assistant_entry(f"{text}, answered"))
    log.close()
    assert log.path is not None
    return log.path


class Sessions:
    """The page over a session in `home`, and what was opened from it."""

    def __init__(self, home: Path, person: Person, *answers) -> None:
        self.harness = ScriptedSession(home, *answers)
        self.opened: list[Path] = []
        self.is_wanted = True
        self.texts = BackgroundSessionIndexer(lambda: self.harness.places.sessions_root)
        self.page = SessionsPage(
            self.harness.session,
            self.harness.places,
            person.ask,
            person.say,
            person.write,
            person.key_label,
            continue_session=self._go_on,
            import_session=self._bring_in,
            index_session_texts=self.texts.index_new_texts,
            spawn=person.spawn,
            home=home,
        )

    async def _go_on(self, path: Path) -> None:
        self.opened.append(path)

    async def _bring_in(self, path: Path) -> bool:
        self.opened.append(path)
        return self.is_wanted


async def test_this_folder_first_and_everything_with_a_key(home: Path) -> None:
    async with at_the_keyboard(size=(80, 24)) as person, person.asked(Sessions(home, person).page.open()):
        assert "a plan for Monday" in person.sees and "of another folder" not in person.sees
        await person.press("tab")
        await person.sees_soon("of another folder", "~/elsewhere")
        await person.press("escape")


async def test_the_chosen_one_is_gone_on_with(home: Path) -> None:
    async with at_the_keyboard() as person:
        sessions = Sessions(home, person)
        async with person.asked(sessions.page.open()):
            await person.press(*"zebra", "enter")
        [path] = sessions.opened
        assert "the zebra in the config" in path.read_text()


async def test_a_sessions_row_shows_its_cost(home: Path) -> None:
    path = a_session(home, "a dear question")
    log = SessionLog.open(path)
    usage = Usage(output=5, cost=Cost(output=1.5, total=1.5))
    log.append(MessageEntry(parent_id=None, message=AssistantMessage(usage=usage)))
    log.close()
    async with at_the_keyboard() as person, person.asked(Sessions(home, person).page.open()):
        assert "3     $1.50" in person.sees
        await person.press("escape")


async def test_sessions_of_one_title_say_when_they_began(home: Path) -> None:
    for text in ("a question", "a question", "another one"):
        a_session(home, text)
    async with at_the_keyboard(size=(90, 30)) as person, person.asked(Sessions(home, person).page.open()):
        rows = [row for row in person.sees.splitlines() if " began at " in row]
        assert len(rows) == 2 and all("a question" in row and " kB " in row for row in rows)
        await person.press("escape")


async def test_the_preview_of_a_session_keeps_the_lines_of_a_prompt(home: Path) -> None:
    a_session(home, "first line\nsecond line")
    async with at_the_keyboard(size=(120, 40)) as person, person.asked(Sessions(home, person).page.open()):
        await person.sees_soon("Last messages")
        shown = person.sees.partition("Last messages")[2]
        assert shown.count("first line second") == 1, "the answer is Markdown, the prompt is not"
        await person.press("escape")


async def test_any_word_that_was_said_finds_its_session(home: Path) -> None:
    async with at_the_keyboard(size=(80, 24)) as person:
        sessions = Sessions(home, person)
        async with person.asked(sessions.page.open()):
            sessions.texts._reading.join()
            await person.press(*"answered")
            await person.sees_soon("zebra in the config, answered")
            await person.press("ctrl+u", *"monday ans")
            await person.sees_soon("› a plan for Monday")
            await person.press("enter")
        assert len(sessions.opened) == 1


async def test_what_is_deleted_comes_back_also_in_the_next_run(home: Path) -> None:
    async with at_the_keyboard() as person, person.asked(Sessions(home, person).page.open()):
        await person.press("ctrl+d")
        await person.sees_soon("ctrl+z restores it")
        title = "a plan for Monday" if "› a plan" not in person.sees else "the zebra in the config"
        assert f"› {title}" not in person.sees
        await person.press("escape")
    async with at_the_keyboard() as person, person.asked(Sessions(home, person).page.open()):
        await person.press("ctrl+z")
        await person.sees_soon(f"restored: {title}")
        await person.press("ctrl+z")
        await person.sees_soon("the trash is empty")
        await person.press("escape")


async def test_the_one_that_is_open_is_not_deleted(home: Path) -> None:
    async with at_the_keyboard() as person:
        sessions = Sessions(home, person, say("a"))
        await sessions.harness.prompt("the open one")
        async with person.asked(sessions.page.open()):
            await person.press(*"the open one", "ctrl+d")
            await person.sees_soon("this session is open: start another with /new, then delete it")
            await person.press("escape")


async def test_a_name_is_given_from_the_list(home: Path) -> None:
    async with at_the_keyboard() as person, person.asked(Sessions(home, person).page.open()):
        await person.press("ctrl+r")
        await person.sees_soon("Name of the session")
        await person.press(*"Big plans", "enter")
        await person.sees_soon("renamed", "Big plans")
        await person.press("escape")


async def test_a_fork_ends_before_the_chosen_prompt_whose_text_comes_back(home: Path) -> None:
    async with at_the_keyboard() as person:
        sessions = Sessions(home, person, say("a"), say("b"))
        await sessions.page.fork_at_prompt()
        assert person.heard == ["No prompts to fork from yet."]
        await sessions.harness.prompt("first")
        await sessions.harness.prompt("second")
        before = sessions.harness.session.log.path
        async with person.asked(sessions.page.fork_at_prompt()):
            await person.press(*"first", "enter")
        assert person.written == ["first"]
        assert sessions.harness.session.log.path != before and "first" not in str(
            sessions.harness.session.messages
        )


async def test_a_file_is_brought_in_by_its_path_or_id(home: Path) -> None:
    async with at_the_keyboard() as person:
        sessions = Sessions(home, person)
        path = a_session(home, "from a friend")
        await sessions.page.import_session_file(str(path))
        assert sessions.opened == [path] and person.heard[0].startswith("Imported and opened: ")
        sessions.is_wanted = False
        await sessions.page.import_session_file(path.stem.rpartition("_")[2])
        assert sessions.opened == [path, path] and len(person.heard) == 1
        with pytest.raises(UserError, match="nowhere"):
            await sessions.page.import_session_file("nowhere.jsonl")
        with pytest.raises(UserError, match="/import FILE copies a session file"):
            await sessions.page.import_session_file("")


async def test_names_counts_copies_and_exports_are_told(home: Path) -> None:
    async with at_the_keyboard() as person:
        sessions = Sessions(home, person, say("a"))
        page: SessionsPage = sessions.page
        await sessions.harness.prompt("hello")
        told: list[Callable[[], Awaitable[None]]] = [
            lambda: page.rename_session("Harbour"),
            lambda: page.rename_session(""),
            page.show_session_counts,
            page.clone_session,
            lambda: page.export_session("out.md"),
        ]
        for tell in told:
            await tell()
        assert person.heard[:2] == ["Session name: Harbour"] * 2
        assert "Messages  1 prompt, 1 answer, 0 tool calls" in person.heard[2]
        assert person.heard[3] == f"Now working in a copy: {sessions.harness.session.state.file}"
        assert person.heard[4] == f"Exported to {home / 'out.md'}"
        assert "hello" in (home / "out.md").read_text()
        with pytest.raises(UserError, match=r"out\.md"):
            await page.export_session("out.md/below.md")


async def test_a_new_one_begins_empty(home: Path) -> None:
    async with at_the_keyboard() as person:
        sessions = Sessions(home, person, say("a"))
        await sessions.harness.prompt("hello")
        await sessions.page.start_session()
        assert sessions.harness.session.messages == () and not sessions.harness.session.state.is_on_disk


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux tells who holds a lock")
async def test_a_session_that_another_process_writes_is_marked(home: Path) -> None:
    path = a_session(home, "held by another")
    code = "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True); input()"
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(path), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert holder.stdout is not None
    await holder.stdout.readline()
    async with at_the_keyboard() as person:
        sessions = Sessions(home, person)
        async with person.asked(sessions.page.open()):
            await person.sees_soon("in use")
            marked = [line for line in person.sees.splitlines() if "in use" in line]
            assert len(marked) == 1 and "held by another" in marked[0]
            await person.press("escape")
    await holder.communicate(b"\n")
