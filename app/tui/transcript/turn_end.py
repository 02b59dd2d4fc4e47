"""The end of a turn: how long it took, the files that it changed, and what it cost, from the session's entries.

It follows the answer that ends a run; after a stopped run, it precedes the next prompt."""

from pathlib import PurePath

from app.agent.tool_results import (
    SKIPPED_TOOL_RESULT_TEXT,
    denial_reason_of_result,
    is_result_of_stopped_call,
)
from app.undo.change_records import FILE_RESTORE_ENTRY_TYPE, file_changes_data_of_entry
from app.undo.file_history import FileChangeCounts, count_file_changes
from app.values.content import text_of
from app.values.entries import CustomEntry, Entry, MessageEntry
from app.values.messages import AssistantMessage, Message, ToolResultMessage, UserMessage
from app.values.usage import Usage, format_dollars, total_usage
from tools.number_formatting import format_changed_lines, format_elapsed, format_token_count
from widgets.row_builder import cells
from widgets.transcript.transcript_blocks import CardState, TurnEndBlock

_MIN_SHOWN_TURN_SECONDS = 1
"""The seconds from which the end of a turn without changes says something."""
_MAX_FILES_NAMED_AT_TURN_END = 2
_MAX_CHANGED_FILE_NAMES_CELLS = 28
TURN_DONE_WORD = "Done"
_TURN_STATE_WORDS = {
    CardState.DONE: TURN_DONE_WORD,
    CardState.ABORTED: "Stopped",
    CardState.FAILED: "Failed",
}


class TurnEndCollector:
    """Collects how long each turn of a branch took and which files it changed, from entries or from messages as they
    arrive. A turn has one end: an answer or a change that follows it without a prompt makes a new one, which replaces
    it."""

    def __init__(self) -> None:
        self._turn = _Turn()

    def add_entry(self, entry: Entry) -> None:
        """Adds a session entry to the current turn if it records file changes. After files were restored, later changes
        have an end of their own."""
        if not isinstance(entry, CustomEntry):
            return
        if file_changes_data_of_entry(entry) is not None:
            self._turn.changes.append(entry)
            self._turn.has_news = True
        elif entry.custom_type == FILE_RESTORE_ENTRY_TYPE and self._turn.shown_id:
            self._turn = _Turn()

    def turn_end_before(self, said: Entry | Message) -> TurnEndBlock | None:
        """Returns the end of the unfinished turn if the message is a prompt, which begins the next one; else None."""
        if not isinstance(_message_of(said), UserMessage):
            return None
        end = self.unfinished_turn_end()
        self._turn = _Turn()
        return end

    def turn_end_after(self, said: Entry | Message) -> TurnEndBlock | None:
        """Adds a message to the current turn; returns the turn's end if it is an answer without tool calls, else
        None."""
        message = _message_of(said)
        if not isinstance(message, AssistantMessage | ToolResultMessage):
            return None
        turn = self._turn
        turn.elapsed_ms += message.duration_ms or 0
        turn.has_news = True
        if isinstance(message, ToolResultMessage):
            if is_result_of_stopped_call(message):
                turn.state, turn.is_told_by_answer = CardState.ABORTED, False
            elif (
                message.is_error
                and denial_reason_of_result(message) is None
                and text_of(message.content) != SKIPPED_TOOL_RESULT_TEXT
            ):
                turn.doubt = "the last call failed"
            return None
        turn.last_id = said.id
        turn.usages.append(message.usage)
        stopped = {"aborted": CardState.ABORTED, "error": CardState.FAILED}
        turn.state = stopped.get(message.stop_reason, CardState.DONE)
        turn.is_told_by_answer = turn.state is not CardState.DONE
        if message.tool_calls:
            turn.doubt, turn.has_calls = "", True
        return None if message.tool_calls or turn.state is CardState.FAILED else self.unfinished_turn_end()

    def unfinished_turn_end(self) -> TurnEndBlock | None:
        """Returns the end of the turn that has no final answer; None if nothing is worth showing: it was short and
        without calls, or changed no files and its answer itself says that it was stopped or failed."""
        turn = self._turn
        if not turn.has_news:
            return None
        turn.has_news = False
        counted = count_file_changes(turn.changes)
        has_changes = bool(counted.files or counted.unstored_files)
        is_short = (
            turn.seconds < _MIN_SHOWN_TURN_SECONDS and turn.state is CardState.DONE and not turn.has_calls
        )
        if not has_changes and (is_short or turn.is_told_by_answer):
            return None
        before = turn.shown_id
        turn.shown_id = f"turn/{turn.last_id or turn.changes[0].id}"
        return TurnEndBlock(
            id=turn.shown_id,
            replaces=before,
            words=turn.words(has_changes=has_changes),
            figures="" if has_changes else turn.figures,
            state=turn.state,
            files=_changed_files(counted),
            change_id=turn.changes[0].id if has_changes else "",
            doubt=turn.doubt if turn.state is CardState.DONE else "",
            warning=_uncovered_files(counted),
        )


class _Turn:
    """What is known of the turn that began with the last prompt."""

    def __init__(self) -> None:
        self.changes: list[Entry] = []
        self.usages: list[Usage] = []
        self.elapsed_ms = 0.0
        self.last_id = ""
        """The id of the last answer."""
        self.state = CardState.DONE
        self.is_told_by_answer = False
        """Whether the answer itself says that it was stopped or failed."""
        self.doubt = ""
        self.has_calls = False
        self.has_news = False
        """Whether something came since its end was made."""
        self.shown_id = ""
        """The id of its end; empty while it has none."""

    @property
    def seconds(self) -> float:
        return self.elapsed_ms / 1000

    def words(self, *, has_changes: bool) -> str:
        """Returns how the turn ended and how long it took; empty for a short turn of which there is nothing to say."""
        is_done = self.state is CardState.DONE
        if self.seconds >= _MIN_SHOWN_TURN_SECONDS:
            return f"{_TURN_STATE_WORDS[self.state]} {'in' if is_done else 'after'} {format_elapsed(self.seconds)}"
        return "" if is_done and not has_changes and not self.doubt else _TURN_STATE_WORDS[self.state]

    @property
    def figures(self) -> str:
        """The tokens that the model wrote and what the turn cost, as far as they are known; empty for a short turn."""
        if self.seconds < _MIN_SHOWN_TURN_SECONDS:
            return ""
        used = total_usage(self.usages)
        written = f"↓{format_token_count(used.output)}" if used.output else ""
        return " · ".join(filter(None, (written, format_dollars(used.cost.total) if used.cost.total else "")))


def _uncovered_files(counted: FileChangeCounts) -> str:
    """Returns a text with the changed files that cannot be restored; empty if there are none."""
    if not counted.unstored_files:
        return ""
    first, *others = counted.unstored_files
    return f"cannot be undone: {first}" + (f" and {len(others)} more" if others else "")


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
