"""Makes the sessions of helper agents: on the same engine, with the settings, rules and guards of their parent."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from app.agent.hooks import ToolCallVerdict
from app.assembly.assembled_session import AssembledSession
from app.assembly.session_workspace import session_workspace
from app.copies.isolated_repository_copies import IsolatedRepositoryCopies, IsolatedRepositoryCopy
from app.engine.core.hooks import Hooks
from app.engine.core.model_choice import ModelChoice
from app.engine.core.session_options import SessionOptions
from app.engine.core.toolbox import Toolbox
from app.engine.dependencies import SessionDependencies
from app.engine.helpers.helper_run import HelperAgentRefused, HelperAgentRun, StartedHelperAgent
from app.engine.permissions.session_rules import SessionPermissionRules
from app.engine.secrets.known_secrets import SecretSources
from app.engine.session import Session
from app.permits.permit_rules import PermitRule
from app.providers.failure_kinds import classify_failure
from app.providers.models.model_names import ModelNotFound, select_model
from app.resources.helper_kinds import HelperAgentKind, HelperAgentKinds, find_helper_agent_kinds
from app.resources.paths import BayouPaths, bayou_state_folder
from app.sessions.session_log import SessionLog
from app.values.content import ToolCall
from app.values.events import Event, SessionReplaced
from app.values.models import Model, ThinkingLevel
from app.values.user_errors import UserError
from tools.tool_result_values import ToolResult

_MAX_LISTED_LEFT_OUT_REPOSITORIES = 10
_HELPER_SYSTEM_PROMPT = (
    "You are the helper “{name}” of another agent, which reads only your last message: put everything it "
    "needs there, "
    "short and exact, with paths and lines. You cannot ask questions; if something is missing, say so and "
    "end. Do what the task says and no more."
)


class HelperHooks(Hooks):
    """The hooks of a helper agent: its tool calls pass the guards of its parent's extensions and command hooks."""

    def __init__(self, parent: Hooks) -> None:
        self._parent = parent

    def may_change_tool_calls(self) -> bool:
        return self._parent.may_change_tool_calls()

    async def before_tool(
        self, call: ToolCall, arguments: dict[str, Any], parent_id: str | None = None
    ) -> ToolCallVerdict:
        return await self._parent.before_tool(call, arguments, parent_id)

    async def after_tool(
        self, call: ToolCall, arguments: dict[str, Any], result: ToolResult, parent_id: str | None = None
    ) -> ToolResult:
        return await self._parent.after_tool(call, arguments, result, parent_id)


class HelperSessions:
    """Makes the sessions and repository copies of the helper agents of one session."""

    def __init__(
        self, paths: BayouPaths, env: Mapping[str, str], parent: Callable[[], AssembledSession]
    ) -> None:
        self._paths = paths
        self._env = env
        self._parent = parent

    def kinds(self) -> HelperAgentKinds:
        parent = self._parent()
        return find_helper_agent_kinds(
            self._paths,
            is_trusted=parent.project_trust.decision.is_trusted,
            more=parent.chosen_extensions.agents,
        )

    async def copy_repository(self, helper: HelperAgentRun) -> IsolatedRepositoryCopy:
        """Makes a separate copy of the session's repository for a helper agent. Raises `UserError`."""
        session = self._parent().session
        if not session.tools.workspace.has_local_files:
            raise HelperAgentRefused(
                "This session's files are on another machine, where no separate copy can be made. Start it "
                "without "
                "isolated."
            )
        try:
            return await self._isolated_copies.make(session.cwd, session=session.log.path, title=helper.label)
        except UserError as problem:
            raise HelperAgentRefused(f"{problem} Start the helper without isolated.") from None

    def leftover_helper_copies(self) -> list[IsolatedRepositoryCopy]:
        return self._isolated_copies.leftover_helper_copies(self._parent().session.cwd)

    @property
    def _isolated_copies(self) -> IsolatedRepositoryCopies:
        return IsolatedRepositoryCopies(
            bayou_state_folder(self._paths.home, self._env) / "copies", self._paths.home
        )

    def start(self, helper: HelperAgentRun) -> StartedHelperAgent:
        """Starts the session of a helper agent. Raises `UserError`."""
        parent, kind, copy = self._parent(), helper.kind, helper.copy
        session = parent.session
        model, level, remark = self._model(kind, parent)
        log = self._log(parent, helper)
        folder = copy.path_in_copy(session.cwd) if copy is not None else session.cwd
        choice = ModelChoice(
            parent.model_choice.catalogue,
            parent.model_choice.credentials,
            thinking=level or parent.model_choice.thinking,
        )
        choice.set_model(model)
        if level is not None:
            choice.set_thinking_level(level)
        settings = parent.effective_settings
        paths = msgspec.structs.replace(self._paths, cwd=folder)
        workspace = session_workspace(
            paths, settings, parent.project_trust, log, parent.hooks, choice, has_person=False
        )
        if copy is None:
            session.files.record_helper_changes(workspace)

        def tools(toolbox: Toolbox) -> tuple[Any, ...]:
            from app.assembly.session_tools import tools_for_helper  # noqa: PLC0415  (tools load behind the first paint)

            return tools_for_helper(made, kind, session.tools, settings.settings, choice.credentials)

        words = _HELPER_SYSTEM_PROMPT.format(name=kind.name), _copy_prompt(copy), kind.prompt
        told = {"helper": "\n\n".join(filter(None, words)), "cwd": folder.as_posix()}
        made, unsubscribe = settings.collect_subscriptions(
            lambda: Session(
                SessionDependencies(
                    session_log=log,
                    session_paths=parent.session_paths,
                    registry=parent.registry.with_same_adapters(),
                    model_choice=choice,
                    toolbox=Toolbox(tools, workspace),
                    build_sections=lambda active: {**parent.prompt(active), **told},
                    classify_failure=classify_failure,
                    options=SessionOptions(settings, ends_with_answer=True),
                    budget=helper.budget,
                    hooks=HelperHooks(parent.hooks),
                    permission_context=msgspec.structs.replace(
                        session.permissions.permission_context,
                        session_rules=lambda: _session_rules(
                            session.permissions.rules, copy, self._paths.home
                        ),
                        add_session_rule=session.permissions.rules.add_rule,
                    ),
                    secret_sources=SecretSources(
                        agent_dir=self._paths.agent_dir, home=self._paths.home, environment=self._env
                    ),
                )
            )
        )
        workspace.active_tools = made.tools.active_tools
        made.folders.update_prompt_section()
        made.add_close_callback(unsubscribe)
        return StartedHelperAgent(made, remark)

    def _log(self, parent: AssembledSession, helper: HelperAgentRun) -> SessionLog:
        """Returns a new log for a helper agent's session, or the existing log of a helper that is continued."""
        if helper.session_file is not None:
            return parent.session_paths.open_file(helper.session_file)
        if helper.log is not None:
            return helper.log
        file = parent.session.log.path
        log = (
            parent.session_paths.create_session(parent=file, is_helper=True)
            if file is not None
            else SessionLog.in_memory(self._paths.cwd)
        )
        log.rename(helper.label)
        return log

    def _model(
        self, kind: HelperAgentKind, parent: AssembledSession
    ) -> tuple[Model, ThinkingLevel | None, str]:
        """Returns a helper agent's model, thinking level, and a remark if it is not the model that the kind of
        helper names."""
        own = parent.model_choice.model
        if kind.model is not None:
            try:
                chosen = select_model(
                    kind.model, parent.model_choice.catalogue, parent.model_choice.credentials
                )
            except ModelNotFound:
                chosen = None
            if chosen is not None and parent.model_choice.is_model_available(chosen.model):
                return chosen.model, chosen.thinking, ""
        if own is None:
            raise HelperAgentRefused(parent.model_choice.missing_model_text)
        remark = (
            f"its model {kind.model} is not available; it used {own.key}" if kind.model is not None else ""
        )
        return own, None, remark


async def offer_leftover_helper_changes(session: Session, *, is_told: bool) -> None:
    """Offers the changes that helper agents left in copies when bayou ended, now and whenever another session is
    opened. With `is_told`, also reports changes that wait in other sessions."""

    async def offer() -> None:
        told = await session.helpers.offer_leftover_helper_changes()
        if told and is_told:
            session.events.notify(told, "info")

    async def follow(event: Event) -> None:
        if isinstance(event, SessionReplaced) and event.reason != "tree":
            await offer()

    session.subscribe(follow, hears=("session_replaced",))
    await offer()


def _copy_prompt(copy: IsolatedRepositoryCopy | None) -> str:
    if copy is None:
        return ""
    left_out = ", ".join(copy.record.left_out[:_MAX_LISTED_LEFT_OUT_REPOSITORIES])
    return (
        f"You work in {copy.folder}, a separate copy of {copy.record.source} as it is now, with its "
        f"uncommitted files "
        "and without files that git ignores. What you change there is offered to the user when you end; "
        "commits, "
        "ignored files and changes elsewhere are not."
        + (f" Nested repositories are not copied: {left_out}." if left_out else "")
    )


def _session_rules(
    rules: SessionPermissionRules, copy: IsolatedRepositoryCopy | None, home: Path
) -> tuple[PermitRule, ...]:
    """Returns the permission rules of the parent's session for a helper agent. In a copy, what a rule refuses or
    asks about in the source holds for the same path in the copy."""
    found = list(rules.session_rules)
    if copy is None:
        return tuple(found)
    source = copy.record.source
    for rule in rules.all_rules().rules:
        pattern = f"{home}{rule.pattern[1:]}" if rule.pattern.startswith("~/") else rule.pattern
        if rule.action != "allow" and (pattern == source or pattern.startswith(f"{source}/")):
            found.append(msgspec.structs.replace(rule, pattern=f"{copy.folder}{pattern[len(source) :]}"))
    return tuple(found)
