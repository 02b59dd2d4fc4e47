"""What a tool is, and what it is given when it runs. The tools themselves are in `tools.builtin`."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from tools.effects import NO_EFFECTS, OPAQUE_EFFECTS, Effects
from tools.results import Card, TextBlock, ToolResult
from tools.text import escape_controls, one_line


class ToolError(Exception):
    """A failure that the model is told in these words. Says what happened, to which thing, and what to try."""

    def __init__(self, message: str, *, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.details = details


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a file by a tool, told after it happened."""

    path: str
    call_id: str
    before_hash: str | None
    """None: the file did not exist."""
    after_hash: str | None
    mode_before: int | None = None
    mode_after: int | None = None
    added: int = 0
    removed: int = 0
    by: Literal["tool", "command", "restore"] = "tool"


class JobHost(Protocol):
    """Where running work goes when its caller does not wait for it any longer."""

    @property
    def is_waited_for(self) -> bool:
        """The program ends with its answer, and waits for the jobs before."""
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
        """Takes over running work and returns its job id. Its end is told to the agent by the host.

        `look`: what is to be said meanwhile of what it did, asked at the end of each prompt.
        """
        ...


class ToolCaller(Protocol):
    """Calls of other tools from within a call: judged, ordered and told like any other."""

    def tools(self) -> Mapping[str, "Tool"]:
        """Those that are active."""
        ...

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Faults are results; only being cancelled goes through."""
        ...


class ToolContext(msgspec.Struct, kw_only=True):
    """What a call is given. A call is aborted by cancelling its task."""

    call_id: str
    cwd: Path
    progress: Callable[[ToolResult], None] = lambda result: None
    """Shows a result so far. Ignored once the call has ended."""
    workspace: Any = None
    """The session's `tools.workspace.Workspace`: read cache, mutation queue, artifacts, shell settings."""
    jobs: JobHost | None = None
    caller: ToolCaller | None = None
    background_requested: Callable[[], bool] = lambda: False
    """True once the person asked to put this call into the background."""
    is_waited_for: Callable[[], bool] = lambda: False
    """Whether something goes on with what this call leaves behind: later calls that touch the same files, or the code
    that made it. Then it goes to the background only when the person asks for that."""
    model_reads_images: bool = True
    model_window: int | None = None
    """Tokens that the model can take; None: not known."""


PreviewCall = Callable[[Mapping[str, Any], Callable[[str], Any]], tuple[Any, ...]]
"""The diffs of a call by its whole arguments (`tools.edits.preview.CallDiff`); gets a way to look at a file."""
ShowCall = Callable[[Mapping[str, Any], ToolResult | None], Card]
"""Draws a call from its (possibly partial) arguments and its result, or its result so far, or None."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One capability, defined once: how the model calls it, what it does, how people see it."""

    name: str
    description: str
    schema: dict[str, Any]
    """JSON Schema of the arguments."""
    run: Callable[[Any, ToolContext], Awaitable[ToolResult]]
    """Gets validated arguments: of type `arguments` where that is given, else a dict."""
    show: ShowCall | None = None
    preview: PreviewCall | None = None
    """The diffs that a call would make of its files, for tools that change files by what their arguments say."""
    arguments: type[msgspec.Struct] | None = None
    prepare: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Mends well-known mistakes of models before validation."""
    label: str = ""
    snippet: str = ""
    """Its line in the prompt's list of tools; a tool without one is not listed."""
    guidelines: tuple[str, ...] = ()
    mode: Literal["parallel", "sequential"] = "parallel"
    is_read_only: bool = False
    may_only_read: bool = False
    """Some of its calls only read, and the gate can tell which."""
    effects: Callable[[Any, ToolContext], Effects] | None = None
    """What a call with these arguments touches; may look at files. A tool without it is opaque: it may do anything."""
    is_active: bool = True
    """Whether a new session starts with it."""
    claim: str = ""
    """What it says of itself and nobody relies on, for who is asked about a call."""

    def effects_of(self, arguments: Any, context: ToolContext) -> Effects:
        """`arguments`: as the tool takes them. For a thread. Raises `ToolError` for a path that can be none."""
        return OPAQUE_EFFECTS if self.effects is None else self.effects(arguments, context)

    def card(self, arguments: Mapping[str, Any], result: ToolResult | None = None) -> Card:
        """The arguments may be partial, and by names that are mended before the call runs."""
        arguments = self.prepare(dict(arguments)) if self.prepare else arguments
        return self.show(arguments, result) if self.show else plain_card(self.name, arguments, result)


def no_effects(arguments: Any, context: ToolContext) -> Effects:
    """Of tools that touch only bayou's own memory."""
    return NO_EFFECTS


def plain_card(name: str, arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    """For tools that draw nothing of their own."""
    subject = ", ".join(f"{key}={value}" for key, value in arguments.items())
    first_line = one_line(subject.split("\n", 1)[0][:200])
    blocks = (TextBlock(text=escape_controls(result.text)),) if result and result.text else ()
    return Card(title=name, subject=first_line, blocks=blocks)
