"""Settings as what the session's parts take."""

import msgspec

from app.compaction.budget import Limits
from app.engine.compactor import CompactionOptions
from app.engine.retry import RetryPolicy
from app.engine.session import Session
from app.engine.turns import SessionOptions
from app.providers.contract import StreamOptions
from app.providers.merge import INTERVAL
from app.providers.select import ModelNotFound, select_model
from app.resources.settings import Settings
from tools.running.shell import ShellSettings


def session_options(
    settings: Settings, *, merges_deltas: bool = True, is_read_along: bool = False
) -> SessionOptions:
    network, retry = settings.network, settings.retry
    return SessionOptions(
        interrupt_mode=settings.interaction.interrupt_mode,
        retry=RetryPolicy(
            is_enabled=retry.enabled,
            max_attempts=retry.max_retries,
            base_delay_ms=retry.base_delay_ms,
            max_delay_ms=retry.max_agent_delay_ms,
            jitter=0.1,
        ),
        background_delivery="steer" if settings.background.result_delivery == "steer" else "follow_up",
        stream=StreamOptions(
            proxy=network.http_proxy,
            first_event_seconds=network.first_event_timeout_ms / 1000,
            idle_seconds=network.http_idle_timeout_ms / 1000,
            is_long_cache=settings.model.cache_retention == "long",
            thinking_budgets=msgspec.to_builtins(settings.model.thinking_budgets),
            merge_seconds=INTERVAL if merges_deltas else 0,
            is_read_along=is_read_along,
        ),
    )


def compaction_options(settings: Settings) -> CompactionOptions:
    chosen = settings.compaction
    limits = Limits(reserve_tokens=chosen.reserve_tokens, keep_recent_tokens=chosen.keep_recent_tokens)
    by_model = {
        key: Limits(
            reserve_tokens=limits.reserve_tokens if own.reserve_tokens is None else own.reserve_tokens,
            keep_recent_tokens=limits.keep_recent_tokens
            if own.keep_recent_tokens is None
            else own.keep_recent_tokens,
        )
        for key, own in chosen.model_overrides.items()
    }
    return CompactionOptions(mode=chosen.mode, limits=limits, by_model=by_model)


def put_summaries_in_force(session: Session, settings: Settings) -> str | None:
    """When a summary is written, and by which model. Returns what is wrong with the model that was named."""
    session.compactor.options = compaction_options(settings)
    session.brancher.reserve_tokens = settings.branch_summary.reserve_tokens
    named = settings.compaction.model
    session.summariser.model = None
    if named is None:
        return None
    try:
        choice = session.choice
        session.summariser.model = select_model(named, choice.catalogue, choice.credentials).model
    except ModelNotFound as problem:
        return f"compaction.model: {problem} Summaries are written by the session's own model."
    return None


def shell_settings(settings: Settings) -> ShellSettings:
    bash = settings.bash
    return ShellSettings(
        path=settings.shell.shell_path,
        prefix=settings.shell.shell_command_prefix or "",
        passed_names=settings.shell.shell_pass_environment,
        is_persistent=bash.persistent_shell,
        is_intercepting=bash.interceptor.enabled,
        default_timeout=bash.default_timeout_seconds or None,
        background_after_seconds=bash.auto_background.threshold_ms / 1000 or None,
    )


def put_in_force(session: Session, settings: Settings) -> None:
    """Changed settings count from the next moment they matter."""
    stream = session.options.stream
    fresh = session_options(
        settings, merges_deltas=stream.merge_seconds > 0, is_read_along=stream.is_read_along
    )
    for field in msgspec.structs.fields(SessionOptions):
        if field.name != "keep_setting":  # the face's, and no setting
            setattr(session.options, field.name, getattr(fresh, field.name))
    problem = put_summaries_in_force(session, settings)
    if problem is not None:
        session.notify(problem, "warning")
    session.choice.levels_of = settings.model.model_thinking_levels
    session.set_modes(
        steering=settings.interaction.steering_mode, follow_up=settings.interaction.follow_up_mode
    )
    session.toolbox.workspace.shell = shell_settings(settings)
