"""The session: the one object that every face drives. Verbs in, events out; the work is done by its parts.

It is put together in `assembly`; how a run goes is `runner`'s business, what the model is asked with `turns`'.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from app.agent.abort import Abort
from app.agent.ports import Ports
from app.agent.queues import Queued, QueueName, Queues
from app.engine.account import Account
from app.engine.background import tell_agent
from app.engine.brancher import Brancher
from app.engine.cache import PromptCache
from app.engine.choice import ModelChoice
from app.engine.compactor import Compactor, Draft
from app.engine.conversation import Conversation
from app.engine.delivery import Deliveries, Receipt
from app.engine.intake import Intake, Refused, Source, WhileRunning, Words
from app.engine.jobs import JobTable
from app.engine.moving import Moving, SwitchReason
from app.engine.places import Places
from app.engine.publisher import Listener, Pace, Publisher
from app.engine.requests import Requests
from app.engine.runner import Runner, Steps
from app.engine.shell import UserShell
from app.engine.stats import ContextUsage, Stats
from app.engine.summariser import Summariser
from app.engine.talking import DeliverAs, Disposition, Talking
from app.engine.toolbox import Toolbox, file_changed
from app.engine.turns import SessionOptions, Turns
from app.providers.classify import Failure
from app.providers.registry import Registry
from app.sessions.errors import SessionReadOnly
from app.sessions.log import SessionLog
from app.values.content import Image
from app.values.entries import ContextEditEntry
from app.values.events import (
    CompactionResult,
    EntryAppended,
    Event,
    ModelChanged,
    Notice,
    QueueUpdate,
    SessionInfoChanged,
    ThinkingLevelChanged,
)
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    CustomMessage,
    Message,
)
from app.values.models import Model, ThinkingLevel

ModelSource = Literal["set", "cycle", "restore"]
LAST_WORDS_SECONDS = 3.0
"""How long the end of a session waits for listeners that are behind."""
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


class Session:
    """A conversation with a model that can use tools."""

    def __init__(self, parts: Parts) -> None:
        self.options = parts.options
        self.places = parts.places
        self.choice = parts.choice
        self.toolbox = parts.toolbox
        self.conversation = Conversation(parts.log)
        self.queues = Queues(on_change=self._queues_changed, on_removed=self._never_delivered)
        self.intake = Intake()
        self.account = Account(self.conversation)
        self._classify = parts.classify
        self._publisher = Publisher(lambda text: self.notify(text, "error"))
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
            policy=lambda: self.options.retry,
            options=lambda: self.options.stream,
        )
        self.cache = PromptCache(self.account, parts.choice, self.publish_now)
        self.compactor = Compactor(
            conversation=lambda: self.conversation,
            account=self.account,
            choice=parts.choice,
            summariser=self.summariser,
            publish=self.publish,
            classify=self._failure,
            context_changed=self._context_changed,
            cache_is_dropped=lambda: self.cache.drops("compaction"),
        )
        self.brancher = Brancher(
            conversation=lambda: self.conversation, choice=parts.choice, summariser=self.summariser
        )
        self.turns.hooks.before_request = self.compactor.check
        self.turns.hooks.prompt_changed = lambda: self.cache.drops("prompt")
        self.jobs = JobTable(lambda job: tell_agent(self, job), self.publish_now)
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
        self.moving = Moving(self)
        self._talking = Talking(self)
        parts.toolbox.jobs = self.jobs
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
    def messages(self) -> tuple[Message, ...]:
        """The context: what the model reads with the next request."""
        return tuple(self.conversation.messages)

    @property
    def stats(self) -> Stats:
        return self.account.stats

    def context_usage(self) -> ContextUsage | None:
        """How full the model's window is."""
        return self.account.context_usage(self.choice.model) if self.choice.model else None

    # Being heard

    def subscribe(self, listener: Listener, *, pace: Pace | None = None) -> Callable[[], None]:
        """Tells `listener` every event from now on; returns how to stop."""
        return self._publisher.subscribe(listener, pace=pace)

    async def publish(self, event: Event) -> None:
        self._note(event)
        await self._publisher.publish(event)
        for text in self.log.take_problems():
            self.notify(text, "warning")

    def publish_now(self, event: Event) -> None:
        self._note(event)
        self._publisher.publish_now(event)

    def _note(self, event: Event) -> None:
        self.account.note(event)
        if isinstance(event, EntryAppended) and isinstance(event.entry, ContextEditEntry):
            self._context_changed()

    def notify(self, text: str, level: Literal["info", "warning", "error"] = "info") -> None:
        self.publish_now(Notice(level=level, text=text))

    async def drain(self) -> None:
        """Waits until every listener has heard everything."""
        await self._publisher.drain()

    # Talking

    async def prompt(
        self,
        text: str,
        images: Sequence[Image] = (),
        *,
        while_running: WhileRunning | None = None,
        source: Source = "interactive",
        expand: bool = True,
    ) -> Disposition:
        """Sends a prompt. Returns once it is accepted; what comes of it arrives as events."""
        words = Words(text=text, images=tuple(images), source=source, while_running=while_running)
        return await self._talking.prompt(words, expand=expand)

    async def queue(
        self, queue: QueueName, text: str, images: Sequence[Image] = (), *, source: Source = "interactive"
    ) -> Disposition:
        """Adds a message to a queue: delivered in this run if one is under way, else with the next."""
        how = "steer" if queue == "steering" else "follow_up"
        words = Words(text=text, images=tuple(images), source=source, while_running=how)
        return await self._talking.queue(queue, words)

    def resume(self) -> None:
        """Lets the agent go on from the conversation as it stands."""
        self._talking.resume()

    async def send(
        self,
        message: CustomMessage,
        *,
        deliver_as: DeliverAs = "steer",
        trigger: bool = False,
        call_id: str | None = None,
    ) -> str:
        """Delivers a message of bayou's or an extension's own; returns its id, for `wait_for_delivery`."""
        return await self._talking.send(message, deliver_as=deliver_as, trigger=trigger, call_id=call_id)

    async def abort(self) -> None:
        """Stops whatever is under way and waits until it has settled. Queued messages stay queued."""
        self.shell.abort()
        self.compactor.underway.stop()
        self.brancher.underway.stop()
        await self.runner.abort()

    async def compact(self, instructions: str | None = None) -> CompactionResult:
        """Replaces the older part of the context by a summary. A run that is under way is stopped first."""
        await self.runner.abort()
        self.require_model()
        return await self.compactor.compact("manual", instructions)

    async def draft_compaction(self, instructions: str | None = None) -> Draft:
        """The summary that `compact` would leave, for a person to read and change; nothing is recorded."""
        self.require_idle("Compaction")
        self.require_model()
        return await self.compactor.draft(instructions)

    async def compact_as(self, draft: Draft) -> CompactionResult:
        """Makes a draft count, as it was changed."""
        self.require_idle("Compaction")
        return await self.compactor.compact("manual", draft=draft)

    async def wait_until_idle(self) -> None:
        await self.runner.wait()

    async def wait_for_delivery(self, message_id: str, timeout: float | None = None) -> Receipt:
        """Resolves when a request with this message got response headers, or it left the context."""
        return await self.deliveries.wait(message_id, timeout, look=self.moving.forget_undeliverable)

    # The model

    async def set_model(self, model: Model, source: ModelSource = "set") -> None:
        """Switches from the next request on."""
        self.conversation.change_model(model.provider, model.id)
        level_changed = self.choice.set(model)
        await self.publish(ModelChanged(model=model, source=source))
        self.cache.drops("model")
        if level_changed:
            await self._record_thinking()

    async def cycle_model(self, step: int = 1) -> Model | None:
        model = self.choice.next_model(step)
        if model is not None:
            await self.set_model(model, "cycle")
        return model

    async def set_thinking(self, level: ThinkingLevel) -> None:
        """Clamped to what the model can do."""
        if self.choice.set_thinking(level):
            await self._record_thinking()

    async def cycle_thinking(self) -> ThinkingLevel | None:
        level = self.choice.next_level()
        if level is not None:
            await self.set_thinking(level)
        return level

    async def _record_thinking(self) -> None:
        self.conversation.change_thinking(self.choice.thinking)
        await self.publish(ThinkingLevelChanged(level=self.choice.thinking))
        self.cache.drops("thinking")

    # The shell, the name, other places

    async def run_shell(
        self, command: str, *, exclude: bool = False, update_id: str | None = None
    ) -> BashExecutionMessage:
        """Runs a person's command; the model reads it with the next request unless `exclude`."""
        return await self.shell.run(command, exclude=exclude, update_id=update_id)

    async def rename(self, name: str) -> None:
        cleaned = " ".join(name.split())
        self.conversation.rename(cleaned)
        await self.publish(SessionInfoChanged(name=cleaned or None))

    async def go_to(
        self, entry_id: str | None, *, summarise: bool = False, instructions: str | None = None
    ) -> str | None:
        """Moves to a point of the tree; None is before everything. The branch that is left may be summarised there.

        Going to a prompt means going before it: its text is returned, for the editor.
        """
        return await self.moving.go_to(entry_id, summarise=summarise, instructions=instructions)

    async def merge(self, leaf_id: str, instructions: str | None = None) -> None:
        """Summarises another branch into this one."""
        await self.moving.merge(leaf_id, instructions)

    async def undo_compaction(self) -> str | None:
        """Goes back to the full history, before the last compaction; a prompt it stood behind is returned."""
        return await self.moving.undo_compaction()

    async def open(self, log: SessionLog, reason: SwitchReason) -> None:
        """Goes on with another log; the present one is closed."""
        await self.moving.open(log, reason)

    def take_up(self, conversation: Conversation) -> SessionLog:
        """Puts another conversation in the place of the present one, whose log is returned, still open."""
        previous, self.conversation = self.log, conversation
        self.runner = self._new_runner()
        return previous

    async def close(self) -> None:
        """Ends the run, the jobs and the log."""
        self._talking.close()
        await self.abort()
        await self.jobs.close()
        await asyncio.wait([asyncio.ensure_future(self.drain())], timeout=LAST_WORDS_SECONDS)
        self._publisher.close()
        self.toolbox.workspace.close()
        self.log.close()

    # How the parts meet

    def _new_runner(self) -> Runner:
        return Runner(self.conversation, self.queues, self.requests, self.steps, lambda: self.options.retry)

    def _ports(self, abort: Abort) -> Ports:
        return self.turns.ports(self.conversation, abort, self.runner.will_retry)

    def _failure(self, message: AssistantMessage) -> Failure:
        return self._classify(message, self.choice.model)

    def _context_changed(self) -> None:
        self.account.recount(self.conversation)
        self.moving.forget_undeliverable()

    def _queues_changed(self) -> None:
        texts = self.queues.texts
        self.publish_now(QueueUpdate(steering=texts("steering"), follow_up=texts("follow_up")))

    def _never_delivered(self, message: Queued) -> None:
        self.deliveries.dropped(message.id)

    def require_model(self) -> None:
        if self.log.is_read_only:
            raise Refused(str(SessionReadOnly(self.log.path)))
        model = self.choice.model
        if model is None:
            raise Refused("No model is selected. Choose one with /model, or start with --model.")
        if not self.choice.is_available(model):
            raise Refused(f"No API key found for {model.provider}. Add one with /login {model.provider}.")

    def require_idle(self, what: str) -> None:
        if self.is_compacting:
            raise Refused(f"{what} has to wait until the summary is written. Stop it with Escape first.")
        if self.is_running:
            raise Refused(f"{what} has to wait until the agent is idle. Stop it with Escape first.")
