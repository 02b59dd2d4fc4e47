"""Builds the parts of a session and connects them.

Interfaces use `session`; nothing outside the engine imports this module."""

import asyncio
from pathlib import Path

from app.engine.agent_runner import AgentRunner
from app.engine.context.context_parts import CompactionAndSummaryParts
from app.engine.core.delivery import DeliverAs
from app.engine.core.session_core import SessionCore
from app.engine.dependencies import SessionDependencies
from app.engine.files.file_parts import SessionFileParts
from app.engine.helpers.helper_table import HelperAgentTable
from app.engine.jobs.job_notices import make_job_table
from app.engine.mcp.session_servers import McpServers
from app.engine.models.model_parts import SessionModelParts
from app.engine.permissions.permission_gate import PermissionGate
from app.engine.planning.plan_mode import PlanningParts
from app.engine.preconditions import SessionPreconditions
from app.engine.prompt_submission import PromptSubmission
from app.engine.questions.form_questions import UserFormQuestions
from app.engine.repository.first_prompt_hint import FirstPromptHint
from app.engine.repository.repository_maps import RepositoryMaps
from app.engine.secrets.session_mask import install_secret_masking
from app.engine.session_notes import NonMessageEntryWriter
from app.engine.settings_watch import SettingsWatch
from app.engine.tools.tool_parts import SessionToolParts
from app.engine.tree.compaction_actions import CompactionActions
from app.engine.tree.navigation import SessionNavigation
from app.engine.user_runs.user_run_parts import UserRunParts
from app.values.messages import CustomMessage

LISTENER_DRAIN_TIMEOUT = 3.0
"""The maximum number of seconds that the end of a session waits for slow listeners."""
SESSION_STOP_TIMEOUT = 0.5
"""The maximum number of seconds that the end of a session waits for its run, and again once the kernel is killed."""


class SessionParts:
    """The parts of one session. Each part gets those built before it, and none knows the session."""

    def __init__(self, given: SessionDependencies) -> None:
        self.core = core = SessionCore(
            given.session_log,
            choice=given.model_choice,
            toolbox=given.toolbox,
            options=given.options,
            hooks=given.hooks,
            classify=given.classify_failure,
            budget=given.budget,
            signatures=given.session_paths.signatures,
        )
        self.masking = masking = install_secret_masking(
            core.workspace,
            given.secret_sources,
            core.options,
            secret_files=self._secret_files,
        )
        self.models = SessionModelParts(core, given.registry, given.build_sections, masking)
        self.permission_gate = PermissionGate(
            core,
            given.permission_context,
            add_section=self.models.requests.set_prompt_section,
            unheld=lambda paths, ignored: self.files.session_files.find_unrestorable_files(
                paths, ignored=ignored
            ),
        )
        self.planning = PlanningParts(
            core, self.permission_gate, self.models.requests, masking, send=self._send
        )
        self.context = CompactionAndSummaryParts(
            core, given.registry, masking, self.models.cache, behind=self.planning.todos.append_to_summary
        )
        self.forms = UserFormQuestions(self.permission_gate.permission_context, core.event_bus)
        self.servers = McpServers(
            core, given.server_sources, self.models.requests, self.permission_gate, masking, self.forms
        )
        self.settings_watch = SettingsWatch(core.options.effective_settings, self.servers, core.event_bus)
        self.jobs = make_job_table(core, self._send)
        self.helpers = HelperAgentTable(core, self.jobs, given.helper_source)
        self.files = SessionFileParts(
            core,
            given.undo_config,
            self.permission_gate,
            masking,
            send=self._send,
            require_idle=self._require_idle,
        )
        self.tools = SessionToolParts(core, self.jobs, self.permission_gate, masking)
        self.user_runs = UserRunParts(
            core, self.tools.nested, masking, has_turn=lambda: self.runner.is_running
        )
        self.runner = AgentRunner(
            core,
            requests=self.models.requests,
            compactor=self.context.compactor,
            permits=self.permission_gate,
            tools=self.tools,
            files=self.files,
            jobs=self.jobs,
            shell=self.user_runs.shell,
            todos=self.planning.todos,
            settings_watch=self.settings_watch,
        )
        self.preconditions = SessionPreconditions(core.conversation, core.choice, self.runner, self.context)
        self.notes = NonMessageEntryWriter(
            core.conversation, core.event_bus, self.models.cache, self.preconditions
        )
        self.prompts = self._build_prompts()
        self.repository = RepositoryMaps(core.workspace)
        self.navigation = self._build_navigation(given)
        self.compaction = CompactionActions(
            compactor=self.context.compactor,
            conversation=core.conversation,
            runner=self.runner,
            preconditions=self.preconditions,
            navigation=self.navigation,
        )

    def _secret_files(self, folder: Path, is_fresh: bool) -> tuple[str, ...]:
        return self.permission_gate.secret_files(folder, is_fresh=is_fresh)

    def _build_prompts(self) -> PromptSubmission:
        core = self.core
        return PromptSubmission(
            queues=core.queues,
            outcomes=core.outcomes,
            hooks=core.hooks,
            runner=self.runner,
            context=self.context,
            preconditions=self.preconditions,
            models=self.models.selection,
            masking=self.masking,
            event_bus=core.event_bus,
            settings_watch=self.settings_watch,
            servers=self.servers,
            first_question_hint=FirstPromptHint(core.conversation, core.workspace, core.options),
            options=core.options,
        )

    def _build_navigation(self, given: SessionDependencies) -> SessionNavigation:
        return SessionNavigation(
            core=self.core,
            session_paths=given.session_paths,
            context=self.context,
            files=self.files,
            jobs=self.jobs,
            planning=self.planning.plan,
            goal=self.runner.goal,
            folders=self.permission_gate.folders,
            servers=self.servers,
            preconditions=self.preconditions,
            stop_operations=self.stop_operations,
            enter_folder=given.enter_folder,
        )

    async def _send(self, message: CustomMessage, *, deliver_as: DeliverAs, trigger: bool = False) -> str:
        """Sends a message on behalf of parts that are built before the prompt submission."""
        return await self.prompts.send(message, deliver_as=deliver_as, trigger=trigger)

    def _require_idle(self, what: str) -> None:
        self.preconditions.require_idle(what)

    async def stop_operations(self) -> None:
        """Stops the running operations and waits until they have ended."""
        self.user_runs.abort()
        self.runner.goal.stop_check()
        self.context.stop_summaries()
        await self.runner.abort_cells()

    async def abort(self) -> None:
        """Stops the running operations and all helpers, those in the background too."""
        self.helpers.stop_all_helpers()
        await self.stop_operations()
        self.helpers.stop_all_helpers()  # those that the run has begun until it stopped

    async def end_session(self) -> None:
        """Ends the run, the jobs and the log; then closes listeners and file contents."""
        workspace, telling = self.core.workspace, self.core.event_bus
        self.prompts.close()
        self.helpers.stop_all_helpers()
        stopping = asyncio.ensure_future(self.stop_operations())
        await asyncio.wait({stopping}, timeout=SESSION_STOP_TIMEOUT)
        workspace.end_kernel()  # a cell that ignores interrupts would delay the end of the run for seconds
        await asyncio.wait({stopping}, timeout=SESSION_STOP_TIMEOUT)
        self.core.outcomes.close()
        await self.jobs.close()
        self.helpers.close()
        await self.servers.close()
        for note in await self.permission_gate.boxes.autorun_file_notes_between_calls():
            telling.warn(note)
        await asyncio.wait(
            [asyncio.ensure_future(telling.wait_until_delivered())], timeout=LISTENER_DRAIN_TIMEOUT
        )
        telling.close()
        self.planning.todos.close()
        self.files.session_files.close()
        self.permission_gate.boxes.close()
        workspace.close()
        try:
            self.core.conversation.log.close()
        finally:
            await self.models.requests.close()
