"""What a session is given, what it makes of that, and how these parts meet: who asks whom, and who is told of what.

What faces may do is `session`'s, and nobody outside the engine reaches what is here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.agent.queues import Queues
from app.engine.context.brancher import Brancher
from app.engine.context.compactor import Compactor
from app.engine.context.summariser import Summariser
from app.engine.core.conversation import Conversation
from app.engine.core.delivery import Deliveries
from app.engine.core.event_bus import Telling
from app.engine.core.hooks import Hooks
from app.engine.core.model_choice import ModelChoice
from app.engine.core.options import SessionOptions
from app.engine.core.runs import NextRun
from app.engine.core.toolbox import Toolbox
from app.engine.core.usage_totals import Account
from app.engine.files.file_diagnostics import Diagnostics
from app.engine.files.pending_changes import Pending
from app.engine.files.restore import Restoring
from app.engine.files.session_files import Files
from app.engine.jobs.background_jobs import JobTable
from app.engine.jobs.job_notices import JobResults
from app.engine.mcp.servers import Elicit, McpServers, ServerPlaces
from app.engine.models.model_requests import Requests, Sections
from app.engine.models.model_selection import Models
from app.engine.models.prompt_cache import PromptCache
from app.engine.models.side_question import Beside
from app.engine.permissions.gate import Permits
from app.engine.permissions.permission_context import GateStanding
from app.engine.planning.plan_mode import Planning
from app.engine.planning.todo_list import Todos
from app.engine.preconditions import Readiness
from app.engine.prompts import Prompts
from app.engine.repository.first_question import FirstQuestion
from app.engine.repository.repository_maps import RepositoryMaps
from app.engine.runner import Runner
from app.engine.secrets.known_secrets import SecretPlaces
from app.engine.secrets.masked_calls import MaskedCalls
from app.engine.secrets.session_mask import Masking
from app.engine.session_notes import SessionNotes
from app.engine.settings_watch import Following
from app.engine.tools.call_preview import CallPreview
from app.engine.tools.live_edits import LiveEdits
from app.engine.tools.nested_calls import NestedCalls
from app.engine.tree.compaction import Compaction
from app.engine.tree.navigation import Navigation
from app.engine.tree.session_paths import Places
from app.engine.user_runs.user_cells import OwnCells
from app.engine.user_runs.user_shell import UserShell
from app.providers.classify import Failure
from app.providers.registry import Registry
from app.sessions.log import SessionLog
from app.undo.blobs import UndoPlace
from app.values.events import FileChanged, QueueUpdate
from app.values.messages import AssistantMessage, CustomMessage
from app.values.models import Model
from tools.base import FileChange

if TYPE_CHECKING:
    from app.engine.mcp.prompts import ServerQuestions

LAST_WORDS_SECONDS = 3.0
"""How long the end of a session waits for listeners that are behind."""
STOP_SECONDS = 0.5
"""How long the end of a session waits for its run, and again once the run's cell is killed."""
Classify = Callable[[AssistantMessage, Model | None], Failure]


async def _stay(folder: Path) -> None:
    """For a session whose face has one folder only."""


class Parts(msgspec.Struct, kw_only=True):
    """What a session is made of."""

    log: SessionLog
    places: Places
    registry: Registry
    choice: ModelChoice
    toolbox: Toolbox
    sections: Sections
    classify: Classify
    options: SessionOptions
    hooks: Hooks = msgspec.field(default_factory=Hooks)
    standing: GateStanding = msgspec.field(default_factory=GateStanding)
    """Who can be asked whether a call may run, and what the project's word counts."""
    enter: Callable[[Path], Awaitable[None]] = _stay
    """Makes a folder the one that the session works in."""
    secrets: SecretPlaces = msgspec.field(default_factory=SecretPlaces)
    """Where what is known to be secret comes from."""
    servers: ServerPlaces | None = None
    """Where MCP servers are found; None: there are none."""
    undo: UndoPlace | None = None
    """Where what happens to files is kept; None: nowhere."""


class Machinery:
    """The parts of one session. Those below are handed those above, and none knows the session."""

    def __init__(self, parts: Parts) -> None:
        hooks, choice, options = parts.hooks, parts.choice, parts.options
        self._choice = choice
        self._classify = parts.classify
        self._workspace = parts.toolbox.workspace
        options.in_force.subscribe(lambda before: parts.toolbox.changed())
        choice.subscribe(parts.toolbox.changed)
        self.conversation = Conversation(parts.log, parts.toolbox.files_of)
        self.queues = Queues(
            mode=options.queue_mode,
            on_change=self._queues_changed,
            on_removed=lambda message: self.deliveries.dropped(message.id),
        )
        self.account = Account(self.conversation)
        self.deliveries = Deliveries()
        self.telling = Telling(self.conversation, self.account, self.deliveries)
        self.cache = PromptCache(self.account, choice, self.telling.publish_now)
        self.models = Models(choice, self.conversation, self.telling, self.cache)
        self.masking = self._masking(parts)
        self.next_run = NextRun()
        self.todos = self._todos(options)
        self.permits = self._permits(parts)
        self.requests = self._requests(parts)
        self.planning = self._planning(parts)
        self.pending = self._pending(parts)
        self.beside = Beside(self.requests, self.conversation, self.masking, self.telling)
        self.summariser = self._summariser(parts)
        self.compactor = Compactor(
            conversation=self.conversation,
            account=self.account,
            choice=choice,
            options=options,
            summariser=self.summariser,
            hooks=hooks,
            telling=self.telling,
            cache=self.cache,
            classify=self._failure,
            files_of_call=parts.toolbox.files_of,
            behind=self.todos.behind,
        )
        self.brancher = self._brancher(parts)
        self._masks = MaskedCalls(self.masking)
        self.servers = self._mcp_servers(parts)
        self.following = Following(options.in_force, self.servers, self.telling)
        self.shell = self._user_shell(parts)
        self.jobs = JobTable(
            lambda job: self._job_results.tell(job),
            self.telling.publish_now,
            is_waited_for=options.ends_with_answer,
        )
        self.files = self._files(parts)
        parts.toolbox.workspace.spawn_hook = self.permits.watching(parts.toolbox.workspace.spawn_hook)
        self.diagnostics = self._diagnostics(parts)
        self.nested = self._nested(parts)
        self.cells = self._cells(parts)
        self.preview = CallPreview(parts.toolbox, self.permits, self._masks)
        self._live_edits = LiveEdits(
            toolbox=parts.toolbox,
            permits=self.permits,
            preview=self.preview,
            hooks=hooks,
            options=options,
        )
        self.runner = self._runner(parts)
        self.readiness = Readiness(self.conversation, choice, self.runner, self.compactor, self.brancher)
        self.record = SessionNotes(self.conversation, self.telling, self.cache, self.readiness)
        self.prompts = self._prompts(parts)
        self.repository = RepositoryMaps(parts.toolbox.workspace)
        self.restoring = Restoring(
            self.conversation, self.files, self.prompts.send, self.readiness.require_idle
        )
        self._job_results = JobResults(
            send=self.prompts.send, deliveries=self.deliveries, options=options, telling=self.telling
        )
        self.navigation = self._navigation(parts)
        self.compaction = self._compaction()
        parts.toolbox.workspace.mutations.subscribe(self._file_changed)

    def _prompts(self, parts: Parts) -> Prompts:
        return Prompts(
            queues=self.queues,
            hooks=parts.hooks,
            runner=self.runner,
            compactor=self.compactor,
            readiness=self.readiness,
            models=self.models,
            masking=self.masking,
            telling=self.telling,
            following=self.following,
            servers=self.servers,
            first_question=FirstQuestion(self.conversation, parts.toolbox.workspace, parts.options),
            options=parts.options,
        )

    def _mcp_servers(self, parts: Parts) -> McpServers:
        return McpServers(
            parts.servers,
            conversation=self.conversation,
            toolbox=parts.toolbox,
            requests=self.requests,
            boxes=self.permits.boxes,
            masking=self.masking,
            telling=self.telling,
            options=parts.options,
            elicit=self._server_asks(parts.standing),
        )

    def _server_asks(self, standing: GateStanding) -> Elicit:
        @cache
        def questions() -> "ServerQuestions":
            # Few servers ask anything.
            from app.engine.mcp.prompts import ServerQuestions  # noqa: PLC0415

            return ServerQuestions(standing, self.telling)

        return lambda server, params: questions().ask(server, params)

    def _nested(self, parts: Parts) -> NestedCalls:
        return NestedCalls(
            parts.toolbox, parts.choice, self.jobs, parts.hooks, self.permits.check, self._masks, self.telling
        )

    def _cells(self, parts: Parts) -> OwnCells:
        return OwnCells(
            parts.toolbox.workspace,
            conversation=self.conversation,
            hooks=parts.hooks,
            masking=self.masking,
            nested=self.nested,
            shell=self.shell,
            telling=self.telling,
        )

    def _files(self, parts: Parts) -> Files:
        return Files(
            conversation=self.conversation,
            workspace=parts.toolbox.workspace,
            telling=self.telling,
            options=parts.options,
            place=parts.undo,
        )

    def _diagnostics(self, parts: Parts) -> Diagnostics:
        return Diagnostics(
            parts.toolbox.workspace,
            hooks=parts.hooks,
            files=self.files,
            permits=self.permits,
            standing=parts.standing,
            masking=self.masking,
            telling=self.telling,
            options=parts.options,
            next_run=self.next_run,
        )

    def _masking(self, parts: Parts) -> Masking:
        workspace = parts.toolbox.workspace
        masking = Masking(
            parts.secrets, parts.options, folder=lambda: workspace.cwd if workspace.is_here else None
        )
        workspace.mask_output = masking.mask_of_bytes
        workspace.mask_text = lambda text: masking.text(text, "")
        return masking

    def _todos(self, options: SessionOptions) -> Todos:
        return Todos(
            self.conversation,
            self.telling,
            options,
            self.masking,
            self.next_run,
            send=self._send_aside,
            may_remind=lambda: not self.planning.is_on,
        )

    def _planning(self, parts: Parts) -> Planning:
        return Planning(
            self.conversation,
            self.permits,
            self.todos,
            self.telling,
            toolbox=parts.toolbox,
            requests=self.requests,
            in_force=parts.options.in_force,
            asks=parts.standing.asks,
        )

    def _permits(self, parts: Parts) -> Permits:
        return Permits(
            parts.standing,
            options=parts.options,
            toolbox=parts.toolbox,
            conversation=self.conversation,
            telling=self.telling,
            unheld=lambda paths, ignored: self.files.unheld(paths, ignored=ignored),
        )

    def _requests(self, parts: Parts) -> Requests:
        return Requests(
            parts.registry,
            conversation=self.conversation,
            choice=parts.choice,
            toolbox=parts.toolbox,
            sections=parts.sections,
            options=parts.options,
            hooks=parts.hooks,
            masking=self.masking,
            deliveries=self.deliveries,
            telling=self.telling,
            cache=self.cache,
        )

    def _runner(self, parts: Parts) -> Runner:
        return Runner(
            conversation=self.conversation,
            queues=self.queues,
            requests=self.requests,
            toolbox=parts.toolbox,
            tool_context=self.nested.tool_context,
            compactor=self.compactor,
            shell=self.shell,
            files=self.files,
            hooks=parts.hooks,
            gate=self.permits.check,
            masks=self._masks,
            watch=self._live_edits,
            options=parts.options,
            telling=self.telling,
            following=self.following,
            todos=self.todos,
            pending=self.pending,
            diagnostics=self.diagnostics,
            look_at_jobs=self.jobs.looked_at,
            next_run=self.next_run,
            classify=self._failure,
        )

    def _navigation(self, parts: Parts) -> Navigation:
        return Navigation(
            conversation=self.conversation,
            places=parts.places,
            choice=parts.choice,
            hooks=parts.hooks,
            queues=self.queues,
            jobs=self.jobs,
            deliveries=self.deliveries,
            account=self.account,
            compactor=self.compactor,
            brancher=self.brancher,
            readiness=self.readiness,
            files=self.files,
            restoring=self.restoring,
            pending=self.pending,
            diagnostics=self.diagnostics,
            planning=self.planning,
            servers=self.servers,
            telling=self.telling,
            stop=self.stop,
            enter=parts.enter,
            artifacts=parts.toolbox.workspace.artifacts,
            end_kernel=parts.toolbox.workspace.end_kernel,
        )

    def _compaction(self) -> Compaction:
        return Compaction(
            compactor=self.compactor,
            conversation=self.conversation,
            runner=self.runner,
            readiness=self.readiness,
            branches=self.navigation,
        )

    def _user_shell(self, parts: Parts) -> UserShell:
        return UserShell(
            parts.toolbox.workspace,
            self.conversation,
            parts.hooks,
            self.masking,
            self.telling,
            has_turn=lambda: self.runner.is_running,
        )

    def _summariser(self, parts: Parts) -> Summariser:
        return Summariser(
            parts.choice,
            parts.registry,
            masking=self.masking,
            classify=self._failure,
            publish=self.telling.publish,
            options=parts.options,
        )

    def _brancher(self, parts: Parts) -> Brancher:
        return Brancher(
            conversation=self.conversation,
            choice=parts.choice,
            options=parts.options,
            hooks=parts.hooks,
            summariser=self.summariser,
            files_of_call=parts.toolbox.files_of,
        )

    def _pending(self, parts: Parts) -> Pending:
        return Pending(
            workspace=self._workspace,
            toolbox=parts.toolbox,
            conversation=self.conversation,
            telling=self.telling,
            next_run=self.next_run,
            masking=self.masking,
            send=self._send_aside,
        )

    async def _send_aside(self, message: CustomMessage) -> None:
        await self.prompts.send(message, deliver_as="aside")

    async def stop(self) -> None:
        """Ends whatever is under way and waits until it has settled."""
        self.shell.abort()
        self.cells.abort()
        self.compactor.underway.stop()
        self.brancher.underway.stop()
        await self.runner.abort()

    async def end(self) -> None:
        """The run, the jobs, the log; then nobody is told any more, and no content of a file is held."""
        self.prompts.close()
        stopping = asyncio.ensure_future(self.stop())
        await asyncio.wait({stopping}, timeout=STOP_SECONDS)
        self._workspace.end_kernel()  # a cell that ignores interrupts would keep the run for seconds
        await asyncio.wait({stopping}, timeout=STOP_SECONDS)
        await self.jobs.close()
        await self.servers.end()
        await asyncio.wait([asyncio.ensure_future(self.telling.drain())], timeout=LAST_WORDS_SECONDS)
        self.telling.close()
        self.todos.close()
        self.files.close()
        self.permits.boxes.close()
        self._workspace.close()
        try:
            self.conversation.log.close()
        finally:
            await self.requests.close()

    def _failure(self, message: AssistantMessage) -> Failure:
        return self._classify(message, self._choice.model)

    def _queues_changed(self) -> None:
        texts = self.queues.texts
        self.telling.publish_now(QueueUpdate(steering=texts("steering"), follow_up=texts("follow_up")))

    def _file_changed(self, change: FileChange) -> None:
        told = FileChanged(
            path=change.path,
            tool_call_id=change.call_id,
            before_hash=change.before_hash,
            after_hash=change.after_hash,
            mode_before=change.mode_before,
            mode_after=change.mode_after,
            added=change.added,
            removed=change.removed,
        )
        self.telling.publish_now(told)
