"""What a conversation becomes before it is sent."""

import re
from collections.abc import Callable

import msgspec
import pytest

from app.providers.model_stream import RequestContext
from app.providers.provider_messages import to_provider_messages
from app.providers.request_preparation import (
    IMAGE_NOT_SUPPORTED_TEXT,
    MISSING_TOOL_RESULT_TEXT,
    NO_TOOL_OUTPUT_TEXT,
    alphanumeric_tool_call_id,
    prepare_request,
    replace_lone_surrogates,
    shorten_tool_call_id,
)
from app.values.content import Image, Text, Thinking, ToolCall
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolDeclaration,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
    user_message,
)
from app.values.models import Model
from tests.providers.wire_formats import model_for

HERE = model_for("anthropic-messages")
PICTURE = Image(data="aGVsbG8=", mime_type="image/png")
IMAGE = Image(data="aGk=", mime_type="image/png")


def said(*blocks, model: Model = HERE, **more) -> AssistantMessage:
    return AssistantMessage(content=blocks, api=model.api, provider=model.provider, model=model.id, **more)


def call(call_id: str, name: str = "read", **arguments) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


def result(call_id: str, text: str = "done", **more) -> ToolResultMessage:
    content = (Text(text=text),) if text else ()
    return ToolResultMessage(tool_call_id=call_id, tool_name="read", content=content, **more)


def sent(*messages: Message, model: Model = HERE, ids: Callable[[str], str] = str) -> list:
    return list(prepare_request(RequestContext(messages=messages), model, ids).messages)


def texts(message) -> list[str]:
    return [block.text for block in message.content if isinstance(block, Text)]


def test_bayous_own_messages_become_the_users():
    messages = to_provider_messages(
        [
            SystemMessage(content="not for here"),
            CustomMessage(custom_type="map", content="a map"),
            BashExecutionMessage(command="ls", output="a\nb\n", exit_code=2),
            BashExecutionMessage(command="secret", output="x", exclude_from_context=True),
            BranchSummaryMessage(summary="tried it", from_id="root"),
            CompactionSummaryMessage(summary="so far", tokens_before=9),
            UnknownMessage(raw={"role": "future"}),
        ]
    )
    assert all(isinstance(message, UserMessage) for message in messages)
    own, command, branch, compaction = (str(message.content) for message in messages)
    assert own == "a map"
    assert "`ls`" in command and "a\nb" in command and "exit code 2" in command
    assert "tried it" in branch and "so far" in compaction


def test_output_with_fences_in_it_is_fenced_longer():
    (message,) = to_provider_messages([BashExecutionMessage(command="cat", output="```\ncode\n```")])
    assert str(message.content).count("````") == 2


def test_images_are_words_for_models_that_only_read():
    reader = model_for("openai-completions", input=("text",))
    message = UserMessage(content=(Text(text="look"), IMAGE, IMAGE, Text(text="end")))
    (plain,) = sent(message, model=reader)
    assert texts(plain) == ["look", IMAGE_NOT_SUPPORTED_TEXT, "end"]
    (full,) = sent(message)
    assert full.content[1] == IMAGE


def limited(**limits) -> Model:
    return msgspec.structs.replace(HERE, input=("text", "image"), input_limits=limits)


def kept_images(count: int, model: Model) -> list[bool]:
    """Which of so many prompts with an image still have theirs."""
    prompts = [UserMessage(content=(Text(text=f"{n}"), PICTURE)) for n in range(count)]
    return [
        any(isinstance(block, Image) for block in message.content) for message in sent(*prompts, model=model)
    ]


def test_of_more_images_than_a_model_takes_the_oldest_become_words():
    four = limited(images={"maxPerRequest": 4})
    assert kept_images(4, four) == [True] * 4
    assert kept_images(5, four) == kept_images(6, four)[:-1] == [False] * 2 + [True] * 3, (
        "in steps: for the cache"
    )
    assert kept_images(7, four) == [False] * 4 + [True] * 3
    one = UserMessage(content=(Text(text="x"), PICTURE, PICTURE, PICTURE))
    (message,) = sent(one, model=limited(images={"maxPerMessage": 2}))
    assert [type(block) for block in message.content] == [Text, Text, Image, Image]
    room = len(PICTURE.data) * 4  # for three, as words need some too
    assert kept_images(4, limited(maxRequestBytes=room)) == [False, False, True, True]
    assert kept_images(1, limited(maxRequestBytes=1)) == [True], "the last one is never taken"
    assert kept_images(9, limited()) == [True] * 9


def test_thoughts_and_signatures_go_only_to_the_model_that_had_them():
    blocks = (
        Thinking(thinking="hm", thinking_signature="s"),
        Thinking(thinking="", thinking_signature="enc", redacted=True),
        Text(text="hi", text_signature="ts"),
        ToolCall(id="a", name="read", arguments={}, thought_signature="cs"),
    )
    own, _ = sent(said(*blocks))
    assert own.content == blocks
    for other in (
        model_for("anthropic-messages", id="other"),
        model_for("anthropic-messages", provider="other"),
        model_for("openai-responses"),
    ):
        foreign, _ = sent(said(*blocks), model=other)
        assert foreign.content == (Text(text="hi"), call("a"))


def test_failed_answers_are_left_out_with_their_results():
    messages = sent(
        user_message("go"),
        said(Text(text="half"), call("a"), stop_reason="aborted"),
        result("a", "Operation aborted"),
        said(Text(text="x"), stop_reason="error", error_message="no"),
        user_message("again"),
    )
    assert [texts(message) for message in messages] == [["go"], ["again"]]


def test_every_call_is_answered_right_behind_it_in_its_order():
    messages = sent(
        said(call("a"), call("b"), call("c"), stop_reason="toolUse"),
        result("c", "third"),
        user_message("by the way"),
        result("a", "first"),
        said(Text(text="ok")),
        result("b", "much too late"),
    )
    assert [(m.tool_call_id, texts(m), m.is_error) for m in messages[1:4]] == [
        ("a", ["first"], False),
        ("b", [MISSING_TOOL_RESULT_TEXT], True),
        ("c", ["third"], False),
    ]
    assert [type(message).__name__ for message in messages[4:]] == ["UserMessage", "AssistantMessage"]


def test_nothing_empty_is_sent():
    messages = sent(
        user_message("  \n"),
        said(Text(text="")),
        said(Thinking(thinking="only thought", thinking_signature="s")),
        UserMessage(content=()),
        said(call("a"), stop_reason="toolUse"),
        result("a", ""),
    )
    assert [type(message).__name__ for message in messages] == ["AssistantMessage", "ToolResultMessage"]
    assert texts(messages[1]) == [NO_TOOL_OUTPUT_TEXT]


@pytest.mark.parametrize("raw", ["call_1|fc_" + "x" * 450, "ümläut id!", "a" * 65, "ok-id_9", ""])
def test_ids_are_made_fit_and_stay_together(raw: str):
    first, answer = sent(said(call(raw)), result(raw), ids=shorten_tool_call_id)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", first.content[0].id)
    assert answer.tool_call_id == first.content[0].id
    assert shorten_tool_call_id("ok-id_9") == "ok-id_9"
    assert re.fullmatch(r"[A-Za-z0-9]{9}", alphanumeric_tool_call_id(raw, 9))


def test_different_calls_never_get_one_id():
    messages = sent(
        said(call("x"), call("y")),
        result("x", "one"),
        result("y", "two"),
        said(call("x")),
        result("x", "three"),
        ids=lambda call_id: "same" if len(call_id) == 1 else call_id,
    )
    ids = [block.id for m in messages if isinstance(m, AssistantMessage) for block in m.tool_calls]
    answered = [m.tool_call_id for m in messages if isinstance(m, ToolResultMessage)]
    assert len(set(ids)) == 3 and answered == ids


def test_unpaired_surrogates_are_cleaned_everywhere():
    bad, good = "a\ud800b", "a\ufffdb"
    prepared = prepare_request(
        RequestContext(
            system_prompt=bad,
            messages=(
                user_message(bad),
                said(Text(text=bad), call("i", path=bad, deep=[{bad: bad}])),
                result("i", bad),
            ),
            tools=(ToolDeclaration(name="t", description=bad),),
        ),
        HERE,
    )
    assert prepared.system_prompt == good and prepared.tools[0].description == good
    assert all(good in str(message.content) for message in prepared.messages)
    assert prepared.messages[1].content[1] == call("i", path=good, deep=[{good: good}])
    assert replace_lone_surrogates("\ud83d\ude00") == "\U0001f600"


def test_tools_have_a_fixed_order_and_their_properties_keep_theirs():
    schema = {
        "type": "object",
        "required": ["z"],
        "properties": {"z": {"type": "string"}, "a": {"type": "x"}},
    }
    tools = (ToolDeclaration(name="write", parameters=schema), ToolDeclaration(name="bash"))
    prepared = prepare_request(RequestContext(tools=tools), HERE)
    assert [tool.name for tool in prepared.tools] == ["bash", "write"]
    parameters = prepared.tools[1].parameters
    assert list(parameters) == ["properties", "required", "type"]
    assert list(parameters["properties"]) == ["z", "a"]
