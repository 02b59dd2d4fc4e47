"""Random keys on the review desk over random changes: nothing of a person is lost, and nothing breaks."""

import random
from pathlib import Path

import pytest

from app.undo.change_records import file_restore_data_of_entry
from tests.tui.pages.person import Person, at_the_keyboard
from tests.tui.pages.test_review_page import Project, write
from widgets.screens.dialogs import LinesEditScreen

KEYS = (
    *("j", "k", "J", "K", "space", "space", "x", "x", "x", "u", "u", "w", "o", "tab", "shift+tab"),
    *("less_than_sign", "greater_than_sign", "pagedown", "pageup", "y", "end", "home"),
)


def changed(text: str, luck: random.Random) -> str:
    lines = text.split("\n")
    for _ in range(luck.randrange(1, 8)):
        at = luck.randrange(len(lines))
        lines[at : at + luck.randrange(3)] = [f"new {luck.randrange(99)}"] * luck.randrange(3)
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(4))
async def test_random_keys_over_random_changes(seed: int, tmp_path: Path) -> None:
    luck = random.Random(seed)
    project = Project(tmp_path)
    names = ("a.txt", "deep/b.py", "uv.lock")
    texts = {name: "".join(f"line {number}\n" for number in range(luck.randrange(5, 80))) for name in names}
    await project.prompt("make", *(write(name, text) for name, text in texts.items()))
    for _ in range(2):
        texts = {name: changed(text, luck) for name, text in texts.items()}
        await project.prompt("change", *(write(name, text) for name, text in texts.items()))
    mine = "a line of mine\n"
    written = dict.fromkeys(names, 0)
    async with at_the_keyboard(size=luck.choice(((40, 12), (80, 24), (140, 40)))) as person:
        for _ in range(2):
            async with person.asked(project.page(person).open(luck.choice(("prompt", "session")))):
                for _ in range(25):
                    if luck.random() < 0.08:
                        name = luck.choice(names)
                        place = project.folder / name
                        place.parent.mkdir(exist_ok=True)
                        place.write_text(mine + (place.read_text() if place.exists() else ""))
                        written[name] += 1
                    elif luck.random() < 0.12:
                        await _edits(person, luck)
                    else:
                        await person.press(luck.choice(KEYS))
                await person.press("escape")
        assert person.terminal.refusals == []
    for name, count in written.items():
        place = project.folder / name
        left = place.read_text().count(mine) if place.exists() else 0
        assert left == count or name in _restored(project), (
            "what was taken back is recorded, so it can be undone"
        )


def _restored(project: Project) -> set[str]:
    restores = filter(None, map(file_restore_data_of_entry, project.harness.session.log.entries))
    return {change.path for data in restores for change in data.changes}


async def _edits(person: Person, luck: random.Random) -> None:
    """Opens the editor of a hunk, if there is one, types, and saves or leaves it."""
    await person.press("e")
    if isinstance(person.terminal.screen, LinesEditScreen):
        await person.press(*(luck.choice(("end", "x", "enter", "tab")) for _ in range(4)))
        await person.press("ctrl+s" if luck.random() < 0.7 else "escape")
        if isinstance(person.terminal.screen, LinesEditScreen):
            await person.press("escape")
