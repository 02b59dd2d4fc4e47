"""The client of the official Python SDK drives bayou through all that it can call."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, spawn_agent_process
from acp.client.connection import ClientSideConnection
from acp.helpers import embedded_text_resource, image_block, resource_block, resource_link_block, text_block
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    ClientCapabilities,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallUpdate,
)

from tests.acp.test_capabilities import MODEL, PHASES, PIXEL, calls


class Editor:
    """Allows every request, fills in every form, and keeps every update."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[ToolCallUpdate] = []
        self.changed = asyncio.Event()

    def on_connect(self, bayou: Any) -> None:
        """Uses the connection in the test alone."""

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **more: Any
    ) -> RequestPermissionResponse:
        self.asked.append(tool_call)
        chosen = next(one.option_id for one in options if one.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        self.updates.append(update)
        self.changed.set()

    async def create_elicitation(self, message: str, mode: Any, **more: Any) -> AcceptElicitationResponse:
        (name,) = mode.requested_schema.properties
        return AcceptElicitationResponse(action="accept", content={name: "typed"})

    def of(self, kind: str) -> list[Any]:
        return [one for one in self.updates if one.session_update == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(one.content.text for one in self.of(kind) if one.content.type == "text")

    async def until(self, text: str) -> None:
        async with asyncio.timeout(60):
            while text not in str(self.updates):
                self.changed.clear()
                await self.changed.wait()


def agent(editor: Any, extensions: Sequence[str]) -> Any:
    named = [word for path in extensions for word in ("-e", path)]
    return spawn_agent_process(
        editor, sys.executable, "-P", "-m", "app", "acp", *named, "--permissions", "ask",
        env={**os.environ, "BAYOU_OFFLINE_PACE": "0"}, use_unstable_protocol=True,
    )  # fmt: skip


async def test_it_prompts_answers_questions_and_goes_through_a_sessions_life(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    cwd, editor = str(tmp_path), Editor()
    async with agent(editor, [MODEL]) as (bayou, _):
        begun = await bayou.initialize(PROTOCOL_VERSION)
        assert begun.protocol_version == PROTOCOL_VERSION and begun.agent_info.name == "bayou"
        new = await bayou.new_session(cwd=cwd, mcp_servers=[])
        session = new.session_id
        await prompted(bayou, session, calls(("todo", {"op": "set", "phases": PHASES})))
        assert [one.status for one in editor.of("plan")[-1].entries] == ["in_progress", "pending"]
        await prompted(bayou, session, calls(("edit", {"path": "a.txt", "oldText": "one", "newText": "two"})))
        assert (tmp_path / "a.txt").read_text() == "two\n"
        (shown,) = [part for part in editor.asked[-1].content or () if part.type == "diff"]
        assert editor.asked[-1].kind == "edit" and (shown.old_text, shown.new_text) == ("one\n", "two\n")
        (diff,) = [
            part for one in editor.of("tool_call_update") for part in one.content or () if part.type == "diff"
        ]
        assert (diff.old_text, diff.new_text) == ("one\n", "two\n")

        blocks = [
            text_block("Look"),
            image_block(PIXEL, "image/png"),
            resource_link_block("a.txt", (tmp_path / "a.txt").as_uri()),
            resource_block(embedded_text_resource("file:///x/note.md", "# Note")),
        ]
        await bayou.prompt(session_id=session, prompt=blocks)
        assert "1 images and: Look" in editor.text() and "# Note" in editor.text()
        assert editor.of("usage_update")[-1].cost.amount > 0

        options = await bayou.set_config_option(
            session_id=session, config_id="model", value="scripted/second"
        )
        assert {one.id: one.current_value for one in options.config_options}["model"] == "scripted/second"
        await bayou.set_session_mode(session_id=session, mode_id="full")
        waiting = asyncio.ensure_future(prompted(bayou, session, "wait"))
        await editor.until("begun")
        await bayou.cancel(session_id=session)
        assert await waiting == "cancelled"

        forked = await bayou.fork_session(session_id=session, cwd=cwd, mcp_servers=[])
        assert await prompted(bayou, forked.session_id, "in the fork") == "end_turn"
        listed = (await bayou.list_sessions(cwd=cwd)).sessions
        assert {one.session_id for one in listed} == {session, forked.session_id}
        await bayou.close_session(session_id=session)
        editor.updates.clear()
        await bayou.load_session(session_id=session, cwd=cwd, mcp_servers=[])
        assert "Look" in editor.text("user_message_chunk") and "1 images" in editor.text()
        assert [one.kind for one in editor.of("tool_call")] == ["think", "edit", "execute"]
        await bayou.close_session(session_id=session)
        await bayou.resume_session(session_id=session, cwd=cwd, mcp_servers=[])
        assert await prompted(bayou, session, "resumed") == "end_turn"


async def test_it_fills_in_the_forms_of_an_extension(tmp_path: Path) -> None:
    editor = Editor()
    stage = str(Path(__file__).parents[1] / "modes" / "extensions" / "stage.py")
    async with agent(editor, [stage]) as (bayou, _):
        form = ElicitationCapabilities(form=ElicitationFormCapabilities())
        await bayou.initialize(PROTOCOL_VERSION, ClientCapabilities(elicitation=form))
        session = (await bayou.new_session(cwd=str(tmp_path), mcp_servers=[])).session_id
        assert await prompted(bayou, session, "/ask") == "end_turn"
        assert "True typed typed" in editor.text()


async def prompted(bayou: ClientSideConnection, session: str, text: str) -> str:
    answer = await bayou.prompt(session_id=session, prompt=[text_block(text)])
    return answer.stop_reason
