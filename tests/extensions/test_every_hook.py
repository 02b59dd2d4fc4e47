"""One extension that waits for everything there is, in a session that does everything there is, in every face."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.assembly.assembled_session import AssembledSession
from app.assembly.command_line_options import CommandLineOptions
from app.assembly.extensions import extension_setup
from app.assembly.extensions.extension_setup import ConnectedExtensions
from app.assembly.session_builder import assemble_session
from app.engine.tree.tree_commands import fork, new_session
from app.extensions.headless_ui import EventPublishingUi, HeadlessUi
from app.extensions.hooks.hook_table import HOOK_DEFINITIONS, SESSION_EVENTS
from app.extensions.loading.extension_sources import ChosenExtensions, choose_extension_sources
from app.providers.scripted import ScriptedModel, call, say
from app.resources.paths import BayouPaths
from app.values.entries import Entry, MessageEntry
from app.values.events import QuestionAsked
from app.values.messages import UserMessage
from app.values.todos import GoalCheck, TodoItem, TodoPhase
from bayou import ExtensionApi
from tests.extensions.conftest import source
from tests.extensions.extension_host import AnsweringUi

LONG = "word " * 20_000
"""More than the recent part that a compaction keeps."""


class Stage:
    """A session put together as the program does it, with a project that has something to trust."""

    def __init__(self, home: Path, *responses: Any) -> None:
        project = home / "project"
        (project / ".bayou" / "prompts").mkdir(parents=True)
        (project / ".bayou" / "prompts" / "theirs.md").write_text("Do it.")
        (project / "a.txt").write_text("hello\n")
        self.paths = BayouPaths.from_env({"HOME": str(home)}, project)
        self.options = CommandLineOptions(permissions="full")
        self.assembled: AssembledSession = assemble_session(self.options, self.paths, {}, can_ask=True)
        self.assembled.effective_settings.set("diagnostics.when", "turn")
        self.session = self.assembled.session
        self.script = ScriptedModel(responses)
        self.assembled.model_choice.set_model(self.script.register(self.assembled.registry))
        self.told: list[str] = []

    def listens(self, api: ExtensionApi) -> None:
        for name in (*HOOK_DEFINITIONS, *SESSION_EVENTS):
            api.on(name, lambda payload, context, name=name: self.told.append(name))

        @api.command("ask")
        async def ask(arguments: str, context: Any) -> None:
            await context.ui.confirm("Sure?")
            context.ui.notify("asked")

        @api.command("loud")
        async def loud(arguments: str, context: Any) -> None:
            await api.append_entry("state", {"n": 1})
            await api.set_session_name("named")
            raise ValueError("on purpose")

    def _choose(self, *arguments: Any, **more: Any) -> ChosenExtensions:
        """What is found on disk, and the extension that is this test."""
        found = choose_extension_sources(*arguments, **more)
        return msgspec.structs.replace(found, sources=(*found.sources, source(self.listens, "listens")))

    @asynccontextmanager
    async def in_mode(self, mode: Any) -> AsyncIterator[ConnectedExtensions]:
        def publish(event: Any) -> None:
            if isinstance(event, QuestionAsked) and event.answer is not None:
                event.answer.set_result(True)
            self.session.events.publish_now(event)

        uis = {"tui": AnsweringUi([True]), "rpc": EventPublishingUi(publish), "print": HeadlessUi(publish)}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(extension_setup, "choose_extension_sources", self._choose)
            extended = await extension_setup.connect_extensions(
                self.assembled, self.options, self.paths, mode=mode, ui=uis[mode], shutdown=lambda: None
            )
        yield extended
        await self.session.announce_end()
        await self.session.events.wait_until_delivered()
        await self.session.close()

    async def prompt(self, text: str) -> None:
        await self.session.prompt(text, request_id=text)  # as a client does, which waits for the outcome
        await self.session.wait_until_idle()
        await self.session.events.wait_until_delivered()


NOT_WITH_A_SCRIPT = {"before_provider_request", "before_provider_headers", "provider_stream_event"}
"""These come with a request over the network: `test_provider_hooks` has them."""
SELDOM = {
    "auto_retry_start", "auto_retry_end", "summarization_retry_scheduled", "summarization_retry_attempt_start",
    "summarization_retry_finished", "provider_waiting", "provider_request_failed", "session_compact_failed",
    "compaction_progress", "tool_execution_update", "bash_execution_update", "answer_interrupted",
    "todo_reminder", "todo_auto_clear", "pending_changed", "mcp_servers_change", "diagnostics_start",
    "diagnostics_end", "question_asked",
}  # fmt: skip
"""What comes of failures and of time: `tests/engine` brings each about, `test_with_session` what a rule does."""


@pytest.mark.parametrize("mode", ["tui", "rpc", "print"])
async def test_everything_is_reported(tmp_path: Path, mode: str) -> None:
    stage = Stage(
        tmp_path / "home",
        call("read", path="a.txt"),
        say(LONG),
        call("edit", path="a.txt", edits=[{"oldText": "hello", "newText": "bye"}]),
        say("done"),
        call("task", prompt="look"),
        say("the helper has looked"),
        say("seen"),
        call("bash", command="true", background=True),
        say("again"),
        say("the job is done"),
        say("queued"),
        say("a summary"),
        say("after"),
    )
    session = stage.session
    async with stage.in_mode(mode):
        assert stage.told[:3] == ["project_trust", "resources_discover", "session_start"]
        await stage.prompt("/ask")
        await stage.prompt("/loud")
        await stage.prompt("read it")
        await stage.prompt("change it")
        await stage.prompt("let it look")
        await stage.prompt("once more")
        await session.jobs.wait(session.jobs.all()[0].id)
        await session.wait_until_idle()
        await session.queue("follow_up", "and this")
        session.resume()
        await session.wait_until_idle()
        session.events.notify("a note")
        session.plan.set_active(True)
        session.plan.set_active(False)
        await session.todos.replace_by_user([TodoPhase(name="Work", tasks=(TodoItem(content="Tea"),))])
        await session.todos.replace_by_user([])
        await session.goal.set_goal("Tea.", [GoalCheck(command="true")])
        await session.goal.clear_goal()
        await session.models.use_thinking_level("low")
        other = msgspec.structs.replace(stage.script.model, id="other")
        await session.models.use_model(other)
        await session.models.use_model(stage.script.model)
        await session.shell.run_command("echo hi")
        await session.compaction.compact("shorter")
        prompt = next(entry.id for entry in session.log.entries if is_prompt(entry))
        await session.branches.go_to_entry(prompt)
        await fork(session, prompt)
        await new_session(session)
        await session.events.wait_until_delivered()
    expected = {*HOOK_DEFINITIONS, *SESSION_EVENTS} - NOT_WITH_A_SCRIPT - SELDOM
    assert " ".join(sorted(expected - set(stage.told))) == ""


def is_prompt(entry: Entry) -> bool:
    return isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)
