"""The offline guide as people meet it: what they say, what it does, what it tells."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.engine.beside import _ASKED, _HANDOFF  # pyright: ignore[reportPrivateUsage]
from app.engine.own_prompts import init_prompt
from app.providers.contract import Context, StreamOptions
from app.providers.offline.answers import answer_to
from app.providers.offline.guide import TOKENS_PER_SECOND, pace_of, prompt_usage
from app.providers.offline.model import offline_model
from app.providers.registry import Registry
from app.providers.scripted import say
from app.values.content import Image, Text
from app.values.messages import (
    CompactionSummaryMessage,
    CustomMessage,
    ToolDeclaration,
    ToolResultMessage,
    UserMessage,
    user_message,
)
from app.values.stream import TextDelta
from tests.engine.stage import Play
from tests.offline.chat import Chat


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
    assert "`a.py` has 2 lines and defines `Boat`, `row`." in told
    assert "```python\nclass Boat:" in told


async def test_three_files_are_read_at_once(chat: Chat):
    for name in "abc":
        chat.put(f"{name}.txt", name)
    told = await chat.say("read a.txt, b.txt and c.txt")
    assert chat.calls == [["read", "read", "read"], []]
    assert "3 results:" in told
    assert "at once" in chat.answers[0].thinking


async def test_a_part_of_a_file(chat: Chat):
    chat.put("n.txt", "\n".join(f"line {number}" for number in range(1, 101)))
    told = await chat.say("read n.txt:10-12")
    assert "of 100." in told
    assert "line 12" in told
    assert "line 50" not in told


async def test_more_goes_on_where_the_page_ended(chat: Chat):
    chat.put("long.txt", "line\n" * 4500)
    assert "Say `more`" in await chat.say("read long.txt")
    assert "lines 2,001 to 4,000" in await chat.say("more")
    assert "lines 4,001 to 4,500" in await chat.say("go on")
    assert "nothing to go on with" in await chat.say("more")


async def test_commands_succeed_and_fail(chat: Chat):
    assert "`echo hi` succeeded and wrote 1 line." in await chat.say("run echo hi")
    assert "failed (exited with code 3) and wrote 1 line" in await chat.say("run echo no; exit 3")
    assert "`true` succeeded and wrote nothing." in await chat.say("run true")


async def test_searching_finding_and_listing(chat: Chat):
    chat.put("src/one.py", "def main(): pass\nmain()\n")
    chat.put("src/two.py", "import one\n")
    assert "`main` is on 2 lines in 1 file." in await chat.say("grep main")
    assert "Nothing matches `zebra`." in await chat.say("grep zebra in src")
    assert "2 paths for `*.py`." in await chat.say("find *.py")
    assert "`.` holds 1 folder and 0 files." in await chat.say("list")


async def test_a_file_is_written_changed_and_read_again(chat: Chat):
    await chat.say("write n.txt: one two\nedit n.txt: replace one with 1 then read it")
    assert chat.calls == [["write"], ["edit"], ["read"], []]
    assert (chat.folder / "n.txt").read_text() == "1 two\n"
    assert "1 two" in chat.answers[-1].text


async def test_a_failure_stops_the_steps_that_would_follow(chat: Chat):
    told = await chat.say("run exit 1 then list")
    assert "I stopped there and did not list `.`." in told
    assert chat.calls == [["bash"], []]


async def test_a_missing_file_is_looked_for_and_read_where_it_is(chat: Chat):
    chat.put("deep/er/config.toml", "x = 1\n")
    told = await chat.say("read config.toml then list")
    assert "does not exist" in told
    assert "That must be it: I will read `deep/er/config.toml`." in told
    assert "x = 1" in told
    assert chat.calls == [["read"], ["find"], ["read"], []]


async def test_what_a_missing_file_may_be_is_offered(chat: Chat):
    for folder in ("deep", "deep/er"):
        chat.put(f"{folder}/config.toml", "x = 1\n")
    assert "`map deep/er/config.toml`" in await chat.say("map config.toml")
    await chat.say("yes")
    assert chat.calls[-2:] == [["read"], []]


async def test_a_missing_file_is_not_changed_elsewhere_without_asking(chat: Chat):
    chat.put("deep/notes.txt", "one\n")
    assert "1. `read deep/notes.txt`" in await chat.say("edit notes.txt: replace one with two")
    assert (chat.folder / "deep/notes.txt").read_text() == "one\n"


async def test_a_text_that_is_not_there_is_told_and_no_file_is_looked_for(chat: Chat):
    chat.put("notes.txt", "one\n")
    assert "`notes.txt` failed" in await chat.say("change three to four in notes.txt")
    assert chat.calls == [["edit"], []]


async def test_what_a_project_is_its_readme_says(chat: Chat):
    assert "No README says more." in await chat.say("what does this project do?")
    chat.put("README.md", "# Boats\n")
    told = await chat.say("what is this project")
    assert "`.` holds 0 folders and 1 file." in told
    assert "# Boats" in told


async def test_it_in_a_search_is_the_file_spoken_of(chat: Chat):
    chat.put("a.py", "boat = 1\n")
    chat.put("b.py", "boat = 2\n")
    assert "In which file?" in await chat.say("grep boat in it")
    assert "`boat` is on 1 line in 1 file." in await chat.say("read a.py, then grep boat in it")


async def test_changes_are_told_in_words(chat: Chat):
    assert "`a.txt` is written: 1 line." in await chat.say("write a.txt: one two")
    assert "`a.txt` is changed in one place." in (await chat.say("change one to 1 in a.txt")).replace(
        "1 place", "one place"
    )


async def test_todos_are_kept_and_told(chat: Chat):
    assert "Nothing is on the list" in await chat.say("what is left to do?")
    said = await chat.say("todo water the plants; feed the cat and the dog")
    assert "- [>] water the plants\n- [ ] feed the cat and the dog" in said
    assert said.endswith("Which one is done?")  # so that nobody is reminded
    assert "1 of 2 closed" in await chat.say("todo done water")
    assert "[>] feed the cat" in await chat.say("show me the todos")
    assert "no item “sleep”" in await chat.say("todo done sleep")
    assert "All 2 items are closed." in await chat.say("todo drop feed")
    assert {name for calls in chat.calls for name in calls} == {"todo"}


def _answer_to(*texts: str) -> str:
    return answer_to(Context(messages=tuple(map(user_message, texts)), tools=())).text


def test_a_question_beside_a_run_is_the_only_one_that_is_answered():
    beside = "A question beside the work, which goes on.\n\nwho are you?"
    assert _answer_to("demo long", beside) == _answer_to("who are you?")


def test_prompts_that_bayou_writes_are_known_as_such():
    handoff = "Work on the goal below goes on in a new session that knows nothing.\n\nGoal: finish the parser"
    assert _answer_to("read a.py", "list", handoff).startswith(
        "finish the parser\n\nWhat was asked before:\n- read a.py\n- list\n"
    )
    review = "Review what is not committed here:\n\n- a.py (changed, +2 -0): x\n\nRead the changed code."
    assert "takes a language model" in _answer_to(review) and "1. `read a.py`" in _answer_to(review)
    for written in (
        "Write AGENTS.md for this project: what",
        "Look whether CLAUDE.md is still true of this project",
    ):
        assert "takes a language model" in _answer_to(written)


async def test_the_prompts_of_this_version_are_known(tmp_path: Path):
    """As they are written now, by those who write them."""
    play = Play(tmp_path, say("ok"))
    assert "takes a language model" in _answer_to(await init_prompt(play.session))
    (tmp_path / "AGENTS.md").write_text("x")
    assert "takes a language model" in _answer_to(await init_prompt(play.session))
    assert _answer_to(_HANDOFF.format(goal="that")).startswith("that\n")
    assert _answer_to("demo long", _ASKED + "who are you?") == _answer_to("who are you?")


async def test_a_reminder_of_todos_is_answered_with_a_question(chat: Chat):
    await chat.say("list")
    chat.messages.append(CustomMessage(custom_type="todo-reminder", content="1 item is still open"))
    answer = answer_to(Context(messages=tuple(chat.messages), tools=()))
    assert answer.text.endswith("which one is done?") and not answer.steps


async def test_offers_are_taken_by_number(chat: Chat):
    for name in "ab":
        chat.put(f"{name}.py", f"name = {name!r}\n")
    await chat.say("find *.py")
    told = await chat.say("1 and 2")
    assert "name" not in told
    assert chat.calls[-2] == ["read", "read"]
    await chat.say("find *.py")
    await chat.say("all")
    assert chat.calls[-2] == ["read", "read"]
    await chat.say("find a.py")
    assert "say a number from 1 to 1" in await chat.say("4")


async def test_what_is_not_understood_is_answered_with_a_question(chat: Chat):
    told = await chat.say("elephants, my friend")
    assert "I do not understand" in told
    assert '1. `grep "elephants"`' in told
    assert "Nothing matches `elephants`." in await chat.say("the first one")


async def test_what_takes_a_language_model_is_said_to_and_how_to_get_one(chat: Chat):
    for request in ("fix the bug", "explain a.py", "why is it slow?", "write a poem about boats please"):
        told = await chat.say(request)
        assert "language model" in told or "Say: `write" in told
    told = await chat.say("explain src/a.py")
    assert "takes a language model" in told
    assert "`/login`" in told
    assert "1. `read src/a.py`" in told


@pytest.mark.parametrize(
    ("words", "offer"),
    [
        ("git status", "run git status"),
        ("pytest -q | tail -1", "run pytest -q | tail -1"),
        ("fix x.py", "read x.py"),
    ],
)
async def test_what_may_be_meant_is_offered(chat: Chat, words: str, offer: str):
    assert f"1. `{offer}`" in await chat.say(words)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("thanks!", "You are welcome."),
        ("quit", "Ctrl+D"),
        ("how do I log in?", "`/login`"),
        ("are you ChatGPT?", "not a language model"),
        ("how do I use this?", "| Say | and I |"),
    ],
)
async def test_what_asks_for_nothing_is_answered_too(chat: Chat, words: str, answer: str):
    assert answer in await chat.say(words)
    assert chat.calls == [[]]


async def test_short_answers_without_a_question_before(chat: Chat):
    assert "not offered anything" in await chat.say("2")
    assert "nothing to repeat" in await chat.say("again")
    assert "Which file do you mean" in await chat.say("read it")
    assert "What shall I do instead" in await chat.say("no")


async def test_again_repeats_the_last_real_request(chat: Chat):
    await chat.say("run echo 1")
    await chat.say("yes")
    assert "`echo 1` succeeded" in await chat.say("again")


async def test_a_question_about_a_file_can_be_answered_without_naming_it(chat: Chat):
    chat.put("n.txt", "a b\n")
    assert "What should I change in n.txt?" in await chat.say("edit n.txt")
    await chat.say("replace a with c")
    assert (chat.folder / "n.txt").read_text() == "c b\n"


async def test_a_tool_that_is_not_active_is_named(tmp_path: Path):
    chat = Chat(tmp_path, tools="read ls")
    assert "the tool `bash` is not active here. Active: `ls`, `read`." in await chat.say("run `pwd` and list")
    assert chat.calls == [["ls"], []]


async def test_thinking_can_be_off(chat: Chat):
    await chat.say("list")
    assert chat.answers[0].thinking
    chat.thinking = "off"
    await chat.say("list")
    assert not chat.answers[-2].thinking


async def test_several_messages_are_one_request(chat: Chat):
    await chat.say("list", "run echo 2")
    assert chat.calls[0] == ["ls", "bash"]


async def test_results_are_told_before_a_message_that_came_meanwhile(chat: Chat):
    chat.put("a.txt", "hello\n")
    await chat.say("read a.txt")
    steered = (*chat.messages[:-1], user_message("help"))
    reply = answer_to(Context(messages=steered, tools=(ToolDeclaration(name="read"),)))
    assert reply.text.startswith("`a.txt` has 1 line.")
    assert "offline guide" in reply.text


async def test_what_came_beside_the_results_is_mentioned(chat: Chat):
    await chat.say("list")
    note = CustomMessage(custom_type="file-map", content="…")
    reply = answer_to(Context(messages=(*chat.messages[:-1], note), tools=()))
    assert "A map of the whole file came with it" in reply.text
    note = CustomMessage(custom_type="weather", content="…")
    reply = answer_to(Context(messages=(*chat.messages[:-1], note), tools=()))
    assert "I was also given a note (weather)." in reply.text


async def test_the_end_of_a_background_job_is_told(chat: Chat):
    await chat.say("list")
    text = "Background job1 (make all) has ended: done.\n\nbuilt in a while"
    note = CustomMessage(custom_type="background-result", content=text)
    reply = answer_to(Context(messages=(*chat.messages[:-1], note), tools=()))
    assert "`make all` has ended in the background: done." in reply.text
    assert "built in a while" in reply.text


async def test_a_command_that_went_to_the_background_has_not_succeeded(chat: Chat):
    await chat.say("run echo hello")
    result = chat.messages[-2]
    assert isinstance(result, ToolResultMessage)
    told = (Text(text="Background job job1 started: echo hello\nIts result arrives by itself."),)
    moved = msgspec.structs.replace(result, content=told)
    reply = answer_to(Context(messages=(*chat.messages[:-2], moved), tools=()))
    assert "goes on in the background as job1" in reply.text
    assert "succeeded" not in reply.text


def test_images_are_not_looked_at():
    message = UserMessage(content=(Text(text="help"), Image(data="", mime_type="image/png")))
    assert "I cannot see images" in answer_to(Context(messages=(message,))).text


@pytest.mark.parametrize("kind", ["markdown", "long"])
async def test_demos_show_the_interface(chat: Chat, kind: str):
    assert len(await chat.say(f"demo {kind}")) > 400


async def test_a_demo_of_tools_has_a_slow_one_and_a_failing_one(chat: Chat):
    told = await chat.say("demo tools")
    assert "3 results, 1 of them failed" in told


async def test_a_demo_of_an_error_is_an_error(chat: Chat):
    await chat.say("demo error")
    assert chat.answers[-1].stop_reason == "error"
    assert "you asked for it" in (chat.answers[-1].error_message or "")


def test_a_conversation_is_summed_up_when_asked_for_without_tools():
    text = "<conversation>\n[User]: read a.py\n\n[Assistant]: done\n\n[User]: list src/deep\n</conversation>"
    reply = answer_to(Context(system_prompt="You summarize.", messages=(user_message(text),)))
    assert "## Goal\nread a.py" in reply.text
    assert "- src/deep" in reply.text


async def test_a_request_that_was_summarised_away_is_answered_by_what_its_calls_brought(chat: Chat):
    chat.put("a.txt", "one\ntwo\n")
    await chat.say("read a.txt")
    _, asked, result, _ = chat.messages
    summary = CompactionSummaryMessage(summary="## Goal\nread a.txt", tokens_before=9_000)
    reply = answer_to(Context(messages=(summary, asked, result)))
    assert "a.txt" in reply.text and "2 lines" in reply.text
    assert not reply.steps


async def test_the_same_conversation_gets_the_same_answer(tmp_path: Path):
    (tmp_path / "a.txt").write_text("x\n")
    one, other = Chat(tmp_path), Chat(tmp_path)
    for words in ("hello", "read a.txt and list", "again", "nonsense here"):
        assert await one.say(words) == await other.say(words)


async def test_it_streams_in_pieces_and_counts_tokens():
    stream = Registry().stream(offline_model(0), Context(messages=(user_message("help"),)), StreamOptions())
    deltas = [event.delta async for event in stream if isinstance(event, TextDelta)]
    message = await stream.result()
    assert "".join(deltas) == message.text
    assert message.usage.input > 0
    assert message.usage.output > 100
    assert message.usage.cost.total == 0


def test_an_image_is_not_reckoned_by_its_bytes() -> None:
    message = UserMessage(content=(Text(text="help"), Image(data="A" * 400_000, mime_type="image/png")))
    assert prompt_usage(Context(messages=(message,))).input < 2_000


async def test_it_can_be_stopped_while_it_writes():
    stream = Registry().stream(
        offline_model(500), Context(messages=(user_message("demo long"),)), StreamOptions()
    )
    async for event in stream:
        if isinstance(event, TextDelta):
            stream.cancel()
    message = await stream.result()
    assert message.stop_reason == "aborted"
    assert 0 < len(message.text) < 1000


def test_who_reads_along_gets_a_pace_to_read_at_and_a_program_gets_it_at_once(
    monkeypatch: pytest.MonkeyPatch,
):
    read_along, at_once = StreamOptions(is_read_along=True), StreamOptions()
    monkeypatch.delenv("BAYOU_OFFLINE_PACE")
    assert pace_of(offline_model(), read_along) == TOKENS_PER_SECOND
    assert pace_of(offline_model(), at_once) == 0
    monkeypatch.setenv("BAYOU_OFFLINE_PACE", "30")
    assert pace_of(offline_model(), read_along) == pace_of(offline_model(), at_once) == 30
    assert pace_of(offline_model(12), read_along) == 12
    monkeypatch.setenv("BAYOU_OFFLINE_PACE", "quick")
    assert pace_of(offline_model(), read_along) == TOKENS_PER_SECOND


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(
    texts=st.lists(st.sampled_from(["help", "more", "1", "yes", "again", "read it", "x", "", "list", "no"]))
)
def test_any_order_of_short_answers_is_answered(texts: list[str]):
    messages = tuple(user_message(text) for text in texts)
    assert answer_to(Context(messages=messages)).text


def test_it_needs_no_network_library():
    program = (
        "import sys, app.providers.offline.guide;"
        "print([name for name in ('httpcore2', 'textual', 'rich', 'anthropic', 'openai') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"
