"""What handlers, tools and commands are given beside their payload: the session as it is now, and what they may do.

A context reads through to the host at every use, so it is never out of date; after a reload it refuses.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from app.extensions.ports import Host, Mode, ReadSession, Ui, Usage
from app.extensions.registrations import Extension, NotReady
from app.extensions.ui import WatchedUi
from app.values.models import Model, ThinkingLevel
from tools.base import ToolContext
from tools.results import ToolResult

if TYPE_CHECKING:
    from app.agent.abort import Abort

Emit = Callable[[str, Any], Awaitable[Any]]


class Context:
    """For hooks, shortcuts and renderers."""

    def __init__(self, extension: Extension, host: Callable[[], Host | None], emit: Emit) -> None:
        self._extension = extension
        self._find_host = host
        self.ui: Ui = cast(Ui, WatchedUi(lambda: self._host.ui, extension, emit))
        """The face: dialogs, notes, status, widgets."""

    @property
    def _host(self) -> Host:
        self._extension.require_open()
        host = self._find_host()
        if host is None:
            raise NotReady("There is no session yet. Do this in a hook, for example session_start.")
        return host

    @property
    def mode(self) -> Mode:
        return self._host.mode

    @property
    def has_ui(self) -> bool:
        return self._host.ui.has_ui

    @property
    def cwd(self) -> Path:
        return self._host.cwd

    @property
    def cache_dir(self) -> Path | None:
        """A folder for what can be made anew; it may be emptied at any time."""
        return self._host.cache_dir

    @property
    def session(self) -> ReadSession:
        return self._host.session

    @property
    def settings(self) -> Mapping[str, Any]:
        return self._host.settings

    @property
    def prompt_sections(self) -> dict[str, str]:
        """Sections of the system prompt that extensions own; may be changed in place. No compaction touches them."""
        return self._host.prompt_sections

    @property
    def model(self) -> Model | None:
        return self._host.model()

    @property
    def models(self) -> Sequence[Model]:
        return self._host.models()

    @property
    def thinking_level(self) -> ThinkingLevel:
        return self._host.thinking_level()

    @property
    def signal(self) -> "Abort | None":
        """The wish to stop of the run that is under way."""
        return self._host.abort_signal()

    def is_idle(self) -> bool:
        return self._host.is_idle()

    def is_project_trusted(self) -> bool:
        return self._host.is_trusted

    def has_pending_messages(self) -> bool:
        return self._host.has_pending_messages()

    def context_usage(self) -> Usage | None:
        return self._host.context_usage()

    def system_prompt(self) -> str:
        return self._host.system_prompt()

    async def abort(self) -> None:
        await self._host.abort()

    async def compact(self, instructions: str | None = None) -> bool:
        return await self._host.compact(instructions)

    def shutdown(self) -> None:
        """Ends bayou once the run has settled."""
        self._host.shutdown()


class CommandContext(Context):
    """For commands: they may also change which conversation this is."""

    async def wait_until_idle(self) -> None:
        await self._host.wait_until_idle()

    async def new_session(self) -> bool:
        """False: an extension cancelled it. So with all that follow."""
        return await self._host.new_session()

    async def fork(self, entry_id: str, position: Literal["before", "at"] = "before") -> bool:
        return await self._host.fork(entry_id, position)

    async def go_to(
        self, entry_id: str | None, *, summarize: bool = False, instructions: str | None = None
    ) -> bool:
        return await self._host.go_to(entry_id, summarize=summarize, instructions=instructions)

    async def switch_session(self, path: Path) -> bool:
        return await self._host.switch_session(path)

    async def reload(self) -> None:
        """Loads every extension anew. This context refuses afterwards."""
        await self._host.reload()


class ToolCallContext(Context):
    """For tools."""

    def __init__(
        self, extension: Extension, host: Callable[[], Host | None], emit: Emit, call: ToolContext
    ) -> None:
        super().__init__(extension, host, emit)
        self.call = call
        """What every tool is given: call id, folder, progress, workspace, jobs."""

    def progress(self, result: ToolResult) -> None:
        self.call.progress(result)

    async def execute_tool(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Runs another tool within this call. Its failures are results, never exceptions."""
        return await self._host.execute_tool(name, arguments, self.call.call_id)
