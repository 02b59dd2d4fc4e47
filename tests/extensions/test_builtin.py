"""bayou's own extensions, over the public API alone."""

import ast
from pathlib import Path

import msgspec
import pytest

from app.agent.hooks import FinishedTurn
from app.extensions.builtin import file_maps, read_recovery
from app.extensions.extension_catalogue import ExtensionCatalogue
from app.extensions.hooks.session_hooks import ExtensionHooks
from app.values.content import Text, ToolCall
from app.values.messages import AssistantMessage, ToolResultMessage
from tests.extensions.extension_host import ExtensionHost
from tools.builtin.read import make_read_tool

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


def turn(*pairs: tuple[ToolCall, str]) -> FinishedTurn:
    return FinishedTurn(
        message=AssistantMessage(content=tuple(pair[0] for pair in pairs)),
        results=tuple(result(*pair) for pair in pairs),
    )


@pytest.fixture
async def recovery(load, scene: ExtensionHost):
    scene.session.tools.register_tool(make_read_tool(), owner="the test")
    hooks = ExtensionHooks(await load(read_recovery.extension))

    async def ended(outcome: FinishedTurn) -> list[str]:
        assert await hooks.after_turn(outcome) is False
        return [str(sent.message.content) for sent in scene.sent]

    return ended


async def test_skipped_reads_are_asked_for_again(recovery, scene: ExtensionHost):
    texts = await recovery(
        turn((call(1, path="A.rs"), "ok"), (call(2, path="B.rs"), SKIPPED), (call(3, path="C.rs"), SKIPPED))
    )
    assert '- read("B.rs")\n- read("C.rs")' in texts[0]
    assert "A.rs" not in texts[0]
    sent = scene.sent[0]
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


async def test_missing_content_does_not_raise(recovery):
    read = call(1, path="a")
    assert await recovery(FinishedTurn(message=AssistantMessage(), results=(result(read, SKIPPED),))) == []
    assert (
        await recovery(turn((call(1), SKIPPED), (call(2, path=7), SKIPPED), (call(3, path=""), SKIPPED)))
        == []
    )
    empty = msgspec.structs.replace(result(read), content=())
    assert await recovery(FinishedTurn(message=AssistantMessage(content=(read,)), results=(empty,))) == []


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


async def test_recovery_of_a_recovery_converges(recovery, scene: ExtensionHost):
    await recovery(turn((call(1, path="a"), "x"), (call(2, path="b"), SKIPPED), (call(3, path="c"), SKIPPED)))
    await recovery(turn((call(4, path="b"), "x"), (call(5, path="c"), SKIPPED)))
    await recovery(turn((call(6, path="c"), "x")))
    assert [len(sent.message.details["reads"]) for sent in scene.sent] == [2, 1]


async def test_it_is_drawn_as_one_line_that_opens(load, scene: ExtensionHost):
    scene.session.tools.register_tool(make_read_tool(), owner="the test")
    extensions = await load(read_recovery.extension)
    await ExtensionHooks(extensions).after_turn(turn((call(1, path="b"), SKIPPED)))
    shown = ExtensionCatalogue(extensions.hooks).render_message(scene.sent[0].message, expanded=False)
    assert shown and shown.view
    assert (shown.view.title, shown.view.summary, shown.view.level) == (
        "read recovery",
        "1 skipped read asked for again",
        "warning",
    )


MAPPER = {
    f"tools.filemap.{name}"
    for name in ("file_mapper", "map_cache", "rendering.file_map_messages", "rendering.file_map_rendering")
}


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
    assert ours - found_on_disk - MAPPER == {"app.extensions.public"}
