"""Whether commands can be kept in a box is looked at behind the first paint, and told as soon as it is known."""

import asyncio
from pathlib import Path

from app.assembly.command_line_options import CommandLineOptions
from app.assembly.session_builder import assemble_session
from app.resources.paths import BayouPaths, shipped_styles_dir
from app.tui.app import BayouApp
from tests.support.idle import text_of
from tools.box.sandbox_instructions import SandboxFeatures


async def test_the_page_stands_before_the_system_is_tried_and_tells_what_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    paths = BayouPaths.from_env({"HOME": str(tmp_path)}, folder)
    options = CommandLineOptions(no_session=True, permissions="auto-edit")
    assembled = assemble_session(options, paths, {}, can_ask=True)
    tried: list[bool] = []
    app = BayouApp(assembled, home=tmp_path, css_path=sorted(shipped_styles_dir().glob("*.tcss")))

    def try_the_system() -> SandboxFeatures:
        tried.append("auto-edit" in text_of(app.screen).lower())
        return SandboxFeatures(why="there is nothing of the kind")

    assembled.workspace.abilities = try_the_system
    async with app.run_test(size=(120, 30)) as pilot, asyncio.timeout(10):
        while not all(words in text_of(app.screen).lower() for words in ("auto-edit", "no sandbox")):
            await pilot.pause()
    assert tried[0], "The first paint waited for it."


def test_where_everything_runs_unasked_the_system_is_not_tried(tmp_path: Path) -> None:
    paths = BayouPaths.from_env({"HOME": str(tmp_path)}, tmp_path)
    assembled = assemble_session(
        CommandLineOptions(no_session=True, permissions="full"), paths, {}, can_ask=True
    )
    tried: list[bool] = []

    def try_the_system() -> SandboxFeatures:
        tried.append(True)
        return SandboxFeatures()

    assembled.workspace.abilities = try_the_system
    assembled.session.permissions.boxes.probe_system()
    assert assembled.session.state.sandbox_warning == ""
    assert not tried
    assembled.session.permissions.rules.set_mode("ask")
    assert assembled.session.state.sandbox_warning == "no sandbox"
