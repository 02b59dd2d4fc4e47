"""Makes the sessions of helper agents: on the same engine, with the settings, rules and guards of their parent."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from app.agent.hooks import CallVerdict
from app.assembly.assembled_session import AssembledSession
from app.assembly.session_workspace import session_workspace
from app.copies.isolated_copy import IsolatedCopies, IsolatedCopy
from app.engine.core.hooks import Hooks
from app.engine.core.model_choice import ModelChoice
from app.engine.core.session_options import SessionOptions
from app.engine.core.toolbox import Toolbox
from app.engine.dependencies import Dependencies
from app.engine.helpers.helper_run import HelperRefused, HelperRun, HelperStart
from app.engine.permissions.session_rules import SessionRules
from app.engine.secrets.known_secrets import SecretSources
from app.engine.session import Session
from app.permits.rules import PermitRule
from app.providers.failure_kinds import classify
from app.providers.models.model_names import ModelNotFound, select_model
from app.resources.helper_kinds import HelperKind, HelperKinds, find_helper_kinds
from app.resources.paths import Paths, state_folder
from app.sessions.session_log import SessionLog
from app.values.content import ToolCall
from app.values.events import Event, SessionReplaced
from app.values.models import Model, ThinkingLevel
from app.values.user_errors import UserError
from tools.base import Tool
from tools.results import ToolResult

_MAX_NAMED = 10
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
        parent = self._parent()
        return find_helper_kinds(
            self._paths, is_trusted=parent.project.decision.is_trusted, more=parent.chosen.agents
        )

    async def copy(self, helper: HelperRun) -> IsolatedCopy:
        """Copies the repository that the session works in. Raises `UserError`."""
        session = self._parent().session
        if not session.tools.workspace.has_local_files:
            raise HelperRefused(
                "This session's files are on another machine, where no separate copy can be made. Start it without "
                "isolated."
            )
        try:
            return await self._copies.make(session.cwd, session=session.log.path, title=helper.name)
        except UserError as problem:
            raise HelperRefused(f"{problem} Start it without isolated.") from None

    def left(self) -> list[IsolatedCopy]:
        return self._copies.left(self._parent().session.cwd)

    @property
    def _copies(self) -> IsolatedCopies:
        return IsolatedCopies(state_folder(self._paths.home, self._env) / "copies", self._paths.home)

    def start(self, helper: HelperRun) -> HelperStart:
        """Raises `UserError`."""
        parent, kind, copy = self._parent(), helper.kind, helper.copy
        session = parent.session
        model, level, remark = self._model(kind, parent)
        log = self._log(parent, helper)
        folder = copy.inside(session.cwd) if copy is not None else session.cwd
        choice = ModelChoice(
            parent.choice.catalogue, parent.choice.credentials, thinking=level or parent.choice.thinking
        )
        choice.set(model)
        if level is not None:
            choice.set_thinking(level)
        settings = parent.effective_settings
        paths = msgspec.structs.replace(self._paths, cwd=folder)
        workspace = session_workspace(
            paths, settings, parent.project, log, parent.hooks, choice, has_person=False
        )
        if copy is None:
            session.files.record_for(workspace)
        tools = _tools_for(kind, session.tools)
        words = _PROMPT.format(name=kind.name), _told_of_copy(copy), kind.prompt
        told = {"helper": "\n\n".join(filter(None, words)), "cwd": folder.as_posix()}
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
                    budget=helper.budget,
                    hooks=HelperHooks(parent.hooks),
                    standing=msgspec.structs.replace(
                        session.permissions.standing,
                        session_rules=lambda: _session_rules(
                            session.permissions.rules, copy, self._paths.home
                        ),
                        add_session_rule=session.permissions.rules.add,
                    ),
                    secrets=SecretSources(
                        agent_dir=self._paths.agent_dir, home=self._paths.home, env=self._env
                    ),
                )
            )
        )
        workspace.active_tools = made.tools.active
        made.folders.tell_model()
        made.on_close(unsubscribe)
        return HelperStart(made, remark)

    def _log(self, parent: AssembledSession, helper: HelperRun) -> SessionLog:
        """Returns a new log, or that of a helper which goes on."""
        if helper.session_file is not None:
            return parent.places.open(helper.session_file)
        if helper.log is not None:
            return helper.log
        file = parent.session.log.path
        log = (
            parent.places.new(parent=file, is_helper=True)
            if file is not None
            else SessionLog.in_memory(self._paths.cwd)
        )
        log.rename(helper.name)
        return log

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


async def offer_left_changes(session: Session, *, is_told: bool) -> None:
    """Offers what helpers had changed in copies when bayou ended, now and whenever another session is opened.
    `is_told`: also says what waits in other sessions."""

    async def offer() -> None:
        told = await session.helpers.offer_left()
        if told and is_told:
            session.events.notify(told, "info")

    async def follow(event: Event) -> None:
        if isinstance(event, SessionReplaced) and event.reason != "tree":
            await offer()

    session.subscribe(follow, hears=("session_replaced",))
    await offer()


def _told_of_copy(copy: IsolatedCopy | None) -> str:
    if copy is None:
        return ""
    left_out = ", ".join(copy.record.left_out[:_MAX_NAMED])
    return (
        f"You work in {copy.folder}, a separate copy of {copy.record.source} as it is now, with its uncommitted files "
        "and without files that git ignores. What you change there is offered to the person when you end; commits, "
        "ignored files and changes elsewhere are not."
        + (f" Repositories inside of it are not copied: {left_out}." if left_out else "")
    )


def _session_rules(rules: SessionRules, copy: IsolatedCopy | None, home: Path) -> tuple[PermitRule, ...]:
    """Returns the rules of the parent's session alone. What any of its rules refuses or asks about by an absolute path
    holds for the same path in the copy."""
    found = list(rules.given)
    if copy is None:
        return tuple(found)
    source = copy.record.source
    for rule in rules.all().rules:
        pattern = f"{home}{rule.pattern[1:]}" if rule.pattern.startswith("~/") else rule.pattern
        if rule.deed != "allow" and (pattern == source or pattern.startswith(f"{source}/")):
            found.append(msgspec.structs.replace(rule, pattern=f"{copy.folder}{pattern[len(source) :]}"))
    return tuple(found)


def _tools_for(kind: HelperKind, parent: Toolbox) -> tuple[Tool, ...]:
    """Returns the parent's active tools that this kind may use."""
    active: Mapping[str, Tool] = parent.active()
    found: Iterable[Tool] = (tool for tool in parent.all() if tool.name in active and tool.is_for_helpers)
    return tuple(
        tool
        for tool in found
        if (kind.tools is None or tool.name in kind.tools) and (tool.is_read_only or not kind.is_read_only)
    )
