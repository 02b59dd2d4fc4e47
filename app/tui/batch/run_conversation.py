"""The conversation of one run of a batch, read from its session file while that grows."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from app.sessions.errors import SessionError
from app.sessions.export.html_blocks import builtin_tool_card_drawer
from app.sessions.session_log import SessionLog
from app.tui.transcript.message_blocks import transcript_blocks_of_branch
from app.tui.transcript.renderers import EntryRenderers
from app.tui.transcript.turn_end import TurnEndCollector
from tools.files.watched_files import FileChangeStamp, compute_file_change_stamp
from tools.text_sanitizing import one_line
from widgets.transcript.transcript_blocks import Block, CardState, ToolCallBlock
from widgets.transcript.view import Transcript


class BatchRunConversation:
    """Follows the conversation of one batch run for a screen, read-only, while the run continues."""

    def __init__(
        self,
        key: str,
        *,
        session: Callable[[], Awaitable[Path | None]],
        footer: Callable[[], str],
        is_running: Callable[[], bool],
        stop: Callable[[], None],
    ) -> None:
        """Creates the follower of a run. `session`: returns the run's session file, None before it exists."""
        self._key = key
        self._session = session
        self._footer = footer
        self._is_running = is_running
        self._stop = stop
        self._read_task: asyncio.Task[None] | None = None
        self._read_state: tuple[FileChangeStamp, bool] | None = None
        self._shown_blocks: dict[str, Block] = {}

    def title(self) -> str:
        return one_line(self._key)[:100]

    def footer(self) -> str:
        return self._footer()

    def show_new_messages(self, transcript: Transcript) -> None:
        if self._read_task is None or self._read_task.done():
            self._read_task = asyncio.ensure_future(self._show_if_changed(transcript))

    def stop_showing(self) -> None:
        if self._read_task is not None:
            self._read_task.cancel()

    async def stop(self) -> None:
        self._stop()

    async def _show_if_changed(self, transcript: Transcript) -> None:
        file = await self._session()
        state = (compute_file_change_stamp(file) if file is not None else None, self._is_running())
        if file is None or state == self._read_state:
            return
        self._read_state = state
        blocks = await asyncio.to_thread(_session_blocks, file)
        if self._is_running() and blocks:
            blocks[-1] = _mark_call_running(blocks[-1])
        for block in blocks:
            if self._shown_blocks.get(block.id) != block:
                self._shown_blocks[block.id] = block
                transcript.add(block)


def _session_blocks(file: Path) -> list[Block]:
    """Returns the transcript blocks of a session file; none while its first lines are being written."""
    try:
        log = SessionLog.open(file, read_only=True)
    except SessionError:
        return []
    try:
        draw = builtin_tool_card_drawer()
        renderers = EntryRenderers(lambda call, result=None: draw(call, result), _no_key_label)
        return transcript_blocks_of_branch(log.path_to(), renderers, TurnEndCollector(), goes_on=True)
    finally:
        log.close()


def _mark_call_running(block: Block) -> Block:
    """Returns a transcript block in which an aborted call is shown as running: in a session that still runs, the last
    call only lacks its result so far."""
    if isinstance(block, ToolCallBlock) and block.state is CardState.ABORTED:
        return msgspec.structs.replace(block, state=CardState.RUNNING)
    return block


def _no_key_label(id: str, default: str) -> str:
    """Returns an empty key label, because keys do nothing in the read-only conversation of a batch run."""
    return ""
