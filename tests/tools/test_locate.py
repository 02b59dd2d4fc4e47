"""`locate`, and `read` of folders, as the model calls them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.tools.conftest import ToolCaller
from tools.files.output_artifacts import OutputArtifacts
from tools.repomap.index.file_hiding_rules import FileHidingRules
from tools.repomap.index.index_updates import open_index_for_writing
from tools.repomap.mapped_repository import MappedRepository
from tools.repomap.repository_map_rendering import estimate_tokens
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolError


@pytest.fixture
async def hands(project: Path, tmp_path: Path) -> AsyncIterator[ToolCaller]:
    (project / "harbour").mkdir()
    (project / "harbour" / "fleet.py").write_text(
        "class Fleet:\n    def launch(self, boat):\n        return boat\n\n\n"
        "def sail():\n    return Fleet().launch(1)\n"
    )
    (project / "other.py").write_text("def launch():\n    return 2\n")
    repository = MappedRepository(project, tmp_path / "cache")
    workspace = SessionWorkspace(
        project, artifacts=OutputArtifacts(tmp_path / "session"), repositories=lambda cwd: repository
    )
    repository.complete_index(workers=0)
    yield ToolCaller(workspace)
    workspace.close()


async def test_words_of_a_task(hands: ToolCaller):
    found = await hands.text("locate", about="launching a boat of the fleet fails")
    assert found.startswith(
        "harbour/fleet.py  7 lines\n  why: boat, fleet, launching (1.25)\n"
        "  class Fleet [1-3]\n  method Fleet.launch [2-3]\n"
    )
    assert found.endswith("2 of 2 files, by the words launching, boat, fleet; a guess by names.")


async def test_a_name_with_its_uses(hands: ToolCaller):
    assert await hands.text("locate", about="Fleet.launch()", uses=True) == (
        "Fleet.launch is defined:\nmethod Fleet.launch [2-3], harbour/fleet.py\n"
        "used on 1 line of 1 file, by name:\n"
        "harbour/fleet.py\n  sail [6-7]\n    7: return Fleet().launch(1)"
    )


async def test_a_name_that_many_have_is_reported_with_how_many(hands: ToolCaller):
    found = await hands.text("locate", about="launch")
    assert found.splitlines()[0] == "launch is defined 2 times, by name:"
    assert (await hands.text("locate", about="launch", path="harbour")).splitlines()[1:] == [
        "method Fleet.launch [2-3], harbour/fleet.py"
    ]


async def test_uses_of_what_others_define_are_told(hands: ToolCaller, project: Path):
    (project / "imports.py").write_text("import zeppelin\n\nzeppelin.rise()\n")
    hands.workspace.repository().complete_index(workers=0)  # pyright: ignore[reportOptionalMemberAccess]
    assert await hands.text("locate", about="zeppelin.rise", uses=True) == (
        "zeppelin.rise is defined nowhere here.\n"
        "used on 1 line of 1 file, by name:\nimports.py\n    3: zeppelin.rise()"
    )


async def test_what_is_nowhere_is_reported(hands: ToolCaller):
    assert "Nothing was found by the words zeppelin" in await hands.text("locate", about="zeppelin")
    assert "about is empty" in await hands.error("locate", about=" ")
    assert "above the repository" in await hands.error("locate", about="x", path="..")


async def test_where_no_word_is_found_the_folder_is_reported(hands: ToolCaller):
    found = await hands.text("locate", about="zeppelin", path="harbour")
    assert found == (
        "Nothing was found by the words zeppelin. What is most used here:\n"
        "harbour/fleet.py  7 lines\n  class Fleet [1-3]\n  method Fleet.launch [2-3]\n  function sail [6-7]\n"
        "1 of 1 file."
    )
    assert "nowhere does not exist" in await hands.error("locate", about="sail", path="nowhere")


async def test_what_only_lies_near_the_conversation_is_reported(hands: ToolCaller, project: Path):
    (project / "dock.py").write_text("def moored():\n    return sail()\n")
    hands.workspace.repository().complete_index(workers=0)  # pyright: ignore[reportOptionalMemberAccess]
    await hands.text("read", path="harbour/fleet.py")
    found = await hands.text("locate", about="zeppelins")
    assert found.endswith("near what was read or changed here; nothing was found by the words zeppelins.")


async def test_names_of_any_script_are_names(hands: ToolCaller, project: Path):
    (project / "порт.py").write_text(
        "class Корабль:\n    def 出航(self):\n        pass\n\n\nКорабль().出航()\n"
    )
    hands.workspace.repository().complete_index(workers=0)  # pyright: ignore[reportOptionalMemberAccess]
    assert await hands.text("locate", about="出航", uses=True) == (
        "出航 is defined:\nmethod Корабль.出航 [2-3], порт.py\n"
        "used on 1 line of 1 file, by name:\nпорт.py\n    6: Корабль().出航()"
    )
    assert (await hands.text("grep", pattern="Корабль")).startswith("class Корабль [1-3], порт.py\n")


async def test_an_edit_is_in_the_next_answer(hands: ToolCaller, project: Path):
    await hands.text("locate", about="sail")
    await hands("write", path="harbour/fleet.py", content="\n\ndef sail_home():\n    return 1\n")
    found = await hands.text("locate", about="sail home")
    assert "function sail_home [3-4]" in found


async def test_a_folder_is_read_as_a_map(hands: ToolCaller):
    found = await hands.text("read", path=".", map=True)
    assert "other.py  2 lines\n  function launch [1-2]" in found
    assert "harbour/" in found


async def test_a_symbol_of_a_folder_is_read_where_it_is(hands: ToolCaller):
    found = await hands.text("read", path=".", symbol="sail")
    assert found.startswith("sail is in harbour/fleet.py, lines 6-7:\n")
    assert "return Fleet().launch(1)" in found
    several = await hands.text("read", path=".", symbol="launch")
    assert "2 times" in several
    assert "There is no symbol 'zeppelin'" in await hands.error("read", path=".", symbol="zeppelin")


async def test_a_search_for_a_name_says_where_it_is_defined_and_in_what_it_is_used(
    hands: ToolCaller, project: Path
):
    (project / "tests").mkdir()
    (project / "tests" / "test_fleet.py").write_text("def test_it():\n    assert Fleet()\n")
    hands.workspace.repository().complete_index(workers=0)  # pyright: ignore[reportOptionalMemberAccess]
    assert await hands.text("grep", pattern="Fleet") == (
        "class Fleet [1-3], harbour/fleet.py\n"
        "-- in Fleet [1-3]\nharbour/fleet.py:1: class Fleet:\n"
        "-- in sail [6-7]\nharbour/fleet.py:7:     return Fleet().launch(1)\n"
        "-- in test_it [1-2]\ntests/test_fleet.py:2:     assert Fleet()"
    )


async def test_what_is_added_to_a_search_stays_small(hands: ToolCaller, project: Path):
    many = "".join(f"def number{at}():\n    return launch()\n\n\n" for at in range(300))
    (project / "many.py").write_text(many)
    hands.workspace.repository().complete_index(workers=0)  # pyright: ignore[reportOptionalMemberAccess]
    plain = await hands.text("grep", pattern="launc[h]", limit=300)
    named = await hands.text("grep", pattern="launch", limit=300)
    assert len(plain) < len(named) <= len(plain) * 1.15 + 400


@pytest.mark.parametrize("pattern", ["launch|sail", "la.nch", "x"])
async def test_other_patterns_are_searched_as_ever(hands: ToolCaller, pattern: str):
    assert "-- in" not in await hands.text("grep", pattern=pattern)


async def test_without_a_map_one_is_told_what_else_helps(project: Path, tmp_path: Path):
    workspace = SessionWorkspace(project, artifacts=OutputArtifacts(tmp_path / "session"))
    assert "Use grep and find" in await ToolCaller(workspace).error("locate", about="x")
    workspace.close()


@pytest.mark.parametrize(
    ("tool", "asked"),
    [
        ("locate", {"about": "Anchorage"}),
        ("locate", {"about": "the chain of the anchorage"}),
        ("locate", {"about": "Fleet", "uses": True}),
        ("read", {"path": ".", "map": True}),
        ("read", {"path": "kept", "map": True}),
        ("read", {"path": ".", "symbol": "Anchorage"}),
        ("read", {"path": "kept", "symbol": "Anchorage"}),
        ("grep", {"pattern": "Fleet"}),
        ("grep", {"pattern": "Anchorage"}),
    ],
    ids=str,
)
async def test_what_a_rule_keeps_from_read_no_answer_of_the_map_shows(
    project: Path, tmp_path: Path, tool: str, asked: dict[str, Any]
) -> None:
    (project / "kept").mkdir()
    (project / "kept" / "anchor.py").write_text("class Anchorage(Fleet):\n    chain = 'iron link'\n")
    (project / "fleet.py").write_text("class Fleet:\n    pass\n\n\nboat = Fleet()\n")
    is_kept = [False]
    form = f"{project.resolve()}/kept/.*"
    repository = MappedRepository(
        project, tmp_path / "cache", hidden=lambda: FileHidingRules((form,) if is_kept[0] else ())
    )
    workspace = SessionWorkspace(
        project, artifacts=OutputArtifacts(tmp_path / "session"), repositories=lambda cwd: repository
    )
    repository.complete_index(workers=0)  # before there was such a rule
    is_kept[0] = True
    workspace.hidden_path_test = lambda: lambda path: path.startswith(f"{project.resolve()}/kept/")
    try:
        result = await ToolCaller(workspace)(tool, **asked)
        told = f"{result.text} {result.details}"
    except ToolError as problem:
        told = str(problem)
    finally:
        workspace.close()
    assert "iron" not in told and "class Anchorage" not in told and "chain =" not in told


async def test_several_phrases_are_one_question(hands: ToolCaller):
    found = await hands.text("locate", about=["the boat leaves too early", "Fleet.launch"])
    assert found.startswith("harbour/fleet.py  7 lines\n  why: ")
    assert "  method Fleet.launch [2-3]" in found
    assert "about is empty" in await hands.error("locate", about=["", " "])


async def test_a_symbol_that_shares_nothing_with_the_question_is_not_told(hands: ToolCaller, project: Path):
    (project / "anchor.py").write_text("def drop_anchor():\n    pass\n\n\ndef paint_mast():\n    pass\n")
    hands.workspace.repository().complete_index(workers=0)  # pyright: ignore[reportOptionalMemberAccess]
    found = await hands.text("locate", about="the anchor is dropped twice")
    assert "drop_anchor" in found and "paint_mast" not in found


async def test_near_copies_are_one_row_with_a_count(hands: ToolCaller, project: Path):
    for number in range(4):
        (project / f"port{number}").mkdir()
        (project / f"port{number}" / "anchor.py").write_text(f"def drop_anchor():\n    return {number}\n")
    hands.workspace.repository().complete_index(workers=0)  # pyright: ignore[reportOptionalMemberAccess]
    found = await hands.text("locate", about="the anchor is dropped twice")
    assert found.count("anchor.py") == 1 and "anchor.py  2 lines, 3 near copies\n" in found


async def test_a_sure_answer_is_short_and_more_gives_the_rest(hands: ToolCaller, project: Path):
    rows = "".join(f"def anchor_of_boat_{number}():\n    pass\n\n\n" for number in range(40))
    folder = project / "ports_of_the_northern_sea" / "and_of_the_islands_before_it"
    folder.mkdir(parents=True)
    for number in range(50):
        (folder / f"port{number}.py").write_text(f"PORT = {number}\n{rows.replace('boat', f'boat{number}')}")
    hands.workspace.repository().complete_index(workers=0)  # pyright: ignore[reportOptionalMemberAccess]
    asked = "anchor of the boat, as in port7.py:3"
    first = await hands.text("locate", about=asked)
    assert "port7.py" in first.splitlines()[0] and estimate_tokens(first) <= 1000
    assert first.endswith("more: true gives the rest.")
    rest = await hands.text("locate", about=asked, more=True)
    paths = [
        {row.split()[0] for row in text.splitlines() if row.startswith("ports")} for text in (first, rest)
    ]
    assert paths[1] and not paths[0] & paths[1]
    assert 1000 < estimate_tokens(rest) <= 2000
    asked = "the fleet launches a boat, as in fleet.py:1"
    assert await hands.text("locate", about=asked, path="harbour", more=True) == "No more files are likely."


async def test_an_exact_name_is_found_before_there_is_an_index(project: Path, tmp_path: Path):
    for number in range(300):
        (project / f"part{number}.py").write_text(f"def part{number}():\n    return Harbour\n")
    (project / "zone.py").write_text("class Harbour:\n    def open_gate(self):\n        return 1\n")
    repository = MappedRepository(project, tmp_path / "cache")
    workspace = SessionWorkspace(
        project, artifacts=OutputArtifacts(tmp_path / "session"), repositories=lambda cwd: repository
    )
    hands = ToolCaller(workspace)
    try:
        with open_index_for_writing(repository.index):  # another bayou is about to make it
            assert await hands.text("locate", about="Harbour.open_gate") == (
                "Harbour.open_gate is defined:\nmethod Harbour.open_gate [2-3], zone.py"
            )
            found = await hands.text("locate", about="Harbour")
            assert found.startswith("Harbour is defined:\nclass Harbour [1-3], zone.py")
            read = await hands.text("read", path=".", symbol="open_gate")
            assert "def open_gate(self):" in read
    finally:
        workspace.close()
        repository.close_index_of_repository()
