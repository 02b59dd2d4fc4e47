"""The slash commands that a client offers: bayou's own, and those of extensions, prompts, skills and servers."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from app.engine.goals.goal_commands import check_goal
from app.engine.goals.goal_texts import (
    continue_goal_prompt,
    goal_state_text,
    parse_goal,
    short_goal_check_text,
)
from app.engine.session import Session
from app.modes.acp.acp_session_options import use_model
from app.modes.acp.update_messages import CommandInputHint, OfferedSlashCommand
from app.values.models import thinking_level
from app.values.user_errors import UserError

_MAX_LISTED_MODELS = 60


class BuiltinSlashCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A slash command that bayou itself offers to the client."""

    description: str
    run: Callable[[Session, str], Awaitable[str]]
    """Runs the command with the text after its name; returns the text to show."""
    hint: str = ""


async def _run_compact(session: Session, words: str) -> str:
    result = await session.compaction.compact(words or None)
    after = result.estimated_tokens_after
    told = f"{result.tokens_before:,} tokens" + (f", now about {after:,}" if after is not None else "")
    return f"Compacted: {told}."


async def _run_model(session: Session, words: str) -> str:
    if not words:
        names = [model.key for model in session.models.model_choice.available_models()]
        more = f"\n… and {len(names) - _MAX_LISTED_MODELS} more" if len(names) > _MAX_LISTED_MODELS else ""
        now = session.model.key if session.model is not None else "none"
        return (
            f"Now: {now}. Available:\n" + "\n".join(f"- {name}" for name in names[:_MAX_LISTED_MODELS]) + more
        )
    await use_model(session, words)
    assert session.model is not None
    return f"The next request uses {session.model.name}."


async def _run_thinking(session: Session, words: str) -> str:
    levels = session.state.thinking_levels
    if not words:
        return f"Now: {session.state.thinking}. Levels: {', '.join(levels)}."
    level = thinking_level(words)
    if level is None or level not in levels:
        raise UserError(f"There is no thinking level {words}. Levels: {', '.join(levels)}.")
    await session.models.use_thinking_level(level)
    return f"Thinking level: {level}."


async def _run_name(session: Session, words: str) -> str:
    if not words:
        return f"Name: {session.state.name or '(none)'}. /name TEXT sets it."
    await session.notes.rename(words)
    return f"The session is named {words}."


async def _run_session(session: Session, words: str) -> str:
    state, stats = session.state, session.stats
    usage = session.context_usage()
    window = f"{state.context_tokens:,} of {usage.context_window:,}" if usage is not None else "unknown"
    return "\n".join(
        (
            f"- Session: {state.session_id}",
            f"- File: {state.file or '(not saved)'}",
            f"- Messages: {stats.total_messages} ({stats.tool_calls} tool calls)",
            f"- Context: {window} tokens",
            f"- Cost: ${stats.usage.cost.total:.4f}",
        )
    )


async def _run_export(session: Session, words: str) -> str:
    target = session.cwd / words if words else None
    try:
        written = await asyncio.to_thread(session.export_to_file, target)
    except OSError as problem:
        raise UserError(f"{problem.filename or target}: {problem.strerror or problem}.") from None
    return f"Written: {written}"


async def _run_goal(session: Session, words: str) -> str:
    if words == "clear":
        await session.goal.clear_goal()
        return "The goal was removed."
    if words == "check":
        await check_goal(session)
        return ""
    view = await session.goal.check_goal_staleness()
    if view is None:
        return "No goal is set. /goal TEXT check: COMMAND sets one."
    return f"Goal {goal_state_text(view)}.\n\n{short_goal_check_text(view.goal)}"


async def start_goal_from_prompt(session: Session, text: str) -> str | None:
    """Sets or continues the goal of a `/goal` prompt; returns the prompt to send instead. None: it is another prompt,
    or a `/goal` that sends none. Raises `UserError`."""
    name, _, words = text.strip().partition(" ")
    words = words.strip()
    if name != "/goal" or words in ("", "check", "clear"):
        return None
    if words == "continue":
        return continue_goal_prompt(await session.goal.resume_goal())
    aim, checks = parse_goal(words)
    await session.goal.set_goal(aim, checks)
    return aim


BUILTIN_SLASH_COMMANDS: Mapping[str, BuiltinSlashCommand] = {
    "compact": BuiltinSlashCommand(
        description="Summarise older messages", run=_run_compact, hint="what to keep"
    ),
    "model": BuiltinSlashCommand(
        description="Show or switch the model", run=_run_model, hint="provider/model"
    ),
    "thinking": BuiltinSlashCommand(
        description="Show or set how much the model thinks", run=_run_thinking, hint="thinking level"
    ),
    "goal": BuiltinSlashCommand(
        description="Work until a check passes; show, check, continue or clear the goal",
        run=_run_goal,
        hint="TEXT check: COMMAND",
    ),
    "name": BuiltinSlashCommand(description="Show or set the session's name", run=_run_name, hint="name"),
    "session": BuiltinSlashCommand(
        description="Session file, message count, context and cost", run=_run_session
    ),
    "export": BuiltinSlashCommand(
        description="Write the session as HTML, Markdown or JSONL", run=_run_export, hint="file"
    ),
}


def find_builtin_slash_command(text: str) -> tuple[BuiltinSlashCommand, str] | None:
    """Returns the command that a prompt names, with the words behind it."""
    name, _, words = text.strip().partition(" ")
    command = BUILTIN_SLASH_COMMANDS.get(name.removeprefix("/")) if name.startswith("/") else None
    return None if command is None else (command, words.strip())


def offered_slash_commands(session: Session) -> list[OfferedSlashCommand]:
    """Returns all commands; one of an extension takes the place of bayou's own."""
    found = {
        name: _command_entry(name, one.description, one.hint) for name, one in BUILTIN_SLASH_COMMANDS.items()
    }
    found["mcp"] = _command_entry("mcp", "List MCP servers or manage one", "list|…")
    for one in session.commands():
        data: Any = one
        name = str(data["name"])
        found[name] = _command_entry(
            name, str(data.get("description") or name), str(data.get("argumentHint") or "")
        )
    return list(found.values())


def _command_entry(name: str, description: str, hint: str) -> OfferedSlashCommand:
    taken = CommandInputHint(hint=hint) if hint else None
    return OfferedSlashCommand(name=name, description=description, input=taken)
