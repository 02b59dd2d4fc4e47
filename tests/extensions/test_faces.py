"""What extensions show and ask, in the full screen, in RPC and in print."""

import asyncio

import pytest

from app.extensions.extension_catalogue import ExtensionCatalogue
from app.extensions.headless_ui import EventPublishingUi, HeadlessUi
from app.values.events import Event, Notice, QuestionAsked
from app.values.messages import CustomMessage
from bayou import Completion, ExtensionApi, View, as_view, view_data, view_text
from tests.extensions.extension_host import ExtensionHost
from tools.tool_result_values import (
    Card,
    CommandBlock,
    DiffBlock,
    ImageBlock,
    ListBlock,
    TableBlock,
    TextBlock,
    TreeBlock,
    TreeNode,
)

VIEW = View(
    title="report",
    summary="3 parts",
    body=(
        TextBlock(text="one\ntwo\nthree"),
        TableBlock(header=("a", "long"), rows=(("1", "2"), ("22", "3"))),
        TreeBlock(roots=(TreeNode(label="root", children=(TreeNode(label="leaf"),)),)),
    ),
    collapsed_lines=1,
)


def test_a_view_is_text_in_print_and_data_in_rpc():
    assert view_text(VIEW) == "report · 3 parts\none\ntwo\nthree\na   long\n1   2\n22  3\nroot\n  leaf"
    assert view_text(VIEW, expanded=False) == "report · 3 parts\none\n… 7 more lines"
    data = view_data(VIEW)
    assert data["body"][0] == {"kind": "text", "text": "one\ntwo\nthree", "tail": False}
    assert [block["kind"] for block in data["body"]] == ["text", "table", "tree"]
    assert VIEW.card().title == "report"


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (DiffBlock(path="a", diff="-a\n+b"), "-a\n+b"),
        (CommandBlock(command="ls", output="a"), "$ ls\na"),
        (ListBlock(items=("a", "b")), "a\nb"),
        (ImageBlock(mime_type="image/png", byte_count=3), "[image image/png, 3 bytes]"),
    ],
)
def test_every_block_has_a_text(block, text: str):
    assert view_text(View(title="", body=(block,))) == text


def test_renderers_may_return_plain_things():
    assert as_view("text", title="t") == View(title="t", body=(TextBlock(text="text"),))
    assert as_view(Card(title="read", subject="a.py", summary="3 lines")) == View(
        title="read a.py", summary="3 lines"
    )
    assert as_view((TextBlock(text="a"),)) == View(title="", body=(TextBlock(text="a"),))
    assert as_view(object()) is None


async def test_renderers_are_found_by_type_and_fail_alone(load):
    widget = object()

    async def not_plain(message, expanded):
        return "x"

    def mine(api: ExtensionApi):
        api.message_renderer(
            "view", lambda message, expanded: View(title=message.content, summary=str(expanded))
        )
        api.message_renderer("widget", lambda message, expanded: widget)
        api.message_renderer("broken", lambda message, expanded: 1 / 0)
        api.message_renderer("async", not_plain)
        api.entry_renderer("entry", lambda data, expanded: f"data {data}")
        api.tool_renderer(
            "read", lambda arguments, result, usual: View(title=f"my {usual.title} {arguments['path']}")
        )

    extensions = await load(mine)
    catalogue = ExtensionCatalogue(extensions.hooks)

    def shown(custom_type: str):
        message = CustomMessage(custom_type=custom_type, content="hi")
        return catalogue.render_message(message, expanded=True)

    found = shown("view")
    assert found and found.view == View(title="hi", summary="True")
    found = shown("widget")
    assert found and found.widget is widget
    assert shown("broken") is shown("async") is shown("nobody's") is None
    assert {problem.event for problem in extensions.hooks.problems} == {
        "renderer of broken",
        "renderer of async",
    }
    entry = catalogue.render_entry("entry", 3, expanded=False)
    assert entry and entry.view and entry.view.body == (TextBlock(text="data 3"),)
    tool = catalogue.render_tool("read", {"path": "a.py"}, None, Card(title="read"))
    assert tool and tool.view and tool.view.title == "my read a.py"


async def test_markdown_is_changed_for_drawing_only(load):
    def mine(api: ExtensionApi):
        api.markdown_transform(str.upper)
        api.markdown_transform(lambda text: text + "!", kinds=("assistant", "user"))
        api.markdown_transform(lambda text: 1 / 0)  # pyright: ignore[reportArgumentType]  (fails before it returns)

    catalogue = ExtensionCatalogue((await load(mine)).hooks)
    assert catalogue.transform_markdown("hi", "assistant") == "HI!"
    assert catalogue.transform_markdown("hi", "user") == "hi!"
    assert catalogue.transform_markdown("hi", "thinking") == "hi"


async def test_commands_shortcuts_and_completions(load, scene: ExtensionHost):
    def mine(api: ExtensionApi):
        async def names(typed):
            return [name for name in ("ann", "bob") if name.startswith(typed)]

        @api.command("greet", description="Greets", complete=names)
        async def greet(arguments, context):
            await context.wait_until_idle()
            context.ui.notify(f"hi {arguments}")

        @api.shortcut("ctrl+y", description="Greets all")
        def greet_all(context):
            context.ui.notify("hi all")

        api.command("bad")(lambda arguments, context: 1 / 0)
        api.autocomplete(lambda text, cursor: [Completion(value=f"#{text}", description="a tag")])

    extensions = await load(mine)
    catalogue = ExtensionCatalogue(extensions.hooks)
    assert await catalogue.run_command("greet", "ann")
    assert await catalogue.run_shortcut("ctrl+y")
    assert await catalogue.run_command("bad", "")
    assert not await catalogue.run_command("nobody", "")
    assert scene.ui.notes == [("info", "hi ann"), ("info", "hi all")]
    assert [item.value for item in await catalogue.complete_argument("greet", "a")] == ["ann"]
    assert [item.value for item in await catalogue.complete_text("x", 1)] == ["#x"]
    assert extensions.hooks.problems[0].event == "command /bad"


async def test_without_a_user_questions_return_the_cancelled_value():
    told: list[Event] = []
    ui = HeadlessUi(told.append)
    assert await ui.select("?", ["a"]) is None
    assert await ui.confirm("?") is False
    assert await ui.confirm("again?") is False
    assert await ui.input("?") is None
    assert await ui.editor("?") is None
    assert await ui.custom(lambda: None) is None
    ui.set_status("k", "v")
    assert ui.set_theme("x") is False
    assert len(told) == 5
    assert all(isinstance(event, Notice) for event in told)


async def test_questions_over_rpc_carry_their_answer():
    asked: list[QuestionAsked] = []

    def publish(event: Event) -> None:
        assert isinstance(event, QuestionAsked)
        asked.append(event)
        if event.answer is not None:
            answers = {"select": "b", "confirm": True, "input": "typed", "editor": "edited"}
            event.answer.set_result(answers[event.method])

    ui = EventPublishingUi(publish)
    assert await ui.select("Which?", ["a", "b"], timeout=5) == "b"
    assert await ui.confirm("Sure?", "Really") is True
    assert await ui.input("Name?", "you") == "typed"
    assert await ui.editor("Text?", "old") == "edited"
    ui.notify("done", "warning")
    ui.set_status("k", "v")
    ui.set_status("k", None)
    ui.set_widget("w", ["a", "b"], placement="below_editor")
    ui.set_widget("v", VIEW)
    ui.set_title("T")
    ui.set_editor_text("text")
    assert (asked[0].method, asked[0].options, asked[0].timeout) == ("select", ("a", "b"), 5000)
    assert asked[4].extra == {"notifyType": "warning"}
    assert asked[5].extra == {"statusKey": "k", "statusText": "v"}
    assert asked[6].extra == {"statusKey": "k"}
    assert asked[7].extra == {"widgetKey": "w", "widgetLines": ["a", "b"], "widgetPlacement": "belowEditor"}
    assert asked[8].extra["widgetView"]["title"] == "report"
    assert [event.method for event in asked[9:]] == ["setTitle", "set_editor_text"]


async def test_an_unanswered_question_ends_with_its_timeout():
    ui = EventPublishingUi(lambda event: None)
    assert await ui.confirm("?", timeout=0.01) is False
    assert await ui.select("?", ["a"], timeout=0.01) is None


async def test_a_question_without_a_timeout_does_not_wait_for_ever_either(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("app.extensions.headless_ui.EXTENSION_EDITOR_TIMEOUT_SECONDS", 0.02)
    told: list[Event] = []
    ui = EventPublishingUi(told.append, answer_seconds=0.01)
    assert await ui.select("Which?", ["a"]) is None
    assert await ui.confirm("Sure?") is False
    assert await ui.input("Name?") is None
    assert await ui.editor("Text?") is None
    notices = [event.text for event in told if isinstance(event, Notice)]
    assert notices[0] == "Nobody answered “Which?” within 0.01 s; it counts as cancelled."
    assert len(notices) == 4
    assert [event.timeout for event in told if isinstance(event, QuestionAsked)] == [None] * 4


RPC_DEFAULTS: list[tuple[str, tuple[object, ...], object]] = [
    ("set_header", (lambda: None,), None),
    ("set_footer", (lambda: None,), None),
    ("set_widget", ("k", lambda: None), None),
    ("set_working", ("busy",), None),
    ("editor_text", (), ""),
    ("set_tools_expanded", (True,), None),
    ("tools_expanded", (), False),
    ("themes", (), ()),
    ("theme", (), ""),
    ("set_theme", ("dark",), False),
]


@pytest.mark.parametrize(
    ("name", "arguments", "default"), RPC_DEFAULTS, ids=[name for name, *_ in RPC_DEFAULTS]
)
def test_what_rpc_cannot_do_has_its_default_and_is_reported_once(
    name: str, arguments: tuple[object, ...], default: object
):
    told: list[Event] = []
    ui = EventPublishingUi(told.append)
    assert getattr(ui, name)(*arguments) == default
    assert getattr(ui, name)(*arguments) == default
    [notice] = told
    assert isinstance(notice, Notice) and notice.text.endswith(", which rpc mode does not have.")


async def test_a_custom_screen_over_rpc_is_reported_and_does_not_wait():
    told: list[Event] = []
    assert await EventPublishingUi(told.append).custom(lambda: None) is None
    assert len(told) == 1


async def test_cancelling_takes_the_question_with_it():
    asked: list[QuestionAsked] = []
    ui = EventPublishingUi(lambda event: asked.append(event))  # pyright: ignore[reportArgumentType]  (a question)
    task = asyncio.create_task(ui.confirm("?"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asked[0].answer.cancelled()
