"""Maps beside reads that were cut: in a real session over a scripted model, with the real mapper."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.extensions.builtin import file_maps
from app.extensions.builtin.file_maps import MAX_FILE_MAP_BYTES_PER_ANSWER, draw_file_map
from app.providers.scripted import call, say
from app.values.content import text_of
from app.values.messages import CustomMessage, ToolResultMessage
from bayou import MapBlock
from tests.extensions.extension_session import ExtensionSession

INSERTED = "def first():\n    y()\n\n\ndef tenth():\n"


def functions(count: int, name: str = "function", lines: int = 4) -> str:
    return "".join(f"def {name}_{number}():\n" + "    x()\n" * (lines - 1) for number in range(count))


def maps_of(ext_session: ExtensionSession, request: int = -1) -> list[CustomMessage]:
    return [
        message
        for message in ext_session.asked[request].messages
        if isinstance(message, CustomMessage) and message.custom_type == "file-map"
    ]


def texts_of(ext_session: ExtensionSession, request: int = -1) -> list[str]:
    return [text_of(message.content) for message in maps_of(ext_session, request)]


def results(ext_session: ExtensionSession) -> list[str]:
    return [
        text_of(message.content)
        for message in ext_session.asked[-1].messages
        if isinstance(message, ToolResultMessage)
    ]


async def stage(folder: Path, *responses: Any) -> ExtensionSession:
    ext_session = ExtensionSession(folder, *responses)
    await ext_session.load(file_maps.extension)
    return ext_session


def read(path: str = "a.py", **more: Any) -> Any:
    return call("read", path=path, **more)


async def test_a_map_leaves_out_what_the_page_shows(tmp_path: Path):
    (tmp_path / "a.py").write_text(functions(900))
    ext_session = await stage(tmp_path, read(), say("done"))
    await ext_session.prompt("look")
    (text,) = texts_of(ext_session)
    assert text.startswith("File map: a.py\n3,600 lines")
    assert "lines 1 to 2000 is not told again" in text
    assert "function_499" not in text
    assert "function function_500 [2001-2004]" in text


async def test_a_file_that_is_read_again_has_its_map_already(tmp_path: Path):
    (tmp_path / "a.py").write_text(functions(900))
    ext_session = await stage(tmp_path, read(), read(), say("done"))
    await ext_session.prompt("look twice")
    first, second = texts_of(ext_session)
    assert first.startswith("File map: a.py\n")
    assert second == "The map of a.py stands above, unchanged."
    assert len(second.encode()) <= 120


async def test_twice_in_one_answer_counts_too(tmp_path: Path):
    (tmp_path / "a.py").write_text(functions(900))
    ext_session = await stage(
        tmp_path, call("read", "1", path="a.py") + call("read", "2", path="a.py"), say("done")
    )
    await ext_session.prompt("look twice")
    assert sorted(len(text) for text in texts_of(ext_session))[0] <= 120


async def test_after_an_edit_only_what_moved_is_reported(tmp_path: Path):
    path = tmp_path / "a.py"
    path.write_text(functions(900))
    edit = call(
        "edit",
        path="a.py",
        oldText="def function_10():\n",
        newText="def first():\n    y()\n\n\ndef tenth():\n",
    )
    ext_session = await stage(tmp_path, read(), edit, read(), read(), say("done"))
    await ext_session.prompt("look, edit, look twice")
    _, changed, again = texts_of(ext_session)
    assert changed.splitlines() == [
        "File map: a.py, what moved since its map above (3,604 lines):",
        "- function function_10 [41-44]",
        "+ function first [41-42]",
        "+ function tenth [45-48]",
        "what stood in lines 45 to 3,600 moved by +4",
    ]
    assert again == "The map of a.py as told above."


async def test_after_large_changes_the_whole_map_is_sent_again(tmp_path: Path):
    path = tmp_path / "a.py"
    path.write_text(functions(900))
    rewritten = functions(900, "other")
    ext_session = await stage(
        tmp_path, read(), call("write", path="a.py", content=rewritten), read(), say("done")
    )
    await ext_session.prompt("look, write, look")
    assert [text.splitlines()[0] for text in texts_of(ext_session)] == ["File map: a.py", "File map: a.py"]


async def test_after_a_compaction_and_on_another_branch_the_full_map_is_sent(tmp_path: Path):
    (tmp_path / "a.py").write_text(functions(900))
    ext_session = await stage(tmp_path, read(), say("seen"), read(), say("again"))
    session = ext_session.harness.session
    start = session.state.leaf_id
    await ext_session.prompt("look")
    await session.branches.go_to_entry(start)
    await ext_session.prompt("look from here")
    (text,) = texts_of(ext_session)
    assert text.startswith("File map: a.py\n")


async def test_five_large_reads_share_one_room(tmp_path: Path):
    names = [f"{letter}.py" for letter in "abcde"]
    for name in names:
        (tmp_path / name).write_text(functions(1000, f"a_name_of_some_length_in_{name[0]}"))
    reads = call("read", "0", path="a.py")
    for number, name in enumerate(names[1:], 1):
        reads = reads + call("read", str(number), path=name)
    ext_session = await stage(tmp_path, reads, say("done"))
    await ext_session.prompt("look at all")
    sizes = [len(text.encode()) for text in texts_of(ext_session)]
    assert len(sizes) == 5
    assert sum(sizes) <= MAX_FILE_MAP_BYTES_PER_ANSWER
    assert min(sizes) > MAX_FILE_MAP_BYTES_PER_ANSWER / 5 * 0.7, "each has its part"


async def test_a_model_that_asks_for_the_map_gets_more_and_never_less(tmp_path: Path):
    (tmp_path / "a.py").write_text(functions(2500, "a_name_of_some_length"))
    ext_session = await stage(tmp_path, read(), read(map=True), say("done"))
    await ext_session.prompt("look")
    (beside,) = texts_of(ext_session)
    asked = next(
        text for text in results(ext_session) if text.startswith("File map: a.py\n") and text != beside
    )
    assert len(asked) > len(beside)

    def named(text: str) -> set[str]:
        return {line.split(" [")[0] for line in text.splitlines() if line.startswith("function ")}

    assert named(beside) <= named(asked)


@pytest.mark.parametrize("name", ["gone", "not a file"])
async def test_a_file_that_is_gone_meanwhile_has_no_map_and_nothing_is_reported(tmp_path: Path, name: str):
    path = tmp_path / "a.py"
    path.write_text(functions(900))

    def vanish(api: Any) -> None:
        @api.on("tool_result")
        async def gone(event: Any, context: Any) -> None:
            path.unlink()
            if name == "not a file":
                path.mkdir()

    ext_session = ExtensionSession(tmp_path, read(), say("done"))
    await ext_session.load(vanish, file_maps.extension)
    await ext_session.prompt("look")
    assert maps_of(ext_session) == []
    assert ext_session.extensions.hooks.problems == []


async def test_a_file_that_is_kept_back_is_not_outlined_for_the_model(tmp_path: Path):
    (tmp_path / ".env").write_text("TOKEN=1\n")
    (tmp_path / "a.py").write_text(functions(3))
    (tmp_path / "linked.py").symlink_to(".env")
    ext_session = await stage(tmp_path, say("done"))
    for name in (".env", "linked.py", "a.py"):
        await ext_session.harness.session.prompt(f"/map {name}")
    await ext_session.prompt("look")
    (text,) = texts_of(ext_session)
    assert text.startswith("File map: a.py")
    assert "TOKEN" not in repr(ext_session.asked)


async def test_a_map_is_drawn_with_its_symbols_as_the_session_file_has_them(tmp_path: Path):
    (tmp_path / "a.py").write_text(
        "class A:\n    def run(self) -> list[int]:\n        pass\n" + "# x\n" * 3000
    )
    (tmp_path / "b.py").write_text(
        "# x\n" * 2500 + "class A:\n    def run(self) -> list[int]:\n        pass\n"
    )
    ext_session = await stage(tmp_path, read("b.py"), read("b.py"), say("done"))
    await ext_session.prompt("look")
    sent, again = maps_of(ext_session)
    stored = msgspec.json.decode(msgspec.json.encode(sent.details))
    view = draw_file_map(msgspec.structs.replace(sent, details=stored), expanded=False)
    assert (view.title, view.subject, view.summary) == ("map", "b.py", "2,503 lines · 2 symbols · Python")
    (block,) = view.body
    assert isinstance(block, MapBlock)
    assert block.text == text_of(sent.content)
    lines = block.text.split("\n")
    assert [
        (symbol.label, symbol.kind, symbol.depth, symbol.first_line, symbol.last_line)
        for symbol in block.symbols
    ] == [
        ("class A", "class", 0, 2501, 2503),
        ("method run(self) -> list[int]", "method", 1, 2502, 2503),
    ]
    assert all(symbol.label in lines[symbol.row] for symbol in block.symbols)
    assert draw_file_map(again, expanded=False).summary == "The map of b.py stands above, unchanged."


@pytest.mark.parametrize(
    "details", [None, "x", {}, {"symbols": "x"}, {"symbols": [[9, 9, 9, 9, 9]], "filePath": "a"}]
)
def test_a_map_with_foreign_details_is_drawn_all_the_same(details: Any):
    message = CustomMessage(
        custom_type="file-map", content="File map: a", display=True, details=details, timestamp=0
    )
    (block,) = draw_file_map(message, expanded=True).body
    assert isinstance(block, MapBlock)
    assert (block.text, block.symbols) == ("File map: a", ())
