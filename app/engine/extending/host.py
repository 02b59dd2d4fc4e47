"""The session as extensions see it: `app.extensions.ports.Host`, answered by the session's own verbs."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from app.agent.abort import Abort
from app.agent.prompt import prompt_text
from app.compaction.cut import CannotCompact
from app.compaction.summary import Written
from app.engine.brancher import Wish
from app.engine.compactor import Draft
from app.engine.extending.nested import NestedCalls
from app.engine.intake import Refused
from app.engine.jobs import JobTable
from app.engine.session import Session
from app.engine.summariser import SummaryFailed
from app.extensions.bridge import Bridge
from app.extensions.ports import DeliverAs, Mode, ProviderSpec, Ui, Usage
from app.extensions.runner import Extensions
from app.sessions.errors import SessionError
from app.sessions.fork import clone, fork_before
from app.sessions.log import SessionLog
from app.values.content import Image
from app.values.entries import ContextEditEntry, Entry
from app.values.events import EntryAppended, Event
from app.values.messages import CustomMessage, Message
from app.values.models import Model, ThinkingLevel
from app.values.wire import to_wire
from tools.base import Tool
from tools.results import ToolResult


class SessionRecord:
    """The conversation's record, to be looked at."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def id(self) -> str:
        return self._session.log.session_id

    @property
    def file(self) -> Path | None:
        return self._session.log.path

    @property
    def name(self) -> str | None:
        return self._session.log.name

    @property
    def leaf_id(self) -> str | None:
        return self._session.log.leaf_id

    def entries(self) -> Sequence[Entry]:
        return tuple(self._session.log.entries)

    def entry(self, entry_id: str) -> Entry | None:
        return self._session.log.entry(entry_id) if entry_id in self._session.log else None

    def branch(self, from_id: str | None = None) -> Sequence[Entry]:
        return self._session.log.path_to(from_id)

    def label(self, entry_id: str) -> str | None:
        return self._session.log.label(entry_id)

    def messages(self) -> Sequence[Message]:
        return self._session.messages


class SessionHost:
    """One session and the face that shows it."""

    def __init__(
        self,
        session: Session,
        extensions: Extensions,
        *,
        mode: Mode,
        ui: Ui,
        settings: Callable[[], Mapping[str, Any]],
        prompt_sections: dict[str, str],
        is_trusted: bool,
        shutdown: Callable[[], None],
        reload: Callable[[], Any],
    ) -> None:
        self._session = session
        self._settings = settings
        self._reload = reload
        self._tools_of: dict[str, list[str]] = {}
        self.mode: Mode = mode
        self.ui = ui
        self.prompt_sections = prompt_sections
        self.is_trusted = is_trusted
        self.shutdown = shutdown
        self.session = SessionRecord(session)
        self.nested = NestedCalls(session, Bridge(extensions))
        self.wants_another_turn = False

    @property
    def cwd(self) -> Path:
        return self._session.cwd

    @property
    def cache_dir(self) -> Path | None:
        return self._session.toolbox.workspace.cache_dir

    @property
    def jobs(self) -> JobTable:
        return self._session.jobs

    @property
    def settings(self) -> Mapping[str, Any]:
        return self._settings()

    # The state of the run

    def is_idle(self) -> bool:
        return not self._session.is_running

    def has_pending_messages(self) -> bool:
        return len(self._session.queues) > 0

    def abort_signal(self) -> Abort | None:
        return self._session.runner.abort_signal if self._session.is_running else None

    async def abort(self) -> None:
        await self._session.abort()

    async def wait_until_idle(self) -> None:
        await self._session.wait_until_idle()

    def context_usage(self) -> Usage | None:
        usage = self._session.context_usage()
        if usage is None:
            return None
        return Usage(tokens=usage.tokens, window=usage.context_window, percent=usage.percent)

    def system_prompt(self) -> str:
        return prompt_text({**self._session.turns.sections(), **self._session.conversation.standing})

    # Talking

    async def send(
        self, message: CustomMessage, *, deliver_as: DeliverAs, trigger: bool, call_id: str | None
    ) -> str:
        return await self._session.send(message, deliver_as=deliver_as, trigger=trigger, call_id=call_id)

    async def prompt(
        self, text: str, images: Sequence[Image], *, deliver_as: DeliverAs | None, expand: bool
    ) -> None:
        while_running = "follow_up" if deliver_as == "follow_up" else "steer" if deliver_as else None
        await self._session.prompt(
            text, images, while_running=while_running, source="extension", expand=expand
        )

    async def wait_for_delivery(self, message_id: str, timeout: float | None) -> Any:
        return await self._session.wait_for_delivery(message_id, timeout)

    async def publish(self, event: Event) -> None:
        await self._session.publish(event)

    # The record

    async def append_entry(self, custom_type: str, data: Any) -> str:
        entry = self._session.conversation.note(custom_type, data)
        await self._session.publish(EntryAppended(entry=entry))
        return entry.id

    async def edit_context(self, target_id: str, replacement: dict[str, Any] | None) -> str:
        entry = self._session.conversation.record_state(
            ContextEditEntry(parent_id=None, target_id=target_id, replacement=replacement)
        )
        await self._session.publish(EntryAppended(entry=entry))
        return entry.id

    async def record_compaction(self, summary: str, first_kept_entry_id: str | None) -> bool:
        """A summary that an extension wrote by itself; False, told, when there is nothing that it could stand for."""
        compactor = self._session.compactor
        try:
            preparation = compactor.preparation(first_kept_entry_id)
        except CannotCompact as problem:
            self._session.notify(f"An extension's compaction was left out: {problem}", "warning")
            return False
        draft = Draft(preparation=preparation, written=Written(text=summary), from_hook=True)
        try:
            await compactor.compact("manual", draft=draft)
        except (CannotCompact, SummaryFailed):
            return False  # the end event has told it
        return True

    async def set_label(self, entry_id: str, label: str | None) -> None:
        self._session.log.set_label(entry_id, label)

    async def set_name(self, name: str) -> None:
        await self._session.rename(name)

    # Tools and models

    def tools(self) -> Sequence[Tool]:
        return self._session.toolbox.all()

    def active_tools(self) -> Sequence[str]:
        return tuple(self._session.toolbox.active())

    def set_active_tools(self, names: Sequence[str]) -> None:
        self._session.toolbox.set_active(names)

    async def execute_tool(self, name: str, arguments: dict[str, Any], parent_call_id: str) -> ToolResult:
        return await self.nested.run(name, arguments, parent_call_id)

    def model(self) -> Model | None:
        return self._session.choice.model

    def models(self) -> Sequence[Model]:
        return self._session.choice.available()

    async def set_model(self, model: Model) -> bool:
        if not self._session.choice.is_available(model):
            return False
        await self._session.set_model(model)
        return True

    def thinking_level(self) -> ThinkingLevel:
        return self._session.choice.thinking

    async def set_thinking_level(self, level: ThinkingLevel) -> None:
        await self._session.set_thinking(level)

    # Moving about

    async def compact(self, instructions: str | None) -> bool:
        try:
            await self._session.compact(instructions)
        except (CannotCompact, SummaryFailed):
            return False
        return True

    async def new_session(self) -> bool:
        return await self._go(lambda: self._session.places.new(), "new")

    async def fork(self, entry_id: str, position: Literal["before", "at"]) -> bool:
        log, places = self._session.log, self._session.places
        if not await self._session.intake.may_fork(entry_id, position):
            return False

        def make() -> Any:
            if position == "before":
                return fork_before(log, entry_id, places.folder, cwd=places.cwd, fsync=places.sync)
            return clone(log, places.folder, leaf_id=entry_id, cwd=places.cwd, fsync=places.sync)

        return await self._go(make, "fork")

    async def go_to(self, entry_id: str | None, *, summarize: bool, instructions: str | None) -> bool:
        try:
            await self._session.go_to(entry_id, Wish(summarise=summarize, instructions=instructions))
        except (Refused, SummaryFailed, CannotCompact):
            return False
        return True

    async def switch_session(self, path: Path) -> bool:
        def existing() -> SessionLog:
            log = self._session.places.open(path)
            log.require_cwd()
            return log

        return await self._go(existing, "resume")

    async def _go(self, make: Callable[[], Any], reason: Literal["new", "fork", "resume"]) -> bool:
        try:
            await self._session.abort()
            await self._session.open(make(), reason)
        except (Refused, SessionError):
            return False
        return True

    async def reload(self) -> None:
        await self._reload()

    async def keep_going(self) -> None:
        self.wants_another_turn = True

    # What extensions bring along

    def add_tool(self, tool: Tool, owner: str) -> None:
        self._session.toolbox.register(tool, owner=owner)
        self._tools_of.setdefault(owner, []).append(tool.name)

    def remove_tool(self, name: str, owner: str) -> None:
        if name in self._tools_of.get(owner, []):
            self._tools_of[owner].remove(name)
            self._session.toolbox.unregister(name)

    def add_provider(self, spec: ProviderSpec, owner: str) -> None:
        choice = self._session.choice
        choice.catalogue.add_provider(
            spec.name, {"models": [to_wire(model) for model in spec.models]}, owner=owner
        )
        if spec.api_key is not None or spec.headers:
            choice.credentials.provide(spec.name, spec.api_key, headers=spec.headers, owner=owner)
        if spec.adapter is not None:
            for api in {model.api for model in spec.models}:
                self._session.requests.registry.register(api, spec.adapter, owner=owner)

    def remove_owner(self, owner: str) -> None:
        for name in self._tools_of.pop(owner, []):
            self._session.toolbox.unregister(name)
        self._session.requests.registry.remove_owner(owner)
        self._session.choice.catalogue.remove_owner(owner)
        self._session.choice.credentials.withdraw(owner)
