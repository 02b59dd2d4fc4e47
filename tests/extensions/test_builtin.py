"""bayou's own extensions, over the public API alone."""

import ast
import asyncio
from pathlib import Path

import msgspec
import pytest

from app.agent.ports import TurnOutcome
from app.extensions.bridge import Bridge
from app.extensions.builtin import file_maps, read_recovery
from app.extensions.builtin.file_maps import FileMap, Wish, symbols_in
from app.extensions.catalogue import Catalogue
from app.extensions.guard import Limits
from app.extensions.public import ExtensionApi
from app.values.content import Text, ToolCall
from app.values.messages import AssistantMessage, CustomMessage, ToolResultMessage
from tests.extensions.fake_host import FakeHost
from tools.results import MapBlock, MapSymbol, ToolResult, text_result

SKIPPED = "Skipped due to queued user message."


# Read recovery


def call(number: int, name: str = "read", **arguments: object) -> ToolCall:
    return ToolCall(id=f"c{number}", name=name, arguments=arguments)


def result(of: ToolCall, text: str = "content", is_error: bool = False) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=of.id,
        tool_name=of.name,
        content=(Text(text=text),),
        is_error=is_error or text == SKIPPED,
    )


def turn(*pairs: tuple[ToolCall, str]) -> TurnOutcome:
    return TurnOutcome(
        message=AssistantMessage(content=tuple(pair[0] for pair in pairs)),
        results=tuple(result(*pair) for pair in pairs),
    )


@pytest.fixture
async def recovery(load, host: FakeHost):
    bridge = Bridge(await load(read_recovery.extension))

    async def ended(outcome: TurnOutcome) -> list[str]:
        assert await bridge.after_turn(outcome) is False
        return [str(sent.message.content) for sent in host.sent]

    return ended


async def test_skipped_reads_are_asked_for_again(recovery, host: FakeHost):
    texts = await recovery(
        turn((call(1, path="A.rs"), "ok"), (call(2, path="B.rs"), SKIPPED), (call(3, path="C.rs"), SKIPPED))
    )
    assert '- read("B.rs")\n- read("C.rs")' in texts[0]
    assert "A.rs" not in texts[0]
    sent = host.sent[0]
    assert (sent.message.custom_type, sent.deliver_as) == ("read-recovery", "follow_up")


async def test_nothing_is_sent_when_nothing_was_skipped(recovery):
    assert (
        await recovery(turn((call(1, path="a"), "x"), (call(2, path="b"), "x"), (call(3, path="c"), "x")))
        == []
    )


async def test_nothing_is_sent_when_the_skipped_tools_were_not_reads(recovery):
    assert (
        await recovery(turn((call(1, "bash", command="ls"), SKIPPED), (call(2, "write", path="x"), SKIPPED)))
        == []
    )


async def test_a_single_skipped_read(recovery):
    texts = await recovery(turn((call(1, path="a"), "x"), (call(2, path="b"), SKIPPED)))
    assert '- read("b")' in texts[0] and '"a"' not in texts[0]


async def test_missing_content_is_no_reason_to_fail(recovery):
    read = call(1, path="a")
    assert await recovery(TurnOutcome(message=AssistantMessage(), results=(result(read, SKIPPED),))) == []
    assert (
        await recovery(turn((call(1), SKIPPED), (call(2, path=7), SKIPPED), (call(3, path=""), SKIPPED)))
        == []
    )
    empty = msgspec.structs.replace(result(read), content=())
    assert await recovery(TurnOutcome(message=AssistantMessage(content=(read,)), results=(empty,))) == []


async def test_offsets_and_limits_are_kept(recovery):
    texts = await recovery(turn((call(1, path='we"ird.py', offset=10, limit=5), SKIPPED)))
    assert '- read("we\\"ird.py", offset=10, limit=5)' in texts[0]


async def test_mixed_tools_and_the_same_path_twice(recovery):
    texts = await recovery(
        turn(
            (call(1, path="a"), SKIPPED),
            (call(2, "bash", command="ls"), SKIPPED),
            (call(3, path="a"), SKIPPED),
            (call(4, path="a", offset=9), SKIPPED),
        )
    )
    assert texts[0].count("- read(") == 2
    assert "bash" not in texts[0]


async def test_a_file_that_contains_the_words_was_read(recovery):
    assert await recovery(turn((call(1, path="a"), f"x = '{SKIPPED}'"))) == []


async def test_recovery_of_a_recovery_converges(recovery, host: FakeHost):
    await recovery(turn((call(1, path="a"), "x"), (call(2, path="b"), SKIPPED), (call(3, path="c"), SKIPPED)))
    await recovery(turn((call(4, path="b"), "x"), (call(5, path="c"), SKIPPED)))
    await recovery(turn((call(6, path="c"), "x")))
    assert [len(sent.message.details["reads"]) for sent in host.sent] == [2, 1]


async def test_it_is_drawn_as_one_line_that_opens(load, host: FakeHost):
    extensions = await load(read_recovery.extension)
    await Bridge(extensions).after_turn(turn((call(1, path="b"), SKIPPED)))
    shown = Catalogue(extensions).render_message(host.sent[0].message, expanded=False)
    assert shown and shown.view
    assert (shown.view.title, shown.view.summary, shown.view.level) == (
        "read recovery",
        "1 skipped read asked for again",
        "warning",
    )


# File maps


class Mapper:
    """Stands for the real one; notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Wish] = []
        self.release = asyncio.Event()

    def __call__(self, wish: Wish, is_stopped) -> FileMap:
        self.asked.append(wish)
        path = wish.path
        if not path.exists():
            raise FileNotFoundError(2, "No such file or directory")
        text = f"map of {path.name}\n\nclass A: [1-9]\n  run: [2-3]\n"
        return FileMap(
            text=text,
            details={"filePath": str(path), "totalLines": 9, "symbolCount": 2, "language": "Python"},
        )


@pytest.fixture
def mapper() -> Mapper:
    return Mapper()


@pytest.fixture
async def maps(load, mapper: Mapper):
    def maps_extension(api: ExtensionApi):
        file_maps.register(api, mapper)

    return await load(maps_extension)


def cut_read(path: Path) -> ToolResult:
    """What `read` gives for a file over the limits."""
    return text_result(
        "the beginning", details={"truncation": {}, "map": {"wanted": True, "path": str(path)}}
    )


async def test_a_read_that_was_cut_is_followed_by_a_map_beside_it(
    maps, mapper, host: FakeHost, tmp_path: Path
):
    path = tmp_path / "big.py"
    path.write_text("x")
    read = cut_read(path)
    assert await Bridge(maps).after_tool(call(1, path="big.py"), {}, read) == read
    sent = host.sent[0]
    assert (sent.message.custom_type, sent.deliver_as, sent.call_id) == ("file-map", "aside", "c1")
    assert sent.message.details["filePath"] == str(path)
    assert sent.message.display


async def test_three_reads_at_once_give_three_maps_each_for_its_call(maps, host: FakeHost, tmp_path: Path):
    bridge = Bridge(maps)
    reads = []
    for number in range(3):
        path = tmp_path / f"{number}.py"
        path.write_text("x")
        reads.append(bridge.after_tool(call(number, path=path.name), {}, cut_read(path)))
    await asyncio.gather(*reads)
    assert sorted((sent.call_id, Path(sent.message.details["filePath"]).name) for sent in host.sent) == [
        ("c0", "0.py"),
        ("c1", "1.py"),
        ("c2", "2.py"),
    ]


@pytest.mark.parametrize(
    ("name", "details", "is_error"),
    [
        ("read", None, False),
        ("read", {"truncation": {}}, False),
        ("read", {"map": {"wanted": False, "path": "x"}}, False),
        ("read", {"map": {"wanted": True}}, False),
        ("read", {"map": "x"}, False),
        ("read", {"map": {"wanted": True, "path": "/x"}}, True),
        ("bash", {"map": {"wanted": True, "path": "/x"}}, False),
    ],
)
async def test_no_map_where_none_is_wanted(
    maps, mapper: Mapper, host: FakeHost, name: str, details, is_error: bool
):
    await Bridge(maps).after_tool(call(1, name), {}, text_result("x", details=details, is_error=is_error))
    assert host.sent == [] and mapper.asked == []


async def test_a_file_that_is_gone_meanwhile_has_no_map_and_nothing_is_reported(
    maps, host: FakeHost, tmp_path: Path
):
    read = cut_read(tmp_path / "gone.py")
    assert await Bridge(maps).after_tool(call(1), {}, read) == read
    assert host.sent == [] and maps.problems == []


async def test_settings_and_small_windows_limit_it(maps, mapper: Mapper, host: FakeHost, tmp_path: Path):
    path = tmp_path / "a.py"
    path.write_text("x")
    assert host.chosen is not None
    host.chosen = msgspec.structs.replace(host.chosen, context_window=10_000_000)
    host.settings = {"fileMaps": {"timeLimitMs": 500, "maxBytes": 9000}}
    await Bridge(maps).after_tool(call(1), {}, cut_read(path))
    host.chosen = msgspec.structs.replace(host.chosen, context_window=32_000)
    await Bridge(maps).after_tool(call(2), {}, cut_read(path))
    assert [(wish.path.name, wish.seconds, wish.max_bytes, wish.window) for wish in mapper.asked] == [
        ("a.py", 0.5, 9000, 10_000_000),
        ("a.py", 0.5, 9000, 32_000),
    ]
    host.settings = {"fileMaps": {"enabled": False}}
    await Bridge(maps).after_tool(call(3), {}, cut_read(path))
    assert len(host.sent) == 2


async def test_a_map_is_made_once_for_as_long_as_its_file_stays(load, host: FakeHost, tmp_path: Path):
    """With the real mapper: the second map is the first one, kept in the cache folder of the host."""
    maps = await load(file_maps.extension, limits=Limits())
    host.cache_dir = tmp_path / "cache"
    path = tmp_path / "a.py"
    path.write_text("def first():\n    pass\n")
    for number in (1, 2):
        await Bridge(maps).after_tool(call(number), {}, cut_read(path))
    assert host.sent[0].message.details == host.sent[1].message.details
    assert len(list((tmp_path / "cache" / "maps").iterdir())) == 1
    path.write_text("def second_one():\n    pass\n")
    await Bridge(maps).after_tool(call(3), {}, cut_read(path))
    assert "second_one" in str(host.sent[2].message.content)


async def test_a_small_window_gets_a_smaller_map(load, host: FakeHost, tmp_path: Path):
    maps = await load(file_maps.extension, limits=Limits())
    path = tmp_path / "a.py"
    path.write_text("".join(f"def function_{n}():\n    pass\n" for n in range(4000)))
    model = host.chosen
    assert model is not None
    for window in (1_000_000, 32_000):
        host.chosen = msgspec.structs.replace(model, context_window=window)
        await Bridge(maps).after_tool(call(window), {}, cut_read(path))
    large, small = (str(sent.message.content) for sent in host.sent)
    assert len(small.encode()) <= 16_000 < len(large.encode())


async def test_a_map_by_command(maps, host: FakeHost):
    catalogue = Catalogue(maps)
    (host.cwd / "a b.py").write_text("x")
    await catalogue.run_command("map", '@"a b.py"')
    assert host.sent[0].message.details["filePath"] == str(host.cwd / "a b.py")
    await catalogue.run_command("map", "nothing.py")
    await catalogue.run_command("map", "")
    assert host.ui.notes == [
        ("error", "/map nothing.py: No such file or directory"),
        ("warning", "Which file? /map FILE"),
    ]


async def test_it_is_drawn_as_one_line_and_opens_to_what_the_model_got(maps, host: FakeHost):
    (host.cwd / "a.py").write_text("x")
    await Catalogue(maps).run_command("map", "a.py")
    message: CustomMessage = host.sent[0].message
    shown = Catalogue(maps).render_message(message, expanded=False)
    assert shown and shown.view
    assert (shown.view.title, shown.view.summary) == (
        "map a.py",
        "9 lines · 2 symbols · Python · ctrl+o opens it",
    )
    block = shown.view.body[0]
    assert isinstance(block, MapBlock)
    assert block.text == message.content
    assert [symbol.label for symbol in block.symbols] == ["class A", "run"]


def test_symbols_are_found_in_the_outlines_lines():
    text = "12,345 lines │ Python\n\nclass A: [1-90]\n  def run(self) -> list[int]: [2-3] — Runs.\n  X = ... [7]\n"
    assert symbols_in(text) == (
        MapSymbol(label="class A", kind="class", first_line=1, last_line=90, depth=0, row=2),
        MapSymbol(label="def run(self) -> list[int]", kind="def", first_line=2, last_line=3, depth=1, row=3),
        MapSymbol(label="X = ...", kind="X", first_line=7, last_line=7, depth=1, row=4),
    )


@pytest.mark.parametrize("name", ["file_maps", "read_recovery", "rules"])
def test_they_use_nothing_but_the_public_api(name: str):
    """As any other extension; the mapper is a tool that anybody may call."""
    path = Path(file_maps.__file__).parent / f"{name}.py"
    imported = {
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    ours = {module for module in imported if module and module.split(".")[0] in ("app", "tools", "widgets")}
    found_on_disk = {module for module in ours if module.startswith("app.resources.")}
    assert ours - found_on_disk - {"tools.filemap.cache", "tools.filemap.map", "tools.filemap.render"} == {
        "app.extensions.public"
    }
