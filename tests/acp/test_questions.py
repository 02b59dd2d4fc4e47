"""What the client is asked: approvals with the whole call, choices and forms; and what happens without an answer."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.acp.peers import CALLS, AcpClient, Answer, bayou, choosing, scripted_client


async def asked_in(client: AcpClient) -> Mapping[str, Any]:
    await client.until(lambda: client.asked)
    return client.asked[-1][1]


async def test_an_approval_shows_the_whole_command_and_its_answers_count(tmp_path: Path) -> None:
    async with bayou("--permissions", "ask", answer=choosing("Deny")) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        await client.prompt(session, "run touch new-file")
        question = await asked_in(client)
        shown = str(question["toolCall"]["content"])
        assert "touch new-file" in shown and "contained" in shown
        assert question["toolCall"]["rawInput"] == {"command": "touch new-file"}
        kinds = [one["kind"] for one in question["options"]]
        assert kinds[0] == "allow_once" and kinds[-1] == "reject_once"
        assert {"allow_always", "reject_always"} <= set(kinds)
        assert not (tmp_path / "new-file").exists()
        assert client.of("tool_call_update")[-1]["status"] == "failed"

        client.answer = choosing("Always in this session")
        await client.prompt(session, "run touch new-file")
        assert (tmp_path / "new-file").exists()
        count = len(client.asked)
        await client.prompt(session, "run touch new-file")
        assert len(client.asked) == count, "the rule has answered"

        client.answer = choosing("Never in this session")
        await client.prompt(session, "run mkdir folder")
        await client.prompt(session, "run mkdir folder")
        assert len(client.asked) == count + 1, "the rule has refused"
        assert not (tmp_path / "folder").exists()


def choosing_by_kind(kind: str) -> Answer:
    """Answers as a client does that allows by itself: the first option of the kind."""

    async def answer(method: str, parameters: Mapping[str, Any]) -> Any:
        option = next(one for one in parameters["options"] if one["kind"] == kind)
        return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}

    return answer


@pytest.mark.parametrize(("chosen", "runs"), [("Allow drop", True), ("Cancel", False), ("Deny", False)])
async def test_a_dangerous_call_needs_its_word_chosen_where_there_are_no_forms(
    tmp_path: Path, chosen: str, runs: bool
) -> None:
    async def answer(method: str, parameters: Mapping[str, Any]) -> Any:
        name = "Allow once" if len(client.asked) == 1 else chosen
        return await choosing(name)(method, parameters)

    async with bayou("--permissions", "full", answer=answer) as client:
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "run git stash drop")
        first, second = (parameters["options"] for _, parameters in client.asked)
        assert [(one["name"], one["kind"]) for one in first] == [
            ("Deny", "reject_once"),
            ("Allow once, although DANGEROUS", "allow_once"),
        ]
        assert [one["kind"] for one in second] == ["allow_once", "allow_once", "reject_once"]
        assert ("not a git repository" in str(client.updates)) is runs


async def test_a_client_that_allows_by_itself_allows_nothing_dangerous(tmp_path: Path) -> None:
    async with bayou("--permissions", "full", answer=choosing_by_kind("allow_once")) as client:
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "run git stash drop")
        assert len(client.asked) == 2
        assert "The user denied it" in str(client.updates)


@pytest.mark.parametrize(("typed", "runs"), [("drop", True), ("yes", False)])
async def test_a_dangerous_call_needs_its_word_typed_where_there_are_forms(
    tmp_path: Path, typed: str, runs: bool
) -> None:
    async def answer(method: str, parameters: Mapping[str, Any]) -> Any:
        if method == "session/request_permission":
            return await choosing("Allow once")(method, parameters)
        assert "Type drop to allow it once" in str(parameters)
        return {"action": "accept", "content": {"answer": typed}}

    async with bayou("--permissions", "full", answer=answer) as client:
        await client.initialize(elicitation={"form": {}})
        await client.prompt(await client.new(tmp_path), "run git stash drop")
        assert ("not a git repository" in str(client.updates)) is runs


async def test_a_yes_right_behind_a_switch_to_read_only_lets_nothing_run(tmp_path: Path) -> None:
    """The question of before the switch is judged by the mode of now, although the answer came with it."""
    async with bayou("--permissions", "ask") as client:
        await client.initialize()
        session = await client.new(tmp_path)
        switching: list[asyncio.Future[Any]] = []

        async def switch_and_allow(method: str, parameters: Mapping[str, Any]) -> Any:
            switch = client.call("session/set_mode", sessionId=session, modeId="read-only")
            switching.append(asyncio.ensure_future(switch))
            await asyncio.sleep(0)  # it is written first
            return await choosing("Allow once")(method, parameters)

        client.answer = switch_and_allow
        await client.prompt(session, "run touch new-file")
        await asyncio.gather(*switching)
        assert len(client.asked) == 1
        assert client.of("tool_call_update")[-1]["status"] == "failed"
        assert not (tmp_path / "new-file").exists()


@pytest.mark.parametrize(
    "outcome",
    [
        {"outcome": "cancelled", "optionId": "0"},
        {"outcome": "selected", "optionId": "99"},
        {"outcome": "selected", "optionId": "Allow once"},
    ],
)
async def test_an_answer_that_chooses_nothing_lets_nothing_run(
    tmp_path: Path, outcome: Mapping[str, Any]
) -> None:
    async def answer(method: str, parameters: Mapping[str, Any]) -> Any:
        return {"outcome": outcome}

    async with bayou("--permissions", "ask", answer=answer) as client:
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "run touch new-file")
        assert len(client.asked) == 1
        assert not (tmp_path / "new-file").exists()


async def test_a_change_is_shown_as_its_diff(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with bayou("--permissions", "ask", answer=choosing("Allow once")) as client:
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "change one to two in a.txt")
        content = (await asked_in(client))["toolCall"]["content"]
        diff = {"type": "diff", "path": str(tmp_path / "a.txt"), "oldText": "one\n", "newText": "two\n"}
        assert diff in content


async def test_a_new_file_is_shown_with_its_whole_text(tmp_path: Path) -> None:
    calls = json.dumps([("write", {"path": "new.txt", "content": "one\ntwo\n"})])
    async with bayou("-e", CALLS, "--permissions", "ask", answer=choosing("Allow once")) as client:
        await client.initialize()
        await client.prompt(await client.new(tmp_path), calls)
        content = (await asked_in(client))["toolCall"]["content"]
        assert {"type": "diff", "path": str(tmp_path / "new.txt"), "newText": "one\ntwo\n"} in content
        assert (tmp_path / "new.txt").read_text() == "one\ntwo\n"


async def test_cancelling_takes_the_question_back_and_ends_the_turn(tmp_path: Path) -> None:
    never = asyncio.Event()

    async def silent(method: str, parameters: Mapping[str, Any]) -> Any:
        await never.wait()

    async with bayou("--permissions", "ask", answer=silent) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        turn = asyncio.ensure_future(client.prompt(session, "run touch new-file"))
        await asked_in(client)
        client.notify("session/cancel", sessionId=session)
        assert await turn == "cancelled"
        await client.until(lambda: client.taken_back)
        # a client that dies while a question waits ends bayou
        turn = asyncio.ensure_future(client.prompt(session, "run touch new-file"))
        await client.until(lambda: len(client.asked) == 2)
        assert await client.close() == 0
        assert await turn == "cancelled"


async def test_questions_of_extensions_are_forms_where_the_client_has_them(tmp_path: Path) -> None:
    async def fill_in(method: str, parameters: Mapping[str, Any]) -> Any:
        if method == "session/request_permission":
            return {"outcome": {"outcome": "selected", "optionId": "0"}}
        [(name, field)] = parameters["requestedSchema"]["properties"].items()
        value = field["oneOf"][1]["const"] if "oneOf" in field else "typed"
        return {"action": "accept", "content": {name: value}}

    async with scripted_client(answer=fill_in, elicitation={"form": {}}) as client:
        assert await client.prompt(await client.new(tmp_path), "/ask") == "end_turn"
        assert "b True typed typed" in client.text()
    async with scripted_client(answer=fill_in) as client:
        assert await client.prompt(await client.new(tmp_path), "/ask") == "end_turn"
        assert "a True None None" in client.text(), "a choice can be asked as a permission, a text cannot"


async def test_questions_of_the_agent_are_a_form_with_a_text_beside_the_choices(tmp_path: Path) -> None:
    call = {
        "questions": [
            {
                "question": "Which oar?",
                "options": [{"label": "left"}, {"label": "right", "description": "new"}],
            },
            {"question": "And what else?", "options": ["rope", "net, small"], "multiple": True},
            {"question": "Why?"},
        ]
    }

    async def fill_in(method: str, parameters: Mapping[str, Any]) -> Any:
        assert method == "elicitation/create"
        properties = parameters["requestedSchema"]["properties"]
        assert list(properties) == ["q1", "q1_other", "q2", "q2_other", "q3"]
        assert [one["title"] for one in properties["q1"]["oneOf"]] == ["left", "right: new"]
        content = {"q1_other": "both", "q2": ["net, small"], "q2_other": "a lamp", "q3": "night"}
        return {"action": "accept", "content": content}

    async with bayou("-e", CALLS, answer=fill_in) as client:
        await client.initialize(elicitation={"form": {}})
        await client.prompt(await client.new(tmp_path), json.dumps([("ask", call)]))
        shown = str(client.of("tool_call_update")[-1])
        assert "Which oar?\\n→ both" in shown and "→ net, small; a lamp" in shown and "→ night" in shown


async def test_a_client_without_forms_is_asked_choices_one_by_one_and_no_text(tmp_path: Path) -> None:
    oar = {"question": "Which oar?", "options": ["left", "right"]}
    calls = [
        ("ask", {"questions": [oar, {**oar, "question": "Which sail?"}]}),
        ("ask", {"questions": [{"question": "Why?"}]}),
    ]
    async with bayou("-e", CALLS, answer=choosing("right")) as client:
        await client.initialize()
        await client.prompt(await client.new(tmp_path), json.dumps(calls))
        shown = str(client.updates)
        assert "Which oar?\\n→ right\\nWhich sail?\\n→ right" in shown
        assert "client cannot show this form. Ask only questions with choices" in shown
