"""Makes the sessions of helper agents: on the same engine, with the settings, rules and guards of their parent."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from app.agent.hooks import CallVerdict
from app.assembly.assembled_session import AssembledSession
from app.assembly.session_workspace import session_workspace
from app.engine.core.hooks import Hooks
from app.engine.core.model_choice import ModelChoice
from app.engine.core.request_budget import RequestBudget
from app.engine.core.session_options import SessionOptions
from app.engine.core.toolbox import Toolbox
from app.engine.dependencies import Dependencies
from app.engine.helpers.helper_table import HelperRefused, HelperStart
from app.engine.secrets.known_secrets import SecretSources
from app.engine.session import Session
from app.providers.failure_kinds import classify
from app.providers.models.model_names import ModelNotFound, select_model
from app.resources.helper_kinds import HelperKind, HelperKinds, find_helper_kinds
from app.resources.paths import Paths
from app.sessions.session_log import SessionLog
from app.values.content import ToolCall
from app.values.models import Model, ThinkingLevel
from tools.base import Tool
from tools.results import ToolResult

_PROMPT = (
    "You are the helper “{name}” of another agent, which reads only your last message: put everything it needs there, "
    "short and exact, with paths and lines. No person reads along, so ask nothing; if something is missing, say so and "
    "end. Do what the task says and no more."
)


class HelperHooks(Hooks):
    """The guards of the parent's extensions and hooks, which hold for its helpers' calls too."""

    def __init__(self, parent: Hooks) -> None:
        self._parent = parent

    def changes_calls(self) -> bool:
        return self._parent.changes_calls()

    async def before_tool(
        self, call: ToolCall, arguments: dict[str, Any], parent_id: str | None = None
    ) -> CallVerdict:
        return await self._parent.before_tool(call, arguments, parent_id)

    async def after_tool(
        self, call: ToolCall, arguments: dict[str, Any], result: ToolResult, parent_id: str | None = None
    ) -> ToolResult:
        return await self._parent.after_tool(call, arguments, result, parent_id)


class HelperSessions:
    """Makes the helpers of one session."""

    def __init__(self, paths: Paths, env: Mapping[str, str], parent: Callable[[], AssembledSession]) -> None:
        self._paths = paths
        self._env = env
        self._parent = parent

    def kinds(self) -> HelperKinds:
        return find_helper_kinds(self._paths, is_trusted=self._parent().project.decision.is_trusted)

    def start(self, kind: HelperKind, title: str, budget: RequestBudget) -> HelperStart:
        """Raises `UserError`."""
        parent = self._parent()
        session = parent.session
        model, level, remark = self._model(kind, parent)
        log = self._log(parent)
        log.rename(f"{kind.name}: {title}")
        choice = ModelChoice(
            parent.choice.catalogue, parent.choice.credentials, thinking=level or parent.choice.thinking
        )
        choice.set(model)
        if level is not None:
            choice.set_thinking(level)
        settings = parent.effective_settings
        workspace = session_workspace(
            self._paths, settings, parent.project, log, parent.hooks, choice, has_person=False
        )
        session.files.record_for(workspace)
        tools = _tools_for(kind, session.tools)
        told = {"helper": "\n\n".join(filter(None, (_PROMPT.format(name=kind.name), kind.prompt)))}
        made, unsubscribe = settings.subscribed_in(
            lambda: Session(
                Dependencies(
                    log=log,
                    places=parent.places,
                    registry=parent.registry.shared(),
                    choice=choice,
                    toolbox=Toolbox(lambda toolbox: tools, workspace),
                    sections=lambda active: {**parent.prompt(active), **told},
                    classify=classify,
                    options=SessionOptions(settings, ends_with_answer=True),
                    budget=budget,
                    hooks=HelperHooks(parent.hooks),
                    standing=msgspec.structs.replace(
                        session.permissions.standing, session_rules=lambda: session.permissions.rules.given
                    ),
                    secrets=SecretSources(
                        agent_dir=self._paths.agent_dir, home=self._paths.home, env=self._env
                    ),
                )
            )
        )
        workspace.active_tools = made.tools.active
        made.on_close(unsubscribe)
        return HelperStart(made, remark)

    def _log(self, parent: AssembledSession) -> SessionLog:
        file = parent.session.log.path
        return parent.places.new(parent=file) if file is not None else SessionLog.in_memory(self._paths.cwd)

    def _model(self, kind: HelperKind, parent: AssembledSession) -> tuple[Model, ThinkingLevel | None, str]:
        """Returns the model, its thinking level, and a remark if it is not the one that the kind names."""
        own = parent.choice.model
        if kind.model is not None:
            try:
                chosen = select_model(kind.model, parent.choice.catalogue, parent.choice.credentials)
            except ModelNotFound:
                chosen = None
            if chosen is not None and parent.choice.is_available(chosen.model):
                return chosen.model, chosen.thinking, ""
        if own is None:
            raise HelperRefused(parent.choice.missing_model_text)
        remark = (
            f"its model {kind.model} is not available; it used {own.key}" if kind.model is not None else ""
        )
        return own, None, remark


def _tools_for(kind: HelperKind, parent: Toolbox) -> tuple[Tool, ...]:
    """Returns the parent's active tools that this kind may use."""
    active: Mapping[str, Tool] = parent.active()
    found: Iterable[Tool] = (tool for tool in parent.all() if tool.name in active and tool.is_for_helpers)
    return tuple(
        tool
        for tool in found
        if (kind.tools is None or tool.name in kind.tools) and (tool.is_read_only or not kind.is_read_only)
    )
