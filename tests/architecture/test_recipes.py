"""The recipes of the docs are carried out in a copy of the tree, and what they add is used there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.architecture.sources import ROOT, SHIPPED

USES = """
import asyncio, sys
from pathlib import Path

import app
from tests.tui.stage import make_app, submit

async def main():
    print(Path(app.__file__).parent.parent)
    home = Path(sys.argv[1])
    screen = make_app(home)
    async with screen.run_test(size=(100, 30)) as pilot:
        async def seen(words):
            await screen.settling_until(pilot, lambda: words in screen.screen_text)
            print(words)

        await screen.is_ready.wait()
        await pilot.press("f9")
        await seen("high water at noon")
        await pilot.press("enter")
        await seen("It is high water at noon.")
        await submit(screen, pilot, "/tides")
        await seen("high water at noon")
        await pilot.press("escape")
        await screen.session.record.rename("estuary")
        await seen("The tides of estuary stay the same.")
    print(dict(screen.action_table.command_names())["tides"])

asyncio.run(main())
"""


def modules_of_recipe() -> dict[str, str]:
    """By their path, as the page has them."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    return dict(
        re.findall(r"^`(app/tui/features/\S+\.py)` .*?```python\n(.*?)```", page, re.DOTALL | re.MULTILINE)
    )


def test_a_page_is_added_by_a_folder_and_a_line(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for folder in (*SHIPPED, "styles"):
        shutil.copytree(ROOT / folder, copy / folder)
    modules = modules_of_recipe()
    assert len(modules) == 2
    for path, text in modules.items():
        file = copy / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        (file.parent / "__init__.py").touch()
    register = copy / "app" / "tui" / "register.py"
    before = register.read_text(encoding="utf-8")
    register.write_text(before.replace("NAMES = (\n", 'NAMES = (\n    "tides",\n'), encoding="utf-8")
    assert register.read_text(encoding="utf-8") != before

    uses = subprocess.run(
        [sys.executable, "-c", USES, str(tmp_path / "home")],
        env={**os.environ, "PYTHONPATH": f"{copy}{os.pathsep}{ROOT}"},
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    assert uses.returncode == 0, uses.stderr
    assert uses.stdout.splitlines() == [
        str(copy),
        "high water at noon",
        "It is high water at noon.",
        "high water at noon",
        "The tides of estuary stay the same.",
        "when the water is high",
    ]
