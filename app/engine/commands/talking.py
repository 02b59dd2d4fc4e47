"""Commands that talk: prompts, queues, aborting, the user's shell."""

from typing import Any, Literal

from app.agent.ports import InterruptMode
from app.agent.queues import QueueMode
from app.engine.commands.base import Command, NoParams, Params, command, for_the_system
from app.engine.commands.results import BashResult, Disposed, Removed
from app.engine.session import Session
from app.values.content import Image
from app.values.events import CompactionResult


class Say(Params, frozen=True, kw_only=True):
    message: str
    images: tuple[Image, ...] = ()


class Prompt(Say, frozen=True, kw_only=True):
    streaming_behavior: Literal["steer", "followUp"] | None = None


class Mode(Params, frozen=True, kw_only=True):
    mode: QueueMode


class Interrupt(Params, frozen=True, kw_only=True):
    mode: InterruptMode


class Switch(Params, frozen=True, kw_only=True):
    enabled: bool


class Compact(Params, frozen=True, kw_only=True):
    custom_instructions: str | None = None


class Bash(Params, frozen=True, kw_only=True):
    command: str
    exclude_from_context: bool = False
    id: Any = None
    """The command's own; its `bash_execution_update` events carry it."""


async def prompt(session: Session, params: Prompt) -> Disposed:
    behavior: Any = {"steer": "steer", "followUp": "follow_up", None: None}[params.streaming_behavior]
    disposition = await session.prompt(params.message, params.images, while_running=behavior, source="rpc")
    return {"disposition": disposition}


async def steer(session: Session, params: Say) -> Disposed:
    return {"disposition": await session.queue("steering", params.message, params.images, source="rpc")}


async def follow_up(session: Session, params: Say) -> Disposed:
    return {"disposition": await session.queue("follow_up", params.message, params.images, source="rpc")}


async def abort(session: Session, params: NoParams) -> None:
    await session.abort()


async def abort_and_prompt(session: Session, params: Say) -> Disposed:
    await session.abort()
    return {"disposition": await session.prompt(params.message, params.images, source="rpc")}


async def clear_queue(session: Session, params: NoParams) -> Removed:
    steering, follow_ups = session.clear_queues()
    return {"steering": list(steering), "followUp": list(follow_ups)}


async def set_steering_mode(session: Session, params: Mode) -> None:
    session.keep_setting("steeringMode", params.mode)


async def set_follow_up_mode(session: Session, params: Mode) -> None:
    session.keep_setting("followUpMode", params.mode)


async def set_interrupt_mode(session: Session, params: Interrupt) -> None:
    session.keep_setting("interruptMode", params.mode)


async def set_auto_retry(session: Session, params: Switch) -> None:
    session.keep_setting("retry.enabled", params.enabled)


async def abort_retry(session: Session, params: NoParams) -> None:
    session.give_up_retry()


async def retry_now(session: Session, params: NoParams) -> None:
    session.retry_now()


async def compact(session: Session, params: Compact) -> Any:
    return await session.compact(params.custom_instructions)


async def set_auto_compaction(session: Session, params: Switch) -> None:
    session.keep_setting("compaction.mode", "auto" if params.enabled else "off")


async def bash(session: Session, params: Bash) -> BashResult:
    update_id = params.id if isinstance(params.id, str) else None
    words = for_the_system(params.command, "command")
    done = await session.run_shell(words, exclude=params.exclude_from_context, update_id=update_id)
    data: BashResult = {"output": done.output, "cancelled": done.cancelled, "truncated": done.truncated}
    if done.exit_code is not None:
        data["exitCode"] = done.exit_code
    if done.full_output_path is not None:
        data["fullOutputPath"] = done.full_output_path
    return data


async def abort_bash(session: Session, params: NoParams) -> None:
    session.abort_shell()


TALKING: tuple[Command, ...] = (
    command("prompt", Prompt, prompt, "Send a prompt.", Disposed),
    command("steer", Say, steer, "Queue a message for before the next request.", Disposed),
    command("follow_up", Say, follow_up, "Queue a message for when the agent would stop.", Disposed),
    command("abort", NoParams, abort, "Stop what is under way; answers once it has settled."),
    command("abort_and_prompt", Say, abort_and_prompt, "Abort, then send a prompt.", Disposed),
    command("clear_queue", NoParams, clear_queue, "Take the queued messages back.", Removed),
    command("set_steering_mode", Mode, set_steering_mode, "How many steering messages go at once."),
    command("set_follow_up_mode", Mode, set_follow_up_mode, "How many follow-ups go at once."),
    command("set_interrupt_mode", Interrupt, set_interrupt_mode, "Whether steering waits for running tools."),
    command("set_auto_retry", Switch, set_auto_retry, "Switch retries after errors on or off."),
    command("abort_retry", NoParams, abort_retry, "Give up a retry that is waiting."),
    command("retry_now", NoParams, retry_now, "Do not wait for the retry's delay."),
    command("compact", Compact, compact, "Summarise the older part of the context.", CompactionResult),
    command("set_auto_compaction", Switch, set_auto_compaction, "Switch automatic compaction on or off."),
    command(
        "bash",
        Bash,
        bash,
        "Run a command as the person.",
        BashResult,
    ),
    command("abort_bash", NoParams, abort_bash, "Stop the person's command."),
)
