"""Calls that change files, while their arguments arrive: what they would change, and whether they can still work.

What a call makes of files is `tools.edits`' business. Here: which files may be looked at before anybody has permitted
the call, and when an answer is stopped because its call is hopeless (`edit.streamingAbort`).
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from app.agent.outcomes import failure
from app.agent.watching import CallWatch
from app.engine.hooks import Hooks
from app.engine.json_texts import texts_of
from app.engine.masked_calls import MaskedCalls
from app.engine.options import SessionOptions
from app.engine.permits import Permits
from app.engine.toolbox import Toolbox
from app.values.content import ToolCall
from app.values.messages import AssistantMessage
from app.values.stream import BlockEvent, ToolCallDelta, ToolCallEnd, ToolCallStart
from app.values.wire import new_id
from tools.base import Tool, ToolContext, ToolError
from tools.edits.shown import ShownLines
from tools.effects import Effects
from tools.files.places import locate
from tools.masking.marks import BEGINNING
from tools.results import ToolResult
from tools.workspace import Workspace

if TYPE_CHECKING:
    from tools.edits.arriving import ArrivingEdit, Hopeless
    from tools.edits.arriving_file import Sight

_LARGEST: Final = 2_000_000
"""Bytes of a file that is looked at for a picture."""
_LEAST_SECONDS: Final = 0.15
SHARE: Final = 5
"""A look that cost t is followed by the next after at least this many t."""
_CUT: Final = (
    "The call was stopped at this edit, before the rest of it was written: nothing behind it was read."
)


class ArrivingLook(msgspec.Struct, frozen=True, kw_only=True):
    """What a call that is arriving looks like."""

    arguments: Mapping[str, Any]
    """As far as they are worth drawing."""
    result: ToolResult | None
    """What it would make of its files, as its result tells it; None: the arguments say all that may be shown."""
    cost: float
    """Seconds that the look took of a processor."""


class _Call:
    """One of them."""

    def __init__(self, id: str, name: str, edit: "Callable[[], ArrivingEdit] | None") -> None:
        self.id = id
        self.name = name
        self.ended: ToolCall | None = None
        self.is_watched = edit is not None
        self.heard: list[str] = []
        """Pieces that were not read yet."""
        self.lock = asyncio.Lock()
        self._make = edit
        self._edit: ArrivingEdit | None = None

    def read(self) -> "ArrivingEdit":
        """With all that was heard; for a thread, one at a time."""
        if self._edit is None:
            assert self._make is not None
            self._edit = self._make()
        heard, self.heard = self.heard, []
        self._edit.feed("".join(heard))
        return self._edit


class _Stop(msgspec.Struct, frozen=True, kw_only=True):
    """Why an answer was stopped."""

    index: int
    call: ToolCall
    """As far as it was complete."""
    result: ToolResult
    refusal: "Hopeless"


class CallsArriving(CallWatch):
    """Of one session."""

    def __init__(
        self,
        *,
        toolbox: Toolbox,
        permits: Permits,
        masks: MaskedCalls,
        hooks: Hooks,
        options: SessionOptions,
    ) -> None:
        self._toolbox = toolbox
        self._permits = permits
        self._masks = masks
        self._hooks = hooks
        self._options = options
        self._message_id = ""
        self._calls: dict[int, _Call] = {}
        self._cancel: Callable[[], None] = lambda: None
        self._stop: _Stop | None = None
        self._checking: asyncio.Task[None] | None = None

    @property
    def _workspace(self) -> Workspace:
        return self._toolbox.workspace

    # An answer

    def begin(self, message_id: str, cancel: Callable[[], None]) -> None:
        self._message_id, self._cancel = message_id, cancel
        self._calls = {}
        self._stop = None

    def hear(self, event: BlockEvent) -> None:
        if isinstance(event, ToolCallStart):
            self._calls[event.content_index] = self._begun(event.id, event.tool_name)
        elif isinstance(event, ToolCallDelta):
            call = self._calls.get(event.content_index)
            if call is not None and call.is_watched:
                call.heard.append(event.delta)
                self._check(event.content_index, call)
        elif isinstance(event, ToolCallEnd) and (call := self._calls.get(event.content_index)) is not None:
            call.ended = event.tool_call

    def kind_of(self, name: str) -> Literal["edit", "write"] | None:
        """Whether a tool changes files by arguments that are understood here."""
        tool = self._toolbox.callable().get(name)
        return _kind_of(tool) if tool is not None else None

    def _begun(self, id: str, name: str) -> _Call:
        tool = self._toolbox.callable().get(name)
        kind = _kind_of(tool) if tool is not None else None
        if tool is None or kind is None:
            return _Call(id, name, None)

        def make() -> "ArrivingEdit":
            # What edits mean comes with the first of them.
            from tools.edits.arriving import ArrivingEdit  # noqa: PLC0415

            return ArrivingEdit(tool.prepare, self._sight, kind=kind)

        return _Call(id, name, make)

    # What is shown

    async def look(self, message_id: str, index: int) -> ArrivingLook | None:
        """None: it is no call that is arriving here, or none that changes files."""
        call = self._calls.get(index) if message_id == self._message_id else None
        if call is None or not call.is_watched:
            return None
        async with call.lock:
            return await asyncio.to_thread(self._look, call)

    def _look(self, call: _Call) -> ArrivingLook:
        from tools.edits.arriving import details_of  # noqa: PLC0415  (as above)

        began = time.thread_time()
        edit = call.read()
        diffs = edit.diffs()
        result = None
        if diffs:
            told = ToolResult(details=details_of(diffs))
            result = self._masks.before(told, edit.real_paths, self._context())
        elif lines := edit.lines("content"):
            result = ToolResult(details={"lines": lines})
        return ArrivingLook(arguments=edit.arguments(), result=result, cost=time.thread_time() - began)

    def _context(self) -> ToolContext:
        return ToolContext(call_id="", cwd=self._workspace.cwd, workspace=self._workspace)

    def _sight(self, raw: str) -> "Sight":
        """What may be known of a file before a call is permitted: text in the project that `read` reads unasked."""
        from tools.edits.applying import notebook_key  # noqa: PLC0415  (as above)
        from tools.edits.arriving_file import NoSuchFile, Sight  # noqa: PLC0415
        from tools.edits.editing import editable  # noqa: PLC0415
        from tools.files.failures import file_error  # noqa: PLC0415
        from tools.files.paths import display  # noqa: PLC0415

        workspace, hidden, path = self._workspace, Sight(what="hidden", path=raw), raw
        files = workspace.files
        try:
            path = locate(workspace, raw, self._context())
            real = files.real_path(path)
            shown = display(path, workspace.cwd)
            if not self._may_be_shown(path, real):
                return hidden
            status = files.stat(real)
            if status.kind != "file" or status.size > _LARGEST:
                return hidden
            with files.open(real) as file:
                data = file.read(_LARGEST + 1)
            is_notebook = path.lower().endswith(".ipynb")
            target = editable(data, shown, is_notebook=is_notebook)
        except FileNotFoundError as problem:
            why = NoSuchFile(str(file_error(problem, "edit", path, files)))
            return Sight(what="missing", path=raw, why=why)
        except (OSError, ToolError, ValueError):
            return hidden
        key = notebook_key(real) if is_notebook else real
        cache = workspace.read_cache
        return Sight(
            what="text",
            path=shown,
            real=real,
            key=key,
            text=target,
            shown=ShownLines(lines=dict(cache.lines(key)), sent=cache.sent(real)),
            versions=cache.snapshots.of(key),
        )

    def _may_be_shown(self, path: str, real: str) -> bool:
        root = self._workspace.files.real_path(str(self._workspace.cwd)).rstrip("/")
        if not real.startswith(f"{root}/") or self._workspace.kept_back()(real):
            return False
        judge = self._permits.judge
        return all(
            judge(Effects(reads=(one,)), tool="read").outcome == "run"
            and judge(Effects(writes=(one,)), tool="edit").outcome != "refuse"
            for one in dict.fromkeys((path, real))
        )

    # What cannot work

    def _check(self, index: int, call: _Call) -> None:
        """Looks beside the stream, one look at a time."""
        if self._checking is not None and not self._checking.done():
            return
        if self._options.in_force.settings.edit.streaming_abort:
            self._checking = asyncio.create_task(self._keep_checking(index, call))

    async def _keep_checking(self, index: int, call: _Call) -> None:
        while call.ended is None and self._calls.get(index) is call and self._stop is None:
            async with call.lock:
                cost, stop = await asyncio.to_thread(self._refused, index, call)
            if stop is not None and call.ended is None and self._calls.get(index) is call:
                self._stop = stop
                self._cancel()
                return
            await asyncio.sleep(max(_LEAST_SECONDS, SHARE * cost))
            if not call.heard:
                return

    def _refused(self, index: int, call: _Call) -> tuple[float, _Stop | None]:
        began = time.thread_time()
        edit, stop = call.read(), None
        edit.diffs()
        refusal = edit.refusal
        if refusal is not None and self._is_certain(index, call, refusal):
            said = failure(f"{refusal.why}\n\n{_CUT}", {"stoppedEarly": True})
            stop = _Stop(
                index=index,
                call=ToolCall(id=call.id, name=call.name, arguments=dict(refusal.arguments)),
                result=self._masks.before(
                    said, edit.real_paths, self._context(), where=f"{call.name} {refusal.path}"
                ),
                refusal=refusal,
            )
        return time.thread_time() - began, stop

    def _is_certain(self, index: int, call: _Call, refusal: "Hopeless") -> bool:
        """It would run, with these arguments and with the file as it is, and be refused by the tool itself."""
        if self._hooks.changes_calls() or any(BEGINNING in text for text in texts_of(refusal.arguments)):
            return False
        try:
            if not self._leaves_alone(index, refusal.path):
                return False
        except (OSError, ValueError, ToolError):  # a call before it names what can be no path
            return False
        effects = self._toolbox.effects_of(call.name, refusal.arguments)
        return effects is not None and self._permits.judge(effects, tool=call.name).outcome == "run"

    def _leaves_alone(self, index: int, raw: str) -> bool:
        """No call of the answer before this one touches the file."""
        files = self._workspace.files
        mine = files.real_path(locate(self._workspace, raw, self._context()))
        for call in [call for place, call in self._calls.items() if place < index]:
            effects = (
                None if call.ended is None else self._toolbox.effects_of(call.name, call.ended.arguments)
            )
            if effects is None or effects.runs is not None or effects.opaque:
                return False
            if any(files.real_path(path) == mine for path in effects.paths):
                return False
        return True

    def cut(self, message: AssistantMessage) -> AssistantMessage | None:
        stop, content = self._stop, message.content
        if stop is None or message.id != self._message_id or len(content) < stop.index:
            return None
        known = (
            content[stop.index] if len(content) > stop.index else stop.call
        )  # not all are there before they end
        if not isinstance(known, ToolCall):
            return None
        others = {one.id for one in content[: stop.index] if isinstance(one, ToolCall)}
        id = known.id if known.id and known.id not in others else f"{known.id or 'call'}_{new_id()}"
        call = msgspec.structs.replace(known, id=id, arguments=stop.call.arguments, arguments_error=None)
        self._stop = msgspec.structs.replace(stop, call=call)
        if (key := stop.refusal.key) and stop.refusal.rows:  # the words show lines with their anchors
            self._workspace.read_cache.snapshots.record(key, stop.refusal.text, stop.refusal.rows)
        return msgspec.structs.replace(
            message, content=(*content[: stop.index], call), stop_reason="toolUse", error_message=None
        )

    def refusal(self, call: ToolCall) -> ToolResult | None:
        stop = self._stop
        return stop.result if stop is not None and stop.call.id == call.id else None


def _kind_of(tool: Tool) -> Literal["edit", "write"] | None:
    # A start needs none of the tools.
    from tools.builtin.write import run_write  # noqa: PLC0415
    from tools.edits.call import run_edit  # noqa: PLC0415

    return "edit" if tool.run is run_edit else "write" if tool.run is run_write else None
