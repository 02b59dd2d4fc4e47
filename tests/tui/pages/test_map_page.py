"""The map of the repository: folded out, searched, and gone to from names."""

import asyncio
from pathlib import Path

import pytest

from app.engine.repository.repository_maps import RepositoryMaps
from app.tui.features.map.map_sender import RepositoryMapSender
from app.tui.features.map.page import RepositoryMapPage
from app.tui.features.map.rows import shorten_path_at_start
from app.values.content import text_of
from app.values.messages import CustomMessage
from tests.engine.scripted_session import ScriptedSession
from tests.tui.pages.person import Person, at_the_keyboard
from tools.repomap.mapped_repository import MappedRepository
from tools.session_workspace import SessionWorkspace

FILES = {
    "harbour/cache.py": (
        "class ReadCache:\n    def get(self, key):\n        return self.kept[key]\n\n"
        "    def directory(self):\n        return self.path\n"
    ),
    "harbour/deep/boats.py": (
        "from harbour.cache import ReadCache\n\n\ndef launch(boat):\n    return ReadCache().get(boat)\n"
    ),
    "harbour/oars.py": "class Oar:\n    def get(self):\n        return 2\n",
    "readme.md": "# Harbour\n",
}


class Harbour:
    """A page over a small repository, with what it opened and sent."""

    def __init__(
        self, person: Person, root: Path, cache: Path, *, is_on: bool = True, is_indexed: bool = True
    ) -> None:
        self.opened: list[tuple[str, int]] = []
        self.sent: list[CustomMessage] = []
        self.outlined: list[str] = []
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        repository = MappedRepository(root, cache)
        if is_indexed:
            repository.complete_index(workers=0)
        self.workspace = SessionWorkspace(root, repositories=(lambda cwd: repository) if is_on else None)
        self.page = RepositoryMapPage(
            RepositoryMaps(self.workspace),
            person.ask,
            person.say,
            person.write,
            person.copy,
            cwd=lambda: root,
            open_file=lambda path, line: self.opened.append((path, line)),
        )
        self.map = RepositoryMapSender(
            RepositoryMaps(self.workspace),
            person.ask,
            person.say,
            cwd=lambda: root,
            send=self.sent.append,
            send_outline=self._outline,
            permissions=ScriptedSession(root.parent / "home", cwd=root).session.permissions,
            open_map=self.page.open,
        )

    async def _outline(self, path: str) -> None:
        self.outlined.append(path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "boats"


async def test_the_tree_is_unfolded_down_to_a_symbol_which_is_mentioned(root: Path, tmp_path: Path) -> None:
    async with at_the_keyboard(size=(100, 30)) as person:
        harbour = Harbour(person, root, tmp_path / "cache")
        async with person.asked(harbour.page.open()):
            await person.sees_soon("▸ harbour/", "3 files", "▸ readme.md")
            await person.press("right")
            await person.sees_soon("▾ harbour/", "▸ deep/", "▸ cache.py", "▸ oars.py")
            await person.press("down", "down", "right")
            await person.sees_soon("class ReadCache", "method get", "method directory", "5-6")
            await person.press("down", "down", "enter")
        assert person.written == ["@harbour/cache.py:get "]
        async with person.asked(harbour.page.open()):
            await person.sees_soon("class ReadCache")
            await person.press("left")
            await person.until(lambda: "▾" not in person.sees)
            await person.press("enter")
            await person.sees_soon("▾ harbour/")
            await person.press("escape")


async def test_typing_finds_parts_of_names_paths_and_words_of_a_task(root: Path, tmp_path: Path) -> None:
    async with at_the_keyboard(size=(100, 30)) as person:
        harbour = Harbour(person, root, tmp_path / "cache")
        async with person.asked(harbour.page.open()):
            await person.press(*"direc")
            await person.until(lambda: "oars.py" not in person.sees)
            await person.sees_soon("harbour/cache.py", "method directory")
            await person.press(*(["backspace"] * 5), *"oars")
            await person.sees_soon("harbour/oars.py", "class Oar")
            await person.press(*(["backspace"] * 4), *"launch a boat")
            await person.sees_soon("harbour/deep/boats.py", "function launch")
            await person.sees_soon("best match first")
            await person.press("tab")
            await person.sees_soon("by path")
            await person.press("down", "ctrl+o")
            await person.until(lambda: harbour.opened == [("harbour/deep/boats.py", 4)])
            await person.sees_soon("function launch")
            await person.press("ctrl+y", "escape")
        assert person.copied == [("harbour/deep/boats.py:4-5", "the location")]


async def test_uses_are_listed_and_seen_and_one_comes_back(root: Path, tmp_path: Path) -> None:
    async with at_the_keyboard(size=(100, 30)) as person:
        harbour = Harbour(person, root, tmp_path / "cache")
        async with person.asked(harbour.page.open()):
            await person.press(*"ReadCache")
            await person.sees_soon("class ReadCache")
            await person.press("down", "ctrl+r")
            await person.sees_soon("2 uses, matched by name", "boats.py:5  in launch")
            await person.press("down", "enter")
            await person.sees_soon("Use", "return ReadCache().get(boat)")
            await person.press("escape")
            await person.sees_soon("2 uses, matched by name")
            await person.press("escape")
            await person.sees_soon("class ReadCache", "Map")
            await person.press("escape")


async def test_from_a_text_one_goes_to_the_definition_of_a_name(root: Path, tmp_path: Path) -> None:
    async with at_the_keyboard(size=(100, 30)) as person:
        harbour = Harbour(person, root, tmp_path / "cache")
        async with person.asked(harbour.page.go_to_symbol_named_in("launch", uses=False)):
            await person.sees_soon("Definition", "def launch(boat):")
            await person.press("escape")
        async with person.asked(harbour.page.go_to_symbol_named_in("call get of it", uses=False)):
            await person.sees_soon(
                "get: 2 definitions, matched by name", "method Oar.get", "method ReadCache.get"
            )
            await person.press("ctrl+t")
        assert person.written[-1].endswith(":get ")
        async with person.asked(
            harbour.page.go_to_symbol_named_in("launch(boat) reads ReadCache", uses=True)
        ):
            await person.sees_soon("Uses of", "launch", "ReadCache")
            await person.press(*"Read", "enter")
            await person.sees_soon("2 uses, matched by name")
            await person.press("escape")
            await person.sees_soon("Uses of")
            await person.press("escape")


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("harbour/cache.py", "harbour/cache.py"),
        ("harbour/src/main/kotlin/quay/crane/CraneDriver.kt", "…/main/kotlin/quay/crane/CraneDriver.kt"),
        (f"harbour/{'long' * 12}.py", f"…/{'long' * 12}.py"),
        (f"{'long' * 12}.py", f"{'long' * 12}.py"),
    ],
)
def test_a_long_path_shows_its_end(path: str, shown: str) -> None:
    assert shorten_path_at_start(path) == shown


async def test_a_name_of_another_script_is_gone_to(root: Path, tmp_path: Path) -> None:
    root.mkdir()
    (root / "порт.py").write_text("class Корабль:\n    pass\n")
    async with at_the_keyboard(size=(100, 30)) as person:
        harbour = Harbour(person, root, tmp_path / "cache")
        async with person.asked(harbour.page.go_to_symbol_named_in("спусти Корабль на воду", uses=False)):
            await person.sees_soon("class Корабль:")
            await person.press("escape")


async def test_what_cannot_be_gone_to_is_said(root: Path, tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        harbour = Harbour(person, root, tmp_path / "cache")
        await harbour.page.go_to_symbol_named_in("capstan", uses=False)
        await harbour.page.go_to_symbol_named_in("…", uses=False)
        assert person.heard == [
            "capstan is not a symbol in the repository map.",
            "This block has no symbols.",
        ]
        harbour.workspace.switch_file_and_process_operations(None, None)
        await Harbour(person, root, tmp_path / "cache", is_on=False).page.open()
        assert "repositoryMaps.enabled is off" in person.warned[-1]


async def test_a_folders_map_is_sent_as_a_message(root: Path, tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        harbour = Harbour(person, root, tmp_path / "cache")
        await harbour.map.send_folder_map("harbour")
        (sent,) = harbour.sent
        folder, text = (sent.details or {})["folder"], text_of(sent.content)
        assert folder == "harbour" and "class ReadCache [1-6]" in text
        await harbour.map.send_folder_map("..")
        assert "above the repository" in person.warned[-1]


async def test_the_outline_of_a_file_that_is_kept_back_is_shown_and_not_sent(
    root: Path, tmp_path: Path
) -> None:
    async with at_the_keyboard() as person:
        harbour = Harbour(person, root, tmp_path / "cache")
        (root / ".env").write_text("ANCHOR_TOKEN=1\n")
        await harbour.map.send_file_outline("harbour/oars.py")
        async with person.asked(harbour.map.send_file_outline(".env")):
            await person.sees_soon("The map was not sent to the model: reading its file needs approval")
            await person.sees_soon("ANCHOR_TOKEN")
            await person.press("escape")
        assert harbour.outlined == ["harbour/oars.py"] and not harbour.sent
        await harbour.map.send_file_outline("deeper/.env")
        assert "No such file" in person.warned[-1]


async def test_what_is_found_grows_while_an_index_is_made(root: Path, tmp_path: Path) -> None:
    async with at_the_keyboard(size=(100, 30)) as person:
        harbour = Harbour(person, root, tmp_path / "cache", is_indexed=False)
        for number in range(150):
            (root / f"many/file{number}.py").parent.mkdir(parents=True, exist_ok=True)
            (root / f"many/file{number}.py").write_text(f"def thing{number}():\n    pass\n")
        async with person.asked(harbour.page.open()):
            await person.press(*"thing149")
            await person.sees_soon("function thing149")
            await person.press("escape")
        harbour.workspace.close()


async def test_indexing_is_reported_with_its_watcher(root: Path, tmp_path: Path) -> None:
    for number in range(400):
        (root / f"many/file{number}.py").parent.mkdir(parents=True, exist_ok=True)
        (root / f"many/file{number}.py").write_text(f"def thing{number}():\n    pass\n")
    repository = MappedRepository(root, tmp_path / "cache")
    maps = RepositoryMaps(SessionWorkspace(root, repositories=lambda cwd: repository))
    told, loop = asyncio.Event(), asyncio.get_running_loop()

    def heard() -> None:
        loop.call_soon_threadsafe(told.set)

    maps.watch_progress(heard)
    assert maps.indexing_progress is None
    assert len(await maps.files_below()) == 400
    async with asyncio.timeout(30):
        await told.wait()
        while True:
            told.clear()
            if repository.upkeep.index_build_progress() is None:
                break
            await told.wait()
    assert maps.indexing_progress is None
    maps.watch_progress(lambda: None)
    repository.close_index_of_repository()
