"""Textual's command palette is not loaded with Textual, and is there for whoever uses it all the same."""

import ast
import subprocess
import sys
from pathlib import Path

import textual.app
import textual.theme

from widgets.lean_textual import NAMES, PALETTE

ROOT = Path(__file__).parents[2]
UNNEEDED = (
    PALETTE,
    "textual.types",
    "textual.widgets._input",
    "textual.widgets._select",
    "textual.widgets._tree",
)
LEAN = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import widgets.lean_textual
import textual.app
assert not [name for name in {UNNEEDED} if name in sys.modules]
stand_in = textual.app.CommandPalette
"""
USED = """
import asyncio
from textual.app import App

class Plain(App):
    pass

async def opened():
    app = Plain()
    async with app.run_test() as pilot:
        await pilot.press("ctrl+p")
        await pilot.pause()
        print(app.use_command_palette, type(app.screen).__module__, type(app.screen).__name__)
        assert stand_in.is_open(app)

asyncio.run(opened())
"""


def said(program: str, tmp_path: Path) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def test_an_application_with_the_palette_opens_the_real_one(tmp_path: Path):
    assert said(LEAN + USED, tmp_path) == "True textual.command CommandPalette"


def test_who_imports_the_palette_afterwards_gets_the_real_one(tmp_path: Path):
    program = (
        LEAN
        + "from textual.command import CommandPalette, Hit\nprint(CommandPalette is stand_in, Hit(1, 'x', print).score)"
    )
    assert said(program, tmp_path) == "False 1"


def test_where_the_palette_is_there_already_it_stays(tmp_path: Path):
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import textual.app, widgets.lean_textual\n"
    assert (
        said(
            program + "print(textual.app.CommandPalette is sys.modules['textual.command'].CommandPalette)",
            tmp_path,
        )
        == "True"
    )


def test_the_names_are_those_that_textual_takes():
    taken = {
        alias.name
        for module in (textual.app, textual.theme)
        for node in ast.walk(ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == PALETTE
        for alias in node.names
    }
    assert taken == set(NAMES)
