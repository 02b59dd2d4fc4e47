"""Completions under the keys of a person."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from textual import on
from textual.pilot import Pilot

from tests.widgets.completion.test_file_index import RG
from tests.widgets.host import Host, screen_text
from tests.widgets.typing import type_text
from widgets.completion.command_completions import CommandCompletionSource, SlashCommandRow
from widgets.completion.completion_popup import CompletionPopup
from widgets.completion.completion_source import (
    CompletionRequest,
    CompletionResult,
    CompletionSource,
    CompletionSuggestion,
)
from widgets.completion.file_completions import FileCompletionSource, SymbolRow, TabPathCompletionSource
from widgets.completion.file_index import FileIndex
from widgets.editor.prompt_editor import PromptEditor

LEVELS = [
    CompletionSuggestion(text=level, kind="argument", sends_prompt=True) for level in ("off", "low", "high")
]
COMMANDS = (
    SlashCommandRow(name="model", description="choose a model", argument_hint="[name]"),
    SlashCommandRow(name="thinking", description="how long to think", arguments=lambda typed: LEVELS),
    SlashCommandRow(name="fork", description="go on from an older prompt"),
    SlashCommandRow(name="import", description="open a file", argument_hint="<path>", needs_argument=True),
)


class PopupHost(Host):
    def __init__(self, *sources: CompletionSource) -> None:
        self.editor = PromptEditor()
        self.popup = CompletionPopup(self.editor, sources or [CommandCompletionSource(lambda: COMMANDS)])
        super().__init__(lambda: [self.popup, self.editor])
        self.sent: list[str] = []

    def on_mount(self) -> None:
        super().on_mount()
        self.editor.styles.dock = "bottom"
        self.editor.focus()

    @on(PromptEditor.Submitted)
    def note(self, event: PromptEditor.Submitted) -> None:
        self.sent.append(event.text)


async def labels(pilot: Pilot[None], app: PopupHost) -> list[str]:
    for _ in range(100):
        await pilot.pause()
        if app.popup._ask_task is None or app.popup._ask_task.done():
            break
    return [item.row.title for item in app.popup.visible_rows] if app.popup.is_open else []


async def test_a_slash_lists_the_commands_and_narrows() -> None:
    app = PopupHost()
    async with app.run_test() as pilot:
        await type_text(pilot, "/")
        assert len(await labels(pilot, app)) == 4
        await type_text(pilot, "th")
        assert (await labels(pilot, app))[0] == "/thinking"
        assert "how long to think" in screen_text(app)


async def test_enter_completes_a_command_and_sends_it() -> None:
    app = PopupHost()
    async with app.run_test() as pilot:
        await type_text(pilot, "/fo")
        await labels(pilot, app)
        await pilot.press("enter")
        assert app.sent == ["/fork"]


async def test_enter_runs_no_command_that_what_was_typed_only_resembles() -> None:
    app = PopupHost()
    async with app.run_test() as pilot:
        await type_text(pilot, "/ok")  # f-o-r-k
        assert await labels(pilot, app) == ["/fork"]
        assert "› /fork" not in screen_text(app)
        await pilot.press("enter")
        assert app.sent == ["/ok"]
        await type_text(pilot, "/older")  # in what explains it
        assert await labels(pilot, app) == ["/fork"]
        await pilot.press("down", "enter")
        assert app.sent == ["/ok", "/fork"]
        await type_text(pilot, "/ok")
        await labels(pilot, app)
        await pilot.press("tab")
        assert app.editor.text == "/fork "


async def test_a_skill_is_run_by_what_stands_behind_the_colon() -> None:
    rows = (SlashCommandRow(name="skill:commit"), SlashCommandRow(name="scoped-models"))
    app = PopupHost(CommandCompletionSource(lambda: rows))
    async with app.run_test() as pilot:
        await type_text(pilot, "/com")
        await labels(pilot, app)
        await pilot.press("enter")
        assert app.sent == ["/skill:commit"]
        await type_text(pilot, "/models")
        assert await labels(pilot, app) == ["/scoped-models"]
        await pilot.press("enter")
        assert app.sent == ["/skill:commit", "/models"]


async def test_a_command_that_needs_an_argument_waits_for_it() -> None:
    app = PopupHost()
    async with app.run_test() as pilot:
        await type_text(pilot, "/imp")
        await labels(pilot, app)
        await pilot.press("enter")
        assert app.sent == []
        assert app.editor.text == "/import "


async def test_tab_completes_and_then_offers_arguments() -> None:
    app = PopupHost()
    async with app.run_test() as pilot:
        await type_text(pilot, "/thi")
        await labels(pilot, app)
        await pilot.press("tab")
        assert app.editor.text == "/thinking "
        assert await labels(pilot, app) == ["off", "low", "high"]
        await pilot.press("down", "enter")
        assert app.sent == ["/thinking low"]


async def test_escape_closes_it_until_another_word() -> None:
    app = PopupHost()
    async with app.run_test() as pilot:
        await type_text(pilot, "/m")
        assert await labels(pilot, app)
        await pilot.press("escape")
        assert not app.popup.is_open
        await type_text(pilot, "o")
        assert await labels(pilot, app) == []
        app.editor.clear()
        await type_text(pilot, "/")
        assert await labels(pilot, app)


class SlowCommands(CommandCompletionSource):
    """Answers the first question, and the others never."""

    asked = 0

    async def complete(self, request: CompletionRequest) -> AsyncIterator[CompletionResult]:
        self.asked += 1
        if self.asked > 1:
            await asyncio.Event().wait()
        async for answer in super().complete(request):
            yield answer


async def test_outdated_completions_are_not_accepted_for_changed_text() -> None:
    app = PopupHost(SlowCommands(lambda: COMMANDS))
    async with app.run_test() as pilot:
        await type_text(pilot, "/")
        assert await labels(pilot, app)
        app.editor.insert("nothing")
        await pilot.press("enter")
        assert app.sent == ["/nothing"]


async def test_a_slash_inside_a_sentence_is_no_command() -> None:
    app = PopupHost()
    async with app.run_test() as pilot:
        await type_text(pilot, "either/or")
        assert await labels(pilot, app) == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "parser.py").write_text("def parse(): ...")
    (tmp_path / "my notes.txt").write_text("x")
    return tmp_path


async def test_at_lists_files_and_puts_one_in(folder: Path) -> None:
    index = FileIndex(folder, rg=RG)
    await index.refresh_files()
    app = PopupHost(FileCompletionSource(index))
    async with app.run_test() as pilot:
        await type_text(pilot, "look at @pars")
        assert await labels(pilot, app) == ["src/parser.py"]
        await pilot.press("enter")
        assert app.editor.text == "look at @src/parser.py "
        assert app.sent == []


async def test_a_file_with_a_blank_is_quoted(folder: Path) -> None:
    index = FileIndex(folder, rg=RG)
    await index.refresh_files()
    app = PopupHost(FileCompletionSource(index))
    async with app.run_test() as pilot:
        await type_text(pilot, "@notes")
        await labels(pilot, app)
        await pilot.press("tab")
        assert app.editor.text == '@"my notes.txt" '


async def test_files_of_added_folders_are_found_by_their_absolute_paths(tmp_path: Path) -> None:
    work, library = tmp_path / "work", tmp_path / "library"
    for folder in (work, library / "src"):
        folder.mkdir(parents=True)
    (work / "a.txt").touch()
    (library / "src" / "oars.py").touch()
    added: list[Path] = []
    index = FileIndex(work, rg=RG, added=lambda: added)
    await index.refresh_files()
    assert [hit.path async for hits in index.search_paths("") for hit in hits] == ["a.txt"]
    added.append(library)
    await index.refresh_files()
    found = {hit.path async for hits in index.search_paths("") for hit in hits}
    assert found == {"a.txt", f"{library}/src/", f"{library}/src/oars.py"}


async def test_a_folder_lets_one_go_on(folder: Path) -> None:
    index = FileIndex(folder, rg=RG)
    await index.refresh_files()
    app = PopupHost(FileCompletionSource(index))
    async with app.run_test() as pilot:
        await type_text(pilot, "@src")
        await labels(pilot, app)
        await pilot.press("tab")
        assert app.editor.text == "@src/"
        assert "src/parser.py" in await labels(pilot, app)


async def test_an_address_is_no_file(folder: Path) -> None:
    app = PopupHost(FileCompletionSource(FileIndex(folder, rg=RG)))
    async with app.run_test() as pilot:
        await type_text(pilot, "mail me@example")
        assert await labels(pilot, app) == []


async def test_symbols_of_a_file(folder: Path) -> None:
    async def symbols(path: str) -> list[SymbolRow]:
        assert path == "src/parser.py"
        return [
            SymbolRow(name="parse", kind="function", first_line=1),
            SymbolRow(name="Parser", kind="class"),
        ]

    index = FileIndex(folder, rg=RG)
    await index.refresh_files()
    app = PopupHost(FileCompletionSource(index, symbols=symbols))
    async with app.run_test() as pilot:
        await type_text(pilot, "@src/parser.py:pa")
        assert await labels(pilot, app) == ["parse", "Parser"]
        await pilot.press("enter")
        assert app.editor.text == "@src/parser.py:parse "
        app.editor.clear()
        await type_text(pilot, "see @src/parser.py :Parser")  # a file that was chosen ends with a blank
        assert await labels(pilot, app) == ["Parser"]
        await pilot.press("enter")
        assert app.editor.text == "see @src/parser.py:Parser "
        await type_text(pilot, ": and")
        assert await labels(pilot, app) == []


async def test_tab_completes_paths_from_the_disk(folder: Path) -> None:
    app = PopupHost(TabPathCompletionSource(lambda: folder))
    async with app.run_test() as pilot:
        await type_text(pilot, "cat sr")
        await pilot.press("tab")
        await labels(pilot, app)
        assert app.editor.text == "cat src/"
        (folder / "src" / "lexer.py").write_text("")
        await pilot.press("tab")
        assert await labels(pilot, app) == ["src/lexer.py", "src/parser.py"]


async def test_a_source_that_fails_only_gives_nothing() -> None:
    class Broken:
        def accepts(self, request: CompletionRequest) -> bool:
            return True

        async def complete(self, request: CompletionRequest) -> AsyncIterator[CompletionResult]:
            if request.line:
                raise RuntimeError("no luck")
            yield CompletionResult(start=0, end=0)

    app = PopupHost(Broken())
    async with app.run_test() as pilot:
        await type_text(pilot, "abc")
        assert await labels(pilot, app) == []
        assert app.popup.problem == "RuntimeError: no luck"
        assert app.editor.text == "abc"


async def test_an_answer_that_comes_too_late_is_dropped() -> None:
    class Slow:
        def accepts(self, request: CompletionRequest) -> bool:
            return request.before.startswith("x")

        async def complete(self, request: CompletionRequest) -> AsyncIterator[CompletionResult]:
            await asyncio.Event().wait()
            yield CompletionResult(start=0, end=1, items=(CompletionSuggestion(text="never"),))

    app = PopupHost(Slow())
    async with app.run_test() as pilot:
        await type_text(pilot, "x")
        task = app.popup._ask_task
        assert task is not None
        await pilot.press("backspace")
        await pilot.pause()
        assert task.cancelled()
        assert not app.popup.is_open


class _OnlyAtFirst:
    """Answers the first letter, and nothing behind it in time."""

    def accepts(self, request: CompletionRequest) -> bool:
        return request.before.startswith("f")

    async def complete(self, request: CompletionRequest) -> AsyncIterator[CompletionResult]:
        if request.column > 1:
            await asyncio.Event().wait()
        items = (
            CompletionSuggestion(text="fathoms", text_after=""),
            CompletionSuggestion(text="fog", text_after=""),
        )
        yield CompletionResult(start=0, end=1, items=items)


@pytest.mark.parametrize(
    ("typed", "written"), [("fath", "fathoms"), ("fo", "fo"), ("fathomsdeep", "fathomsdeep")]
)
async def test_tab_takes_what_one_sees_if_it_goes_on_from_what_is_written(typed: str, written: str) -> None:
    app = PopupHost(_OnlyAtFirst())
    async with app.run_test() as pilot:
        await type_text(pilot, "f")
        assert await labels(pilot, app) == ["fathoms", "fog"]
        await type_text(pilot, typed[1:])
        await pilot.press("tab")
        assert app.editor.text == written and not app.popup.is_open


async def test_enter_sends_what_is_written_when_the_list_is_for_less() -> None:
    app = PopupHost(_OnlyAtFirst())
    async with app.run_test() as pilot:
        await type_text(pilot, "f")
        assert await labels(pilot, app) == ["fathoms", "fog"]
        await type_text(pilot, "at")
        await pilot.press("enter")
        assert "fathoms" not in app.editor.text


async def test_a_symbol_of_the_whole_repository(tmp_path: Path) -> None:
    rows = {
        "launch": [
            ("harbour/fleet.py", SymbolRow(name="launch_all", kind="function", first_line=7)),
            ("other.py", SymbolRow(name="launch", kind="function", first_line=1)),
        ]
    }

    async def everywhere(name: str) -> AsyncIterator[Sequence[tuple[str, SymbolRow]]]:
        yield rows.get(name, [])

    index = FileIndex(tmp_path, rg=RG)
    index.frecency.record_chosen_path("other.py")
    app = PopupHost(FileCompletionSource(index, repository_symbols=everywhere))
    async with app.run_test() as pilot:
        await type_text(pilot, "see @:launch")
        assert await labels(pilot, app) == ["launch", "launch_all"]
        assert "function  other.py" in screen_text(app)
        await pilot.press("enter")
        assert app.editor.text.strip() == "see @other.py:launch"


async def test_symbols_that_become_known_later_are_offered_without_another_key(tmp_path: Path) -> None:
    more = asyncio.Event()

    async def everywhere(name: str) -> AsyncIterator[Sequence[tuple[str, SymbolRow]]]:
        yield []
        await more.wait()
        yield [("other.py", SymbolRow(name="launch", kind="function", first_line=1))]

    app = PopupHost(FileCompletionSource(FileIndex(tmp_path, rg=RG), repository_symbols=everywhere))
    async with app.run_test() as pilot:
        await type_text(pilot, "see @:launch")
        assert not app.popup.is_open
        more.set()
        assert await labels(pilot, app) == ["launch"]
        await pilot.press("enter")
        assert app.editor.text.strip() == "see @other.py:launch"
