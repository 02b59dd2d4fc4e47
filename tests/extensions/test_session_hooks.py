"""Hooks around a session as a whole: leaving it, forking it, ending it, its prompt, the person's commands."""

from pathlib import Path
from typing import Any

import pytest

from app.engine.core.prompt_intake import SessionSwitchCancelled
from app.engine.tree.tree_commands import clone, fork, new_session
from app.engine.user_runs.user_shell import CommandBlocked
from app.extensions.hooks.payloads import SessionBeforeFork, SessionBeforeSwitch, SessionShutdown
from app.providers.scripted import say
from app.values.messages import UserMessage
from bayou import ExtensionApi
from tests.extensions.extension_session import ExtensionSession
from tests.extensions.test_every_hook import is_prompt


async def test_going_elsewhere_is_asked_about_and_told(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, say("a"))
    told: list[Any] = []

    def listens(api: ExtensionApi) -> None:
        for name in ("session_before_switch", "session_shutdown"):
            api.on(name, lambda event, context: told.append(event))

    await ext_session.load(listens)
    assert await new_session(ext_session.harness.session) == {"cancelled": False}
    asked, shutdown = told
    assert isinstance(asked, SessionBeforeSwitch) and asked.reason == "new"
    assert isinstance(shutdown, SessionShutdown) and shutdown.reason == "new"
    assert shutdown.target_session_file == ext_session.harness.session.log.path


async def test_an_extension_may_stay(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, say("a"))

    def stays(api: ExtensionApi) -> None:
        api.on("session_before_switch", lambda event, context: {"cancel": True})

    await ext_session.load(stays)
    session = ext_session.harness.session
    before = session.log
    assert await new_session(session) == {"cancelled": True}
    with pytest.raises(SessionSwitchCancelled):
        await session.branches.open_session(ext_session.harness.places.create_session(), "resume")
    assert session.log is before and not before.is_read_only


async def test_a_fork_is_asked_about_before_a_file_is_made(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, say("a"))
    asked: list[Any] = []

    def stays(api: ExtensionApi) -> None:
        @api.on("session_before_fork")
        def refuse(event: Any, context: Any) -> Any:
            asked.append(event)
            return {"cancel": True}

    await ext_session.load(stays)
    await ext_session.prompt("go")
    session = ext_session.harness.session
    count = len(list(tmp_path.rglob("*.jsonl")))
    assert await clone(session) == {"cancelled": True}
    assert await fork(session, _prompt_of(session)) == {"cancelled": True}
    assert [type(event) for event in asked] == [SessionBeforeFork, SessionBeforeFork]
    assert [event.position for event in asked] == ["at", "before"]
    assert len(list(tmp_path.rglob("*.jsonl"))) == count


async def test_resuming_and_forking_say_goodbye_with_where_one_goes(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, say("a"), say("b"))
    told: list[Any] = []

    def listens(api: ExtensionApi) -> None:
        api.on(
            "session_shutdown", lambda event, context: told.append((event.reason, event.target_session_file))
        )
        api.on("session_start", lambda event, context: told.append((event.reason, None)))

    await ext_session.load(listens)
    await ext_session.prompt("go")
    session = ext_session.harness.session
    first = session.log.path
    assert await fork(session, _prompt_of(session))
    forked = session.log.path
    await session.events.wait_until_delivered()
    assert first is not None
    await session.branches.open_session(ext_session.harness.places.open_file(first), "resume")
    await session.events.wait_until_delivered()
    assert told == [("fork", forked), ("fork", None), ("resume", first), ("resume", None)]


async def test_the_system_prompt_of_one_run(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, say("a"), say("b"))
    answers: list[Any] = [{"system_prompt": "You are a boat."}, None]

    def changes(api: ExtensionApi) -> None:
        api.on("before_agent_start", lambda event, context: answers.pop(0))

    await ext_session.load(changes)
    await ext_session.prompt("one")
    assert ext_session.asked[0].system_prompt == "You are a boat."
    assert ext_session.harness.session.requests.prompt_sections() == {"preamble": "You are a boat."}
    await ext_session.prompt("two")
    assert ext_session.harness.session.requests.prompt_sections() == {"preamble": "You are a test."}


async def test_the_end_is_reported_once(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, say("a"))
    told: list[Any] = []

    def listens(api: ExtensionApi) -> None:
        api.on("session_shutdown", lambda event, context: told.append(event.reason))

    await ext_session.load(listens)
    await ext_session.harness.session.announce_end()
    await ext_session.harness.session.announce_end()
    assert told == ["quit"]


async def test_a_persons_command_is_answered_changed_or_blocked(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, say("a"))

    def gate(api: ExtensionApi) -> None:
        @api.on("user_bash")
        def decide(event: Any, context: Any) -> Any:
            if event.command == "no":
                return {"block": True, "reason": "not here"}
            if event.command == "known":
                return {"result": {"output": "as it always is", "exit_code": 3}}
            return {"command": "echo changed"}

    await ext_session.load(gate)
    known = await ext_session.harness.session.shell.run_command("known")
    assert (known.output, known.exit_code) == ("as it always is", 3)
    message = await ext_session.harness.session.shell.run_command("echo as it was")
    assert message.output.strip() == "changed"
    with pytest.raises(CommandBlocked, match="not here"):
        await ext_session.harness.session.shell.run_command("no")


async def test_what_the_shell_is_to_run_can_be_changed(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, say("a"))
    (tmp_path / "elsewhere").mkdir()

    def changes(api: ExtensionApi) -> None:
        api.on(
            "spawn", lambda event, context: {"command": f"{event.command}; pwd", "environment": {"A": "1"}}
        )
        api.on(
            "spawn",
            lambda event, context: {"cwd": tmp_path / "elsewhere"} if "A" in event.environment else None,
        )

    await ext_session.load(changes)
    message = await ext_session.harness.session.shell.run_command("echo $A")
    assert message.output == f"1\n{tmp_path / 'elsewhere'}\n"


def _prompt_of(session: Any) -> str:
    return next(message.id for message in session.messages if isinstance(message, UserMessage))


async def test_before_extensions_are_bound_nothing_is_asked_and_everything_works(tmp_path: Path) -> None:
    """The page is there before extensions are: a person may go about meanwhile."""
    ext_session = ExtensionSession(tmp_path, say("a"), say("b"))
    session = ext_session.harness.session
    await ext_session.harness.prompt("one")
    assert (await session.shell.run_command("echo hi")).output.strip() == "hi"
    prompt = next(entry.id for entry in session.log.entries if is_prompt(entry))
    assert (await session.branches.go_to_entry(prompt)).prompt_text == "one"
    await ext_session.harness.prompt("two")
    leaf = session.state.leaf_id
    assert leaf is not None and await session.branches.fork(leaf, "at")
    await session.branches.start_new_session()
    assert session.commands() == []
    await session.announce_end()
