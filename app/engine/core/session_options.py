"""Reads the settings that a session uses, translated for its parts. Each is read when it is needed."""

import fnmatch
import re
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from app.agent.loop_ports import InterruptMode
from app.agent.message_queues import QueueMode, QueueName
from app.compaction.context_meter import ContextLimits
from app.engine.core.model_choice import ModelChoice
from app.engine.core.retry_policy import RetryPolicy
from app.providers.model_stream import StreamOptions
from app.providers.stream.event_queue import MIN_DELTA_INTERVAL_SECONDS
from app.resources.settings.effective_settings import EffectiveSettings
from app.resources.settings.settings import Settings
from app.resources.settings.settings_agent import EditModeName
from app.sessions.file.session_file import SyncTiming
from app.values.models import Model
from tools.edits.dialects.edit_modes import EditMode
from tools.kernel.kernel_settings import KernelSettings
from tools.lazy_patterns import lazy_regex
from tools.running.command_interceptor import CommandInterceptRule
from tools.running.shell_settings import ShellSettings
from tools.running.user_shell.shell_snapshot import UserShellSnapshotCache
from tools.session_workspace import ReadToolSettings


class SessionOptions:
    """Reads a session's options from the current settings each time, so that a changed setting takes effect at
    once."""

    def __init__(
        self,
        effective_settings: EffectiveSettings | None = None,
        *,
        merges_deltas: bool = True,
        is_person_reading: bool = False,
        ends_with_answer: bool = False,
    ) -> None:
        self.effective_settings = effective_settings or EffectiveSettings()
        self.ends_with_answer = ends_with_answer
        """Whether the program ends when its prompts are answered."""
        self._merge_seconds = MIN_DELTA_INTERVAL_SECONDS if merges_deltas else 0
        self._is_person_reading = is_person_reading

    def interrupt_mode(self) -> InterruptMode:
        return self.effective_settings.settings.interaction.interrupt_mode

    def queue_mode(self, queue: QueueName) -> QueueMode:
        interaction = self.effective_settings.settings.interaction
        return interaction.steering_mode if queue == "steering" else interaction.follow_up_mode

    @property
    def retry_policy(self) -> RetryPolicy:
        retry = self.effective_settings.settings.retry
        return RetryPolicy(
            is_enabled=retry.enabled,
            max_attempts=retry.max_retries,
            base_delay_ms=retry.base_delay_ms,
            max_delay_ms=retry.max_agent_delay_ms,
            jitter=0.1,
        )

    @property
    def stream_options(self) -> StreamOptions:
        """Returns the time limits, proxy, cache and token budgets of requests to the model."""
        settings = self.effective_settings.settings
        network = settings.network
        return StreamOptions(
            proxy=network.http_proxy,
            first_event_seconds=network.first_event_timeout_ms / 1000,
            idle_seconds=network.http_idle_timeout_ms / 1000,
            is_long_cache=settings.model.cache_retention == "long",
            thinking_budgets=msgspec.to_builtins(settings.model.thinking_budgets),
            delta_interval_seconds=self._merge_seconds,
            is_person_reading=self._is_person_reading,
        )

    @property
    def should_send_images(self) -> bool:
        return not self.effective_settings.settings.images.block_images

    def context_limits(self, model: Model | None) -> ContextLimits:
        """Returns how many tokens of a model's window stay free, below which compaction begins, and how many recent
        ones it keeps. At most half of a small window is reserved, otherwise the context would be full before the
        first message."""
        chosen = self.effective_settings.settings.compaction
        own = chosen.model_overrides.get(model.key) if model and chosen.model_overrides else None
        reserve, keep = (own.reserve_tokens, own.keep_recent_tokens) if own else (None, None)
        reserve = chosen.reserve_tokens if reserve is None else reserve
        room = model.context_window // 2 if model is not None and model.context_window > 0 else reserve
        return ContextLimits(
            reserve_tokens=min(reserve, room),
            keep_recent_tokens=chosen.keep_recent_tokens if keep is None else keep,
        )


def session_sync_timing(effective_settings: EffectiveSettings) -> SyncTiming:
    """Returns when writes to the session file are forced onto the disk."""
    return effective_settings.settings.sessions.session_sync


def shell_settings(
    effective_settings: EffectiveSettings,
    project_counts: Callable[[], Awaitable[bool]] | None = None,
    own: UserShellSnapshotCache | None = None,
    *,
    has_person: bool = False,
) -> ShellSettings:
    """Returns the settings of commands, reading the project's settings again before each command.

    Without a person, a command goes to the background only if asked to: a script reads its output where it ran."""
    chosen = _shell_settings_from(effective_settings.settings, own)
    if not has_person and effective_settings.origin("bash.autoBackground.thresholdMs") is None:
        chosen = msgspec.structs.replace(chosen, background_after_seconds=None)
    if not effective_settings.is_any_set_by_project("shellPath", "shellCommandPrefix"):
        return chosen
    otherwise = _shell_settings_from(effective_settings.settings_without_project(), own)
    otherwise = msgspec.structs.replace(otherwise, background_after_seconds=chosen.background_after_seconds)
    return msgspec.structs.replace(chosen, may_use_shell=project_counts, fallback=otherwise)


def _shell_settings_from(settings: Settings, own: UserShellSnapshotCache | None) -> ShellSettings:
    bash, shell = settings.bash, settings.shell
    return ShellSettings(
        shell_path=shell.shell_path,
        command_prefix=shell.shell_command_prefix or "",
        passed_variable_names=shell.shell_pass_environment,
        is_persistent=bash.persistent_shell,
        user_shell=own if bash.own_shell else None,
        intercepts_commands=bash.interceptor.enabled,
        intercept_rules=command_intercept_rules(settings) if bash.interceptor.enabled else (),
        has_terminals=bash.pty,
        default_timeout=bash.default_timeout_seconds or None,
        background_after_seconds=bash.auto_background.threshold_ms / 1000 or None,
    )


def command_intercept_rules(settings: Settings) -> tuple[CommandInterceptRule, ...]:
    return tuple(
        CommandInterceptRule(
            pattern=one.pattern, tool=one.tool, message=one.message, ignore_case=one.ignore_case
        )
        for one in settings.bash.interceptor.rules
    )


def kernel_settings(
    effective_settings: EffectiveSettings,
    project_counts: Callable[[], Awaitable[bool]] | None = None,
    uses_folder: Callable[[], bool] = lambda: True,
) -> KernelSettings:
    """Returns the settings of the Python kernel. `uses_folder`: a virtual environment in the folder may be
    run."""

    async def counting() -> tuple[str | None, bool]:
        """Whether the project is trusted, checked again now; no interpreter starts before the answer."""
        counts = await project_counts() if project_counts is not None else True
        is_theirs = effective_settings.origin("eval.python") == "project"
        settings = (
            effective_settings.settings
            if counts or not is_theirs
            else effective_settings.settings_without_project()
        )
        return settings.eval.python, uses_folder()

    chosen = effective_settings.settings.eval
    return KernelSettings(
        interpreter_choice=counting,
        idle_seconds=chosen.idle_minutes * 60,
        default_timeout=chosen.default_timeout_seconds or None,
    )


def settings_of_read_tool(effective_settings: EffectiveSettings) -> ReadToolSettings:
    return ReadToolSettings(resizes_images=effective_settings.settings.images.auto_resize)


# How the answering model is asked to write edits: as the settings say, else as its family was trained

_MODELS_TRAINED_ON_PATCH_EDITS: Final = lazy_regex(
    r"(?:^|[/.:])(?:openai[/.])?(?:gpt-[5-9]|codex)|-codex", re.IGNORECASE
)


def edit_tool_mode(effective_settings: EffectiveSettings, choice: ModelChoice) -> EditMode:
    """Returns the mode in which the `edit` tool is declared to the chosen model."""
    chosen, model = effective_settings.settings.edit, choice.model
    way = chosen.mode
    if model is not None and chosen.models:
        names = (model.key.casefold(), model.id.casefold())
        for pattern, own in chosen.models.items():
            if any(fnmatch.fnmatchcase(name, pattern.casefold()) for name in names):
                way = own
                break
    return _edit_mode_for_model(model) if way == "auto" else _edit_mode_for_setting(way)


def _edit_mode_for_setting(way: EditModeName) -> EditMode:
    return "anchored" if way in ("anchored", "hashline") else "patch" if way == "patch" else "replace"


def _edit_mode_for_model(model: Model | None) -> EditMode:
    """Returns the mode of the `edit` tool for a model's family; never anchors, whose benefit depends on the model."""
    if model is None:
        return "replace"
    said = (model.compat or {}).get("editMode")
    if said in ("replace", "anchored", "patch"):
        return said
    return "patch" if _MODELS_TRAINED_ON_PATCH_EDITS.search(model.id) else "replace"
