"""The session: the object that every interface drives.

Its methods concern the conversation as a whole: prompting, stopping, listening, state, end. Everything else is a
method of one of its attributes. `wiring` creates them."""

from collections.abc import Callable, Container, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.agent.abort import Abort
from app.agent.queues import QueueName
from app.engine.core.context_usage import ContextUsage
from app.engine.core.delivery import DeliverAs, DeliveryReceipt
from app.engine.core.event_bus import Backpressure, Listener
from app.engine.core.prompt_intake import PromptInput, PromptSource, WhileRunning
from app.engine.dependencies import Dependencies
from app.engine.prompt_submission import PromptDisposition
from app.engine.session_parts import SessionParts
from app.engine.session_state import ContextRoom, SessionState, room_from, state_from
from app.engine.tree.session_export import export_session, masked_entries
from app.engine.user_runs.shell_snapshot import ShellSnapshotSource
from app.sessions.session_log import SessionLog
from app.sessions.stats import SessionCounts
from app.values.content import Image
from app.values.messages import AssistantMessage, CustomMessage, Message
from app.values.models import Model
from tools.workspace import PtyHost

if TYPE_CHECKING:
    from app.engine.files.change_review import ChangeReview


class Session:
    """A conversation with a model that can use tools."""

    def __init__(self, given: Dependencies) -> None:
        self._given = given
        self._made = made = SessionParts(given)
        self._closers: list[Callable[[], None]] = []
        self.events = made.core.event_bus
        self.queues = made.core.queues
        self.outcomes = made.core.outcomes
        """Prompts that were sent with an id and have no outcome yet."""
        self.models = made.models.selection
        self.requests = made.models.requests
        self.budget = made.core.budget
        """Limits of the session's usage."""
        self.record = made.record
        """Names, notes and context edits, as entries of the session."""
        self.settings = made.settings_watch
        self.compaction = made.compaction
        self.branches = made.navigation
        """Navigation to other points of the tree and to other sessions."""
        self.tools = given.toolbox
        self.calls = made.tools.nested
        """Tool calls that the model did not make itself."""
        self.previews = made.tools.preview
        self.jobs = made.jobs
        self.helpers = made.helpers
        """Helper agents that work for this session."""
        self.todos = made.planning.todos
        self.plan = made.planning.plan
        self.goal = made.runner.goal
        """The user's goal, and its check."""
        self.pending = made.files.pending
        """Staged changes that wait to be applied or discarded."""
        self.files = made.files.kept
        self.memory = made.files.notes
        """Notes of the user in context files."""
        self.restoring = made.files.restoring
        """Restores files to earlier states."""
        self.repository = made.repository
        self.permissions = made.permits
        self.folders = made.permits.folders
        """The folders that the session works in besides its own."""
        self.secrets = made.masking
        self.mcp = made.servers
        self.forms = made.forms
        """Forms that the user fills in."""
        self.shell = made.runs.shell
        """Commands that the user runs."""
        self.own_shell = ShellSnapshotSource(given.toolbox.workspace)
        self.cells = made.runs.cells
        """Python cells that the user runs, and the kernel."""
        self.side_questions = made.models.beside
        self.retry_countdown = made.runner.countdown

    # State

    @property
    def state(self) -> SessionState:
        """A frozen snapshot of settings and activity, cheap to read often."""
        return state_from(self._given, self._made)

    @property
    def log(self) -> SessionLog:
        """The open session log."""
        return self._made.core.conversation.log

    @property
    def cwd(self) -> Path:
        return self._given.toolbox.workspace.cwd

    @property
    def is_running(self) -> bool:
        return self._made.runner.is_running

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that the model reads with the next request."""
        return tuple(self._made.core.conversation.messages)

    @property
    def stats(self) -> SessionCounts:
        return self._made.core.usage_totals.stats

    @property
    def model(self) -> Model | None:
        return self._given.choice.model

    @property
    def last_answer(self) -> AssistantMessage | None:
        return self._made.core.conversation.last_assistant

    @property
    def last_answer_text(self) -> str | None:
        return self._made.core.conversation.last_answer_text

    @property
    def abort_signal(self) -> Abort | None:
        return self._made.runner.abort_signal if self.is_running else None

    def context_usage(self) -> ContextUsage | None:
        return self._made.core.usage_totals.context_usage(self.model) if self.model else None

    def room(self) -> ContextRoom:
        """Returns the context usage and what a compaction would free; slower than `context_usage`."""
        return room_from(self._given, self._made)

    def commands(self) -> Sequence[Any]:
        """Returns the `/name` commands of extensions, prompts and skills, as `get_commands` lists them."""
        return [*self._given.hooks.commands(), *self.mcp.commands()]

    def shown_text(self, message: CustomMessage) -> str:
        """Returns the text of a message for a text-only interface."""
        return self._given.hooks.shown_text(message)

    def subscribe(
        self, listener: Listener, *, pace: Backpressure | None = None, hears: Container[str] | None = None
    ) -> Callable[[], None]:
        """Calls `listener` with every event, or with the types in `hears`; returns a function that stops it."""
        return self.events.subscribe(listener, pace=pace, hears=hears)

    @property
    def review(self) -> "ChangeReview":
        """What a person decides about changes, hunk by hunk."""
        from app.engine.files.change_review import ChangeReview  # noqa: PLC0415  (when it is first used)

        core = self._made.core
        return ChangeReview(core.conversation, core.event_bus, self.files, self.restoring, self.secrets)

    # Prompts

    async def prompt(
        self,
        text: str,
        images: Sequence[Image] = (),
        *,
        while_running: WhileRunning | None = None,
        source: PromptSource = "interactive",
        expand: bool = True,
        as_it_is: bool = False,
        request_id: Any = None,
    ) -> PromptDisposition:
        """Sends a prompt. Returns once it is accepted; the results arrive as events, the outcome as a
        `prompt_result` with the `request_id`."""
        words = PromptInput(
            text=text,
            images=tuple(images),
            source=source,
            while_running=while_running,
            sends_secrets=as_it_is,
            request_id=request_id,
        )
        return await self._made.prompts.prompt(words, expand=expand)

    async def queue(
        self,
        queue: QueueName,
        text: str,
        images: Sequence[Image] = (),
        *,
        source: PromptSource = "interactive",
        request_id: Any = None,
    ) -> PromptDisposition:
        """Adds a message to a queue: delivered in the current run, or with the next one."""
        how = "steer" if queue == "steering" else "follow_up"
        words = PromptInput(
            text=text, images=tuple(images), source=source, while_running=how, request_id=request_id
        )
        return await self._made.prompts.queue(queue, words)

    def resume(self) -> None:
        """Continues the conversation without a new prompt."""
        self._made.prompts.resume()

    async def unmask(self) -> PromptDisposition:
        """Sends the last masked prompt again, unmasked. Raises `UserError`."""
        return await self._made.prompts.unmask()

    async def retry(self) -> bool:
        """Repeats the request after a failed or stopped answer, which leaves the context. Returns False if
        there is none."""
        return await self._made.prompts.retry(self.last_answer)

    async def send(
        self,
        message: CustomMessage,
        *,
        deliver_as: DeliverAs = "steer",
        trigger: bool = False,
        call_id: str | None = None,
    ) -> str:
        """Sends a message of bayou or an extension; returns its id for `wait_for_delivery`."""
        return await self._made.prompts.send(message, deliver_as=deliver_as, trigger=trigger, call_id=call_id)

    async def wait_for_delivery(self, message_id: str, timeout: float | None = None) -> DeliveryReceipt:
        """Waits until a request with this message got response headers, or the message left the context."""
        look = self._made.core.event_bus.forget_undeliverable
        return await self._made.core.deliveries.wait(message_id, timeout, look=look)

    async def abort(self) -> None:
        """Stops the current run and all helpers, and waits until it has settled. Queued messages stay queued."""
        await self._made.abort()

    def interrupt(self, message: CustomMessage) -> bool:
        """Drops the arriving answer; the run continues after `message`. Returns False if none is arriving."""
        return self._made.runner.interruption.wish(message)

    async def wait_until_idle(self) -> None:
        await self._made.runner.wait()

    def export(self, target: Path | None = None) -> Path:
        """Exports the session in the format of the file's ending, secrets masked. For a thread; raises
        `OSError`."""
        change = masked_entries(self._made.masking, self.cwd)
        return export_session(self.log, target, change=change, draw=self.tools.card, folder=self.cwd)

    def use_terminal(self, host: PtyHost) -> None:
        """Sets the terminal that shows commands which need one."""
        self._given.toolbox.workspace.pty_host = host

    def warm_up(self) -> None:
        """Loads tools, secrets, encoders and the model's client before the first request. Takes a while, so
        call it in a thread."""
        import_module("app.agent.loop")
        self.requests.sections()
        self._made.core.conversation.warm_up()
        choice = self._given.choice
        if choice.model is not None:
            choice.credentials.prepare(choice.model.provider)
            self._given.registry.warm(choice.model)

    async def announce_end(self) -> None:
        """Tells extensions that the program ends, while the session still works."""
        await self._given.hooks.ended()

    def on_close(self, call: Callable[[], None]) -> None:
        """Calls `call` when the session has been closed."""
        self._closers.append(call)

    async def close(self) -> None:
        try:
            await self._made.end()
        finally:
            while self._closers:
                self._closers.pop()()
