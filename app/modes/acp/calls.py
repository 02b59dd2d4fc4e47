"""Shows tool calls to the client: title, kind, places, live output, and whole diffs of changed files.

The states of a call go one way: pending, in progress, completed or failed."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

import msgspec

from app.agent.tool_results import result_from_outcome
from app.engine.session import Session
from app.modes.acp.blocks import shown_blocks
from app.modes.acp.update_values import (
    Block,
    CallProgress,
    CallStart,
    CallStatus,
    Content,
    ContentPart,
    DiffPart,
    Location,
    ShownText,
    TerminalPart,
)
from app.undo.change_records import Change, FileImage, FilesData, decode_text
from app.values.codec import encode_json
from app.values.content import Text, ToolCall, UserContent
from app.values.events import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from app.values.messages import ToolResultMessage
from tools.base import ToolKind
from tools.patterns import late
from tools.results import Card, ToolResult
from tools.text import one_line

MAX_OUTPUT = 50_000
"""The maximum characters of a result shown by the client; of a command, its last ones."""
_MAX_DIFF_BYTES = 1 << 20
_MAX_RAW_BYTES = 16 * 1024
_MAX_TITLE = 200
_UPDATE_SECONDS = 0.1
_OVERLAP = 256
_FIRST_LINE = late(r"^@@ -\d+(?:,\d+)? \+(\d+)")
_FENCE = late(r"^`{3,}", re.MULTILINE)

Update = CallStart | CallProgress


class _OpenCall(msgspec.Struct, kw_only=True):
    """A call that the client knows and that has not ended."""

    call: ToolCall
    is_running: bool = False
    output: str = ""
    """The output that the client's terminal has received."""
    told_at: float = 0.0


class ToolCalls:
    """The tool calls of one session, as they happen."""

    def __init__(self, session: Session, send: Callable[[Update], None], *, has_terminals: bool) -> None:
        """`has_terminals`: the client shows command output in a terminal."""
        self._session = session
        self._send = send
        self._has_terminals = has_terminals
        self._open: dict[str, _OpenCall] = {}
        self._edits: dict[str, ToolCall] = {}
        """Ended calls whose file changes may still be recorded."""

    def begun(self, call_id: str, name: str) -> None:
        """Reports a call whose arguments have begun to arrive."""
        call = ToolCall(id=call_id, name=name, arguments={})
        self._open[call_id] = _OpenCall(call=call)
        self._send(
            CallStart(
                tool_call_id=call_id,
                title=name,
                kind=self._session.tools.kind_of(name),
                status="pending",
            )
        )

    def written(self, call: ToolCall) -> None:
        """Reports a call whose arguments are complete."""
        known = self._open.get(call.id)
        if known is not None:
            known.call = call
            self._send_update(call, "pending")

    def tell(self, event: ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd) -> None:
        match event:
            case ToolExecutionStart():
                self._started(event)
            case ToolExecutionUpdate():
                self._progressed(event)
            case ToolExecutionEnd():
                self._ended(event)
            case _:
                assert_never(event)

    def _started(self, event: ToolExecutionStart) -> None:
        arguments = event.args if isinstance(event.args, dict) else {}
        call = ToolCall(id=event.tool_call_id, name=event.tool_name, arguments=arguments)
        is_new = call.id not in self._open
        self._open[call.id] = _OpenCall(call=call, is_running=True)
        terminal = self._terminal(call)
        meta = terminal | _parent(event.parent_tool_call_id)
        content = [TerminalPart(terminal_id=call.id)] if terminal else None
        if is_new:
            self._send(call_start(self._session, call, "in_progress", content=content, meta=meta))
        else:
            self._send_update(call, "in_progress", content=content, meta=meta)

    def _progressed(self, event: ToolExecutionUpdate) -> None:
        known = self._open.get(event.tool_call_id)
        now = time.monotonic()
        if known is None or now < known.told_at + _UPDATE_SECONDS:
            return
        known.told_at = now
        kind = self._session.tools.kind_of(event.tool_name)
        if self._has_terminals and kind == "execute":
            self._send_output(known, _text_of(event.partial_result.content))
            return
        content = output_content(kind, event.partial_result.content)
        self._send(_progress(event.tool_call_id, status="in_progress", content=content))

    def _ended(self, event: ToolExecutionEnd) -> None:
        known = self._open.pop(event.tool_call_id, None)
        if known is None:
            return
        call = known.call
        kind = self._session.tools.kind_of(call.name)
        if self._has_terminals and kind == "execute":
            self._send_output(known, _text_of(event.result.content))
            exit_code = _exit_code(event.result.details, is_error=event.is_error)
            meta = {"terminal_exit": {"terminal_id": call.id, "exit_code": exit_code, "signal": None}}
            self._send(_progress(call.id, status=_ended(event.is_error), meta=meta))
            return
        if kind == "edit":
            self._edits[call.id] = call
        result = result_from_outcome(event.result, is_error=event.is_error)
        self._send(
            _progress(
                call.id,
                status=_ended(event.is_error),
                title=title_of(self._session, call, result),
                content=output_content(kind, event.result.content, event.result.details),
                locations=locations_of(self._session, call, event.result.details),
                raw_output=_small(event.result.details),
            )
        )

    def recorded(self, data: FilesData) -> None:
        """Reports the recorded file changes of a call, as whole texts."""
        call = self._edits.pop(data.call_id, None)
        if call is not None and (diffs := diffs_of(self._session, data.changes)):
            self._send(_progress(call.id, content=diffs))

    def settle(self) -> None:
        """Ends the calls that will not run any more."""
        for call_id in tuple(self._open):
            del self._open[call_id]
            self._send(_progress(call_id, status="failed"))
        self._edits.clear()

    def _send_update(
        self,
        call: ToolCall,
        status: CallStatus,
        *,
        content: Sequence[Content] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self._send(
            _progress(
                call.id,
                status=status,
                title=title_of(self._session, call),
                locations=locations_of(self._session, call),
                raw_input=call.arguments,
                content=content,
                meta=meta,
            )
        )

    def _terminal(self, call: ToolCall) -> dict[str, Any]:
        if not self._has_terminals or self._session.tools.kind_of(call.name) != "execute":
            return {}
        return {"terminal_info": {"terminal_id": call.id, "cwd": str(self._session.cwd)}}

    def _send_output(self, known: _OpenCall, output: str) -> None:
        """Sends the new part of a command's output, whose beginning may have been cut off."""
        before, known.output = known.output, output
        new = output.removeprefix(before)
        if before and not output.startswith(before):
            seam = before[-_OVERLAP:]
            at = output.rfind(seam)
            new = output[at + len(seam) :] if at >= 0 else output
        if new:
            call_id = known.call.id
            meta = {"terminal_output": {"terminal_id": call_id, "data": new}}
            self._send(_progress(call_id, status="in_progress", meta=meta))


def call_start(
    session: Session,
    call: ToolCall,
    status: CallStatus,
    *,
    content: Sequence[Content] | None = None,
    meta: Mapping[str, Any] | None = None,
    result: ToolResult | None = None,
    changed: Sequence[str] = (),
) -> CallStart:
    """Returns the first update of a call whose arguments are known. `changed`: the files that it has changed."""
    return CallStart(
        tool_call_id=call.id,
        title=title_of(session, call, result),
        kind=session.tools.kind_of(call.name),
        status=status,
        locations=locations_of(session, call, result.details if result is not None else None, changed),
        raw_input=call.arguments,
        content=list(content) if content is not None else None,
        raw_output=_small(result.details) if result is not None else None,
        meta=dict(meta) if meta else None,
    )


def stored_call(
    session: Session, call: ToolCall, message: ToolResultMessage, changes: Sequence[Change]
) -> CallStart:
    """Returns a call of a stored conversation, in its last state."""
    kind = session.tools.kind_of(call.name)
    content = diffs_of(session, changes) if kind == "edit" else []
    content = content or output_content(kind, message.content, message.details)
    result = result_from_outcome(message, is_error=message.is_error)
    changed = [str(session.cwd / change.name) for change in changes] if kind == "edit" else ()
    return call_start(
        session, call, _ended(message.is_error), content=content, result=result, changed=changed
    )


def title_of(session: Session, call: ToolCall, result: ToolResult | None = None) -> str:
    is_command = session.tools.kind_of(call.name) == "execute"
    card: Card = session.tools.card(
        call, result if not is_command else None
    )  # what it prints is not in its title
    if is_command and card.subject:
        return one_line(card.subject)[:_MAX_TITLE]
    return one_line(f"{card.title} {card.subject}").strip()[:_MAX_TITLE] or call.name


def locations_of(
    session: Session, call: ToolCall, details: Any = None, changed: Sequence[str] = ()
) -> list[Location] | None:
    """Returns the files of a call, the first with the line where the call reads or changes it. A command has none:
    the paths in it are guesses. The files that a stored call has changed are known, so that its arguments need not
    be read again, which takes as long as all the rest."""
    kind = session.tools.kind_of(call.name)
    if kind == "execute":
        return None
    effects = session.tools.effects_of(call.name, call.arguments) if not changed else None
    paths = changed or (effects.paths if effects is not None else ())
    if not paths:
        return None
    line = _line_of(call, details, is_read=kind == "read")
    first, *others = paths
    return [Location(path=first, line=line), *(Location(path=path) for path in others)]


def output_content(kind: ToolKind, content: Sequence[UserContent], details: Any = None) -> list[Content]:
    """Returns a result as the client shows it: the patch of an edit, else its text and images."""
    patch = details.get("patch") if kind == "edit" and isinstance(details, Mapping) else None
    if isinstance(patch, str) and patch:
        return [tool_content(ShownText(text=fenced(_shortened(patch), "diff")))]
    shown: list[Content] = []
    for block in shown_blocks(content):
        if isinstance(block, ShownText):
            text = _shortened(block.text, is_end=kind == "execute")
            block = ShownText(text=fenced(text) if kind in ("read", "search", "execute") else text)
        shown.append(tool_content(block))
    return shown


def diffs_of(session: Session, changes: Sequence[Change]) -> list[Content]:
    """Returns whole texts before and after; files that are too large, or no text, are left out."""
    diffs: list[Content] = []
    for change in changes:
        texts = [
            "" if image is None else _stored_text(session, image) for image in (change.before, change.after)
        ]
        old, new = texts
        if old is None or new is None:
            continue
        diffs.append(
            DiffPart(
                path=str(session.cwd / change.name),
                old_text=old if change.before is not None else None,
                new_text=new,
            )
        )
    return diffs


def fenced(text: str, language: str = "") -> str:
    """Returns the text as a block of code; the fence is longer than any in the text."""
    longest = max((len(found) for found in _FENCE.findall(text)), default=2) if "```" in text else 2
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _stored_text(session: Session, image: FileImage) -> str | None:
    if image.kind != "file" or image.size > _MAX_DIFF_BYTES:
        return None
    data = session.files.content(image.hash)
    return decode_text(data) if data is not None else None


def _progress(
    call_id: str,
    *,
    status: CallStatus | None = None,
    title: str | None = None,
    content: Sequence[Content] | None = None,
    locations: list[Location] | None = None,
    raw_input: Any = None,
    raw_output: Any = None,
    meta: Mapping[str, Any] | None = None,
) -> CallProgress:
    return CallProgress(
        tool_call_id=call_id,
        status=status,
        title=title,
        content=list(content) if content is not None else None,
        locations=locations,
        raw_input=raw_input,
        raw_output=raw_output,
        meta=dict(meta) if meta else None,
    )


def tool_content(block: Block) -> ContentPart:
    return ContentPart(content=block)


def _ended(is_error: bool) -> CallStatus:
    return "failed" if is_error else "completed"


def _parent(call_id: str | None) -> dict[str, Any]:
    return {"parent": call_id} if call_id is not None else {}


def _text_of(content: Sequence[UserContent]) -> str:
    return "\n".join(block.text for block in content if isinstance(block, Text))


def _shortened(text: str, *, is_end: bool = False) -> str:
    if len(text) <= MAX_OUTPUT:
        return text
    cut = f"({len(text) - MAX_OUTPUT:,} characters are left out)"
    return f"{cut}\n{text[-MAX_OUTPUT:]}" if is_end else f"{text[:MAX_OUTPUT]}\n{cut}"


def _line_of(call: ToolCall, details: Any, *, is_read: bool) -> int | None:
    line = call.arguments.get("offset") if is_read else None
    patch = details.get("patch") if isinstance(details, Mapping) else None
    if isinstance(patch, str):
        found = next((match for text in patch.splitlines() if (match := _FIRST_LINE.match(text))), None)
        line = int(found[1]) if found is not None else line
    return line if isinstance(line, int) and line > 0 else None


def _exit_code(details: Any, *, is_error: bool) -> int | None:
    code = details.get("exitCode") if isinstance(details, Mapping) else None
    return code if isinstance(code, int) else int(is_error)


def _small(details: Any) -> Any:
    return details if details is not None and len(encode_json(details)) <= _MAX_RAW_BYTES else None
