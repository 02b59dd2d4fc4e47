"""A whole session with a scripted model: a real log, optional real tools, all events collected."""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from app.engine.core.hooks import Hooks
from app.engine.core.model_choice import ModelChoice
from app.engine.core.request_budget import SessionUsageBudget
from app.engine.core.retry_policy import RetryPolicy
from app.engine.core.session_options import SessionOptions, shell_settings
from app.engine.core.toolbox import Toolbox
from app.engine.dependencies import SessionDependencies
from app.engine.permissions.permission_context import PermissionContext
from app.engine.secrets.known_secrets import SecretSources
from app.engine.session import Session
from app.engine.tree.session_paths import SessionPaths
from app.providers.adapter_registry import AdapterRegistry
from app.providers.credentials import Credentials
from app.providers.failure_kinds import AnswerFailure
from app.providers.models.catalogue import ModelCatalogue
from app.providers.scripted import QueuedResponse, ScriptedModel
from app.resources.installation_key import load_or_create_key
from app.resources.settings.effective_settings import EffectiveSettings
from app.sessions.entry_signatures import EntrySignatures
from app.sessions.session_log import SessionLog
from app.undo.content_store import UndoStoreSettings
from app.values.events import AgentSettled, Event
from app.values.messages import AssistantMessage
from app.values.models import Model
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import Tool


class ScriptedSession:
    """A session with its events."""

    def __init__(
        self,
        folder: Path,
        *responses: QueuedResponse,
        tools: Iterable[Tool] = (),
        log: SessionLog | None = None,
        retry: RetryPolicy = RetryPolicy(base_delay_ms=1),  # noqa: B008  (frozen)
        merges_deltas: bool = True,
        sections: Callable[[], dict[str, str]] | None = None,
        classify: Callable[[AssistantMessage, Model | None], AnswerFailure] | None = None,
        hooks: Hooks | None = None,
        cwd: Path | None = None,
        undo: UndoStoreSettings | None = None,
        standing: PermissionContext | None = None,
        secrets: SecretSources | None = None,
        budget: SessionUsageBudget | None = None,
        **script: Any,
    ) -> None:
        self.folder, cwd = folder, cwd or folder
        self.hooks = hooks or Hooks()
        self.script = ScriptedModel(responses, **script)
        self.registry = AdapterRegistry()
        self.script.register(self.registry)
        self.effective_settings = in_force_with(retry)
        signatures = EntrySignatures(partial(load_or_create_key, folder / "agent"))
        self.places = SessionPaths(default_root=folder / "sessions", cwd=cwd, signatures=signatures)
        self.events: list[Event] = []
        self.choice = ModelChoice(
            ModelCatalogue.load_catalogue(folder / "agent", env={}),
            Credentials(folder / "agent", {}),
        )
        self.choice.set_model(self.script.model)
        self.toolbox = Toolbox(
            lambda toolbox: tools,
            SessionWorkspace(
                cwd,
                shell=lambda: shell_settings(self.effective_settings),
                spawn_hook=self.hooks.before_process_spawn,
            ),
        )
        self.session = Session(
            SessionDependencies(
                session_log=log or self.places.create_session(),
                session_paths=self.places,
                registry=self.registry,
                model_choice=self.choice,
                toolbox=self.toolbox,
                build_sections=lambda tools: sections() if sections else {"preamble": "You are a test."},
                classify_failure=classify or by_its_words,
                hooks=self.hooks,
                undo_config=undo,
                budget=budget or SessionUsageBudget(),
                secret_sources=secrets or SecretSources(),
                options=SessionOptions(self.effective_settings, merges_deltas=merges_deltas),
                permission_context=standing or PermissionContext(home=folder, agent_dir=folder / "agent"),
            )
        )
        self.session.subscribe(self.events.append)

    async def prompt(self, text: str) -> list[str]:
        """Sends a prompt, waits until the session is idle, and returns the kinds of its events."""
        start = len(self.events)
        await self.session.prompt(text)
        await self.session.wait_until_idle()
        return kinds(self.events[start:])

    def all(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits, event by event, until the condition holds."""
        changed = asyncio.Event()
        leave = self.session.subscribe(lambda event: changed.set())
        try:
            async with asyncio.timeout(10):
                while not condition():
                    await changed.wait()
                    changed.clear()
        finally:
            leave()

    def lines(self) -> list[dict[str, Any]]:
        """Returns the lines of the session file."""
        from app.values.codec import decode_json

        assert self.session.log.path is not None
        return [decode_json(line) for line in self.session.log.path.read_bytes().splitlines()]


def in_force_with(retry: RetryPolicy) -> EffectiveSettings:
    """Settings for a test that does not wait for long."""
    effective_settings = EffectiveSettings()
    effective_settings.set("retry.enabled", retry.is_enabled)
    effective_settings.set("retry.maxRetries", retry.max_attempts)
    effective_settings.set("retry.baseDelayMs", retry.base_delay_ms)
    effective_settings.set("retry.maxAgentDelayMs", retry.max_delay_ms)
    return effective_settings


def kinds(events: Iterable[Event]) -> list[str]:
    return [str(type(event).__struct_config__.tag) for event in events]


def by_its_words(message: AssistantMessage, model: Model | None) -> AnswerFailure:
    text = message.error_message or ""
    return AnswerFailure(
        is_retryable="overloaded" in text,
        is_context_overflow="too long" in text,
        retry_after_ms=3 if "retry after" in text else None,
    )


def settled(harness: ScriptedSession) -> Callable[[], bool]:
    return lambda: any(isinstance(event, AgentSettled) for event in harness.events)
