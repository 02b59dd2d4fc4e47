"""Hidden characters in what a server gets back as it is: names, addresses and values cannot be cleaned, so bayou does
without them and says so."""

import json
from typing import Any

import pytest

from app.engine.mcp.mcp_commands import mcp_servers_text
from app.engine.mcp.mcp_commands import test_server as check_server
from app.providers.scripted import say
from app.tui.features.mcp.page import mcp_server_preview
from app.tui.prompt.mcp_completions import McpResourceCompletions, mcp_prompt_argument_completions
from app.values.events import Notice, QuestionAsked
from app.values.user_errors import UserError
from tests.mcp.test_asked_in_session import Asked
from tests.mcp.test_asked_in_session import desk as asking_desk
from tests.mcp.test_deceiving_results import JOINED
from tests.mcp.test_in_session import Desk, desk
from widgets.completion.completion_source import CompletionRequest

__all__ = ["asking_desk", "desk"]

SIGNS = ["\u202e", "\U000e0041", "\u2028", "\u2065", "\ufff0", "\x1b", "\x9b"]
OMITTED = [
    *(("tool", name) for name in ("name{}", "property", "enum", "const", "default")),
    *(("prompt", name) for name in ("hail{}", "argument")),
    *(("resource", "note://2{}"), ("template", "note://{{number}}{}")),
]


async def opened(desk: Desk, signs: str, exposure: str = "search") -> Any:
    desk.configure(docs={"exposure": exposure, "env": {"SIGNS": signs}})
    await desk.known()
    return desk.open()


@pytest.mark.parametrize("exposure", ["direct", "search"])
@pytest.mark.parametrize("signs", SIGNS)
async def test_no_schema_of_a_server_brings_hidden_characters_to_the_model(
    desk: Desk, signs: str, exposure: str
) -> None:
    session = await opened(desk, signs, exposure)
    found = await desk.result("mcp_search", query="signs", server="docs") if exposure == "search" else ""
    assert exposure == "direct" or '"enum":["one\\ntwo"]' in found
    await desk.say(say("hello"))
    sent = [json.dumps(tool.schema, ensure_ascii=False) for tool in session.tools.active_tools().values()]
    assert any('"examples": ["e' in one for one in sent) == (exposure == "direct")
    written = json.dumps([found, *sent], ensure_ascii=False)
    assert signs not in written and json.dumps(signs)[1:-1] not in written
    assert '"enum": 5' not in written and '"enum":5' not in written


@pytest.mark.parametrize("signs", SIGNS)
async def test_what_has_hidden_characters_is_left_out_and_told(desk: Desk, signs: str) -> None:
    session = await opened(desk, signs)
    view = session.mcp.server_view("docs")
    assert [tool.name for tool in view.tools] == ["signs", "ask"]
    assert [prompt.name for prompt in session.mcp.known_prompts()] == ["greet"]
    assert [uri for _, uri, _ in session.mcp.known_resources()] == ["note://1"]
    number = f"U+{ord(signs):04X}"
    shown = {"\x1b": "\u241b", "\x9b": "\ufffd"}.get(signs, f"<{number}>")
    told = "\n".join(
        f'  The {kind} "{name.format(shown)}" is left out: a name, address or value of it contains the hidden '
        f"character {number}."
        for kind, name in OMITTED
    )
    assert told in mcp_servers_text(session.mcp)
    assert (await check_server(session.mcp, "docs")).endswith(told)
    page = "\n".join(f"  {part.text}" for part in mcp_server_preview(view).parts)
    assert told in page


@pytest.mark.parametrize("signs", JOINED)
async def test_names_of_joined_emoji_and_letters_are_kept(desk: Desk, signs: str) -> None:
    session = await opened(desk, signs)
    view = session.mcp.server_view("docs")
    assert (len(view.tools), view.prompt_count, view.resource_count, view.omissions) == (7, 3, 3, ())


@pytest.mark.parametrize("signs", SIGNS[::2])
async def test_hidden_characters_are_not_completed(desk: Desk, signs: str) -> None:
    session = await opened(desk, signs)
    request = CompletionRequest(line="@docs:note", column=10, row=0)
    (found,) = [each async for each in McpResourceCompletions(session.mcp).complete(request)]
    assert [item.text for item in found.items] == ["@docs:note://1"]
    completions = mcp_prompt_argument_completions(session.mcp)
    assert list(completions) == ["docs:greet"]
    assert [one.text for one in await completions["docs:greet"]("")] == ["Ada"]  # pyright: ignore[reportGeneralTypeIssues]


@pytest.mark.parametrize(("about", "signs"), [("choice", "\u202e"), ("choice", "\x1b"), ("field", "\u2065")])
async def test_a_question_that_gets_hidden_characters_back_is_declined(
    asking_desk: Asked, signs: str, about: str
) -> None:
    asking_desk.configure(docs={"exposure": "direct", "env": {"SIGNS": signs}})
    await asking_desk.known()
    notices: list[str] = []
    asking_desk.open("person", None).subscribe(
        lambda event: notices.append(event.text) if isinstance(event, Notice) else None
    )
    told = await asking_desk.result("mcp__docs__ask", about=about)
    assert told == '{"action": "decline"}'
    (notice,) = [text for text in notices if "asked a question" in text]
    assert f"contains the hidden character U+{ord(signs):04X} in its name or choices." in notice
    assert signs not in notice


@pytest.mark.parametrize("signs", SIGNS[::2])
async def test_the_default_of_a_question_is_sent_as_it_is_shown(asking_desk: Asked, signs: str) -> None:
    asking_desk.configure(docs={"exposure": "direct", "env": {"SIGNS": signs}})
    await asking_desk.known()
    session = asking_desk.open("program", "b")
    shown: list[QuestionAsked] = []
    session.subscribe(lambda event: shown.append(event) if isinstance(event, QuestionAsked) else None)
    await asking_desk.result("mcp__docs__ask", about="text")
    (asked,) = shown
    assert asked.prefill == {"\x1b": "b\u241b", "\x9b": "b\ufffd"}.get(signs, "b")


@pytest.mark.parametrize("signs", SIGNS[::5])
async def test_the_reason_of_a_refused_start_hides_nothing(desk: Desk, signs: str) -> None:
    desk.configure(docs={"words": ["refuse-start"], "env": {"SIGNS": signs}})
    session = desk.open()
    with pytest.raises(UserError, match="not today") as refused:
        await session.mcp.test_server("docs")
    assert signs not in str(refused.value)
    assert signs not in session.mcp.server_view("docs").reason
