"""Watches edits while their arguments arrive: stops an answer whose old text is not in the file
(`edit.streamingAbort`)."""

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from app.agent.arriving_call_watch import ArrivingCallWatch
from app.agent.tool_results import failed_tool_result
from app.engine.core.hooks import Hooks
from app.engine.core.session_options import SessionOptions
from app.engine.core.toolbox import Toolbox
from app.engine.permissions.permission_gate import PermissionGate
from app.engine.tools.call_preview import ToolCallPreviews
from app.values.content import ToolCall
from app.values.json_texts import texts_in_json
from app.values.messages import AssistantMessage
from app.values.stream import BlockEvent, ToolCallDelta, ToolCallEnd, ToolCallStart
from app.values.wire import new_id
from tools.masking.secret_marks import SECRET_MARK_PREFIX
from tools.streamed_json import StreamedJsonParser
from tools.tool_definition import Tool
from tools.tool_result_values import ToolResult

if TYPE_CHECKING:
    from tools.edits.edit_preview import StreamingEditWithoutMatch

_MIN_EDIT_CHECK_INTERVAL: Final = 0.15
_MIN_EDIT_CHECK_PAUSE_FACTOR: Final = 5
"""The minimum pause after a check, as a multiple of the time that the check took."""
_STOPPED_EDIT_TEXT: Final = (
    "The call was stopped at this edit, before it was complete; later edits in the call were not applied."
)


class _StreamingCall:
    """The first tool call of an arriving answer, if it is an edit."""

    def __init__(self, index: int, id: str, tool: Tool) -> None:
        self.index = index
        self.id = id
        self.tool = tool
        self.pieces: list[str] = []
        """The pieces of the call's arguments that have not been read yet."""
        self.arguments = StreamedJsonParser()
        self.is_complete = False

    def complete_edits(self) -> dict[str, Any] | None:
        """Returns the edit's arguments up to the last complete edit; None while they are incomplete."""
        pieces, self.pieces = self.pieces, []
        self.arguments.parse_chunk("".join(pieces))
        whole = self.arguments.complete_members()
        if not self.arguments.is_strict_json or self.arguments.is_malformed:
            return None
        # An edit that is not a list may still be followed by others.
        return whole if any(isinstance(value, list) for value in whole.values()) else None


class _StoppedEdit(msgspec.Struct, frozen=True, kw_only=True):
    """The edit because of which an answer was stopped, with its result."""

    index: int
    call: ToolCall
    """The call with the complete part of its arguments, up to the edit that cannot work."""
    result: ToolResult


class ArrivingEditWatch(ArrivingCallWatch):
    """Watches the edits that arrive in the answers of one session."""

    def __init__(
        self,
        *,
        toolbox: Toolbox,
        permits: PermissionGate,
        preview: ToolCallPreviews,
        hooks: Hooks,
        options: SessionOptions,
    ) -> None:
        self._toolbox = toolbox
        self._permissions = permits
        self._preview = preview
        self._hooks = hooks
        self._options = options
        self._message_id = ""
        self._has_call = False
        self._streaming_call: _StreamingCall | None = None
        self._cancel_answer: Callable[[], None] = lambda: None
        self._stopped: _StoppedEdit | None = None
        self._check_task: asyncio.Task[None] | None = None

    def start_watching_answer(self, message_id: str, cancel: Callable[[], None]) -> None:
        self._message_id, self._cancel_answer = message_id, cancel
        self._has_call = False
        self._streaming_call = self._stopped = None

    def handle_stream_event(self, event: BlockEvent) -> None:
        if isinstance(event, ToolCallStart):
            # A call before the edit may write its old text into the file.
            self._streaming_call = None if self._has_call else self._start_call(event)
            self._has_call = True
        elif isinstance(event, ToolCallDelta):
            call = self._streaming_call
            if call is not None and call.index == event.content_index:
                call.pieces.append(event.delta)
                self._schedule_check(call)
        elif isinstance(event, ToolCallEnd) and self._streaming_call is not None:
            self._streaming_call.is_complete = True

    def _start_call(self, event: ToolCallStart) -> _StreamingCall | None:
        tool = self._toolbox.callable_tools().get(event.tool_name)
        if tool is None or not self._options.effective_settings.settings.edit.streaming_abort:
            return None
        # The edit module is imported at the first edit.
        from tools.edits.edit_arguments import EditArguments  # noqa: PLC0415

        is_edit = tool.arguments is EditArguments
        return _StreamingCall(event.content_index, event.id, tool) if is_edit else None

    def _schedule_check(self, call: _StreamingCall) -> None:
        """Checks the arrived edits in a thread, one check at a time."""
        if self._check_task is None or self._check_task.done():
            self._check_task = asyncio.create_task(self._run_checks(call))

    async def _run_checks(self, call: _StreamingCall) -> None:
        while call.pieces and self._is_still_streaming(call):
            cost, stop = await asyncio.to_thread(self._check_edits, call)
            if stop is not None and self._is_still_streaming(call):
                self._stopped = stop
                self._cancel_answer()
                return
            await asyncio.sleep(max(_MIN_EDIT_CHECK_INTERVAL, _MIN_EDIT_CHECK_PAUSE_FACTOR * cost))

    def _is_still_streaming(self, call: _StreamingCall) -> bool:
        return self._streaming_call is call and not call.is_complete and self._stopped is None

    def _check_edits(self, call: _StreamingCall) -> tuple[float, _StoppedEdit | None]:
        # The edit module is imported at the first edit.
        from tools.edits.edit_preview import find_first_unmatched_edit  # noqa: PLC0415

        began = time.thread_time()
        stop = None
        raw = call.complete_edits()
        lost = (
            find_first_unmatched_edit(_normalised_arguments(call.tool, raw), self._preview.read_file_of_call)
            if raw is not None
            else None
        )
        if raw is not None and lost is not None:
            cut = ToolCall(id=call.id, name=call.tool.name, arguments=raw)
            stop = self._stopped_edit(call.index, cut, lost) if self._would_run_unasked(cut) else None
        return time.thread_time() - began, stop

    def _would_run_unasked(self, call: ToolCall) -> bool:
        """Whether the edit would run without a question, with unchanged arguments, and fail in the tool."""
        if self._hooks.may_change_tool_calls() or any(
            SECRET_MARK_PREFIX in text for text in texts_in_json(call.arguments)
        ):
            return False
        effects = self._toolbox.effects_of_call(call.name, call.arguments)
        return (
            effects is not None and self._permissions.judge_effects(effects, tool=call.name).outcome == "run"
        )

    def _stopped_edit(self, index: int, call: ToolCall, lost: "StreamingEditWithoutMatch") -> _StoppedEdit:
        said = failed_tool_result(f"{lost.reason}\n\n{_STOPPED_EDIT_TEXT}", {"stoppedEarly": True})
        real = (lost.real_path,) if lost.real_path else ()
        return _StoppedEdit(
            index=index,
            call=call,
            result=self._preview.mask_preview(said, real, where=f"{call.name} {lost.path}"),
        )

    def cut_before_doomed_call(self, message: AssistantMessage) -> AssistantMessage | None:
        stop, content = self._stopped, message.content
        if stop is None or message.id != self._message_id or len(content) < stop.index:
            return None
        # Some blocks of an answer arrive only at its end.
        known = content[stop.index] if len(content) > stop.index else stop.call
        if not isinstance(known, ToolCall):
            return None
        call = msgspec.structs.replace(
            known, id=known.id or f"call_{new_id()}", arguments=stop.call.arguments, arguments_error=None
        )
        self._stopped = msgspec.structs.replace(stop, call=call)
        return msgspec.structs.replace(
            message, content=(*content[: stop.index], call), stop_reason="toolUse", error_message=None
        )

    def result_of_doomed_call(self, call: ToolCall) -> ToolResult | None:
        stop = self._stopped
        return stop.result if stop is not None and stop.call.id == call.id else None


def _normalised_arguments(tool: Tool, raw: dict[str, Any]) -> dict[str, Any]:
    """Returns a tool call's arguments under the tool's own names."""
    if tool.prepare is None:
        return raw
    try:
        return tool.prepare(dict(raw))
    except Exception:  # noqa: BLE001  (the tool's own code; the call itself reports the error)
        return {}
