"""Shows tool calls to the client: title, kind, places, live output, and whole diffs of changed files.

The states of a call go one way: pending, in progress, completed or failed."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

import msgspec

from app.agent.tool_results import tool_result_from_outcome
from app.engine.session import Session
from app.modes.acp.content_blocks import acp_content_blocks
from app.modes.acp.update_messages import (
    Block,
    CallContent,
    CallLocation,
    CallStatus,
    FileDiffContent,
    TerminalContent,
    TextContent,
    ToolCallContent,
    ToolCallProgressUpdate,
    ToolCallStartUpdate,
)
from app.undo.change_records import FileChangesData, RecordedFileChange, StoredFileState, decode_file_text
from app.values.codec import encode_json
from app.values.content import Text, ToolCall, UserContent
from app.values.events import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from app.values.messages import ToolResultMessage
from tools.lazy_patterns import lazy_regex
from tools.text_sanitizing import one_line
from tools.tool_result_values import Card, ToolKind, ToolResult

MAX_CALL_OUTPUT_CHARS = 50_000
"""The maximum characters of a result shown by the client; of a command, its last ones."""
MAX_SENT_DIFF_BYTES = 1 << 20
_MAX_RAW_RESULT_DETAILS_BYTES = 16 * 1024
_MAX_CALL_TITLE_CHARS = 200
_OUTPUT_UPDATE_INTERVAL_SECONDS = 0.1
_OUTPUT_OVERLAP_CHARS = 256
_HUNK_HEADER_LINE_PATTERN = lazy_regex(r"^@@ -\d+(?:,\d+)? \+(\d+)")
_CODE_FENCE_PATTERN = lazy_regex(r"^`{3,}", re.MULTILINE)

CallUpdate = ToolCallStartUpdate | ToolCallProgressUpdate


class _OpenCall(msgspec.Struct, kw_only=True):
    """A call that the client knows and that has not ended."""

    call: ToolCall
    is_running: bool = False
    output: str = ""
    """The output that the client's terminal has received."""
    sent_at: float = 0.0


class ToolCallReporter:
    """The tool calls of one session, as they happen."""

    def __init__(self, session: Session, send: Callable[[CallUpdate], None], *, has_terminals: bool) -> None:
        """`has_terminals`: the client shows command output in a terminal."""
        self._session = session
        self._send = send
        self._has_terminals = has_terminals
        self._open: dict[str, _OpenCall] = {}
        self._edits: dict[str, ToolCall] = {}
        """Ended calls whose file changes may still be recorded."""

    def report_streaming_call(self, call_id: str, name: str) -> None:
        """Reports a call whose arguments have begun to arrive."""
        call = ToolCall(id=call_id, name=name, arguments={})
        self._open[call_id] = _OpenCall(call=call)
        self._send(
            ToolCallStartUpdate(
                tool_call_id=call_id,
                title=name,
                kind=self._session.tools.kind_of_tool(name),
                status="pending",
            )
        )

    def report_call_with_arguments(self, call: ToolCall) -> None:
        """Reports a call whose arguments are complete."""
        known = self._open.get(call.id)
        if known is not None:
            known.call = call
            self._send_update(call, "pending")

    def handle_event(self, event: ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd) -> None:
        match event:
            case ToolExecutionStart():
                self._report_start(event)
            case ToolExecutionUpdate():
                self._report_progress(event)
            case ToolExecutionEnd():
                self._report_end(event)
            case _:
                assert_never(event)

    def _report_start(self, event: ToolExecutionStart) -> None:
        arguments = event.args if isinstance(event.args, dict) else {}
        call = ToolCall(id=event.tool_call_id, name=event.tool_name, arguments=arguments)
        is_new = call.id not in self._open
        self._open[call.id] = _OpenCall(call=call, is_running=True)
        terminal = self._terminal_meta(call)
        meta = terminal | _parent_meta(event.parent_tool_call_id)
        content = [TerminalContent(terminal_id=call.id)] if terminal else None
        if is_new:
            self._send(make_tool_call_update(self._session, call, "in_progress", content=content, meta=meta))
        else:
            self._send_update(call, "in_progress", content=content, meta=meta)

    def _report_progress(self, event: ToolExecutionUpdate) -> None:
        known = self._open.get(event.tool_call_id)
        now = time.monotonic()
        if known is None or now < known.sent_at + _OUTPUT_UPDATE_INTERVAL_SECONDS:
            return
        known.sent_at = now
        kind = self._session.tools.kind_of_tool(event.tool_name)
        if self._has_terminals and kind == "execute":
            self._send_output(known, _joined_text(event.partial_result.content))
            return
        content = make_call_result_content(kind, event.partial_result.content)
        self._send(_call_progress(event.tool_call_id, status="in_progress", content=content))

    def _report_end(self, event: ToolExecutionEnd) -> None:
        known = self._open.pop(event.tool_call_id, None)
        if known is None:
            return
        call = known.call
        kind = self._session.tools.kind_of_tool(call.name)
        if self._has_terminals and kind == "execute":
            self._send_output(known, _joined_text(event.result.content))
            exit_code = _exit_code(event.result.details, is_error=event.is_error)
            meta = {"terminal_exit": {"terminal_id": call.id, "exit_code": exit_code, "signal": None}}
            self._send(_call_progress(call.id, status=_final_status(event.is_error), meta=meta))
            return
        if kind == "edit":
            self._edits[call.id] = call
        result = tool_result_from_outcome(event.result, is_error=event.is_error)
        self._send(
            _call_progress(
                call.id,
                status=_final_status(event.is_error),
                title=call_title(self._session, call, result),
                content=make_call_result_content(kind, event.result.content, event.result.details),
                locations=file_locations_of_call(self._session, call, event.result.details),
                raw_output=_small_details(event.result.details),
            )
        )

    def report_file_changes(self, data: FileChangesData) -> None:
        """Reports the recorded file changes of a call, as whole texts."""
        call = self._edits.pop(data.call_id, None)
        if call is not None and (diffs := make_file_diff_contents(self._session, data.changes)):
            self._send(_call_progress(call.id, content=diffs))

    def report_open_calls_failed(self) -> None:
        """Ends the calls that will not run any more."""
        for call_id in tuple(self._open):
            del self._open[call_id]
            self._send(_call_progress(call_id, status="failed"))
        self._edits.clear()

    def _send_update(
        self,
        call: ToolCall,
        status: CallStatus,
        *,
        content: Sequence[CallContent] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self._send(
            _call_progress(
                call.id,
                status=status,
                title=call_title(self._session, call),
                locations=file_locations_of_call(self._session, call),
                raw_input=call.arguments,
                content=content,
                meta=meta,
            )
        )

    def _terminal_meta(self, call: ToolCall) -> dict[str, Any]:
        if not self._has_terminals or self._session.tools.kind_of_tool(call.name) != "execute":
            return {}
        return {"terminal_info": {"terminal_id": call.id, "cwd": str(self._session.cwd)}}

    def _send_output(self, known: _OpenCall, output: str) -> None:
        """Sends the new part of a command's output, whose beginning may have been cut off."""
        before, known.output = known.output, output
        new = output.removeprefix(before)
        if before and not output.startswith(before):
            seam = before[-_OUTPUT_OVERLAP_CHARS:]
            at = output.rfind(seam)
            new = output[at + len(seam) :] if at >= 0 else output
        if new:
            call_id = known.call.id
            meta = {"terminal_output": {"terminal_id": call_id, "data": new}}
            self._send(_call_progress(call_id, status="in_progress", meta=meta))


def make_tool_call_update(
    session: Session,
    call: ToolCall,
    status: CallStatus,
    *,
    content: Sequence[CallContent] | None = None,
    meta: Mapping[str, Any] | None = None,
    result: ToolResult | None = None,
    changed: Sequence[str] = (),
) -> ToolCallStartUpdate:
    """Returns the first update of a call whose arguments are known. `changed`: the files that it has changed."""
    return ToolCallStartUpdate(
        tool_call_id=call.id,
        title=call_title(session, call, result),
        kind=session.tools.kind_of_tool(call.name),
        status=status,
        locations=file_locations_of_call(
            session, call, result.details if result is not None else None, changed
        ),
        raw_input=call.arguments,
        content=list(content) if content is not None else None,
        raw_output=_small_details(result.details) if result is not None else None,
        meta=dict(meta) if meta else None,
    )


def make_stored_tool_call_update(
    session: Session, call: ToolCall, message: ToolResultMessage, changes: Sequence[RecordedFileChange]
) -> ToolCallStartUpdate:
    """Returns a call of a stored conversation, in its last state."""
    kind = session.tools.kind_of_tool(call.name)
    content = make_file_diff_contents(session, changes) if kind == "edit" else []
    content = content or make_call_result_content(kind, message.content, message.details)
    result = tool_result_from_outcome(message, is_error=message.is_error)
    changed = [str(session.cwd / change.name) for change in changes] if kind == "edit" else ()
    return make_tool_call_update(
        session, call, _final_status(message.is_error), content=content, result=result, changed=changed
    )


def call_title(session: Session, call: ToolCall, result: ToolResult | None = None) -> str:
    is_command = session.tools.kind_of_tool(call.name) == "execute"
    card: Card = session.tools.draw_call_card(
        call, result if not is_command else None
    )  # what it prints is not in its title
    if is_command and card.subject:
        return one_line(card.subject)[:_MAX_CALL_TITLE_CHARS]
    return one_line(f"{card.title} {card.subject}").strip()[:_MAX_CALL_TITLE_CHARS] or call.name


def file_locations_of_call(
    session: Session, call: ToolCall, details: Any = None, changed: Sequence[str] = ()
) -> list[CallLocation] | None:
    """Returns the files of a call, the first with the line where the call reads or changes it. A command has none:
    the paths in it are guesses. The files that a stored call has changed are known, so that its arguments need not
    be read again, which takes as long as all the rest."""
    kind = session.tools.kind_of_tool(call.name)
    if kind == "execute":
        return None
    effects = session.tools.effects_of_call(call.name, call.arguments) if not changed else None
    paths = changed or (effects.paths if effects is not None else ())
    if not paths:
        return None
    line = _line_number(call, details, is_read=kind == "read")
    first, *others = paths
    return [CallLocation(path=first, line=line), *(CallLocation(path=path) for path in others)]


def make_call_result_content(
    kind: ToolKind, content: Sequence[UserContent], details: Any = None
) -> list[CallContent]:
    """Returns a result as the client shows it: the patch of an edit, else its text and images."""
    patch = details.get("patch") if kind == "edit" and isinstance(details, Mapping) else None
    if isinstance(patch, str) and patch:
        return [make_content_part(TextContent(text=fenced_code_block(_shorten(patch), "diff")))]
    shown: list[CallContent] = []
    for block in acp_content_blocks(content):
        if isinstance(block, TextContent):
            text = _shorten(block.text, is_end=kind == "execute")
            block = TextContent(
                text=fenced_code_block(text) if kind in ("read", "search", "execute") else text
            )
        shown.append(make_content_part(block))
    return shown


def make_file_diff_contents(session: Session, changes: Sequence[RecordedFileChange]) -> list[CallContent]:
    """Returns whole texts before and after; files that are too large, or no text, are left out."""
    diffs: list[CallContent] = []
    for change in changes:
        texts = [
            "" if image is None else _stored_text(session, image) for image in (change.before, change.after)
        ]
        old, new = texts
        if old is None or new is None:
            continue
        diffs.append(
            FileDiffContent(
                path=str(session.cwd / change.name),
                old_text=old if change.before is not None else None,
                new_text=new,
            )
        )
    return diffs


def fenced_code_block(text: str, language: str = "") -> str:
    """Returns the text as a block of code; the fence is longer than any in the text."""
    longest = (
        max((len(found) for found in _CODE_FENCE_PATTERN.findall(text)), default=2) if "```" in text else 2
    )
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _stored_text(session: Session, image: StoredFileState) -> str | None:
    if image.kind != "file" or image.size > MAX_SENT_DIFF_BYTES:
        return None
    data = session.files.stored_content_by_hash(image.hash)
    return decode_file_text(data) if data is not None else None


def _call_progress(
    call_id: str,
    *,
    status: CallStatus | None = None,
    title: str | None = None,
    content: Sequence[CallContent] | None = None,
    locations: list[CallLocation] | None = None,
    raw_input: Any = None,
    raw_output: Any = None,
    meta: Mapping[str, Any] | None = None,
) -> ToolCallProgressUpdate:
    return ToolCallProgressUpdate(
        tool_call_id=call_id,
        status=status,
        title=title,
        content=list(content) if content is not None else None,
        locations=locations,
        raw_input=raw_input,
        raw_output=raw_output,
        meta=dict(meta) if meta else None,
    )


def make_content_part(block: Block) -> ToolCallContent:
    return ToolCallContent(content=block)


def _final_status(is_error: bool) -> CallStatus:
    return "failed" if is_error else "completed"


def _parent_meta(call_id: str | None) -> dict[str, Any]:
    return {"parent": call_id} if call_id is not None else {}


def _joined_text(content: Sequence[UserContent]) -> str:
    return "\n".join(block.text for block in content if isinstance(block, Text))


def _shorten(text: str, *, is_end: bool = False) -> str:
    if len(text) <= MAX_CALL_OUTPUT_CHARS:
        return text
    cut = f"({len(text) - MAX_CALL_OUTPUT_CHARS:,} characters are left out)"
    return f"{cut}\n{text[-MAX_CALL_OUTPUT_CHARS:]}" if is_end else f"{text[:MAX_CALL_OUTPUT_CHARS]}\n{cut}"


def _line_number(call: ToolCall, details: Any, *, is_read: bool) -> int | None:
    line = call.arguments.get("offset") if is_read else None
    patch = details.get("patch") if isinstance(details, Mapping) else None
    if isinstance(patch, str):
        found = next(
            (match for text in patch.splitlines() if (match := _HUNK_HEADER_LINE_PATTERN.match(text))), None
        )
        line = int(found[1]) if found is not None else line
    return line if isinstance(line, int) and line > 0 else None


def _exit_code(details: Any, *, is_error: bool) -> int | None:
    code = details.get("exitCode") if isinstance(details, Mapping) else None
    return code if isinstance(code, int) else int(is_error)


def _small_details(details: Any) -> Any:
    return (
        details
        if details is not None and len(encode_json(details)) <= _MAX_RAW_RESULT_DETAILS_BYTES
        else None
    )
