"""Contexts that handlers, tools and commands get beside their payload: the current session, and the actions
allowed.

A context reads the session at every use, so it is never out of date; after a reload it refuses.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from app.compaction.compaction_plan import NothingToCompact
from app.engine.context.summariser import SummaryFailed
from app.engine.core.conversation import join_prompt_sections
from app.engine.core.hook_results import NavigationOptions
from app.engine.core.prompt_intake import SessionRequestRefused
from app.engine.files.pending_changes import RequestedFileChange
from app.engine.session import Session
from app.extensions.extension_registrations import Extension, require_session_binding
from app.extensions.extension_session_binding import SessionBinding, SessionRecord
from app.extensions.headless_ui import ExtensionUi
from app.extensions.ui_protocol import Mode, Ui, WindowUsage
from app.sessions.errors import SessionError
from app.values.models import Model, ThinkingLevel
from tools.tool_definition import ToolContext
from tools.tool_result_values import ToolResult

if TYPE_CHECKING:
    from app.agent.abort_signal import AbortSignal
    from app.extensions.hooks.hook_registry import HookHandlerRegistry


async def await_unless_cancelled(work: Awaitable[object], *unless: type[Exception]) -> bool:
    """Awaits the work. Returns False when it was cancelled or raised one of the exceptions in `unless`."""
    try:
        return await work is not False
    except unless:
        return False


class Context:
    """The context of hooks, shortcuts and renderers."""

    def __init__(self, extension: Extension, hooked: "HookHandlerRegistry") -> None:
        self._extension = extension
        self._hooks = hooked
        self.ui: Ui = cast(Ui, ExtensionUi(lambda: self._binding.ui, extension, hooked.emit))
        """The user interface: dialogs, notes, status, widgets."""

    @property
    def _binding(self) -> SessionBinding:
        self._extension.require_extension_open()
        return require_session_binding(self._hooks.binding)

    @property
    def _session(self) -> Session:
        return self._binding.session

    @property
    def mode(self) -> Mode:
        return self._binding.mode

    @property
    def has_ui(self) -> bool:
        return self._binding.ui.has_ui

    @property
    def cwd(self) -> Path:
        return self._session.cwd

    @property
    def added_folders(self) -> tuple[Path, ...]:
        """Returns the folders that the session works in besides `cwd`."""
        return self._session.folders.all_folders

    @property
    def cache_dir(self) -> Path | None:
        """Returns a folder for files that can be made again; it may be emptied at any time."""
        return self._binding.cache_dir

    @property
    def session(self) -> SessionRecord:
        return SessionRecord(self._session)

    @property
    def settings(self) -> Mapping[str, Any]:
        return self._binding.settings()

    @property
    def prompt_sections(self) -> dict[str, str]:
        """Returns the prompt sections that extensions own; they may be changed in place. No compaction
        touches them."""
        return self._binding.prompt_sections

    @property
    def model(self) -> Model | None:
        return self._session.model

    @property
    def models(self) -> Sequence[Model]:
        return self._session.models.model_choice.available_models()

    @property
    def thinking_level(self) -> ThinkingLevel:
        return self._session.state.thinking

    @property
    def signal(self) -> "AbortSignal | None":
        """Returns the abort signal of the active run."""
        return self._session.abort_signal

    def is_idle(self) -> bool:
        return not self._session.is_running

    def is_project_trusted(self) -> bool:
        return self._binding.is_trusted

    def has_nothing_to_trust(self) -> bool:
        """Whether the project has nothing that would need the user's trust."""
        return self._session.permissions.permission_context.has_nothing_to_trust()

    @property
    def uses_context_files(self) -> bool:
        """False when the user started with `--no-context-files`."""
        return self._binding.uses_context_files

    async def is_project_unchanged(self) -> bool:
        """Whether the project is trusted with its files as they are now; reads them."""
        return await self._session.permissions.permission_context.check_trust()

    def has_pending_messages(self) -> bool:
        return self._session.state.queued_count > 0

    def context_usage(self) -> WindowUsage | None:
        usage = self._session.context_usage()
        if usage is None:
            return None
        return WindowUsage(tokens=usage.tokens, window=usage.context_window, percent=usage.percent)

    def system_prompt(self) -> str:
        return join_prompt_sections(self._session.requests.prompt_sections())

    async def abort(self) -> None:
        await self._session.abort()

    async def compact(self, instructions: str | None = None) -> bool:
        return await await_unless_cancelled(
            self._session.compaction.compact(instructions), NothingToCompact, SummaryFailed
        )

    async def stage(
        self,
        label: str,
        changes: Mapping[str, str | None] | None = None,
        *,
        apply: Callable[[str], Awaitable[str]] | None = None,
        reject: Callable[[str], Awaitable[str | None]] | None = None,
        source_tool_name: str = "custom_tool",
    ) -> str:
        """Stages changes that the model or the user applies or discards later; returns their id.

        `changes`: the new text of each file, by its path; None removes it. Exactly that is written, or
        nothing if a file has changed meanwhile. `apply` is awaited with the reason when they are applied,
        `reject` when they are discarded; the texts they return are reported. Raises `UserError` when there is
        nothing to stage, or too much is staged.
        """
        wished = [RequestedFileChange(path=path, text=text) for path, text in (changes or {}).items()]
        staged = await self._session.pending.stage_changes(
            label, source_tool_name, wished, apply=apply, reject=reject
        )
        return staged.id

    def shutdown(self) -> None:
        """Ends bayou once the run has settled."""
        self._binding.shutdown()


class CommandContext(Context):
    """The context of commands, which may also switch to another conversation."""

    async def wait_until_idle(self) -> None:
        await self._session.wait_until_idle()

    async def new_session(self) -> bool:
        """Starts a new session. Returns False when an extension cancelled it, like the methods that
        follow."""
        return await await_unless_cancelled(
            self._session.branches.start_new_session(), SessionRequestRefused, SessionError
        )

    async def fork(self, entry_id: str, position: Literal["before", "at"] = "before") -> bool:
        return await await_unless_cancelled(
            self._session.branches.fork(entry_id, position), SessionRequestRefused, SessionError
        )

    async def go_to(
        self, entry_id: str | None, *, summarize: bool = False, instructions: str | None = None
    ) -> bool:
        wish = NavigationOptions(should_summarise=summarize, instructions=instructions)
        return await await_unless_cancelled(
            self._session.branches.go_to_entry(entry_id, wish),
            SessionRequestRefused,
            SummaryFailed,
            NothingToCompact,
        )

    async def switch_session(self, path: Path) -> bool:
        return await await_unless_cancelled(self._resume_session(path), SessionRequestRefused, SessionError)

    async def _resume_session(self, path: Path) -> None:
        session = self._session
        await session.abort()
        places = self._binding.session_paths
        log = places.open_file(path)
        places.require_session_folder(log)
        await session.branches.open_session(log, "resume")

    async def reload(self) -> None:
        """Loads every extension again. This context refuses afterwards."""
        await self._binding.reload()


class ToolCallContext(Context):
    """The context of tools."""

    def __init__(self, extension: Extension, hooked: "HookHandlerRegistry", call: ToolContext) -> None:
        super().__init__(extension, hooked)
        self.call = call
        """The call's own data: call id, folder, progress, workspace, jobs."""

    def progress(self, result: ToolResult) -> None:
        self.call.progress(result)

    async def execute_tool(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Runs another tool within this call. Its failures are results, never exceptions."""
        return await self._session.calls.run(name, arguments, self.call.call_id)
