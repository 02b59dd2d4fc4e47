"""Commands that read or change the session's settings: model, thinking level, name, counts."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from app.engine.commands import response_data
from app.engine.commands.session_command import omit_none_fields, require_text_for_os, session_command
from app.engine.session import Session
from app.values.messages import Message
from app.values.models import Model, ThinkingLevel
from app.values.todos import TodoPhase
from app.values.user_errors import UserError


@session_command("The session's settings and activity")
async def get_state(session: Session) -> response_data.State:
    state, head = session.state, session.requests.prompt_and_tools_of_next_request()
    return omit_none_fields(
        model=state.model,
        thinkingLevel=state.thinking,
        isStreaming=state.is_running,
        isCompacting=state.is_compacting,
        steeringMode=state.steering_mode,
        followUpMode=state.follow_up_mode,
        interruptMode=state.interrupt_mode,
        sessionFile=str(state.file) if state.file else None,
        sessionId=state.session_id,
        sessionName=state.name,
        autoCompactionEnabled=state.compaction_mode == "auto",
        autoRetryEnabled=state.is_auto_retry_on,
        messageCount=len(session.messages),
        pendingMessageCount=state.queued_count,
        todoPhases=session.todos.phases,
        planMode=state.is_planning,
        addedFolders=[str(folder) for folder in session.folders.all_folders],
        systemPrompt=head.encoded_prompt,
        tools=head.encoded_tools,
    )


@session_command("Switch the model", "The next request uses it.")
async def set_model(session: Session, provider: str, model_id: str) -> Model:
    session.models.reread_models_file()
    model = session.models.model_choice.find_model(provider, model_id)
    await session.models.use_model(model)
    return model


@session_command("Next model")
async def cycle_model(session: Session) -> response_data.CycledModel | None:
    model = await session.models.cycle_model()
    if model is None:
        return None
    return {
        "model": model,
        "thinkingLevel": session.state.thinking,
        "isScoped": bool(session.state.cycle_models),
    }


@session_command("Models that can be used now", answer="models")
async def get_available_models(session: Session) -> Sequence[Model]:
    session.models.reread_models_file()
    return session.models.model_choice.available_models()


@session_command("How much the model thinks", "Clamped to what the model can do.")
async def set_thinking_level(session: Session, level: ThinkingLevel) -> None:
    await session.models.use_thinking_level(level)


@session_command("Next thinking level")
async def cycle_thinking_level(session: Session) -> response_data.CycledLevel | None:
    level = await session.models.cycle_thinking_level()
    return None if level is None else {"level": level}


@session_command("The model's thinking levels", answer="levels")
async def get_available_thinking_levels(session: Session) -> Sequence[str]:
    return session.state.thinking_levels


@session_command("Name the session")
async def set_session_name(session: Session, name: str) -> None:
    if not name.strip():
        raise UserError("Session name cannot be empty")
    await session.notes.rename(name)


@session_command("File, counts, tokens, cost", "Of the whole file, all branches included.")
async def get_session_stats(session: Session) -> response_data.SessionStats:
    stats, usage, state = session.stats, session.stats.usage, session.state
    return omit_none_fields(
        sessionFile=str(state.file) if state.file else None,
        sessionId=state.session_id,
        userMessages=stats.user_messages,
        assistantMessages=stats.assistant_messages,
        toolCalls=stats.tool_calls,
        toolResults=stats.tool_results,
        totalMessages=stats.total_messages,
        tokens={
            "input": usage.input,
            "output": usage.output,
            "cacheRead": usage.cache_read,
            "cacheWrite": usage.cache_write,
            "total": usage.input + usage.output + usage.cache_read + usage.cache_write,
        },
        cost=usage.cost.total,
        contextUsage=_context_usage_data(session),
    )


@session_command(
    "Set the todo list",
    "Answers with the resulting list; the agent reads it with its next request.",
    answer="todoPhases",
)
async def set_todos(session: Session, phases: Sequence[TodoPhase]) -> Sequence[TodoPhase]:
    return await session.todos.replace_by_user(phases)


@session_command("How full the context window is")
async def get_context_usage(session: Session) -> response_data.ContextUsage | None:
    return _context_usage_data(session)


def _context_usage_data(session: Session) -> response_data.ContextUsage | None:
    usage = session.context_usage()
    if usage is None:
        return None
    return {"tokens": usage.tokens, "contextWindow": usage.context_window, "percent": usage.percent}


@session_command("Messages in the context", answer="messages")
async def get_messages(session: Session) -> Sequence[Message]:
    return session.messages


@session_command("The last answer", answer="text")
async def get_last_assistant_text(session: Session) -> str | None:
    return session.last_answer_text


@session_command("Slash commands, prompt templates and skills", answer="commands")
async def get_commands(session: Session) -> Sequence[response_data.CommandInfo]:
    return list(session.commands())


def _export_path(folder: Path, name: str) -> Path:
    target = folder / Path(require_text_for_os(name, "outputPath")).expanduser()
    if target.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"{target} does not end in .html; name a file that does")
    return target


@session_command("Write the session as a page", answer="path")
async def export_html(session: Session, output_path: str | None = None) -> str:
    """Exports the session as an HTML page. Relative paths start at the project folder. A thread writes the file,
    since a long session takes a while."""
    target = _export_path(session.cwd, output_path) if output_path else None
    try:
        written = await asyncio.to_thread(session.export_to_file, target)
    except OSError as problem:
        raise UserError(f"{problem.filename or target}: {problem.strerror or problem}") from None
    return str(written)
