"""The end of a turn: how long it took and the files that it changed, from the session's entries.

It follows the answer that ends a run; after a stopped run, it precedes the next prompt."""

from pathlib import PurePath

from app.agent.tool_results import denial_reason_of_result, is_result_of_stopped_call
from app.undo.change_records import file_changes_data_of_entry
from app.undo.file_history import FileChangeCounts, count_file_changes
from app.values.entries import CustomEntry, Entry, MessageEntry
from app.values.messages import AssistantMessage, Message, ToolResultMessage, UserMessage
from tools.number_formatting import format_changed_lines, format_elapsed
from widgets.row_builder import cells
from widgets.transcript.transcript_blocks import CardState, TurnEndBlock

_MIN_SHOWN_TURN_SECONDS = 1
"""The seconds from which a turn without calls gets an end row."""
_MAX_FILES_NAMED_AT_TURN_END = 2
_MAX_CHANGED_FILE_NAMES_CELLS = 28
CHANGED_FILES_BLOCK_ID_PREFIX = "changed/"
"""Before the id of the first changing entry in the id of a turn's end."""
TURN_DONE_WORD = "Done"
NO_FILES_CHANGED_TEXT = "no files changed"
_TURN_STATE_WORDS = {
    CardState.DONE: TURN_DONE_WORD,
    CardState.ABORTED: "Stopped",
    CardState.FAILED: "Failed",
}


class TurnEndCollector:
    """Collects how long each turn of a branch took and which files it changed, from entries or from messages as they
    arrive."""

    def __init__(self) -> None:
        self._entries_since_end: list[Entry] = []
        self._elapsed_ms = 0.0
        self._last_id = ""
        self._state = CardState.DONE
        self._is_told_by_answer = False
        self._doubt = ""
        self._has_calls = False

    def add_entry(self, entry: Entry) -> None:
        """Adds a session entry to the current turn if it records file changes; ignores other entries."""
        if isinstance(entry, CustomEntry) and file_changes_data_of_entry(entry) is not None:
            self._entries_since_end.append(entry)

    def turn_end_before(self, said: Entry | Message) -> TurnEndBlock | None:
        """Returns the end of the unfinished turn if the message is a prompt, which begins the next one; else None."""
        return self.unfinished_turn_end() if isinstance(_message_of(said), UserMessage) else None

    def turn_end_after(self, said: Entry | Message) -> TurnEndBlock | None:
        """Adds a message to the current turn; returns the turn's end if it is an answer without tool calls, else
        None."""
        message = _message_of(said)
        if not isinstance(message, AssistantMessage | ToolResultMessage):
            return None
        self._elapsed_ms += message.duration_ms or 0
        if isinstance(message, ToolResultMessage):
            if is_result_of_stopped_call(message):
                self._state, self._is_told_by_answer = CardState.ABORTED, False
            elif denial_reason_of_result(message) is not None:
                self._doubt = self._doubt or "you said no"
            elif message.is_error:
                self._doubt = self._doubt or "last call failed"
            return None
        self._last_id = said.id
        stopped = {"aborted": CardState.ABORTED, "error": CardState.FAILED}
        self._state = stopped.get(message.stop_reason, CardState.DONE)
        self._is_told_by_answer = self._state is not CardState.DONE
        if message.tool_calls:
            self._doubt, self._has_calls = "", True
        return None if message.tool_calls or self._state is CardState.FAILED else self.unfinished_turn_end()

    def unfinished_turn_end(self) -> TurnEndBlock | None:
        """Returns the end of the turn that has no final answer; None if nothing is worth showing: it was short and
        without calls, or changed no files and its answer itself says that it was stopped or failed."""
        entries, self._entries_since_end = self._entries_since_end, []
        seconds, self._elapsed_ms = self._elapsed_ms / 1000, 0.0
        state, self._state = self._state, CardState.DONE
        is_told, self._is_told_by_answer = self._is_told_by_answer, False
        doubt, self._doubt = self._doubt if state is CardState.DONE else "", ""
        has_calls, self._has_calls = self._has_calls, False
        counted = count_file_changes(entries)
        has_changes = bool(counted.files or counted.unstored_files)
        is_short = seconds < _MIN_SHOWN_TURN_SECONDS and state is CardState.DONE and not has_calls
        if not has_changes and (is_short or is_told):
            return None
        warning = ""
        if counted.unstored_files:
            first, *others = counted.unstored_files
            warning = f"cannot be undone: {first}" + (f" and {len(others)} more" if others else "")
        within = " after" if state is not CardState.DONE or doubt else " in"
        return TurnEndBlock(
            id=f"{CHANGED_FILES_BLOCK_ID_PREFIX}{entries[0].id}" if entries else f"turn/{self._last_id}",
            words=("Ended" if doubt else _TURN_STATE_WORDS[state])
            + (f"{within} {format_elapsed(seconds)}" if seconds >= _MIN_SHOWN_TURN_SECONDS else ""),
            state=state,
            files=_changed_files(counted) or (NO_FILES_CHANGED_TEXT if has_calls and not has_changes else ""),
            doubt=doubt,
            warning=warning,
        )


def _changed_files(counted: FileChangeCounts) -> str:
    """Returns a text with the names of changed files and their lines, such as `fleet.py, boats.md +4 −1`; only their
    number if they are many or the names are long or equal."""
    names = {PurePath(path).name for path in counted.paths}
    text = ", ".join(sorted(names))
    if (
        counted.files != len(names)
        or len(names) > _MAX_FILES_NAMED_AT_TURN_END
        or cells(text) > _MAX_CHANGED_FILE_NAMES_CELLS
    ):
        return counted.summary if counted.files else ""
    return f"{text} {format_changed_lines(counted.added, counted.removed)}".rstrip()


def _message_of(said: Entry | Message) -> object:
    return said.message if isinstance(said, MessageEntry) else said
