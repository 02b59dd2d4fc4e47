"""Commands for the conversation: prompts, queues, aborting, the user's shell."""

from collections.abc import Sequence
from typing import Any, Literal

from app.agent.loop_ports import InterruptMode
from app.agent.message_queues import QueueMode
from app.engine.commands import response_data
from app.engine.commands.session_command import omit_none_fields, require_text_for_os, session_command
from app.engine.prompt_submission import PromptDisposition
from app.engine.session import Session
from app.values.content import Image
from app.values.events import CompactionResult


@session_command("Send a prompt", answer="disposition")
async def prompt(
    session: Session,
    message: str,
    images: Sequence[Image] = (),
    streaming_behavior: Literal["steer", "followUp"] | None = None,
    as_it_is: bool = False,
    id: Any = None,
) -> PromptDisposition:
    """Sends a prompt to the agent. With `as_it_is`, secrets in the message are sent unmasked. `id` is the request's
    id, which its `prompt_result` carries."""
    behavior: Any = {"steer": "steer", "followUp": "follow_up", None: None}[streaming_behavior]
    return await session.prompt(
        message, images, while_running=behavior, source="rpc", as_it_is=as_it_is, request_id=id
    )


@session_command(
    "Ask a side question, outside the conversation",
    answer="text",
)
async def ask_beside(session: Session, question: str) -> str:
    return await session.side_questions.ask_side_question(question)


@session_command(
    "Draft the first prompt of a new session for a goal",
    "Starts nothing.",
    answer="text",
)
async def draft_handoff(session: Session, goal: str) -> str:
    return await session.side_questions.draft_handoff(goal)


@session_command("Queue a message for the next request", answer="disposition")
async def steer(
    session: Session, message: str, images: Sequence[Image] = (), id: Any = None
) -> PromptDisposition:
    return await session.queue("steering", message, images, source="rpc", request_id=id)


@session_command("Queue a message for the end of the run", answer="disposition")
async def follow_up(
    session: Session, message: str, images: Sequence[Image] = (), id: Any = None
) -> PromptDisposition:
    return await session.queue("follow_up", message, images, source="rpc", request_id=id)


@session_command("Stop the running work", "Responds when it has stopped.", stops=True)
async def abort(session: Session) -> None:
    await session.abort()


@session_command("Abort, then send a prompt", answer="disposition", stops=True)
async def abort_and_prompt(
    session: Session, message: str, images: Sequence[Image] = (), id: Any = None
) -> PromptDisposition:
    await session.abort()
    return await session.prompt(message, images, source="rpc", request_id=id)


@session_command("Remove all queued messages", stops=True)
async def clear_queue(session: Session) -> response_data.Removed:
    steering, follow_ups = session.queues.take_all_user_messages()
    return {"steering": list(steering), "followUp": list(follow_ups)}


@session_command("How many steering messages are delivered at once")
async def set_steering_mode(session: Session, mode: QueueMode) -> None:
    session.settings.save_setting("steeringMode", mode)


@session_command("How many follow-ups are delivered at once")
async def set_follow_up_mode(session: Session, mode: QueueMode) -> None:
    session.settings.save_setting("followUpMode", mode)


@session_command("Whether steering messages wait for running tools")
async def set_interrupt_mode(session: Session, mode: InterruptMode) -> None:
    session.settings.save_setting("interruptMode", mode)


@session_command("Switch retries after errors on or off")
async def set_auto_retry(session: Session, enabled: bool) -> None:
    session.settings.save_setting("retry.enabled", enabled)


@session_command("Cancel a waiting retry", stops=True)
async def abort_retry(session: Session) -> None:
    session.retry_countdown.cancel()


@session_command("Retry now instead of waiting")
async def retry_now(session: Session) -> None:
    session.retry_countdown.retry_now()


@session_command("Summarise older messages", "The session file keeps the originals.")
async def compact(session: Session, custom_instructions: str | None = None) -> CompactionResult:
    return await session.compaction.compact(custom_instructions)


@session_command("Switch automatic compaction on or off")
async def set_auto_compaction(session: Session, enabled: bool) -> None:
    session.settings.save_setting("compaction.mode", "auto" if enabled else "off")


@session_command("Run a command as the user")
async def bash(
    session: Session, command: str, exclude_from_context: bool = False, id: Any = None
) -> response_data.BashResult:
    """Runs a shell command for the user. `id` is the request's id, which its `bash_execution_update` events carry."""
    update_id = id if isinstance(id, str) else None
    words = require_text_for_os(command, "command")
    done = await session.shell.run_command(words, exclude=exclude_from_context, update_id=update_id)
    return omit_none_fields(
        output=done.output,
        cancelled=done.cancelled,
        truncated=done.truncated,
        exitCode=done.exit_code,
        fullOutputPath=done.full_output_path,
    )


@session_command("Stop the user's command", stops=True)
async def abort_bash(session: Session) -> None:
    session.shell.abort()
