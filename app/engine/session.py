"""The session: the one object that every face drives. Verbs in, events out; the work is done by its parts.

What there is for faces, and nothing else of it:

- `state`: one frozen view of what it is set to and doing (`engine.state`), cheap to read as often as one likes;
  beside it `messages`, `entries`, `stats`, `context_usage`, `room`, `last_answer`, `cwd`, `sections`, `request_head`,
  and `log`, the record that is open, for those who are handed the whole of it to read.
- being heard: `subscribe`, `publish`, `publish_now`, `notify`, `drain`. The end: `announce_end`, `close`.
- talking: `prompt`, `unmask`, `queue`, `resume`, `retry`, `send`, `wait_for_delivery`, `abort`, `interrupt`,
  `wait_until_idle`, `commands`, `shown_text`, `ask_beside`, `draft_handoff`.
- what waits: `waiting`, `put_back`, `take_back`, `switch_queue`, `reorder`, `clear_queues`.
- a retry that waits: `retry_now`, `give_up_retry`; the person's shell: `run_shell`, `abort_shell`, `use_terminal`.
- jobs: `job_table`, `all_jobs`, `job`, `kill_job`, `pin_job`, `wait_for_job`, `send_to_background`.
- models: `set_model`, `cycle_model`, `set_thinking`, `cycle_thinking`, `available_models`, `find_model`, `can_use`.
- tools: `all_tools`, `active_tools`, `set_active_tools`, `choose_tools`, `add_tool`, `remove_tool`, `card`, `run_tool`,
  `has_preview`, `preview_call`.
- compaction: `compact`, `draft_compaction`, `compact_as`, `record_compaction`, `undo_compaction`.
- staged changes: `pending`, `resolve_pending`, `stage`;
- todos: `todos`, `change_todos`, `set_todos`; plan mode: `set_plan_mode`, `propose_plan`.
- the record: `rename`, `note`, `edit_context`, `change_context`, `set_label`, `write_kept`, `export`.
- other places: `go_to`, `merge`, `begin`, `switch_to`, `fork`, `open`. Files: `preview_files`, `put_files_back`,
  `differences`. Gathered by subject: `permissions`, `secrets`, `cells`, `repository`, its map, `mcp`, its servers,
  `own_shell`, what commands have of the person's.
  Settings: `keep_setting`, `follow_settings`.

Its parts and how they meet are in `machinery`; it is put together in `assembly`.
"""

from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from app.agent.abort import Abort
from app.agent.queues import Queued, QueueName
from app.engine.context.compactor import Proposal
from app.engine.context.context_usage import ContextUsage
from app.engine.delivery import Receipt
from app.engine.event_bus import Listener, Pace
from app.engine.files.pending_changes import WishedChange
from app.engine.files.restore import NO_CHOICES, Asked, Choices, PutBack
from app.engine.files.session_files import Compared
from app.engine.hook_results import Wish
from app.engine.jobs.background_jobs import Job, JobTable
from app.engine.models.model_selection import ModelSource
from app.engine.models.request_head import RequestHead
from app.engine.permissions.permission_verbs import PermissionVerbs
from app.engine.planning.plan_mode import PlanOutcome
from app.engine.prompt_intake import Source, WhileRunning, Words
from app.engine.prompts import DeliverAs, Disposition
from app.engine.state import Room, State, room_of, state_of
from app.engine.tools.toolbox import ToolChoice
from app.engine.tree.navigation import Arrival, SwitchReason
from app.engine.tree.session_export import export_session, masked_entries
from app.engine.user_runs.cell_verbs import CellVerbs
from app.engine.user_runs.own_shell_verbs import OwnShellVerbs
from app.engine.wiring import Machinery, Parts
from app.sessions.log import SessionLog
from app.sessions.stats import Stats
from app.todos.changes import TodoChange
from app.values.content import Image, ToolCall
from app.values.entries import BranchSummaryEntry, Entry
from app.values.events import CompactionResult, Event, PlanProposed
from app.values.messages import AssistantMessage, BashExecutionMessage, CustomMessage, Message
from app.values.models import Model, ThinkingLevel
from app.values.todos import Phases, TodoPhase
from tools.base import Tool
from tools.edits.pending import Answer, By, Resolved, StagedAction
from tools.results import Card, ToolResult
from tools.workspace import PtyHost

if TYPE_CHECKING:
    from app.undo.differences import Differences
    from app.undo.plan import Plan


class Session:
    """A conversation with a model that can use tools."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._made = Machinery(parts)
        self.permissions = PermissionVerbs(self._made.permits, parts.toolbox.workspace)
        self.secrets = self._made.masking
        self.repository = self._made.repository
        self.mcp = self._made.servers
        self.own_shell = OwnShellVerbs(parts.toolbox.workspace)
        self.cells = CellVerbs(
            self._made.cells, parts.toolbox.workspace, self._made.shell, lambda: self.is_running
        )

    @property
    def state(self) -> State:
        return state_of(self._parts, self._made)

    @property
    def log(self) -> SessionLog:
        """The record that is open."""
        return self._made.conversation.log

    @property
    def cwd(self) -> Path:
        return self._parts.toolbox.workspace.cwd

    @property
    def is_running(self) -> bool:
        return self._made.runner.is_running

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the model reads with the next request."""
        return tuple(self._made.conversation.messages)

    @property
    def stats(self) -> Stats:
        return self._made.account.stats

    @property
    def model(self) -> Model | None:
        return self._parts.choice.model

    def context_usage(self) -> ContextUsage | None:
        return self._made.account.context_usage(self.model) if self.model else None

    def room(self) -> Room:
        """The same with what a compaction would bring; not as cheap."""
        return room_of(self._parts, self._made)

    @property
    def entries(self) -> Sequence[Entry]:
        return self.log.entries

    @property
    def last_answer(self) -> AssistantMessage | None:
        return self._made.conversation.last_assistant

    @property
    def abort_signal(self) -> Abort | None:
        return self._made.runner.abort_signal if self.is_running else None

    def write_kept(self) -> None:
        """Writes what was said and a full disk did not take. Raises `SessionWriteError` while it still does not."""
        self.log.write_kept()

    def export(self, target: Path | None = None) -> Path:
        """Writes it for people or programs, by the ending, secrets masked. For a thread; raises `OSError`."""
        change = masked_entries(self._made.masking, self.cwd)
        return export_session(self.log, target, change=change, draw=self.card, folder=self.cwd)

    def sections(self) -> Mapping[str, str]:
        """The system prompt's, as the next request has them."""
        return self._made.requests.sections()

    def request_head(self) -> RequestHead:
        """Prompt and tools of the next request, as JSON; cheap to ask for often."""
        return self._made.requests.head()

    def subscribe(
        self, listener: Listener, *, pace: Pace | None = None, hears: Container[str] | None = None
    ) -> Callable[[], None]:
        """Tells `listener` every event from now on, or those of the types that it `hears`; returns how to stop."""
        return self._made.telling.subscribe(listener, pace=pace, hears=hears)

    async def publish(self, event: Event) -> None:
        await self._made.telling.publish(event)

    def publish_now(self, event: Event) -> None:
        self._made.telling.publish_now(event)

    def notify(self, text: str, level: Literal["info", "warning", "error"] = "info") -> None:
        self._made.telling.notify(text, level)

    async def drain(self) -> None:
        await self._made.telling.drain()

    # Talking

    async def prompt(
        self,
        text: str,
        images: Sequence[Image] = (),
        *,
        while_running: WhileRunning | None = None,
        source: Source = "interactive",
        expand: bool = True,
        as_it_is: bool = False,
    ) -> Disposition:
        """Sends a prompt. Returns once it is accepted; what comes of it arrives as events."""
        words = Words(
            text=text,
            images=tuple(images),
            source=source,
            while_running=while_running,
            is_as_it_is=as_it_is,
        )
        return await self._made.prompts.prompt(words, expand=expand)

    async def queue(
        self, queue: QueueName, text: str, images: Sequence[Image] = (), *, source: Source = "interactive"
    ) -> Disposition:
        """Adds a message to a queue: delivered in this run if one is under way, else with the next."""
        how = "steer" if queue == "steering" else "follow_up"
        words = Words(text=text, images=tuple(images), source=source, while_running=how)
        return await self._made.prompts.queue(queue, words)

    def resume(self) -> None:
        """Lets the agent go on from the conversation as it stands."""
        self._made.prompts.resume()

    async def unmask(self) -> Disposition:
        """Sends the last prompt in which something was masked again, as it is. Raises `Unable`."""
        return await self._made.prompts.unmask()

    async def retry(self) -> bool:
        """Asks again after a failed or stopped answer, which leaves the context. False: there is none."""
        return await self._made.prompts.retry(self.last_answer)

    def commands(self) -> Sequence[Any]:
        """What `/name` can stand for in a prompt, as `get_commands` answers it."""
        return [*self._parts.hooks.commands(), *self.mcp.commands()]

    def shown_text(self, message: CustomMessage) -> str:
        """What a person reads of it where there is only text."""
        return self._parts.hooks.shown_text(message)

    async def send(
        self,
        message: CustomMessage,
        *,
        deliver_as: DeliverAs = "steer",
        trigger: bool = False,
        call_id: str | None = None,
    ) -> str:
        """Delivers a message of bayou's or an extension's own; returns its id, for `wait_for_delivery`."""
        return await self._made.prompts.send(message, deliver_as=deliver_as, trigger=trigger, call_id=call_id)

    async def wait_for_delivery(self, message_id: str, timeout: float | None = None) -> Receipt:
        """Resolves when a request with this message got response headers, or it left the context."""
        look = self._made.telling.forget_undeliverable
        return await self._made.deliveries.wait(message_id, timeout, look=look)

    async def ask_beside(self, question: str, on_text: Callable[[str], None] = lambda text: None) -> str:
        """An answer that enters nothing: the conversation is read, and goes on as it stood. Cancelling stops it."""
        return await self._made.beside.ask(question, on_text)

    async def draft_handoff(self, goal: str, on_text: Callable[[str], None] = lambda text: None) -> str:
        """What a session that begins anew for this goal has to know of this one; nothing is begun."""
        return await self._made.beside.draft_handoff(goal, on_text)

    async def abort(self) -> None:
        """Stops whatever is under way and waits until it has settled. Queued messages stay queued."""
        await self._made.stop()

    async def compact(self, instructions: str | None = None) -> CompactionResult:
        """Replaces the older part of the context by a summary. A run that is under way is stopped first."""
        await self._made.runner.abort()
        self._made.readiness.require_model()
        return await self._made.compactor.compact("manual", instructions)

    async def draft_compaction(self, instructions: str | None = None) -> Proposal:
        """The summary that `compact` would leave, for a person to read and change; nothing is recorded."""
        self._made.readiness.require_idle("Compaction")
        self._made.readiness.require_model()
        return await self._made.compactor.draft(instructions)

    async def compact_as(self, draft: Proposal) -> CompactionResult:
        """Makes a draft count, as it was changed."""
        self._made.readiness.require_idle("Compaction")
        return await self._made.compactor.compact("manual", draft=draft)

    def interrupt(self, message: CustomMessage) -> bool:
        """Drops the answer that is arriving; the run goes on behind `message`. False: none is arriving."""
        return self._made.runner.interruption.wish(message)

    async def wait_until_idle(self) -> None:
        await self._made.runner.wait()

    def waiting(self, queue: QueueName) -> tuple[Queued, ...]:
        return self._made.queues.waiting(queue)

    def put_back(self, queue: QueueName, message: Queued) -> None:
        self._made.queues.add(queue, message)

    def take_back(self, message_id: str) -> Queued | None:
        return self._made.queues.remove(message_id)

    def switch_queue(self, message_id: str) -> None:
        self._made.queues.switch(message_id)

    def reorder(self, queue: QueueName, messages: Sequence[Queued]) -> None:
        """In this order from now on; what is not named is taken back."""
        self._made.queues.replace(queue, tuple(messages))

    def clear_queues(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self._made.queues.clear()

    def retry_now(self) -> None:
        self._made.runner.countdown.retry_now()

    def give_up_retry(self) -> None:
        self._made.runner.countdown.cancel()

    @property
    def job_table(self) -> JobTable:
        """The whole of them, for tools that wait for jobs or hand some over."""
        return self._made.jobs

    def all_jobs(self) -> tuple[Job, ...]:
        return self._made.jobs.all()

    def job(self, job_id: str) -> Job:
        """Raises `Unable` when there is none."""
        return self._made.jobs.get(job_id)

    def kill_job(self, job_id: str) -> Job:
        """The agent is told with the next prompt."""
        return self._made.jobs.kill(job_id, tell=True)

    def pin_job(self, job_id: str, is_pinned: bool = True) -> Job:
        return self._made.jobs.pin(job_id, is_pinned)

    async def wait_for_job(self, job_id: str, timeout: float | None = None) -> Job:
        return await self._made.jobs.wait(job_id, timeout)

    def send_to_background(self, call_id: str) -> None:
        self._made.nested.send_to_background(call_id)

    # Tools

    def all_tools(self) -> tuple[Tool, ...]:
        return self._parts.toolbox.all()

    def active_tools(self) -> Mapping[str, Tool]:
        return self._parts.toolbox.active()

    def set_active_tools(self, names: Iterable[str]) -> None:
        self._parts.toolbox.set_active(names)

    def choose_tools(self, choice: ToolChoice) -> None:
        """What command line and settings say of them counts, for those too that came since."""
        self._parts.toolbox.choose(choice)

    def add_tool(self, tool: Tool, *, owner: str) -> None:
        """Covers one of the same name until it is removed."""
        self._parts.toolbox.register(tool, owner=owner)

    def remove_tool(self, name: str) -> None:
        self._parts.toolbox.unregister(name)

    def card(self, call: ToolCall, result: ToolResult | None = None) -> Card:
        return self._parts.toolbox.card(call, result)

    def has_preview(self, name: str) -> bool:
        """Whether `preview_call` can show what calls of that tool change."""
        return self._made.preview.is_for(name)

    async def preview_call(
        self, name: str, arguments: Mapping[str, Any], *, is_for_person: bool = False
    ) -> ToolResult | None:
        """The diffs that a call would make, as the details of a result; None: its arguments say all there is.

        For a person who asks, files are read that the model may not read unasked."""
        return await self._made.preview.of(name, arguments, is_for_person=is_for_person)

    async def run_tool(self, name: str, arguments: dict[str, Any], parent_id: str) -> ToolResult:
        """A call within another: gated and told like the agent's own. Faults are results."""
        return await self._made.nested.run(name, arguments, parent_id)

    def use_terminal(self, host: PtyHost) -> None:
        """Commands that need a terminal are shown by this face."""
        self._parts.toolbox.workspace.pty_host = host

    def available_models(self) -> tuple[Model, ...]:
        """Those whose provider has credentials, or needs none."""
        return self._parts.choice.available()

    def find_model(self, provider: str, model_id: str) -> Model:
        """An available one; raises `NoModel`."""
        return self._parts.choice.find(provider, model_id)

    def can_use(self, model: Model) -> bool:
        return self._parts.choice.is_available(model)

    def warm_up(self) -> None:
        """Loads the tools, makes what the first request says in front, looks for what is to be masked in it and how it
        is written down, and reads and loads what requests to the chosen model need; may take a while, so call it in
        a thread."""
        import_module("app.agent.loop")
        self.sections()
        self._made.conversation.warm_up()
        choice = self._parts.choice
        if choice.model is not None:
            choice.credentials.prepare(choice.model.provider)
            self._parts.registry.warm(choice.model)

    async def set_model(self, model: Model, source: ModelSource = "set") -> None:
        await self._made.models.use(model, source)

    async def cycle_model(self, step: int = 1) -> Model | None:
        return await self._made.models.cycle(step)

    async def set_thinking(self, level: ThinkingLevel) -> None:
        """Clamped to what the model can do."""
        await self._made.models.use_thinking(level)

    async def cycle_thinking(self) -> ThinkingLevel | None:
        return await self._made.models.cycle_thinking()

    @property
    def todos(self) -> Phases:
        """The list of the place where it stands."""
        return self._made.todos.phases

    async def change_todos(self, asked: TodoChange) -> Phases:
        """The agent's change. Raises `TodoRefused`."""
        return await self._made.todos.change(asked)

    async def set_todos(self, phases: Sequence[TodoPhase]) -> Phases:
        """A person's or a program's list; the agent hears of it with what it reads next. Raises `TodoRefused`."""
        before, after = self.todos, await self._made.todos.replace(tuple(phases))
        if after != before:
            await self._made.prompts.send(self._made.todos.as_message(), deliver_as="aside")
        return after

    @property
    def pending(self) -> tuple[StagedAction, ...]:
        """Changes that wait to be applied or discarded, the oldest first."""
        return self._made.pending.waiting

    async def resolve_pending(
        self, id: str | None, action: Answer, reason: str, *, by: By = "person"
    ) -> Resolved:
        """Answers one of them in the model's place, which hears of it with what it reads next. Raises `Unable`."""
        reason = await self._made.masking.words(reason, "your answer")
        resolved = await self._made.pending.resolve(id, action, reason, by=by)
        await self._made.prompts.send(self._made.pending.told(resolved), deliver_as="aside")
        return resolved

    async def stage(
        self,
        label: str,
        source_tool: str,
        changes: Sequence[WishedChange] = (),
        *,
        apply: Callable[[str], Awaitable[str]] | None = None,
        reject: Callable[[str], Awaitable[str | None]] | None = None,
    ) -> str:
        """Changes that wait from now on; their id. Raises `Unable`."""
        staged = await self._made.pending.stage(label, source_tool, changes, apply=apply, reject=reject)
        return staged.id

    def set_plan_mode(self, is_on: bool) -> None:
        """While it is on, nothing changes and the agent plans; left, permissions are what they were before."""
        self._made.planning.begin() if is_on else self._made.planning.end()

    async def propose_plan(self, title: str, plan: str) -> PlanOutcome:
        """The agent's plan, put to whoever can be asked."""
        return await self._made.planning.propose(title, plan)

    @property
    def unanswered_plan(self) -> PlanProposed | None:
        """The last plan that was proposed where no face can accept one."""
        return self._made.planning.unanswered

    # How it is set, and the record

    def keep_setting(self, name: str, value: object) -> None:
        """Counts at once, whatever the files say, and for later sessions: a file that cannot be written undoes nothing.

        Raises `SettingRefused` when the value does not fit.
        """
        self._made.following.keep(name, value)

    def follow_settings(self) -> None:
        """Reads files of settings that have changed; what is wrong with one is told."""
        self._made.following.look()

    async def note(self, custom_type: str, data: Any) -> Entry:
        """An entry of an extension's or of bayou's own, which the model never reads."""
        return await self._made.record.note(custom_type, data)

    async def edit_context(self, target_id: str, replacement: dict[str, Any] | None) -> Entry:
        """Leaves an entry out of the context (None) or replaces its content; the file keeps it."""
        return await self._made.record.edit_context(target_id, replacement)

    async def change_context(self, target_id: str, replacement: dict[str, Any]) -> None:
        """`edit_context`, for a person: it waits its turn, and what it costs is said."""
        await self._made.record.change_context(target_id, replacement)

    def set_label(self, entry_id: str, label: str | None) -> None:
        self.log.set_label(entry_id, label)

    # The shell, the name, other places, files

    def abort_shell(self) -> None:
        self._made.shell.underway.abort()

    async def run_shell(
        self, command: str, *, exclude: bool = False, update_id: str | None = None
    ) -> BashExecutionMessage:
        """Runs a person's command; the model reads it with the next request unless `exclude`."""
        message = await self._made.shell.run(command, exclude=exclude, update_id=update_id)
        if not self.is_running:
            await self._made.shell.record_held_back()
        return message

    def restore(
        self, *, restores_model: bool, restores_thinking: bool = True, name: str | None = None
    ) -> bool:
        """Goes on with what the log holds: an answer that was cut off, a name if it is given one, its model, if any."""
        restore = self._made.navigation.restore
        return restore(restores_model=restores_model, restores_thinking=restores_thinking, name=name)

    async def rename(self, name: str) -> None:
        await self._made.record.rename(name)

    async def go_to(self, entry_id: str | None, wish: Wish = Wish()) -> Arrival:  # noqa: B008  (frozen)
        """Moves to a point of the tree; None is before everything. The branch that is left may be summarised there."""
        return await self._made.navigation.go_to(entry_id, wish)

    async def merge(self, leaf_id: str, wish: Wish = Wish()) -> BranchSummaryEntry:  # noqa: B008  (frozen)
        """Summarises another branch into this one."""
        return await self._made.navigation.merge(leaf_id, wish)

    async def record_compaction(self, summary: str, first_kept_entry_id: str | None) -> bool:
        """One that an extension wrote by itself; False, told, when there is nothing that it could stand for."""
        return await self._made.compactor.record_given(summary, first_kept_entry_id)

    async def undo_compaction(self) -> str | None:
        """Goes back to the full history, before the last compaction; a prompt it stood behind is returned."""
        return await self._made.navigation.undo_compaction()

    async def begin(self, parent: Path | None = None) -> None:
        """A new session; what is under way is stopped. Raises `Stayed` when an extension wants to stay."""
        await self._made.navigation.begin(parent)

    async def switch_to(self, name: str) -> None:
        """Goes on with the file of this name, or with a new session that will be written there."""
        await self._made.navigation.switch_to(name)

    async def fork(self, entry_id: str, position: Literal["before", "at"] = "before") -> bool:
        """Goes on in a copy that ends before or at an entry. False: an extension wants to stay."""
        return await self._made.navigation.fork(entry_id, position)

    async def open(self, log: SessionLog, reason: SwitchReason, *, stays: bool = False) -> None:
        """Goes on with another log, in the folder that it is about unless `stays`; the present one is closed."""
        await self._made.navigation.open(log, reason, stays=stays)

    async def preview_files(self, asked: Asked) -> "Plan":
        """What putting files back would do."""
        return await self._made.restoring.preview(asked)

    async def put_files_back(self, plan: "Plan", choices: Choices = NO_CHOICES) -> PutBack:
        """Does what a plan says, or what was chosen for single files; the model is told. Raises `Unable`."""
        return await self._made.restoring.carry_out(plan, choices)

    async def differences(self, of: Compared) -> "Differences":
        """What changed in files. Raises `Unable`."""
        return await self._made.files.differences(of)

    async def announce_end(self) -> None:
        """Extensions hear of the end of the program, while there still is a session to talk to."""
        await self._parts.hooks.ended()

    async def close(self) -> None:
        await self._made.end()
