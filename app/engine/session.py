"""The session: the one object that every face drives. Verbs in, events out; the work is done by its parts.

What there is for faces, and nothing else of it:

- `state`: one frozen view of what it is set to and doing (`engine.state`), cheap to read as often as one likes;
  beside it `messages`, `entries`, `stats`, `context_usage()`, `last_answer`, `cwd`, `system_prompt()`, and `log`, the
  record that is open, for those who are handed the whole of it to read.
- being heard: `subscribe`, `publish`, `publish_now`, `notify`, `drain`.
- talking: `prompt`, `queue`, `resume`, `retry`, `send`, `wait_for_delivery`, `abort`, `wait_until_idle`, `commands`,
  `shown_text`.
- what waits: `waiting`, `put_back`, `take_back`, `switch_queue`, `reorder`, `clear_queues`.
- a retry that waits: `retry_now`, `give_up_retry`.
- the person's shell: `run_shell`, `abort_shell`, `use_terminal`.
- jobs: `all_jobs`, `job`, `kill_job`, `pin_job`, `wait_for_job`, `send_to_background`.
- models: `set_model`, `cycle_model`, `set_thinking`, `cycle_thinking`, `set_scope`, `available_models`, `find_model`.
- tools: `all_tools`, `active_tools`, `set_active_tools`, `choose_tools`, `add_tool`, `remove_tool`, `card`.
- compaction: `compact`, `draft_compaction`, `compact_as`, `undo_compaction`.
- the record: `rename`, `note`, `edit_context`, `set_label`.
- other places: `go_to`, `merge`, `begin`, `switch_to`, `fork`, `open`.
- settings: `keep_setting`, `follow_settings`. The end: `announce_end`, `close`.

Its parts and how they meet are in `workings`; how a run goes is `runner`'s business, what the model is asked
with `turns`'. It is put together in `assembly`.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from app.agent.abort import Abort
from app.agent.prompt import prompt_text
from app.agent.queues import Queued, QueueName
from app.engine.background import tell_agent
from app.engine.brancher import Wish
from app.engine.compactor import Draft
from app.engine.intake import Source, WhileRunning, Words
from app.engine.jobs import Job, JobTable
from app.engine.moving import Arrival, Moving, SwitchReason
from app.engine.publisher import Listener, Pace
from app.engine.stats import ContextUsage, Stats
from app.engine.talking import DeliverAs, Disposition, Talking
from app.engine.toolbox import ToolChoice
from app.engine.workings import Parts, Workings
from app.resources.settings import SettingRefused
from app.sessions.log import SessionLog
from app.values.content import Image, ToolCall
from app.values.entries import BranchSummaryEntry, ContextEditEntry, Entry
from app.values.events import (
    CompactionResult,
    EntryAppended,
    ModelChanged,
    SessionInfoChanged,
    ThinkingLevelChanged,
)
from app.values.messages import AssistantMessage, BashExecutionMessage, CustomMessage, Message
from app.values.models import Model, ThinkingLevel
from tools.base import Tool
from tools.results import Card, ToolResult
from tools.workspace import PtyHost

ModelSource = Literal["set", "cycle", "restore"]
LAST_WORDS_SECONDS = 3.0
"""How long the end of a session waits for listeners that are behind."""


class Session(Workings):
    """A conversation with a model that can use tools."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._talking = Talking(self)
        self.jobs = JobTable(lambda job: tell_agent(self, self._talking, job), self.publish_now)
        self.moving = Moving(self, self.jobs, self.abort)
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

    @property
    def entries(self) -> Sequence[Entry]:
        """Of the whole record, in file order."""
        return self.log.entries

    @property
    def last_answer(self) -> AssistantMessage | None:
        return self.conversation.last_assistant

    @property
    def abort_signal(self) -> Abort | None:
        return self.runner.abort_signal if self.is_running else None

    def write_kept(self) -> None:
        """Writes what was said and a full disk did not take. Raises `SessionWriteError` while it still does not."""
        self.log.write_kept()

    def system_prompt(self) -> str:
        """As the next request has it."""
        return prompt_text({**self.turns.sections(), **self.conversation.standing})

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

    async def retry(self) -> bool:
        """Asks again after a failed or stopped answer, which leaves the context. False: there is none."""
        failed = self.last_answer
        if failed is None or failed.stop_reason not in ("error", "aborted"):
            return False
        await self.runner.leave_out(failed)
        self.resume()
        return True

    def commands(self) -> Sequence[Any]:
        """What `/name` can stand for in a prompt, as `get_commands` answers it."""
        return self.intake.commands()

    def shown_text(self, message: CustomMessage) -> str:
        """What a person reads of it where there is only text."""
        return self.intake.shown_text(message)

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

    # What waits

    def waiting(self, queue: QueueName) -> tuple[Queued, ...]:
        return self.queues.waiting(queue)

    def put_back(self, queue: QueueName, message: Queued) -> None:
        """A message that waited before, as it is."""
        self.queues.add(queue, message)

    def take_back(self, message_id: str) -> Queued | None:
        return self.queues.remove(message_id)

    def switch_queue(self, message_id: str) -> None:
        """Lets a message steer instead of follow, or the other way round."""
        self.queues.switch(message_id)

    def reorder(self, queue: QueueName, messages: Sequence[Queued]) -> None:
        """What waits there from now on, in this order; what is not named is taken back."""
        self.queues.replace(queue, tuple(messages))

    def clear_queues(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self.queues.clear()

    def retry_now(self) -> None:
        self.runner.countdown.retry_now()

    def give_up_retry(self) -> None:
        self.runner.countdown.cancel()

    # Jobs

    def all_jobs(self) -> tuple[Job, ...]:
        return self.jobs.all()

    def job(self, job_id: str) -> Job:
        """Raises KeyError with a sentence for people."""
        return self.jobs.get(job_id)

    def kill_job(self, job_id: str) -> Job:
        """The agent is told with the next prompt."""
        return self.jobs.kill(job_id, tell=True)

    def pin_job(self, job_id: str, is_pinned: bool = True) -> Job:
        """Lets it go on when the session is left, or no longer."""
        return self.jobs.pin(job_id, is_pinned)

    async def wait_for_job(self, job_id: str, timeout: float | None = None) -> Job:
        """Until it has ended or `timeout` seconds have passed; its state says which."""
        return await self.jobs.wait(job_id, timeout)

    def send_to_background(self, call_id: str) -> None:
        """The person asks that this running call be waited for no longer."""
        self.toolbox.send_to_background(call_id)

    # Tools

    def all_tools(self) -> tuple[Tool, ...]:
        return self.toolbox.all()

    def active_tools(self) -> Mapping[str, Tool]:
        return self.toolbox.active()

    def set_active_tools(self, names: Iterable[str]) -> None:
        self.toolbox.set_active(names)

    def choose_tools(self, choice: ToolChoice) -> None:
        """What command line and settings say of them counts, for those too that came since."""
        self.toolbox.choose(choice)

    def add_tool(self, tool: Tool, *, owner: str) -> None:
        """Covers one of the same name until it is removed."""
        self.toolbox.register(tool, owner=owner)

    def remove_tool(self, name: str) -> None:
        self.toolbox.unregister(name)

    def card(self, call: ToolCall, result: ToolResult | None = None) -> Card:
        return self.toolbox.card(call, result)

    def use_terminal(self, host: PtyHost) -> None:
        """Commands that need a terminal are shown by this face."""
        self.toolbox.workspace.pty_host = host

    # The model

    def available_models(self) -> tuple[Model, ...]:
        """Those whose provider has credentials, or needs none."""
        return self.choice.available()

    def find_model(self, provider: str, model_id: str) -> Model:
        """An available one; raises `NoModel`."""
        return self.choice.find(provider, model_id)

    def set_scope(self, models: Sequence[Model]) -> None:
        """The models that cycling goes through; none: all that are available."""
        self.choice.scope = tuple(models)

    def warm_up(self) -> None:
        """Loads what requests to the chosen model need; may take a while, so call it in a thread."""
        if self.choice.model is not None:
            self.requests.registry.warm(self.choice.model)

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

    # How it is set

    def keep_setting(self, name: str, value: object) -> None:
        """Counts at once, whatever the files say, and for later sessions: a file that cannot be written undoes nothing.

        Raises `SettingRefused` when the value does not fit.
        """
        self.in_force.set(name, value)
        try:
            self.in_force.keep(name, value)
        except SettingRefused as problem:
            self.notify(f"{name} holds for this session only: {problem}", "warning")

    def follow_settings(self) -> None:
        """Reads files of settings that have changed. What is wrong with one is told; its sound values count."""
        for problem in self.in_force.follow():
            self.notify(str(problem), "warning")

    # The record

    async def note(self, custom_type: str, data: Any) -> Entry:
        """An entry of an extension's or of bayou's own, which the model never reads."""
        return await self._told(self.conversation.note(custom_type, data))

    async def edit_context(self, target_id: str, replacement: dict[str, Any] | None) -> Entry:
        """Leaves an entry out of the context (None) or replaces its content; the file keeps it."""
        edit = ContextEditEntry(parent_id=None, target_id=target_id, replacement=replacement)
        return await self._told(self.conversation.record_state(edit))

    async def _told(self, entry: Entry) -> Entry:
        await self.publish(EntryAppended(entry=entry))
        return entry

    def set_label(self, entry_id: str, label: str | None) -> None:
        self.log.set_label(entry_id, label)

    # The shell, the name, other places

    def abort_shell(self) -> None:
        self.shell.abort()

    async def run_shell(
        self, command: str, *, exclude: bool = False, update_id: str | None = None
    ) -> BashExecutionMessage:
        """Runs a person's command; the model reads it with the next request unless `exclude`."""
        return await self.shell.run(command, exclude=exclude, update_id=update_id)

    def restore(self, *, restores_model: bool, name: str | None = None) -> None:
        """Goes on with what the log holds: its model, an answer that was cut off, a name if it is given one."""
        if self.entries and restores_model:
            self.moving.restore_choice()
        self.conversation.recover_partial()
        if name and not self.log.is_read_only:
            self.conversation.rename(" ".join(name.split()))

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

    async def begin(self, parent: Path | None = None) -> None:
        """A new session; what is under way is stopped. Raises `Stayed` when an extension wants to stay."""
        await self.moving.begin(parent)

    async def switch_to(self, name: str) -> None:
        """Goes on with the file of this name, or with a new session that will be written there."""
        await self.moving.switch_to(name)

    async def fork(self, entry_id: str, position: Literal["before", "at"] = "before") -> bool:
        """Goes on in a copy that ends before or at an entry. False: an extension wants to stay."""
        return await self.moving.fork(entry_id, position)

    async def open(self, log: SessionLog, reason: SwitchReason) -> None:
        """Goes on with another log; the present one is closed."""
        await self.moving.open(log, reason)

    async def announce_end(self) -> None:
        """Extensions hear of the end of the program, while there still is a session to talk to."""
        await self.intake.ended()

    async def close(self) -> None:
        """Ends the run, the jobs and the log."""
        self._talking.close()
        await self.abort()
        await self.jobs.close()
        await asyncio.wait([asyncio.ensure_future(self.drain())], timeout=LAST_WORDS_SECONDS)
        self.publisher.close()
        self.toolbox.workspace.close()
        self.log.close()
        await self.requests.registry.close()
