"""A session and a face that do nothing but remember, for tests of extensions."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from app.agent.abort import Abort
from app.extensions.ports import Usage
from app.extensions.ui import SilentUi
from app.providers.offline.model import offline_model
from app.values.entries import CustomEntry, Entry
from app.values.events import Event, ExtensionError
from app.values.messages import CustomMessage, Message, UserMessage, user_message
from app.values.models import Model
from tools.base import Tool
from tools.results import ToolResult, text_result


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    message: CustomMessage
    deliver_as: str
    trigger: bool
    call_id: str | None


class FakeSession:
    def __init__(self) -> None:
        self.id = "session"
        self.file: Path | None = None
        self.name: str | None = None
        self.list: list[Entry] = []
        self.labels: dict[str, str] = {}
        self.context: list[Message] = []

    @property
    def leaf_id(self) -> str | None:
        return self.list[-1].id if self.list else None

    def entries(self) -> Sequence[Entry]:
        return tuple(self.list)

    def entry(self, entry_id: str) -> Entry | None:
        return next((entry for entry in self.list if entry.id == entry_id), None)

    def branch(self, from_id: str | None = None) -> Sequence[Entry]:
        return tuple(self.list)

    def label(self, entry_id: str) -> str | None:
        return self.labels.get(entry_id)

    def messages(self) -> Sequence[Message]:
        return tuple(self.context)


class FakeUi(SilentUi):
    """Answers questions from a list and remembers what it was shown."""

    has_ui = True

    def __init__(self, answers: Sequence[Any] = ()) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[tuple[Any, ...]] = []
        self.notes: list[tuple[str, str]] = []
        self.statuses: dict[str, str | None] = {}
        self.widgets: dict[str, Any] = {}
        self.title = ""
        self.screens: list[Any] = []

    def _next(self, *asked: Any) -> Any:
        self.asked.append(asked)
        return self.answers.pop(0) if self.answers else None

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        return self._next("select", title, tuple(options))

    async def confirm(self, title: str, message: str = "", *, timeout: float | None = None) -> bool:
        return self._next("confirm", title, message) is True

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        return self._next("input", title, placeholder)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        return self._next("editor", title, prefill)

    async def custom(self, make: Callable[..., Any], *, overlay: bool = False) -> Any:
        self.screens.append(make)
        return self._next("custom", overlay)

    def notify(self, text: str, level: str = "info") -> None:
        self.notes.append((level, text))

    def set_status(self, key: str, text: str | None) -> None:
        self.statuses[key] = text

    def set_widget(self, key: str, content: Any, *, placement: str = "above_editor") -> None:
        self.widgets[key] = content

    def set_title(self, title: str) -> None:
        self.title = title


class FakeJobs:
    def all(self) -> Sequence[Any]:
        return ()

    def adopt(self, **work: Any) -> str:
        return "job-1"

    def kill(self, job_id: str) -> None: ...

    async def wait(self, job_id: str, timeout: float | None = None) -> None: ...


class FakeHost:
    mode: Any = "tui"
    is_trusted = True

    def __init__(self, cwd: Path, ui: SilentUi | None = None) -> None:
        self.cwd = cwd
        self.cache_dir: Path | None = None
        self.ui: Any = ui or FakeUi()
        self.session: Any = FakeSession()
        self.jobs: Any = FakeJobs()
        self.settings: dict[str, Any] = {}
        self.prompt_sections: dict[str, str] = {}
        self.sent: list[Sent] = []
        self.prompts: list[tuple[str, str | None]] = []
        self.events: list[Event] = []
        self.tool_table: dict[str, tuple[str, Tool]] = {}
        self.providers: dict[str, Any] = {}
        self.active: list[str] = []
        self.chosen: Model | None = offline_model()
        self.level: Any = "medium"
        self.calls: list[tuple[Any, ...]] = []
        self.on_reload: Callable[[], Any] | None = None
        self.signal = Abort()

    def errors(self) -> list[ExtensionError]:
        return [event for event in self.events if isinstance(event, ExtensionError)]

    def is_idle(self) -> bool:
        return True

    def has_pending_messages(self) -> bool:
        return False

    def abort_signal(self) -> Abort | None:
        return self.signal

    async def abort(self) -> None:
        self.signal.set()

    async def wait_until_idle(self) -> None: ...

    def shutdown(self) -> None:
        self.calls.append(("shutdown",))

    def context_usage(self) -> Usage | None:
        return Usage(tokens=10, window=100, percent=10.0)

    def system_prompt(self) -> str:
        return "the prompt"

    async def send(
        self, message: CustomMessage, *, deliver_as: Any, trigger: bool, call_id: str | None
    ) -> str:
        self.sent.append(Sent(message=message, deliver_as=deliver_as, trigger=trigger, call_id=call_id))
        return message.id

    async def prompt(self, text: str, images: Sequence[Any], *, deliver_as: Any, expand: bool) -> None:
        self.prompts.append((text, deliver_as))

    async def wait_for_delivery(self, message_id: str, timeout: float | None) -> Any:
        return "delivered"

    async def publish(self, event: Event) -> None:
        self.events.append(event)

    async def append_entry(self, custom_type: str, data: Any) -> str:
        entry = CustomEntry(parent_id=self.session.leaf_id, custom_type=custom_type, data=data)
        self.session.list.append(entry)
        return entry.id

    async def edit_context(self, target_id: str, replacement: dict[str, Any] | None) -> str:
        self.calls.append(("edit_context", target_id, replacement))
        return "edit"

    async def record_compaction(self, summary: str, first_kept_entry_id: str | None) -> bool:
        self.calls.append(("record_compaction", summary, first_kept_entry_id))
        return True

    async def set_label(self, entry_id: str, label: str | None) -> None:
        self.session.labels[entry_id] = label or ""

    async def set_name(self, name: str) -> None:
        self.session.name = name

    def tools(self) -> Sequence[Tool]:
        return tuple(tool for _, tool in self.tool_table.values())

    def active_tools(self) -> Sequence[str]:
        return tuple(self.active)

    def set_active_tools(self, names: Sequence[str]) -> None:
        self.active = list(names)

    async def execute_tool(self, name: str, arguments: dict[str, Any], parent_call_id: str) -> ToolResult:
        return text_result(f"{name} ran within {parent_call_id}")

    def model(self) -> Model | None:
        return self.chosen

    def models(self) -> Sequence[Model]:
        return (self.chosen,) if self.chosen else ()

    async def set_model(self, model: Model) -> bool:
        self.chosen = model
        return True

    def thinking_level(self) -> Any:
        return self.level

    async def set_thinking_level(self, level: Any) -> None:
        self.level = level

    async def compact(self, instructions: str | None) -> bool:
        self.calls.append(("compact", instructions))
        return True

    async def new_session(self) -> bool:
        self.calls.append(("new_session",))
        return True

    async def fork(self, entry_id: str, position: Any) -> bool:
        self.calls.append(("fork", entry_id, position))
        return True

    async def go_to(self, entry_id: str | None, *, summarize: bool, instructions: str | None) -> bool:
        self.calls.append(("go_to", entry_id, summarize))
        return True

    async def switch_session(self, path: Path) -> bool:
        self.calls.append(("switch_session", path))
        return True

    async def reload(self) -> None:
        self.calls.append(("reload",))
        if self.on_reload is not None:
            await self.on_reload()

    async def keep_going(self) -> None:
        self.calls.append(("keep_going",))

    def add_tool(self, tool: Tool, owner: str) -> None:
        self.tool_table[tool.name] = (owner, tool)

    def remove_tool(self, name: str, owner: str) -> None:
        self.tool_table.pop(name, None)

    def add_provider(self, spec: Any, owner: str) -> None:
        self.providers[spec.name] = owner

    def remove_owner(self, owner: str) -> None:
        self.tool_table = {name: entry for name, entry in self.tool_table.items() if entry[0] != owner}
        self.providers = {name: whose for name, whose in self.providers.items() if whose != owner}


async def settled() -> None:
    """Lets what was started but not awaited (reports, say) happen."""
    for _ in range(5):
        await asyncio.sleep(0)


def prompt_message(text: str) -> UserMessage:
    return user_message(text)
