"""The list of files: complete, hidden ones last, searched without holding anybody up."""

import asyncio
from pathlib import Path

import pytest

from tools.searching.ripgrep import find_bundled_ripgrep
from widgets.completion.file_index import PATHS_PER_INDEX_BLOCK, FileIndex, FoundFile, _PathBlock
from widgets.completion.frecency import FRECENCY_HALF_LIFE, PathFrecency

RG = find_bundled_ripgrep() or "rg"
"""As bayou finds it: it brings its own."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (
        "src/app/parser.py",
        "src/app/lexer.py",
        "src/parser/README.md",
        "tests/test_parser.py",
        "docs/Über uns.md",
        ".github/ci.yml",
        "build/parser.o",
        ".git/objects/parser",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (tmp_path / ".gitignore").write_text("build/\n")
    return tmp_path


async def find(index: FileIndex, query: str, limit: int = 20) -> list[FoundFile]:
    found: list[FoundFile] = []
    async for hits in index.search_paths(query, limit):
        found = hits
    return found


async def test_files_and_folders_are_found_and_git_is_not(tree: Path) -> None:
    index = FileIndex(tree, rg=RG)
    await index.refresh_files()
    paths = {hit.path for hit in await find(index, "parser")}
    assert {"src/app/parser.py", "src/parser/", "tests/test_parser.py"} <= paths
    assert not any(path.startswith(".git/") for path in paths)
    assert next(hit.path for hit in await find(index, "ci.yml")) == ".github/ci.yml"


async def test_the_name_counts_more_than_the_folder(tree: Path) -> None:
    index = FileIndex(tree, rg=RG)
    await index.refresh_files()
    paths = [hit.path for hit in await find(index, "parser")]
    assert paths.index("src/app/parser.py") < paths.index("tests/test_parser.py")
    assert paths.index("tests/test_parser.py") < paths.index("src/parser/README.md")


async def test_ignored_files_are_there_but_last(tree: Path) -> None:
    (tree / ".git").mkdir(exist_ok=True)
    index = FileIndex(tree, rg=RG)
    await index.refresh_files()
    hits = await find(index, "parser")
    assert hits[-1] == FoundFile("build/parser.o", hits[-1].score, True)


async def test_characters_apart_and_other_letters(tree: Path) -> None:
    index = FileIndex(tree, rg=RG)
    await index.refresh_files()
    assert (await find(index, "saplex"))[0].path == "src/app/lexer.py"
    assert (await find(index, "über"))[0].path == "docs/Über uns.md"
    assert await find(index, "qqqq") == []


async def test_what_was_chosen_lately_comes_first(tree: Path) -> None:
    now = [1000.0]
    frecency = PathFrecency(clock=lambda: now[0])
    index = FileIndex(tree, frecency=frecency, rg=RG)
    await index.refresh_files()
    frecency.record_chosen_path("tests/test_parser.py")
    frecency.record_chosen_path("tests/test_parser.py")
    assert (await find(index, "parser"))[0].path == "tests/test_parser.py"
    assert (await find(index, ""))[0].path == "tests/test_parser.py"
    now[0] += FRECENCY_HALF_LIFE
    assert frecency.frecency_score("tests/test_parser.py") == pytest.approx(1.0)


@pytest.mark.parametrize("query", ["tide", "td", ""])
async def test_among_equals_the_name_decides(query: str, tmp_path: Path) -> None:
    index = FileIndex(tmp_path, rg=RG)
    await index.refresh_files()
    for names in (["tide.c", "tide.a", "tide.b"], ["tide.b", "tide.c", "tide.a"]):
        index._blocks = [_PathBlock(names)]
        assert [hit.path for hit in await find(index, query)] == ["tide.a", "tide.b", "tide.c"]


async def test_new_files_are_known_after_a_refresh(tree: Path) -> None:
    index = FileIndex(tree, rg=RG)
    await index.refresh_files()
    (tree / "fresh.py").write_text("x")
    await index.refresh_files()
    assert (await find(index, "fresh"))[0].path == "fresh.py"
    assert index.contains_path("fresh.py")
    assert not index.contains_path("resh.py")


async def test_without_rg_it_says_so(tree: Path) -> None:
    index = FileIndex(tree, rg="no-such-program")
    await index.refresh_files()
    assert "no-such-program" in index.problem
    assert await find(index, "parser") == []


async def test_others_get_their_turn_while_it_searches(tmp_path: Path) -> None:
    index = FileIndex(tmp_path, rg=RG)
    await index.refresh_files()

    names = [f"folder_{number % 97}/module_{number}.py" for number in range(PATHS_PER_INDEX_BLOCK * 60)]
    index._blocks = [
        _PathBlock(names[at : at + PATHS_PER_INDEX_BLOCK])
        for at in range(0, len(names), PATHS_PER_INDEX_BLOCK)
    ]
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    hits = await find(index, "fmy")
    task.cancel()
    assert hits
    assert turns > 3


async def test_an_abandoned_load_leaves_no_process(tree: Path) -> None:
    index = FileIndex(tree, rg=RG)
    loading = index.refresh_files()
    await asyncio.sleep(0)
    index.close()
    with pytest.raises(asyncio.CancelledError):
        await loading


async def test_another_folder_has_other_files(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "elsewhere.py").touch()
    folders = [tree]
    index = FileIndex(lambda: folders[-1], rg=RG)
    await index.refresh_files()
    folders.append(tmp_path / "other")
    await index.refresh_files(older_than=3600)
    assert [hit.path for hit in await find(index, "elsewhere")] == ["elsewhere.py"]
    assert not await find(index, "parser")
