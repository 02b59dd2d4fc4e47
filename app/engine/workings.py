"""What a session is made of, and how its parts meet: who asks whom, who is told of what, and what has to be so first.

The verbs that faces use are `session`'s; what they come down to is done by the parts.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from app.agent.abort import Abort
from app.agent.ports import Ports
from app.agent.queues import Queued, Queues
from app.engine.account import Account
from app.engine.brancher import Brancher
from app.engine.cache import PromptCache
from app.engine.choice import ModelChoice
from app.engine.compactor import Compactor
from app.engine.conversation import Conversation
from app.engine.delivery import Deliveries, Receipt
from app.engine.intake import Intake, Refused
from app.engine.jobs import JobTable
from app.engine.options import SessionOptions
from app.engine.places import Places
from app.engine.publisher import Publisher
from app.engine.requests import Requests
from app.engine.runner import Runner, Steps
from app.engine.shell import UserShell
from app.engine.state import State
from app.engine.summariser import Summariser
from app.engine.toolbox import Toolbox, file_changed
from app.engine.turns import Turns
from app.providers.classify import Failure
from app.providers.registry import Registry
from app.sessions.errors import SessionReadOnly, SessionWriteError
from app.sessions.log import SessionLog
from app.values.entries import ContextEditEntry
from app.values.events import (
    EntryAppended,
    Event,
    Notice,
    QueueUpdate,
)
from app.values.messages import (
    AssistantMessage,
)
from app.values.models import Model

Classify = Callable[[AssistantMessage, Model | None], Failure]


class Parts(msgspec.Struct, kw_only=True):
    """What a session is made of."""

    log: SessionLog
    places: Places
    registry: Registry
    choice: ModelChoice
    toolbox: Toolbox
    sections: Callable[[], Mapping[str, str]]
    """The system prompt, as it should be now."""
    classify: Classify
    options: SessionOptions


class Workings:
    """The parts of one session."""

    jobs: JobTable
    """Made by the session, for it tells the agent of their ends."""

    def __init__(self, parts: Parts) -> None:
        self.options = parts.options
        self.in_force = parts.options.in_force
        self.places = parts.places
        self.choice = parts.choice
        self.toolbox = parts.toolbox
        self.conversation = Conversation(parts.log)
        self.queues = Queues(
            mode=parts.options.queue_mode,
            on_change=self._queues_changed,
            on_removed=self._never_delivered,
        )
        self.intake = Intake()
        self.account = Account(self.conversation)
        self._classify = parts.classify
        self.publisher = Publisher(lambda text: self.notify(text, "error"))
        self.deliveries = Deliveries()
        self.requests = Requests(parts.registry, self.deliveries, self.publish, self.publish_now)
        self.turns = Turns(
            choice=parts.choice,
            toolbox=parts.toolbox,
            queues=self.queues,
            requests=self.requests,
            options=parts.options,
            sections=parts.sections,
            report=lambda text: self.notify(text, "warning"),
        )
        self.summariser = Summariser(
            parts.choice,
            parts.registry,
            classify=self._failure,
            publish=self.publish,
            options=parts.options,
        )
        self.cache = PromptCache(self.account, parts.choice, self.publish_now)
        self.compactor = Compactor(
            conversation=lambda: self.conversation,
            account=self.account,
            choice=parts.choice,
            options=parts.options,
            summariser=self.summariser,
            publish=self.publish,
            classify=self._failure,
            context_changed=self._context_changed,
            cache_is_dropped=lambda: self.cache.drops("compaction"),
        )
        self.brancher = Brancher(
            conversation=lambda: self.conversation,
            choice=parts.choice,
            options=parts.options,
            summariser=self.summariser,
        )
        self.turns.hooks.before_request = self.compactor.check
        self.turns.hooks.prompt_changed = lambda: self.cache.drops("prompt")
        self.shell = UserShell(
            parts.toolbox.workspace,
            self.publish,
            record=lambda message: self.conversation.record(message),
            is_agent_running=lambda: self.is_running,
        )
        self.steps = Steps(
            make_ports=self._ports,
            classify=self._failure,
            publish=self.publish,
            partial=lambda: self.turns.stream.partial if self.turns.stream else None,
            turn_ended=self.shell.record_held_back,
            make_room=self.compactor.after_run,
        )
        self.runner = self._new_runner()
        parts.toolbox.model = lambda: self.choice.model
        parts.toolbox.workspace.mutations.subscribe(lambda change: self.publish_now(file_changed(change)))

    # What it is

    @property
    def log(self) -> SessionLog:
        return self.conversation.log

    @property
    def cwd(self) -> Path:
        return self.toolbox.cwd

    @property
    def is_running(self) -> bool:
        return self.runner.is_running

    @property
    def is_compacting(self) -> bool:
        return self.compactor.is_running or self.brancher.is_running

    async def until_summarised(self) -> None:
        """Until no summary is being written."""
        await self.compactor.underway.wait()
        await self.brancher.underway.wait()

    @property
    def state(self) -> State:
        log, choice, queues = self.log, self.choice, self.queues
        return State(
            session_id=log.session_id,
            file=log.path,
            name=log.name,
            leaf_id=log.leaf_id,
            is_read_only=log.is_read_only,
            is_on_disk=log.is_on_disk,
            model=choice.model,
            thinking=choice.thinking,
            levels=choice.levels,
            scope=choice.scope,
            is_running=self.is_running,
            is_compacting=self.is_compacting,
            is_waiting_to_retry=self.runner.countdown.is_running,
            is_shell_running=self.shell.is_running,
            waiting_count=len(queues),
            running_jobs=len(self.jobs.running()),
            context_tokens=self.account.context_tokens,
            is_full=self.compactor.is_full,
            compaction_mode=self.in_force.settings.compaction.mode,
            steering_mode=self.options.queue_mode("steering"),
            follow_up_mode=self.options.queue_mode("follow_up"),
            interrupt_mode=self.options.interrupt_mode,
            retries=self.in_force.settings.retry.enabled,
        )

    # Being heard

    async def publish(self, event: Event) -> None:
        self._note(event)
        await self.publisher.publish(event)
        for text in self.log.take_problems():
            self.notify(text, "error" if self.log.unwritten is not None else "warning")

    def publish_now(self, event: Event) -> None:
        self._note(event)
        self.publisher.publish_now(event)

    def _note(self, event: Event) -> None:
        self.account.note(event)
        if isinstance(event, EntryAppended) and isinstance(event.entry, ContextEditEntry):
            self._context_changed()

    def notify(self, text: str, level: Literal["info", "warning", "error"] = "info") -> None:
        self.publish_now(Notice(level=level, text=text))

    async def drain(self) -> None:
        """Waits until every listener has heard everything."""
        await self.publisher.drain()

    async def wait_for_delivery(self, message_id: str, timeout: float | None = None) -> Receipt:
        """Resolves when a request with this message got response headers, or it left the context."""
        return await self.deliveries.wait(message_id, timeout, look=self.forget_undeliverable)

    # What has to be so

    def require_model(self) -> None:
        if self.log.is_read_only:
            raise Refused(str(SessionReadOnly(self.log.path)))
        self._require_room()
        model = self.choice.model
        if model is None:
            raise Refused("No model is selected. Choose one with /model, or start with --model.")
        if not self.choice.is_available(model):
            raise Refused(f"No API key found for {model.provider}. Add one with /login {model.provider}.")

    def _require_room(self) -> None:
        try:
            self.log.write_kept()
        except SessionWriteError as problem:
            raise Refused(
                f"{problem} Until then nothing new is asked; what was said is kept in memory."
            ) from None

    def require_idle(self, what: str) -> None:
        if self.is_compacting:
            raise Refused(f"{what} has to wait until the summary is written. Stop it with Escape first.")
        if self.is_running:
            raise Refused(f"{what} has to wait until the agent is idle. Stop it with Escape first.")

    # Another conversation

    def take_up(self, conversation: Conversation) -> SessionLog:
        """Puts another conversation in the place of the present one, whose log is returned, still open."""
        previous, self.conversation = self.log, conversation
        self.runner = self._new_runner()
        return previous

    # How the parts meet

    def _new_runner(self) -> Runner:
        return Runner(self.conversation, self.queues, self.requests, self.steps, lambda: self.options.retry)

    def _ports(self, abort: Abort) -> Ports:
        return self.turns.ports(self.conversation, abort, self.runner.will_retry)

    def _failure(self, message: AssistantMessage) -> Failure:
        return self._classify(message, self.choice.model)

    def _context_changed(self) -> None:
        self.account.recount(self.conversation)
        self.forget_undeliverable()

    def forget_undeliverable(self) -> None:
        """Messages that left the context will not reach the model any more; whoever waits is told."""
        self.deliveries.left_context(self.conversation.context_ids, self.log.__contains__)

    def _queues_changed(self) -> None:
        texts = self.queues.texts
        self.publish_now(QueueUpdate(steering=texts("steering"), follow_up=texts("follow_up")))

    def _never_delivered(self, message: Queued) -> None:
        self.deliveries.dropped(message.id)
