"""The session: the object that every interface drives.

Its methods concern the conversation as a whole: prompting, stopping, listening, state, end. Everything else is a
method of one of its attributes. `session_parts` creates them.
"""

from collections.abc import Callable, Container, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.agent.abort_signal import AbortSignal
from app.agent.message_queues import QueueName
from app.engine.core.context_usage import ContextUsage
from app.engine.core.delivery import DeliverAs, MessageDeliveryReceipt
from app.engine.core.event_bus import EventListener, WaitForListenerRoom
from app.engine.core.prompt_intake import PromptInput, PromptSource, QueueWhileRunning
from app.engine.dependencies import SessionDependencies
from app.engine.prompt_submission import PromptDisposition
from app.engine.session_parts import SessionParts
from app.engine.session_state import ContextRoom, SessionState, context_room, session_state
from app.engine.tree.session_export import export_session, make_entry_masker
from app.engine.user_runs.shell_snapshot import ShellSnapshotSource
from app.sessions.session_log import SessionLog
from app.sessions.session_stats import SessionCounts
from app.values.content import Image
from app.values.messages import AssistantMessage, CustomMessage, Message
from app.values.models import Model
from tools.session_workspace import PtyHost

if TYPE_CHECKING:
    from app.engine.files.change_review import ChangeReview


class Session:
    """A conversation with a model that can use tools."""

    def __init__(self, given: SessionDependencies) -> None:
        self._dependencies = given
        self._parts = made = SessionParts(given)
        self._close_callbacks: list[Callable[[], None]] = []
        self.events = made.core.event_bus
        self.queues = made.core.queues
        self.outcomes = made.core.outcomes
        """The prompts that were sent with an id and have no outcome yet."""
        self.models = made.models.selection
        self.requests = made.models.requests
        self.budget = made.core.budget
        """The limits of the session's usage."""
        self.notes = made.notes
        """The part that writes names, notes and context edits as entries of the session."""
        self.settings = made.settings_watch
        self.compaction = made.compaction
        self.branches = made.navigation
        """The part that navigates to other points of the tree and to other sessions."""
        self.tools = given.toolbox
        self.calls = made.tools.nested
        """The part that runs tool calls which the model did not make itself."""
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
        self.files = made.files.session_files
        self.memory = made.files.notes
        """Notes of the user in context files."""
        self.file_restorer = made.files.file_restorer
        """The part that restores files to earlier states."""
        self.repository = made.repository
        self.permissions = made.permission_gate
        self.folders = made.permission_gate.folders
        """The folders that the session works in besides its own."""
        self.secrets = made.masking
        self.mcp = made.servers
        self.forms = made.forms
        """The part that asks the user to fill in forms."""
        self.shell = made.user_runs.shell
        """The part that runs the user's shell commands."""
        self.own_shell = ShellSnapshotSource(given.toolbox.workspace)
        self.cells = made.user_runs.cells
        """The part that runs the user's Python cells, and inspects the kernel."""
        self.side_questions = made.models.side_questions
        self.provider_search = made.models.search
        self.retry_countdown = made.runner.countdown

    # State

    @property
    def state(self) -> SessionState:
        """A frozen snapshot of settings and activity, cheap to read often."""
        return session_state(self._dependencies, self._parts)

    @property
    def log(self) -> SessionLog:
        """The open session log."""
        return self._parts.core.conversation.log

    @property
    def cwd(self) -> Path:
        return self._dependencies.toolbox.workspace.cwd

    @property
    def is_running(self) -> bool:
        return self._parts.runner.is_running

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that the model reads with the next request."""
        return tuple(self._parts.core.conversation.messages)

    @property
    def stats(self) -> SessionCounts:
        return self._parts.core.usage_totals.session_counts

    @property
    def model(self) -> Model | None:
        return self._dependencies.model_choice.model

    @property
    def last_answer(self) -> AssistantMessage | None:
        return self._parts.core.conversation.last_answer

    @property
    def last_answer_text(self) -> str | None:
        return self._parts.core.conversation.last_answer_text

    @property
    def abort_signal(self) -> AbortSignal | None:
        return self._parts.runner.abort_signal if self.is_running else None

    def context_usage(self) -> ContextUsage | None:
        return self._parts.core.usage_totals.context_usage(self.model) if self.model else None

    def context_room(self) -> ContextRoom:
        """Returns the context usage and what a compaction would free; slower than `context_usage`."""
        return context_room(self._dependencies, self._parts)

    def commands(self) -> Sequence[Any]:
        """Returns the `/name` commands of extensions, prompts and skills, as `get_commands` lists them."""
        return [*self._dependencies.hooks.extension_commands(), *self.mcp.prompt_commands()]

    def text_of_custom_message(self, message: CustomMessage) -> str:
        """Returns the text of a message for a text-only interface."""
        return self._dependencies.hooks.text_of_custom_message(message)

    def subscribe(
        self,
        listener: EventListener,
        *,
        pace: WaitForListenerRoom | None = None,
        hears: Container[str] | None = None,
    ) -> Callable[[], None]:
        """Calls `listener` with every event of the session, or with the types in `hears`; returns a function
        that stops it."""
        return self.events.subscribe(listener, pace=pace, hears=hears)

    @property
    def review(self) -> "ChangeReview":
        """A person's review of the session's file changes, hunk by hunk."""
        from app.engine.files.change_review import ChangeReview  # noqa: PLC0415  (when it is first used)

        core = self._parts.core
        return ChangeReview(core.conversation, core.event_bus, self.files, self.file_restorer, self.secrets)

    # Prompts

    async def prompt(
        self,
        text: str,
        images: Sequence[Image] = (),
        *,
        while_running: QueueWhileRunning | None = None,
        source: PromptSource = "interactive",
        expand: bool = True,
        as_it_is: bool = False,
        request_id: Any = None,
    ) -> PromptDisposition:
        """Sends a prompt. Returns once the session has accepted it; the results arrive as events, the outcome as
        a `prompt_result` with the `request_id`."""
        words = PromptInput(
            text=text,
            images=tuple(images),
            source=source,
            queue_while_running=while_running,
            is_sent_unmasked=as_it_is,
            request_id=request_id,
        )
        return await self._parts.prompts.prompt(words, expand=expand)

    async def queue(
        self,
        queue: QueueName,
        text: str,
        images: Sequence[Image] = (),
        *,
        source: PromptSource = "interactive",
        request_id: Any = None,
    ) -> PromptDisposition:
        """Adds a message to a queue: it is delivered in the current run, or with the next one."""
        how = "steer" if queue == "steering" else "follow_up"
        words = PromptInput(
            text=text, images=tuple(images), source=source, queue_while_running=how, request_id=request_id
        )
        return await self._parts.prompts.queue(queue, words)

    def resume(self) -> None:
        """Continues the conversation without a new prompt."""
        self._parts.prompts.resume()

    async def resend_unmasked(self) -> PromptDisposition:
        """Sends the last masked prompt again, unmasked. Raises `UserError`."""
        return await self._parts.prompts.resend_unmasked()

    async def retry_failed_answer(self) -> bool:
        """Repeats the request after a failed or stopped answer, which leaves the context. Returns False if there
        is no such answer."""
        return await self._parts.prompts.retry_failed_answer(self.last_answer)

    async def send(
        self,
        message: CustomMessage,
        *,
        deliver_as: DeliverAs = "steer",
        trigger: bool = False,
        call_id: str | None = None,
    ) -> str:
        """Sends a message of bayou or an extension; returns its id for `wait_for_delivery`."""
        return await self._parts.prompts.send(
            message, deliver_as=deliver_as, trigger=trigger, call_id=call_id
        )

    async def wait_for_delivery(
        self, message_id: str, timeout: float | None = None
    ) -> MessageDeliveryReceipt:
        """Waits until a request with this message got response headers, or the message left the context."""
        look = self._parts.core.event_bus.drop_undeliverable_messages
        return await self._parts.core.deliveries.wait_for_delivery(message_id, timeout, look=look)

    async def abort(self) -> None:
        """Stops the current run and all helpers, and waits until the run has settled. Queued messages stay queued."""
        await self._parts.abort()

    def interrupt_answer(self, message: CustomMessage) -> bool:
        """Drops the arriving answer; the run continues after `message`. Returns False if no answer is arriving."""
        return self._parts.runner.interruption.interrupt_answer(message)

    async def wait_until_idle(self) -> None:
        await self._parts.runner.wait_until_idle()

    def export_to_file(self, target: Path | None = None) -> Path:
        """Exports the session in the format of the file's ending, secrets masked. For a thread; raises
        `OSError`."""
        change = make_entry_masker(self._parts.masking, self.cwd)
        return export_session(
            self.log, target, change=change, draw=self.tools.draw_call_card, folder=self.cwd
        )

    def use_terminal(self, host: PtyHost) -> None:
        """Sets the terminal in which commands that need one are shown."""
        self._dependencies.toolbox.workspace.pty_host = host

    def warm_up(self) -> None:
        """Loads tools, secrets, encoders and the model's client before the first request. Takes a while, so it
        is for a thread."""
        import_module("app.agent.agent_loop")
        self.requests.prompt_sections()
        self._parts.core.conversation.warm_up_encoders()
        choice = self._dependencies.model_choice
        if choice.model is not None:
            choice.credentials.preload_files_of_provider(choice.model.provider)
            self._dependencies.registry.load_modules_for_model(choice.model)

    async def announce_end(self) -> None:
        """Tells extensions that the program ends, while the session still works."""
        await self._dependencies.hooks.on_program_end()

    def add_close_callback(self, call: Callable[[], None]) -> None:
        """Calls `call` when the session has been closed."""
        self._close_callbacks.append(call)

    async def close(self) -> None:
        try:
            await self._parts.end_session()
        finally:
            while self._close_callbacks:
                self._close_callbacks.pop()()
