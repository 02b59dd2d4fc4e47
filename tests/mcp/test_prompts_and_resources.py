"""What servers offer a person to say: prompts as commands, resources behind `@server:`, the same in every face."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.engine.core.prompt_intake import SessionRequestRefused
from app.engine.mcp.server_prompts import parse_mcp_prompt_arguments, prompt_from_mcp_messages
from app.providers.scripted import say
from app.resources.paths import BayouPaths
from app.tui.prompt.mcp_completions import (
    McpResourceCompletions,
    mcp_prompt_argument_completions,
    mcp_prompt_argument_hint,
)
from app.values.content import text_of
from app.values.mcp_servers import PromptView
from app.values.messages import UserMessage
from app.values.user_errors import UserError
from tests.mcp.test_in_session import Desk
from widgets.completion.completion_source import CompletionRequest


@pytest.fixture
async def desk(paths: BayouPaths) -> AsyncIterator[Desk]:
    made = Desk(paths)
    made.configure(docs={})
    await made.known()
    made.open()
    yield made
    await made.close()


async def said(desk: Desk, text: str) -> str:
    desk.script.responses.append(say("done"))
    await desk.session.prompt(text)
    await desk.session.wait_until_idle()
    return text_of(next(one for one in desk.session.messages if isinstance(one, UserMessage)).content)


@pytest.mark.parametrize("text", ["/docs:greet who=Ada", "/docs:greet Ada"])
async def test_a_prompt_of_a_server_is_a_command(desk: Desk, text: str):
    assert await said(desk, text) == "Greet Ada"
    (listed,) = [one for one in desk.session.commands() if one["name"] == "docs:greet"]
    assert listed["source"] == "prompt"


async def test_a_prompt_without_what_it_needs_says_how_it_is_called(desk: Desk):
    with pytest.raises(SessionRequestRefused, match=r"/docs:greet needs who\. Usage: /docs:greet who=…"):
        await desk.session.prompt("/docs:greet")
    assert not [one for one in desk.session.messages if isinstance(one, UserMessage)]


async def test_a_resource_comes_along_with_the_words(desk: Desk):
    told = await said(desk, "sum up @docs:note://1, please")
    assert told.startswith("sum up @docs:note://1, please\n\n")
    assert '<resource server="docs" uri="note://1">\nwritten down\n</resource>' in told


@pytest.mark.parametrize(
    "text", ["mail me@docs:note://1", "@nobody:note://1", "@docs:note", "/nobody:greet x", "/docs:other"]
)
async def test_other_words_are_words(desk: Desk, text: str):
    assert await said(desk, text) == text


def test_arguments_stand_by_name_or_in_order_and_the_last_takes_the_rest():
    prompt = PromptView(server="s", name="p", arguments=("a", "b"), required=("a",))
    assert parse_mcp_prompt_arguments(prompt, "") == {}
    assert parse_mcp_prompt_arguments(prompt, 'one "two three" four') == {"a": "one", "b": "two three four"}
    assert parse_mcp_prompt_arguments(prompt, "b=2 x=1") == {"b": "2", "a": "x=1"}
    assert parse_mcp_prompt_arguments(prompt, "it's") == {"a": "it's"}
    assert mcp_prompt_argument_hint(prompt) == "a [b]"
    with pytest.raises(UserError, match="takes nothing"):
        parse_mcp_prompt_arguments(PromptView(server="s", name="p"), "too much")


def test_messages_become_one_prompt_and_nonsense_is_reported():
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    messages: list[Any] = [
        {"role": "user", "content": {"type": "text", "text": "Look \x1b[31m"}},
        {"role": "assistant", "content": {"type": "text", "text": "I did"}},
        {"role": "user", "content": picture},
        {"role": "user", "content": {**picture, "data": "no base64!"}},
        {"role": "user", "content": {"type": "resource", "resource": {"uri": "a:b", "text": "inside"}}},
        {"role": "user", "content": {"type": "audio"}},
        "nonsense",
    ]
    text, images = prompt_from_mcp_messages("s", {"messages": messages})
    assert text.startswith("Look ␛[31m\n\n(An earlier answer was:)\nI did\n\n")
    assert '<resource server="s">\ninside\n</resource>' in text
    assert "[s sent audio, which cannot be said]" in text
    assert [image.data for image in images] == ["aGk="]
    assert prompt_from_mcp_messages("s", {"messages": 5}) == ("", ())


async def test_resources_and_arguments_are_completed(desk: Desk):
    source = McpResourceCompletions(desk.session.mcp)
    request = CompletionRequest(line="see @docs:no", column=12, row=0)
    assert source.accepts(request)
    assert not source.accepts(CompletionRequest(line="see @src:no", column=11, row=0))
    (found,) = [each async for each in source.complete(request)]
    assert (found.start, [item.text for item in found.items]) == (4, ["@docs:note://1"])
    arguments = mcp_prompt_argument_completions(desk.session.mcp)["docs:greet"]
    assert await arguments("A") == []  # pyright: ignore[reportGeneralTypeIssues]  (that server completes nothing)
