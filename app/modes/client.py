"""Driving bayou from Python: starts `bayou --mode rpc`, sends commands, hands out events.

async with RpcClient(cwd=project) as bayou:
    await bayou.prompt_and_wait("What does main.py do?")
    print(await bayou.get_last_assistant_text())

The process and its lines are `connection`'s business. docs/rpc.md describes the commands.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from app.engine.commands import results
from app.engine.commands.jobs import JobInfo
from app.modes.connection import Connection, HostTool, RpcError
from app.values.content import Image
from app.values.events import AgentSettled, CompactionResult, Event
from app.values.messages import Message
from app.values.models import Model
from app.values.wire import from_wire

__all__ = ["RpcClient", "RpcError"]


class RpcClient(Connection):
    """One bayou process: a method for every command."""

    # Waiting

    async def collect_events(self, timeout: float = 60.0) -> list[Event]:
        """Everything from now until the agent has settled. Raises `RpcError` when bayou ends before."""
        events: list[Event] = []
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def note(data: Mapping[str, Any]) -> None:
            try:
                event = from_wire(dict(data), Event)
            except msgspec.ValidationError:
                return  # an event of a newer bayou
            events.append(event)
            if isinstance(event, AgentSettled) and not done.done():
                done.set_result(None)

        leave = self.on_event(note)
        ended = asyncio.ensure_future(self.wait_until_ended())
        try:
            async with asyncio.timeout(timeout):
                await asyncio.wait({done, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leave()
            ended.cancel()
        if not done.done():
            raise self.gone()
        return events

    async def wait_for_idle(self, timeout: float = 60.0) -> None:
        """Returns at once when nothing is under way."""
        settled = asyncio.ensure_future(self.collect_events(timeout))
        await asyncio.sleep(0)  # it listens before we ask
        try:
            if (await self.get_state())["isStreaming"]:
                await settled
        finally:
            settled.cancel()

    async def prompt_and_wait(
        self, message: str, images: Sequence[Image] = (), timeout: float = 60.0
    ) -> list[Event]:
        """Sends a prompt and returns everything that came of it; nothing, if it was dealt with at once."""
        collected = asyncio.ensure_future(self.collect_events(timeout))
        await asyncio.sleep(0)  # it listens before the prompt goes out
        try:
            if await self.prompt(message, images) == "handled":
                return []
            return await collected
        finally:
            collected.cancel()

    # Talking

    async def prompt(
        self, message: str, images: Sequence[Image] = (), streaming_behavior: str | None = None
    ) -> str:
        data = await self.request(
            "prompt", message=message, images=list(images) or None, streamingBehavior=streaming_behavior
        )
        return str(data["disposition"])

    async def steer(self, message: str, images: Sequence[Image] = ()) -> str:
        data = await self.request("steer", message=message, images=list(images) or None)
        return str(data["disposition"])

    async def follow_up(self, message: str, images: Sequence[Image] = ()) -> str:
        data = await self.request("follow_up", message=message, images=list(images) or None)
        return str(data["disposition"])

    async def abort(self) -> None:
        await self.request("abort")

    async def abort_and_prompt(self, message: str, images: Sequence[Image] = ()) -> str:
        data = await self.request("abort_and_prompt", message=message, images=list(images) or None)
        return str(data["disposition"])

    async def clear_queue(self) -> results.Removed:
        return await self.request("clear_queue")

    async def set_steering_mode(self, mode: results.Mode) -> None:
        await self.request("set_steering_mode", mode=mode)

    async def set_follow_up_mode(self, mode: results.Mode) -> None:
        await self.request("set_follow_up_mode", mode=mode)

    async def set_interrupt_mode(self, mode: str) -> None:
        await self.request("set_interrupt_mode", mode=mode)

    async def set_auto_retry(self, enabled: bool) -> None:
        await self.request("set_auto_retry", enabled=enabled)

    async def abort_retry(self) -> None:
        await self.request("abort_retry")

    async def retry_now(self) -> None:
        await self.request("retry_now")

    async def set_auto_compaction(self, enabled: bool) -> None:
        await self.request("set_auto_compaction", enabled=enabled)

    async def get_state(self) -> results.State:
        return await self.request("get_state")

    async def get_messages(self) -> list[Message]:
        data = await self.request("get_messages")
        return [from_wire(message, Message) for message in data["messages"]]

    async def get_last_assistant_text(self) -> str | None:
        return (await self.request("get_last_assistant_text") or {}).get("text")

    async def get_available_models(self) -> list[Model]:
        data = await self.request("get_available_models")
        return [from_wire(model, Model) for model in data["models"]]

    async def set_model(self, provider: str, model_id: str) -> Model:
        return from_wire(await self.request("set_model", provider=provider, modelId=model_id), Model)

    async def cycle_model(self) -> results.CycledModel | None:
        return await self.request("cycle_model")

    async def cycle_thinking_level(self) -> str | None:
        data = await self.request("cycle_thinking_level")
        return None if data is None else data["level"]

    async def set_thinking_level(self, level: str) -> None:
        await self.request("set_thinking_level", level=level)

    async def get_available_thinking_levels(self) -> list[str]:
        return (await self.request("get_available_thinking_levels"))["levels"]

    async def compact(self, custom_instructions: str | None = None) -> CompactionResult:
        data = await self.request("compact", customInstructions=custom_instructions)
        return from_wire(data, CompactionResult)

    async def bash(self, command: str, exclude_from_context: bool = False) -> results.BashResult:
        return await self.request("bash", command=command, excludeFromContext=exclude_from_context)

    async def abort_bash(self) -> None:
        await self.request("abort_bash")

    async def get_session_stats(self) -> results.SessionStats:
        return await self.request("get_session_stats")

    async def get_context_usage(self) -> results.Usage | None:
        return await self.request("get_context_usage")

    async def get_commands(self) -> list[results.CommandInfo]:
        return (await self.request("get_commands"))["commands"]

    async def export_html(self, output_path: str | None = None) -> str:
        return (await self.request("export_html", outputPath=output_path))["path"]

    async def new_session(self, parent_session: str | None = None) -> results.Moved:
        return await self.request("new_session", parentSession=parent_session)

    async def switch_session(self, session_path: str) -> results.Moved:
        return await self.request("switch_session", sessionPath=session_path)

    async def fork(self, entry_id: str) -> results.Forked:
        return await self.request("fork", entryId=entry_id)

    async def branch(self, entry_id: str) -> results.Forked:
        return await self.request("branch", entryId=entry_id)

    async def clone(self) -> results.Moved:
        return await self.request("clone")

    async def get_fork_messages(self) -> list[results.ForkMessage]:
        return (await self.request("get_fork_messages"))["messages"]

    async def get_branch_messages(self) -> list[results.ForkMessage]:
        return (await self.request("get_branch_messages"))["messages"]

    async def get_entries(self, since: str | None = None) -> dict[str, Any]:
        return await self.request("get_entries", since=since)

    async def get_tree(self) -> dict[str, Any]:
        return await self.request("get_tree")

    async def navigate_tree(
        self,
        entry_id: str | None,
        *,
        summarize: bool = False,
        custom_instructions: str | None = None,
        replace_instructions: bool = False,
        label: str | None = None,
    ) -> results.Navigated:
        return await self.request(
            "navigate_tree",
            entryId=entry_id,
            summarize=summarize,
            customInstructions=custom_instructions,
            replaceInstructions=replace_instructions,
            label=label,
        )

    async def merge_branch(
        self,
        entry_id: str,
        *,
        custom_instructions: str | None = None,
        replace_instructions: bool = False,
        label: str | None = None,
    ) -> results.Navigated:
        return await self.request(
            "merge_branch",
            entryId=entry_id,
            customInstructions=custom_instructions,
            replaceInstructions=replace_instructions,
            label=label,
        )

    async def undo_compaction(self) -> results.Navigated:
        return await self.request("undo_compaction")

    async def set_label(self, entry_id: str, label: str | None) -> None:
        await self.request("set_label", entryId=entry_id, label=label)

    async def set_session_name(self, name: str) -> None:
        await self.request("set_session_name", name=name)

    async def list_jobs(self) -> list[JobInfo]:
        return (await self.request("list_jobs"))["jobs"]

    async def get_job(self, job_id: str) -> JobInfo:
        """With the end of its output."""
        return await self.request("get_job", jobId=job_id)

    async def wait_for_job(self, job_id: str, timeout: float | None = None) -> JobInfo:
        """Answers when the job has ended, or after so many seconds."""
        return await self.request("wait_for_job", jobId=job_id, timeout=timeout)

    async def kill_job(self, job_id: str) -> None:
        await self.request("kill_job", jobId=job_id)

    async def pin_job(self, job_id: str, pinned: bool = True) -> JobInfo:
        """A pinned job goes on when the session is left."""
        return await self.request("pin_job", jobId=job_id, pinned=pinned)

    async def set_host_tools(
        self, tools: Sequence[Mapping[str, Any]], run: Mapping[str, HostTool]
    ) -> list[str]:
        """Gives the model tools that this program carries out. `tools`: name, description, parameters."""
        self.tools = dict(run)
        return (await self.request("set_host_tools", tools=list(tools)))["toolNames"]
