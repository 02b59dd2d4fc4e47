"""Every key action of every screen: its default keys are pressed, and the effect is checked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from app.tui.batch.batch_screen import BatchScreen
from app.tui.batch.batch_table_data import BatchTableData
from app.tui.features.context.screen import ContextScreenContent, ContextWindowScreen
from app.tui.features.helpers.page import HelperAgentsScreen
from app.tui.features.jobs.page import BackgroundJobsScreen
from app.tui.features.mcp.form_screen import FilledFormField, FormChoicesScreen, RequestedFormScreen
from app.tui.features.mcp.page import McpServersScreen
from app.tui.features.models.screen import ModelScreen, ScopedModelsScreen, ThinkingLevelScreen
from app.tui.features.pending.page import StagedChangesScreen
from app.tui.features.review.rows import ReviewDeskContent, ReviewDeskFileRow
from app.tui.features.review.screen import ReviewAnswer, ReviewQuestionScreen, ReviewScreen
from app.tui.features.sessions.screen import SessionPickerRow, SessionsScreen
from app.tui.features.settings.screen import SettingsScreen
from app.tui.features.tree.screen import SessionTreeScreen
from app.tui.features.usage.screen import UsageRow, UsageScreen, UsageScreenContent
from bayou.batch import BatchResult
from tests.tui.keys_pressed import KEYS, keys
from tests.widgets.host import Host
from widgets.lists.list_rows import ListRow
from widgets.lists.row_list import RowList
from widgets.lists.tree_rows import SessionTreeEntry
from widgets.screens.common_pickers import ThemePickerScreen
from widgets.screens.conversation_screen import AgentConversationScreen
from widgets.screens.dialogs import ConfirmScreen, LinesEditScreen, QuestionScreen
from widgets.screens.picker import PickerScreen
from widgets.screens.preview_pane import Preview, PreviewText, make_preview_text
from widgets.screens.text_pages import PageScreen
from widgets.status.queue import QueuedMessageRow, QueueView
from widgets.transcript.transcript_blocks import AppNoteBlock, UserPromptBlock
from widgets.transcript.view import Transcript

BATCH_RESULT = BatchResult(id="one", key="one #1", hash="h", outcome="passed")
ROWS = [ListRow(id=str(n), title=f"row {n}") for n in range(60)]


class Screens(Host):
    """Notes what screens ask for and how they end."""

    def __init__(self) -> None:
        super().__init__(list)
        self.noted: list[object] = []

    def on_picker_screen_action_requested(self, event: PickerScreen.ActionRequested) -> None:
        self.noted.append(event.action)

    def on_session_tree_screen_action_requested(self, event: SessionTreeScreen.ActionRequested) -> None:
        self.noted.append(event.action)

    def on_review_screen_action_requested(self, event: ReviewScreen.ActionRequested) -> None:
        self.noted.append(event.action)

    def on_settings_screen_changed(self, event: SettingsScreen.Changed) -> None:
        self.noted.append((event.key, event.value))

    def on_settings_screen_details_requested(self, event: SettingsScreen.DetailsRequested) -> None:
        self.noted.append(f"look at {event.key}")

    async def shows(self, screen: Any) -> None:
        self.noted.clear()
        while len(self.screen_stack) > 1:
            await self.pop_screen()
        await self.push_screen(screen, self.noted.append)


async def until(pilot: Pilot[Any], is_so: Callable[[], bool]) -> None:
    for _ in range(500):
        if is_so():
            return
        await pilot.pause(0.01)
    raise AssertionError("it did not come to be")


MOVES = {
    "tui.select.up": 29,
    "tui.select.down": 31,
    "tui.select.first": 0,
    "tui.select.last": 59,
}


async def test_the_lists() -> None:
    app = Screens()
    async with app.run_test(size=(100, 30)) as pilot:
        for action, place in MOVES.items():
            for key in keys("lists", action):
                await app.shows(PickerScreen("Rows", ROWS, current="30"))
                await pilot.press(key)
                await until(pilot, lambda place=place: app.screen.query_one(RowList).index == place)
        for action, is_up in (("tui.select.pageUp", True), ("tui.select.pageDown", False)):
            for key in keys("lists", action):
                await app.shows(PickerScreen("Rows", ROWS, current="30"))
                await pilot.press(key)
                await until(
                    pilot,
                    lambda is_up=is_up: (
                        (app.screen.query_one(RowList).index < 25) == is_up
                        and app.screen.query_one(RowList).index != 30
                    ),
                )
        for key in keys("lists", "tui.select.confirm"):
            await app.shows(PickerScreen("Rows", ROWS, current="30"))
            await pilot.press(key)
            await until(pilot, lambda: [getattr(picked, "row", None) for picked in app.noted] == [ROWS[30]])
        for key in keys("lists", "tui.select.keys"):
            await app.shows(PickerScreen("Rows", ROWS))
            await pilot.press(key)
            await until(pilot, lambda: "keys here" in told(app.screen))
        for key in keys("lists", "tui.select.cancel"):
            await app.shows(PickerScreen("Rows", ROWS, current="30"))
            await pilot.press(key)
            await until(pilot, lambda: app.noted == [None])


ACTING: dict[str, Callable[[], PickerScreen]] = {
    "models": lambda: ModelScreen(ROWS, ["3"]),
    "thinking levels": lambda: ThinkingLevelScreen("Thinking", ROWS),
    "themes": lambda: ThemePickerScreen(ROWS, "1", lambda name: None),
    "the context window": lambda: ContextWindowScreen(
        ContextScreenContent(
            shares=(),
            reserve=0,
            total="",
            window=1000,
            rows=(ListRow(id="a", title="a"),),
        )
    ),
    "usage": lambda: UsageScreen(
        UsageScreenContent(title="Usage by day", rows=(UsageRow(id="a", title="a", amount=1),))
    ),
    "helpers and jobs": lambda: HelperAgentsScreen(
        [ListRow(id="h1", title="look")], lambda row: make_preview_text("")
    ),
    "jobs": lambda: BackgroundJobsScreen([ListRow(id="1", title="make")], lambda row: make_preview_text("")),
    "staged changes": lambda: StagedChangesScreen(
        [ListRow(id="1", title="a change")], lambda row: make_preview_text("")
    ),
    "MCP servers": lambda: McpServersScreen(
        [ListRow(id="docs", title="docs")], lambda row: make_preview_text("")
    ),
    "forms": lambda: RequestedFormScreen("docs asks", "", [FilledFormField(id="1", title="name")]),
    "multiple-choice fields": lambda: FormChoicesScreen(
        "Load", PreviewText(), [ListRow(id="1", title="rope")], ()
    ),
    "a batch": lambda: BatchScreen(BatchTableData(Path("/fixes"), [BATCH_RESULT])),
    "sessions": lambda: SessionsScreen([SessionPickerRow(id="a", title="one", is_in_this_folder=True)]),
}
"""Screens whose keys ask the application for something, or end the screen with it."""
OWN = {
    "app.form.mark": lambda screen: screen.marked == ["1"],
    "app.models.scope": lambda screen: len(screen.query_one(RowList).visible_rows) == 1,
    "app.session.togglePath": lambda screen: "everywhere" in told(screen) or "all" in told(screen),
    "app.session.toggleSort": lambda screen: told(screen) != "",
    "app.session.toggleNamedFilter": lambda screen: len(screen.query_one(RowList).visible_rows) == 0,
}
"""What the screen does itself."""


def told(screen: Any) -> str:
    title = screen.query_one("#title")
    return f"{title.title} {title.note}".lower()


@pytest.mark.parametrize("place", ACTING)
async def test_what_a_screen_asks_for(place: str) -> None:
    app = Screens()
    async with app.run_test(size=(100, 30)) as pilot:
        for (where, action), found in KEYS.items():
            for key in found if where == place else ():
                await app.shows(ACTING[place]())
                await pilot.pause()
                before = told(app.screen)
                await pilot.press(key)
                if action in OWN:
                    await until(
                        pilot,
                        lambda action=action, before=before: (
                            told(app.screen) != before and OWN[action](app.screen)
                        ),
                    )
                else:
                    await until(
                        pilot,
                        lambda action=action: action in [getattr(one, "action", one) for one in app.noted],
                    )


class _Helper:
    """A helper on its screen, which notes what it is told."""

    def __init__(self) -> None:
        self.noted: list[str] = []

    def title(self) -> str:
        return "h1 scout"

    def footer(self) -> str:
        return "running"

    def show_new_messages(self, transcript: Transcript) -> None:
        if transcript.last_block is None:
            transcript.replace_all(
                [UserPromptBlock(id=str(number), text="line\n\n" * 9) for number in range(20)]
            )

    def stop_showing(self) -> None:
        self.noted.append("left")

    async def send_message(self, text: str) -> str:
        self.noted.append(text)
        return ""

    async def stop(self) -> None:
        self.noted.append("stopped")


async def test_one_helper() -> None:
    app = Screens()
    async with app.run_test(size=(100, 30)) as pilot:
        for action, noted in (("tui.select.confirm", "a"), ("app.tasks.stop", "stopped")):
            for key in keys("a helper's conversation", action):
                helper = _Helper()
                await app.shows(AgentConversationScreen(helper, helper.send_message))
                await pilot.press("a", key)
                await until(pilot, lambda helper=helper, noted=noted: helper.noted == [noted])
        await app.shows(screen := AgentConversationScreen(_Helper(), _Helper().send_message))
        for action in ("tui.select.pageUp", "tui.select.pageDown"):
            for key in keys("a helper's conversation", action):
                await pilot.pause()
                at = screen.transcript.scroll_offset.y
                await pilot.press(key)
                await until(pilot, lambda at=at: screen.transcript.scroll_offset.y != at)


async def test_the_models_to_cycle_through() -> None:
    want = {
        "app.models.enableAll": [row.id for row in ROWS],
        "app.models.clearAll": [],
        "app.models.toggleProvider": [
            "1",
            "2",
            "3",
            *(row.id for row in ROWS if row.id not in ("1", "2", "3")),
        ],
        "app.models.reorderUp": ["2", "1", "3"],
        "app.models.reorderDown": ["1", "3", "2"],
    }
    app = Screens()
    async with app.run_test(size=(100, 30)) as pilot:
        for action, chosen in want.items():
            for key in keys("models to cycle through", action):
                screen = ScopedModelsScreen(ROWS, ["1", "2", "3"], lambda key: "one provider")
                await app.shows(screen)
                await pilot.press("home", "down", key)
                await until(
                    pilot, lambda screen=screen, chosen=chosen: sorted(screen.chosen_ids) == sorted(chosen)
                )
                if "reorder" in action:
                    assert screen.chosen_ids == chosen
        for key in keys("models to cycle through", "app.models.keep"):
            await app.shows(ScopedModelsScreen(ROWS, ["1"], lambda key: "one provider"))
            await pilot.press(key)
            await until(pilot, lambda: bool(app.noted))


async def test_the_questions() -> None:
    answers = [ListRow(id=str(n), title=f"answer {n}") for n in range(4)]
    app = Screens()
    async with app.run_test(size=(100, 30)) as pilot:
        for action, place in (("tui.select.up", 0), ("tui.select.down", 2)):
            for key in keys("questions", action):
                await app.shows(QuestionScreen("What?", "", answers))
                await pilot.press("down")
                await pilot.press(key)
                await until(pilot, lambda place=place: app.screen.query_one(RowList).index == place)
        for action in ("tui.select.pageDown", "tui.select.pageUp"):
            for key in keys("questions", action):
                await app.shows(QuestionScreen("What?", "line\n" * 200, answers))
                await pilot.press("pagedown", "pagedown")
                at = app.screen.query_one(Preview).scroll_offset.y
                await pilot.press(key)
                await until(pilot, lambda at=at: app.screen.query_one(Preview).scroll_offset.y != at)
        for action, answer in (("app.confirm.yes", True), ("app.confirm.no", False)):
            for key in keys("questions", action):
                await app.shows(ConfirmScreen("Sure?"))
                await pilot.press(key)
                await until(pilot, lambda answer=answer: app.noted == [answer])
        for screen in (QuestionScreen("What?", "", answers), ConfirmScreen("Sure?")):
            await app.shows(screen)
            await pilot.press("enter")
            await until(pilot, lambda: len(app.noted) == 1)


async def test_the_pages_to_read() -> None:
    text = make_preview_text("A page", "line\n" * 200)
    app = Screens()
    async with app.run_test(size=(100, 30)) as pilot:
        for action in ("up", "down", "pageUp", "pageDown", "first", "last"):
            for key in keys("text pages", f"tui.select.{action}"):
                await app.shows(PageScreen("Page", text))
                await pilot.press("space", "space")
                await until(pilot, lambda: app.screen.query_one(Preview).scroll_offset.y == 20)
                await pilot.press(key)
                is_up = action in ("up", "pageUp", "first")
                await until(
                    pilot,
                    lambda is_up=is_up: (
                        (app.screen.query_one(Preview).scroll_offset.y < 20) == is_up
                        and app.screen.query_one(Preview).scroll_offset.y != 20
                    ),
                )
        for key in keys("text pages", "tui.select.confirm"):
            await app.shows(PageScreen("Page", text))
            await pilot.press(key)
            await until(pilot, lambda: app.noted == [None])


# -- the session tree ----------------------------------------------------------------------------------------

PARENTS = [
    ("u1", ""),
    ("a1", "u1"),
    ("u2", "a1"),
    ("a2", "u2"),
    ("u3", "a1"),
    ("a3", "u3"),
    ("u4", "a1"),
    ("a4", "u4"),
]
"""Drawn in this order: the trunk, then three branches."""
TREE: dict[str, tuple[str, str]] = {
    "tui.select.up": ("a2", "u2"),
    "tui.select.down": ("u2", "a2"),
    "app.tree.up": ("a2", "u2"),
    "app.tree.down": ("u2", "a2"),
    "tui.select.pageUp": ("a4", "u1"),
    "tui.select.pageDown": ("u1", "a4"),
    "tui.select.first": ("a4", "u1"),
    "tui.select.last": ("u1", "a4"),
    "app.tree.nextBranch": ("u2", "u3"),
    "app.tree.previousBranch": ("u4", "u3"),
    "app.tree.nextSibling": ("u2", "u3"),
    "app.tree.previousSibling": ("u4", "u3"),
    "app.tree.parent": ("a2", "u2"),
    "app.tree.here": ("u1", "a4"),
    "app.tree.unfoldOrDown": ("u2", "a2"),
}
"""Where the cursor stands, and where it stands after the key."""
TREE_ASKS = {
    "tui.select.confirm": "go",
    "app.tree.fork": "fork",
    "app.tree.clone": "clone",
    "app.tree.merge": "merge",
    "app.tree.review": "review",
    "app.tree.editLabel": "label",
    "app.tree.copy": "copy",
}
TREE_TELLS = {
    "app.tree.keys": "keys here",
    "app.tree.compare": "compares",
    "app.tree.filter.cycleForward": "no tools",
    "app.tree.filter.cycleBackward": "everything",
    "app.tree.filter.default": "prompts, answers and tools",
    "app.tree.filter.noTools": "no tools",
    "app.tree.filter.userOnly": "prompts only",
    "app.tree.filter.labeledOnly": "labelled",
    "app.tree.filter.all": "everything",
}


async def test_the_trees() -> None:
    entries = [
        SessionTreeEntry(
            id=name,
            parent=parent or None,
            kind="user" if name[0] == "u" else "assistant",
            text=name,
            time="2026-01-02T09:41:00Z",
        )
        for name, parent in PARENTS
    ]
    place = "the session tree"
    app = Screens()
    async with app.run_test(size=(100, 30)) as pilot:

        async def begin(at: str = "u2", shown: str = "default") -> SessionTreeScreen:
            screen = SessionTreeScreen(entries, leaf="a4", filter=shown)  # type: ignore[arg-type]
            await app.shows(screen)
            rows = screen.query_one(RowList)
            rows.move_to(next(place for place, item in enumerate(rows.visible_rows) if item.row.id == at))
            return screen

        for action, (before, after) in TREE.items():
            for key in keys(place, action):
                screen = await begin(before)
                await pilot.press(key)
                await until(pilot, lambda screen=screen, after=after: screen.entry_id == after)
        for action, asked in TREE_ASKS.items():
            for key in keys(place, action):
                await begin()
                await pilot.press(key)
                await until(pilot, lambda asked=asked: app.noted == [asked])
        for action, word in TREE_TELLS.items():
            for key in keys(place, action):
                await begin(shown="all" if action.endswith("default") else "default")
                before = told(app.screen)
                await pilot.press(key)
                await until(
                    pilot,
                    lambda word=word, before=before: word in told(app.screen) and told(app.screen) != before,
                )
        for key in keys(place, "app.tree.foldOrUp"):
            screen = await begin()
            await pilot.press(key)
            await until(
                pilot, lambda screen=screen: len(screen.query_one(RowList).visible_rows) == len(entries) - 1
            )
        for key in keys(place, "app.tree.search"):
            screen = await begin()
            await pilot.press(key, "u", "3")
            await until(pilot, lambda screen=screen: screen.entry_id == "u3")
        for key in keys(place, "app.tree.toggleLabelTimestamp"):
            screen = await begin()
            await pilot.press(key)
            await until(pilot, lambda screen=screen: not screen.query_one(RowList).visible_rows[0].row.right)


REVIEW_ASKS = {
    "app.review.keep": "keep",
    "app.review.takeBack": "take-back",
    "app.review.undo": "undo",
    "app.review.apply": "apply",
    "app.review.comment": "comment",
    "app.review.send": "send",
    "app.review.unfold": "unfold",
    "app.review.spacing": "spacing",
    "app.review.scope": "scope",
    "app.review.scopeBack": "scope-back",
    "app.review.older": "older",
    "app.review.newer": "newer",
    "app.review.edit": "edit",
    "app.review.ownEditor": "own-editor",
    "app.review.copy": "copy",
    "app.review.copyAll": "copy-all",
}


async def test_reviewing_changes() -> None:
    place = "reviewing changes"
    files = tuple(ReviewDeskFileRow(path=f"f{number}", change="changed") for number in range(3))
    app = Screens()
    async with app.run_test(size=(100, 30)) as pilot:

        async def begin() -> ReviewScreen:
            screen = ReviewScreen(ReviewDeskContent(title="Changed", files=files))
            await app.shows(screen)
            await pilot.pause()
            screen.files.move_to(1)
            await until(pilot, lambda: app.noted[-1:] == ["file"] and screen.path == "f1")
            return screen

        for action, after in (("app.review.nextFile", "f2"), ("app.review.previousFile", "f0")):
            for key in keys(place, action):
                screen = await begin()
                await pilot.press(key)
                await until(pilot, lambda screen=screen, after=after: screen.path == after)
        blocks = [AppNoteBlock(id=str(number), text="hunk") for number in range(3)]
        for action, after in (("app.review.next", "2"), ("app.review.previous", "0")):
            for key in keys(place, action):
                screen = await begin()
                screen.show_file("f1", blocks, "1")
                await pilot.press(key)
                await until(pilot, lambda screen=screen, after=after: screen.hunk == after)
        for action, asked in REVIEW_ASKS.items():
            for key in keys(place, action):
                await begin()
                assert asked not in app.noted
                await pilot.press(key)
                await until(pilot, lambda asked=asked: asked in app.noted)
        for key in keys(place, "tui.altScreen.search"):
            screen = await begin()
            await pilot.press(key)
            await until(pilot, lambda screen=screen: screen.search_bar.has_focus_within)
        view = ReviewDeskContent(title="Change f1?", files=files, answers=("allow", "always…", "deny"))
        answered: list[ReviewAnswer] = []
        answers: dict[str, ReviewAnswer] = {
            "app.review.allow": "yes",
            "app.review.always": "always",
            "app.review.deny": "no",
        }
        for action, answer in answers.items():
            for key in keys(place, action):
                answered.clear()
                await app.shows(ReviewQuestionScreen(view, answered.append))
                await pilot.press(key)
                await until(pilot, lambda answer=answer: answered == [answer])


async def test_editing_lines_of_a_hunk() -> None:
    place = "editing lines of a hunk"
    app = Screens()
    async with app.run_test(size=(80, 24)) as pilot:
        for key in keys(place, "app.editLines.save"):
            await app.shows(screen := LinesEditScreen("a.py:3", "one\n\ttwo", 3))
            await pilot.press("end", "enter", "x", key)
            await until(pilot, lambda screen=screen: not screen.is_attached)
        for key in keys(place, "app.editLines.cancel"):
            await app.shows(screen := LinesEditScreen("a.py:3", "one", 3))
            await pilot.press("x", key)
            assert screen.is_attached
            await pilot.press(key)
            await until(pilot, lambda screen=screen: not screen.is_attached)


class Queue(Host):
    def __init__(self) -> None:
        rows = [
            QueuedMessageRow(id=str(number), kind="steer", text=f"message {number}") for number in range(3)
        ]
        super().__init__(lambda: [QueueView(rows)])
        self.moved: list[int] = []

    def on_queue_view_move_requested(self, event: QueueView.MoveRequested) -> None:
        self.moved.append(event.delta)


async def test_the_waiting_messages() -> None:
    app = Queue()
    async with app.run_test() as pilot:
        view = app.query_one(QueueView)
        view.focus()
        for action, before, after in (("app.queue.up", 1, 0), ("app.queue.down", 1, 2)):
            for key in keys("queued messages", action):
                view._at = before
                await pilot.press(key)
                await until(pilot, lambda after=after: view._at == after)
        for action, delta in (("app.queue.earlier", -1), ("app.queue.later", 1)):
            for key in keys("queued messages", action):
                view._at = 1
                app.moved.clear()
                await pilot.press(key)
                await until(pilot, lambda delta=delta: app.moved == [delta])
