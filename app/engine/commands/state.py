"""Commands that read or change what the session is set to: model, thinking, name, counts."""

import asyncio
from pathlib import Path
from typing import Any

from app.engine.commands import results
from app.engine.commands.base import Command, NoParams, Null, Params, command, for_the_system
from app.engine.exporting import export_session
from app.engine.session import Session
from app.values.messages import AssistantMessage
from app.values.models import Model, ThinkingLevel
from app.values.unable import Unable


class SetModel(Params, frozen=True, kw_only=True):
    provider: str
    model_id: str


class SetLevel(Params, frozen=True, kw_only=True):
    level: ThinkingLevel


class SetName(Params, frozen=True, kw_only=True):
    name: str


class Export(Params, frozen=True, kw_only=True):
    output_path: str | None = None


async def get_state(session: Session, params: NoParams) -> dict[str, Any]:
    state = session.state
    data: dict[str, Any] = {
        "model": state.model,
        "thinkingLevel": state.thinking,
        "isStreaming": state.is_running,
        "isCompacting": state.is_compacting,
        "steeringMode": state.steering_mode,
        "followUpMode": state.follow_up_mode,
        "interruptMode": state.interrupt_mode,
        "sessionFile": str(state.file) if state.file else None,
        "sessionId": state.session_id,
        "sessionName": state.name,
        "autoCompactionEnabled": state.compaction_mode == "auto",
        "autoRetryEnabled": state.retries,
        "messageCount": len(session.messages),
        "pendingMessageCount": state.waiting_count,
    }
    return {key: value for key, value in data.items() if value is not None}


async def set_model(session: Session, params: SetModel) -> Any:
    model = session.find_model(params.provider, params.model_id)
    await session.set_model(model)
    return model


async def cycle_model(session: Session, params: NoParams) -> Any:
    model = await session.cycle_model()
    if model is None:
        return Null
    return {
        "model": model,
        "thinkingLevel": session.state.thinking,
        "isScoped": bool(session.state.scope),
    }


async def get_available_models(session: Session, params: NoParams) -> dict[str, Any]:
    return {"models": session.available_models()}


async def set_thinking_level(session: Session, params: SetLevel) -> None:
    await session.set_thinking(params.level)


async def cycle_thinking_level(session: Session, params: NoParams) -> Any:
    level = await session.cycle_thinking()
    return Null if level is None else {"level": level}


async def get_available_thinking_levels(session: Session, params: NoParams) -> dict[str, Any]:
    return {"levels": session.state.levels}


async def set_session_name(session: Session, params: SetName) -> None:
    if not params.name.strip():
        raise Unable("Session name cannot be empty")
    await session.rename(params.name)


async def get_session_stats(session: Session, params: NoParams) -> dict[str, Any]:
    stats, usage, state = session.stats, session.stats.usage, session.state
    data: dict[str, Any] = {
        "sessionFile": str(state.file) if state.file else None,
        "sessionId": state.session_id,
        "userMessages": stats.user_messages,
        "assistantMessages": stats.assistant_messages,
        "toolCalls": stats.tool_calls,
        "toolResults": stats.tool_results,
        "totalMessages": stats.total_messages,
        "tokens": {
            "input": usage.input,
            "output": usage.output,
            "cacheRead": usage.cache_read,
            "cacheWrite": usage.cache_write,
            "total": usage.input + usage.output + usage.cache_read + usage.cache_write,
        },
        "cost": usage.cost.total,
        "contextUsage": session.context_usage(),
    }
    return {key: value for key, value in data.items() if value is not None}


async def get_context_usage(session: Session, params: NoParams) -> Any:
    return session.context_usage() or Null


async def get_messages(session: Session, params: NoParams) -> dict[str, Any]:
    return {"messages": session.messages}


async def get_last_assistant_text(session: Session, params: NoParams) -> dict[str, Any]:
    for message in reversed(session.messages):
        if isinstance(message, AssistantMessage) and message.text:
            return {"text": message.text}
    return {}


async def get_commands(session: Session, params: NoParams) -> dict[str, Any]:
    return {"commands": list(session.commands())}


def _page(folder: Path, name: str) -> Path:
    target = folder / Path(for_the_system(name, "outputPath")).expanduser()
    if target.suffix.lower() not in (".html", ".htm"):
        raise Unable(f"{target} does not end in .html")
    return target


async def export_html(session: Session, params: Export) -> dict[str, str]:
    """Relative paths start at the project. Written beside the event loop: a long session takes a while."""
    target = _page(session.cwd, params.output_path) if params.output_path else None
    try:
        written = await asyncio.to_thread(export_session, session.log, target, folder=session.cwd)
    except OSError as problem:
        raise Unable(f"{problem.filename or target}: {problem.strerror or problem}") from None
    return {"path": str(written)}


STATE: tuple[Command, ...] = (
    command("get_state", NoParams, get_state, "What the session is set to and doing.", results.State),
    command("set_model", SetModel, set_model, "Switch the model from the next request on.", Model),
    command("cycle_model", NoParams, cycle_model, "The next model.", results.CycledModel | None),
    command(
        "get_available_models", NoParams, get_available_models, "Models that can be used now.", results.Models
    ),
    command("set_thinking_level", SetLevel, set_thinking_level, "Clamped to what the model can do."),
    command(
        "cycle_thinking_level", NoParams, cycle_thinking_level, "The next level.", results.CycledLevel | None
    ),
    command(
        "get_available_thinking_levels",
        NoParams,
        get_available_thinking_levels,
        "The model's levels.",
        results.Levels,
    ),
    command("set_session_name", SetName, set_session_name, "Name the session."),
    command(
        "get_session_stats",
        NoParams,
        get_session_stats,
        "Counts, tokens and cost of the whole file.",
        results.SessionStats,
    ),
    command(
        "get_context_usage", NoParams, get_context_usage, "How full the window is.", results.Usage | None
    ),
    command("get_messages", NoParams, get_messages, "The context's messages.", results.Messages),
    command(
        "get_last_assistant_text", NoParams, get_last_assistant_text, "The last answer.", results.LastText
    ),
    command(
        "get_commands", NoParams, get_commands, "What `/name` can stand for in a prompt.", results.Commands
    ),
    command("export_html", Export, export_html, "Write the session as a page.", results.Written),
)
