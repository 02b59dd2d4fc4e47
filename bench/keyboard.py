"""Measures the keyboard: opening screens, painting after keys, finding files."""

import asyncio
import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from textual.app import App, ComposeResult
from textual.screen import Screen

from app.tui.background_tasks import GarbageScheduler
from app.tui.features.settings.screen import SettingRow, SettingsScreen
from app.tui.features.tree.screen import SessionTreeScreen
from bench.table import Row
from widgets.completion.file_index import FileIndex
from widgets.editor.paste_cleaning import clean_pasted_text
from widgets.editor.prompt_editor import PromptEditor
from widgets.lists.list_rows import ListRow
from widgets.lists.tree_rows import SessionTreeEntry
from widgets.screens.picker import PickerScreen
from widgets.themes import default_style_variables

STYLES = Path(__file__).parents[1] / "styles"
FILES = 150_000


class BenchApp(App[None]):
    """An app with only the measured widgets, in the real styles."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self) -> None:
        super().__init__(
            css_path=[STYLES / f"{name}.tcss" for name in ("base", "editor", "screens", "completion")]
        )
        self.animation_level = "none"
        self.editor = PromptEditor()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return default_style_variables()

    def compose(self) -> ComposeResult:
        yield self.editor

    def on_mount(self) -> None:
        self.editor.focus()


def rows() -> Iterator[Row]:
    yield from asyncio.run(_screens())
    yield from asyncio.run(_keys())
    yield from asyncio.run(_files())
    begun = time.process_time()
    clean_pasted_text("some text \x1b[31mred\x1b[0m\r\n" * 200_000)
    yield Row(name="clean a paste of 5 MB", figure=(time.process_time() - begun) * 1000, unit="ms CPU")


def models(count: int) -> list[ListRow]:
    return [
        ListRow(
            id=str(n),
            title=f"provider-{n % 17}/model-{n}",
            detail=f"{n % 9}00k context",
            right=f"${n % 30}.00",
        )
        for n in range(count)
    ]


def entries(count: int) -> list[SessionTreeEntry]:
    kinds = ("user", "assistant", "tool", "assistant")
    return [
        SessionTreeEntry(
            id=str(n),
            parent=str(n - 1 if n % 50 else max(0, n - 30)) if n else None,
            kind=kinds[n % 4],  # type: ignore[arg-type]
            text=f"entry {n} about the parser and its tests",
        )
        for n in range(count)
    ]


async def _screens() -> list[Row]:
    tree_entries = entries(5000)
    settings = [
        SettingRow(id=f"group.key{n}", group=f"Group {n // 10}", value="on", help="h") for n in range(120)
    ]
    cases: list[tuple[str, Callable[[], Screen[Any]], str]] = [
        ("open 2,000 models", lambda: PickerScreen("Model", models(2000)), "60 ms"),
        ("open 5,000 rows", lambda: PickerScreen("Rows", models(5000)), "60 ms"),
        ("open a tree of 5,000", lambda: SessionTreeScreen(tree_entries, leaf="4999"), "60 ms"),
        ("open the settings", lambda: SettingsScreen(settings), "60 ms"),
    ]
    found = []
    app = BenchApp()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        for name, make, limit in cases:
            figures = []
            for _ in range(5):
                gc.collect()
                begun = time.process_time()
                screen = make()
                await app.push_screen(screen)
                screen._compositor.render_strips()
                await asyncio.sleep(0)
                figures.append((time.process_time() - begun) * 1000)
                app.pop_screen()
                await pilot.pause()
            found.append(Row(name=name, figure=statistics.median(figures), unit="ms CPU", limit=limit))
    return found


async def _keys() -> list[Row]:
    """Measures from a key's command to the painted strips, 99th percentile."""
    found = []
    app = BenchApp()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        GarbageScheduler().freeze_startup_objects()  # as the application does after its start
        text = "the quick brown fox jumps over the lazy dog " * 6
        figures = []
        for char in text:
            begun = time.process_time()
            app.editor.model.type_text(char)
            app.editor.update_after_edit_command()
            app.screen._compositor.render_strips()
            figures.append((time.process_time() - begun) * 1000)
        found.append(_percentile("key to strips in the editor, p99", figures))
        app.editor.set_text("\n".join(f"line {n} of a long prompt" for n in range(10_000)))
        figures = []
        for char in text[:100]:
            begun = time.process_time()
            app.editor.model.type_text(char)
            app.editor.update_after_edit_command()
            app.screen._compositor.render_strips()
            figures.append((time.process_time() - begun) * 1000)
        found.append(_percentile("the same in 10,000 lines, p99", figures))
        screen = PickerScreen("Rows", models(5000))
        await app.push_screen(screen)
        await pilot.pause()
        line = screen.query_one("#filter")
        figures = []
        for query in ("model", "prov 12", "4999", "context 30"):
            for char in query:
                begun = time.process_time()
                line.model.type_text(char)  # type: ignore[attr-defined]
                screen._apply()
                screen._compositor.render_strips()
                figures.append((time.process_time() - begun) * 1000)
            line.model.set_text("")  # type: ignore[attr-defined]
            screen._apply()
        found.append(_percentile("key to strips in a filter of 5,000 rows, p99", figures))
        figures = []
        for _ in range(100):
            begun = time.process_time()
            screen.action_move(1)
            screen._compositor.render_strips()
            figures.append((time.process_time() - begun) * 1000)
        found.append(_percentile("cursor down in 5,000 rows, p99", figures))
    return found


def _percentile(name: str, figures: list[float]) -> Row:
    return Row(name=name, figure=sorted(figures)[int(len(figures) * 0.99)], unit="ms CPU", limit="33 ms")


async def _files() -> list[Row]:
    """Measures a project of 150,000 files as listed by `rg`, and the longest turn of the event loop."""
    with tempfile.TemporaryDirectory() as folder:
        index = FileIndex(Path(folder), rg=_listing_program(Path(folder)))
        GarbageScheduler().freeze_startup_objects()  # as the application does after its start
        with _LoopTurns() as reading:
            await index.refresh_files()
        assert len(index) >= FILES
        firsts, totals = [], []
        with _LoopTurns() as searching:
            for query in ("m", "module_0123", "pkg1h", "view", "zzz", "p200view"):
                first, total = await _search(index, query)
                firsts.append(first)
                totals.append(total)
    return [
        Row(
            name="first @ results in 150,000 files, worst of six",
            figure=max(firsts),
            unit="ms",
            limit="50 ms",
        ),
        Row(name="all @ results, worst of six", figure=max(totals), unit="ms"),
        searching.row("longest hold of the event loop meanwhile"),
        reading.row("longest hold while 150,000 files are read"),
    ]


def _listing_program(folder: Path) -> str:
    """Creates a program that lists as many files as a large project has."""
    listing, program = folder / "listing", folder / "rg"
    with listing.open("w") as file:
        for n in range(FILES):
            kind = "view" if n % 3 else "handler"
            file.write(f"package_{n % 300:03}/src/module_{n:06}_{kind}.py\n")
    program.write_text(f"#!/bin/sh\nexec cat '{listing}'\n")
    program.chmod(0o700)
    return str(program)


async def _search(index: FileIndex, query: str) -> tuple[float, float]:
    begun = time.perf_counter()
    first = 0.0
    async for hits in index.search_paths(query):
        if hits:
            first = first or time.perf_counter() - begun
    return first * 1000, (time.perf_counter() - begun) * 1000


class _LoopTurns:
    """Records the CPU time of each turn of the event loop, independent of the machine's load."""

    def __init__(self) -> None:
        self._longest = 0.0
        self._run = asyncio.Handle._run

    def __enter__(self) -> "_LoopTurns":
        run = self._run

        def measured(handle: Any) -> None:
            begun = time.thread_time()
            run(handle)
            self._longest = max(self._longest, time.thread_time() - begun)

        setattr(asyncio.Handle, "_run", measured)  # noqa: B010  (its type has another name for `handle`)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.Handle._run = self._run

    def row(self, name: str) -> Row:
        return Row(name=name, figure=self._longest * 1000, unit="ms CPU", limit="20 ms")
