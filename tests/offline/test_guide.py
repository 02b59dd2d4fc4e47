"""The offline guide as people meet it: what they say, what it does, what it tells."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.engine.models.side_question import _SIDE_QUESTION_TEMPLATE  # pyright: ignore[reportPrivateUsage]
from app.providers.adapter_registry import AdapterRegistry
from app.providers.model_stream import RequestContext, StreamOptions
from app.providers.offline.answers import OFFLINE_GUIDE_HELP, next_tour_request, offline_guide_answer
from app.providers.offline.guide import (
    READABLE_TOKENS_PER_SECOND,
    estimate_prompt_usage,
    offline_tokens_per_second,
)
from app.providers.offline.guide_requests import (
    OFFLINE_GUIDE_HELP_ROWS,
    TOUR_PAGE_TITLES,
    OfflineGuideHelpRow,
    PlannedToolCall,
    parse_offline_guide_requests,
)
from app.providers.offline.model import offline_model
from app.providers.offline.tour import OFFLINE_TOUR_ANSWERS, TOUR_CONTINUE_HINT
from app.values.content import Image, Text, ToolCall
from app.values.messages import (
    AssistantMessage,
    CompactionSummaryMessage,
    CustomMessage,
    ToolDeclaration,
    ToolResultMessage,
    UserMessage,
    user_message,
)
from app.values.stream import TextDelta
from tests.offline.chat import Chat


def text_of_answer(context: RequestContext) -> str:
    return "".join(block.text for block in offline_guide_answer(context).blocks if isinstance(block, Text))


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    return Chat(tmp_path)


async def test_it_never_pretends_to_be_a_language_model(chat: Chat):
    for greeting in ("hello", "help", "who are you?"):
        assert "not a language model" in (await chat.say(greeting)).replace("*", "")
    assert "no language model" in offline_model().name


async def test_it_reads_a_file_and_tells_what_is_in_it(chat: Chat):
    chat.put("a.py", "class Boat:\n    def row(self): ...\n")
    told = await chat.say("read a.py")
    assert "`a.py` has 2 lines." in told
    assert "```python\nclass Boat:" in told


async def test_commands_succeed_and_fail(chat: Chat):
    assert "`echo hi` succeeded and wrote 1 line." in await chat.say("run echo hi")
    assert "failed (exited with code 3) and wrote 1 line" in await chat.say("run echo no; exit 3")
    assert "`true` succeeded and wrote nothing." in await chat.say("run true")


async def test_searching_finding_and_listing(chat: Chat):
    chat.put("src/one.py", "def main(): pass\nmain()\n")
    chat.put("src/two.py", "import one\n")
    assert "`main` is on 2 lines in 1 file." in await chat.say("grep main")
    assert "Nothing matches `zebra`." in await chat.say("grep zebra")
    assert "2 paths for `*.py`." in await chat.say("find *.py")
    assert "`.` holds 1 folder and 0 files." in await chat.say("list")


async def test_a_tool_that_is_not_active_is_named(tmp_path: Path):
    chat = Chat(tmp_path, tools="read ls")
    assert "the tool `bash` is not active here. Active: `ls`, `read`." in await chat.say("list\nrun `pwd`")
    assert chat.calls == [["ls"], []]


async def test_several_messages_are_one_request(chat: Chat):
    await chat.say("list", "run echo 2")
    assert chat.calls[0] == ["ls", "bash"]


async def test_a_command_that_went_to_the_background_has_not_succeeded(chat: Chat):
    await chat.say("run echo hello")
    result = chat.messages[-2]
    assert isinstance(result, ToolResultMessage)
    told = (Text(text="Background job job1 started: echo hello\nIts result arrives by itself."),)
    moved = msgspec.structs.replace(result, content=told)
    reply = text_of_answer(RequestContext(messages=(*chat.messages[:-2], moved), tools=()))
    assert "goes on in the background as job1" in reply
    assert "succeeded" not in reply


async def test_a_denied_command_did_not_run_and_wrote_nothing(chat: Chat):
    await chat.say("run echo hello")
    result = chat.messages[-2]
    assert isinstance(result, ToolResultMessage)
    denied = msgspec.structs.replace(result, content=(Text(text="The user denied it."),), is_error=True)
    reply = text_of_answer(RequestContext(messages=(*chat.messages[:-2], denied), tools=()))
    assert reply == "bash `echo hello` failed: The user denied it."


def test_images_are_not_looked_at():
    message = UserMessage(content=(Text(text="help"), Image(data="", mime_type="image/png")))
    assert "I cannot see images" in text_of_answer(RequestContext(messages=(message,)))


def test_a_conversation_is_summed_up_when_asked_for_without_tools():
    text = "<conversation>\n[User]: read a.py\n\n[Assistant]: done\n\n[User]: list src/deep\n</conversation>"
    reply = text_of_answer(RequestContext(system_prompt="You summarize.", messages=(user_message(text),)))
    assert "## Goal\nread a.py" in reply
    assert "- src/deep" in reply


async def test_a_request_that_was_summarised_away_is_answered_by_what_its_calls_brought(chat: Chat):
    chat.put("a.txt", "one\ntwo\n")
    await chat.say("read a.txt")
    _, asked, result, _ = chat.messages
    summary = CompactionSummaryMessage(summary="## Goal\nread a.txt", tokens_before=9_000)
    reply = text_of_answer(RequestContext(messages=(summary, asked, result)))
    assert "a.txt" in reply and "2 lines" in reply


async def test_the_same_conversation_gets_the_same_answer(tmp_path: Path):
    (tmp_path / "a.txt").write_text("x\n")
    one, other = Chat(tmp_path), Chat(tmp_path)
    for words in ("hello", "read a.txt\nlist", "tour", "nonsense here"):
        assert await one.say(words) == await other.say(words)


async def test_it_streams_in_pieces_and_counts_tokens():
    stream = AdapterRegistry().stream_answer(
        offline_model(0), RequestContext(messages=(user_message("help"),)), StreamOptions()
    )
    deltas = [event.delta async for event in stream if isinstance(event, TextDelta)]
    message = await stream.final_message()
    assert "".join(deltas) == message.text
    assert message.usage.input > 0
    assert message.usage.output > 100
    assert message.usage.cost.total == 0


def test_an_image_is_not_reckoned_by_its_bytes() -> None:
    message = UserMessage(content=(Text(text="help"), Image(data="A" * 400_000, mime_type="image/png")))
    assert estimate_prompt_usage(RequestContext(messages=(message,))).input < 2_000


async def test_it_can_be_stopped_while_it_writes():
    stream = AdapterRegistry().stream_answer(
        offline_model(500), RequestContext(messages=(user_message("help"),)), StreamOptions()
    )
    async for event in stream:
        if isinstance(event, TextDelta):
            stream.cancel_response()
    message = await stream.final_message()
    assert message.stop_reason == "aborted"
    assert 0 < len(message.text) < 1000


def test_who_reads_along_gets_a_pace_to_read_at_and_a_program_gets_it_at_once(
    monkeypatch: pytest.MonkeyPatch,
):
    read_along, at_once = StreamOptions(is_person_reading=True), StreamOptions()
    monkeypatch.delenv("BAYOU_OFFLINE_PACE")
    assert offline_tokens_per_second(offline_model(), read_along) == READABLE_TOKENS_PER_SECOND
    assert offline_tokens_per_second(offline_model(), at_once) == 0
    monkeypatch.setenv("BAYOU_OFFLINE_PACE", "30")
    assert (
        offline_tokens_per_second(offline_model(), read_along)
        == offline_tokens_per_second(offline_model(), at_once)
        == 30
    )
    assert offline_tokens_per_second(offline_model(12), read_along) == 12
    monkeypatch.setenv("BAYOU_OFFLINE_PACE", "quick")
    assert offline_tokens_per_second(offline_model(), read_along) == READABLE_TOKENS_PER_SECOND


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(
    texts=st.lists(st.sampled_from(["help", "more", "1", "yes", "again", "read it", "x", "", "list", "no"]))
)
def test_any_order_of_short_answers_is_answered(texts: list[str]):
    messages = tuple(user_message(text) for text in texts)
    assert text_of_answer(RequestContext(messages=messages))


def test_it_needs_no_network_library():
    program = (
        "import sys, app.providers.offline.guide;"
        "print([name for name in ('httpcore2', 'textual', 'rich', 'anthropic', 'openai') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


async def test_a_file_is_changed_and_the_result_is_reported(chat: Chat):
    chat.put("n.txt", "one two\n")
    assert "`n.txt` is changed in 1 place." in await chat.say('change "one" to "1" in n.txt')
    assert (chat.folder / "n.txt").read_text() == "1 two\n"
    assert "edit `n.txt` failed" in await chat.say("change zebra to horse in n.txt")


async def test_each_line_is_a_request_and_they_are_made_at_once(chat: Chat):
    chat.put("a.txt", "a")
    told = await chat.say("read a.txt\nlist\ngrep a")
    assert chat.calls == [["read", "ls", "grep"], []]
    assert "3 results:" in told


async def test_a_command_goes_on_to_the_end_of_the_request(chat: Chat):
    assert "wrote 2 lines" in await chat.say("run echo one\necho two")


async def test_a_missing_file_is_reported(chat: Chat):
    assert "read `nope.txt` failed" in await chat.say("read nope.txt")


@pytest.mark.parametrize(
    "words",
    [
        "hello",
        "fix the bug",
        "read",
        "grep",
        "change a",
        "thanks!",
        "list\nand be quick",
        "tour me",
        "1",
        _SIDE_QUESTION_TEMPLATE + "list",
    ],
)
async def test_anything_else_gets_the_card_and_calls_nothing(chat: Chat, words: str):
    assert await chat.say(words) == OFFLINE_GUIDE_HELP
    assert chat.calls == [[]]
    assert "/login" in OFFLINE_GUIDE_HELP


@pytest.mark.parametrize("form", OFFLINE_GUIDE_HELP_ROWS, ids=lambda form: form.syntax)
def test_the_card_names_every_request_and_its_example_is_understood(form: OfflineGuideHelpRow):
    assert f"| `{form.syntax}` |" in OFFLINE_GUIDE_HELP
    assert len(parse_offline_guide_requests(form.example)) == 1


@given(text=st.text())
def test_any_text_is_understood_or_not(text: str):
    assert all(
        isinstance(one, PlannedToolCall) or one in ("help", "tour")
        for one in parse_offline_guide_requests(text)
    )


async def test_the_tour_shows_bayou_step_by_step_and_begins_again(chat: Chat):
    chat.put("fleet.py", "def main(): ...\n")
    told = [await chat.say("tour") for _ in range(len(OFFLINE_TOUR_ANSWERS) + 1)]
    assert [text.partition(":")[0] for text in told] == [f"**{n} of 5" for n in (1, 2, 3, 4, 5, 1)]
    assert [names for names in chat.calls if names] == [["ls"], ["find"], ["write"], ["ls"]]
    assert "- `fleet.py`" in told[0] and "`fleet.py`" in told[1] and "bayou-tour.txt" in told[2]
    assert [TOUR_CONTINUE_HINT in text for text in told] == [True, True, True, True, False, True]
    assert "/undo" in told[3] and "tree" in told[4] and "/login" in told[4]


async def test_a_request_during_the_tour_does_not_end_it(chat: Chat):
    assert "1 of 5" in await chat.say("tour")
    assert TOUR_CONTINUE_HINT not in await chat.say("list")
    assert "2 of 5" in await chat.say("tour")
    assert "3 of 5" in await chat.say("1")


async def test_a_page_of_the_tour_has_a_name(chat: Chat):
    assert len(TOUR_PAGE_TITLES) == len(OFFLINE_TOUR_ANSWERS)
    assert next_tour_request(()) == "tour"
    for number, title in enumerate(TOUR_PAGE_TITLES, 1):
        request = next_tour_request(chat.messages) if number > 1 else "tour"
        assert request == ("tour" if number == 1 else f"tour {title}")
        assert f"**{number} of 5: {title}." in await chat.say(request)
        await chat.say("list")
    assert next_tour_request(chat.messages) == "tour"
    assert "2 of 5" in await chat.say("tour searching")


async def test_a_tour_without_tools_tells_all_the_same(tmp_path: Path):
    chat = Chat(tmp_path, tools="read")
    told = await chat.say("tour")
    assert "1 of 5" in told and TOUR_CONTINUE_HINT in told and chat.calls == [[]]


async def test_what_was_stopped_is_not_begun_again(chat: Chat):
    stopped = AssistantMessage(content=(), stop_reason="aborted")
    messages = (user_message("run sleep 60"), stopped, user_message("list"))
    answer = offline_guide_answer(
        RequestContext(messages=messages, tools=(ToolDeclaration(name="ls"), ToolDeclaration(name="bash")))
    )
    assert [block.name for block in answer.blocks if isinstance(block, ToolCall)] == ["ls"]


async def test_a_note_alone_is_answered_with_a_question(chat: Chat):
    await chat.say("list")
    note = CustomMessage(custom_type="todo-reminder", content="1 item is still open")
    told = text_of_answer(RequestContext(messages=(*chat.messages, note), tools=()))
    assert told.startswith("1 item is still open") and told.endswith("What shall I do?")


async def test_results_are_told_before_a_message_that_came_meanwhile(chat: Chat):
    chat.put("a.txt", "hello\n")
    await chat.say("read a.txt")
    told = text_of_answer(RequestContext(messages=(*chat.messages[:-1], user_message("help"))))
    assert told.startswith("`a.txt` has 1 line.") and told.endswith(OFFLINE_GUIDE_HELP)
