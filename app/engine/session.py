"""The session: the one object that every face drives. Verbs in, events out; the work is done by its parts.

Its parts and how they meet are in `workings`; how a run goes is `runner`'s business, what the model is asked
with `turns`'. It is put together in `assembly`.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

from app.agent.queues import QueueName
from app.engine.background import tell_agent
from app.engine.brancher import Wish
from app.engine.compactor import Draft
from app.engine.intake import Source, WhileRunning, Words
from app.engine.jobs import JobTable
from app.engine.moving import Arrival, Moving, SwitchReason
from app.engine.publisher import Listener, Pace
from app.engine.stats import ContextUsage, Stats
from app.engine.talking import DeliverAs, Disposition, Talking
from app.engine.workings import Parts, Workings
from app.sessions.log import SessionLog
from app.values.content import Image
from app.values.entries import BranchSummaryEntry
from app.values.events import (
    CompactionResult,
    ModelChanged,
    SessionInfoChanged,
    ThinkingLevelChanged,
)
from app.values.messages import (
    BashExecutionMessage,
    CustomMessage,
    Message,
)
from app.values.models import Model, ThinkingLevel

ModelSource = Literal["set", "cycle", "restore"]
LAST_WORDS_SECONDS = 3.0
"""How long the end of a session waits for listeners that are behind."""


class Session(Workings):
    """A conversation with a model that can use tools."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._talking = Talking(self)
        self.jobs = JobTable(lambda job: tell_agent(self, self._talking, job), self.publish_now)
        self.moving = Moving(self, self.jobs)
        parts.toolbox.jobs = self.jobs

    # What it is

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
        return self.publisher.subscribe(listener, pace=pace)

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

    async def go_to(self, entry_id: str | None, wish: Wish = Wish()) -> Arrival:  # noqa: B008  (frozen)
        """Moves to a point of the tree; None is before everything. The branch that is left may be summarised there."""
        return await self.moving.go_to(entry_id, wish)

    async def merge(self, leaf_id: str, wish: Wish = Wish()) -> BranchSummaryEntry:  # noqa: B008  (frozen)
        """Summarises another branch into this one."""
        return await self.moving.merge(leaf_id, wish)

    async def undo_compaction(self) -> str | None:
        """Goes back to the full history, before the last compaction; a prompt it stood behind is returned."""
        return await self.moving.undo_compaction()

    async def open(self, log: SessionLog, reason: SwitchReason) -> None:
        """Goes on with another log; the present one is closed."""
        await self.moving.open(log, reason)

    async def close(self) -> None:
        """Ends the run, the jobs and the log."""
        self._talking.close()
        await self.abort()
        await self.jobs.close()
        await asyncio.wait([asyncio.ensure_future(self.drain())], timeout=LAST_WORDS_SECONDS)
        self.publisher.close()
        self.toolbox.workspace.close()
        self.log.close()
