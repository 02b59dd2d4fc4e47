"""Defines what a tool of the agent is, and the context that each call of it gets.

The tools themselves are in `tools.builtin`."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import msgspec

from tools.call_effects import NO_CALL_EFFECTS, UNKNOWN_CALL_EFFECTS, Effects
from tools.text_sanitizing import escape_controls, one_line
from tools.tool_result_values import Card, TextBlock, ToolKind, ToolResult


class ToolError(Exception):
    """An error of a tool whose message the model reads: what happened, to which thing, and what to try."""

    def __init__(self, message: str, *, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.details = details


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a file, reported to listeners after a tool, a command or a restore has made it."""

    path: str
    call_id: str
    before_hash: str | None
    """The hash of the file's content before the change; None if the file did not exist."""
    after_hash: str | None
    mode_before: int | None = None
    mode_after: int | None = None
    added: int = 0
    removed: int = 0
    by: Literal["tool", "command", "restore"] = "tool"


class JobHost(Protocol):
    """The interface of the job table, which takes over the work of a tool call when the call moves to the
    background."""

    @property
    def is_waited_for(self) -> bool:
        """Whether the program waits for background jobs before it ends with its answer."""
        ...

    def adopt(
        self,
        *,
        call_id: str,
        title: str,
        work: Awaitable[ToolResult],
        tail: Callable[[], str],
        kill: Callable[[], None],
        look: Callable[[], Awaitable[list[str]]] | None = None,
    ) -> str:
        """Takes over running work as a background job and returns its job id. The job table reports the end of the work
        to the agent. `look` is called at the end of each prompt and returns notes on what the work has done so far."""
        ...


class ToolCaller(Protocol):
    """Calls other tools from within a call, with the same approval, ordering and reporting as any other call."""

    def tools(self) -> Mapping[str, "Tool"]:
        """Returns the active tools by name."""
        ...

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Calls another tool by its name. Failures are returned as results; only cancellation is raised."""
        ...


class ToolContext(msgspec.Struct, kw_only=True):
    """The context of one tool call: its id, working directory, workspace and callbacks. Cancelling the call's task
    aborts it."""

    call_id: str
    cwd: Path
    progress: Callable[[ToolResult], None] = lambda result: None
    """Shows an intermediate result of the tool call to the user; does nothing after the call has ended."""
    workspace: Any = None
    """The session's `tools.session_workspace.Workspace`: read cache, mutation queue, artifacts, shell settings."""
    jobs: JobHost | None = None
    caller: ToolCaller | None = None
    background_requested: Callable[[], bool] = lambda: False
    """Returns True once the user has asked to move this call to the background."""
    is_waited_for: Callable[[], bool] = lambda: False
    """Whether something depends on the effects of this call: later calls that touch the same files, or the code
    that made the call. Such a call goes to the background only when the user asks for it."""
    model_reads_images: bool = True
    model_window: int | None = None
    """The size of the model's context window in tokens; None if unknown."""


PreviewCallDiffs = Callable[[Mapping[str, Any], Callable[[str], Any]], tuple[Any, ...]]
"""Returns the diffs of a call (`tools.edits.edit_preview.CallDiff`) from its complete arguments and a function that
looks up a file."""
MakeCallCard = Callable[[Mapping[str, Any], ToolResult | None], Card]
"""The function that makes the card of a tool call from its arguments, which may be partial, and its result or
progress result; the result is None while there is none."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of the agent: how the model calls it, what it does, and how people see its calls."""

    name: str
    description: str
    schema: dict[str, Any]
    """The JSON Schema of the tool's arguments."""
    run: Callable[[Any, ToolContext], Awaitable[ToolResult]]
    """Runs a tool call with validated arguments: an instance of `arguments` if that is set, otherwise a dict."""
    show: MakeCallCard | None = None
    preview: PreviewCallDiffs | None = None
    """Returns the diffs that a call would make, for tools whose arguments describe file changes."""
    arguments: type[msgspec.Struct] | None = None
    prepare: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Repairs mistakes that models are known to make in the tool's arguments, before these are validated."""
    label: str = ""
    snippet: str = ""
    """The tool's line in the prompt's list of tools; a tool without a snippet is not listed."""
    guidelines: tuple[str, ...] = ()
    mode: Literal["parallel", "sequential"] = "parallel"
    is_read_only: bool = False
    may_only_read: bool = False
    """Whether some calls of the tool only read files; the permission gate sees from a call's arguments whether it
    does."""
    effects: Callable[[Any, ToolContext], Effects] | None = None
    """Returns what a call with these arguments touches; may inspect files. A call without effects is opaque: it may
    do anything."""
    is_active: bool = True
    """Whether the tool is active in a new session."""
    kind: ToolKind = "other"
    """The kind as which an editor (ACP client) shows a call of the tool, usually by an icon; permissions do not
    depend on it."""
    is_for_helpers: bool = True
    """Whether helper agents get the tool; False for tools that talk to the user, such as questions."""
    claim: str = ""
    """An unverified statement of an MCP server about the tool, shown to the user who is asked about a call."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(ToolKind):
            known = ", ".join(get_args(ToolKind))
            raise ValueError(f"The tool {self.name} has the unknown kind {self.kind!r}; use one of: {known}")

    def effects_of(self, arguments: Any, context: ToolContext) -> Effects:
        """Returns which files, programs and hosts a call with typed arguments touches. Runs in a thread. Raises
        `ToolError` for an impossible path."""
        return UNKNOWN_CALL_EFFECTS if self.effects is None else self.effects(arguments, context)

    def card(self, arguments: Mapping[str, Any], result: ToolResult | None = None) -> Card:
        """Returns the card on which people see a tool call; the arguments may be partial and not yet repaired by
        `prepare`."""
        arguments = self.prepare(dict(arguments)) if self.prepare else arguments
        card = (
            self.show(arguments, result)
            if self.show
            else make_generic_tool_card(self.name, arguments, result)
        )
        return msgspec.structs.replace(card, kind=self.kind)


def declare_no_effects(arguments: Any, context: ToolContext) -> Effects:
    """Returns empty effects, for tools whose calls touch no file, program or host, but only bayou's own memory."""
    return NO_CALL_EFFECTS


def make_generic_tool_card(name: str, arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    """Returns a generic card of a tool call, for tools without a `show` function."""
    subject = ", ".join(f"{key}={value}" for key, value in arguments.items())
    first_line = one_line(subject.split("\n", 1)[0][:200])
    blocks = (TextBlock(text=escape_controls(result.text)),) if result and result.text else ()
    return Card(title=name, subject=first_line, blocks=blocks)
