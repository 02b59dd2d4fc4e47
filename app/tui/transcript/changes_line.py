"""The line after an answer that sums up file changes: `3 files +40 −12`, from the session's entries.

It follows the answer that ends a run; after a stopped run, it precedes the next prompt."""

from app.tui.page_protocols import KeyLabel
from app.undo.change_records import files_of
from app.undo.file_history import count_changes
from app.values.entries import CustomEntry, Entry, MessageEntry
from app.values.messages import AssistantMessage, Message, UserMessage
from widgets.key_labels import format_hints
from widgets.transcript.blocks import NoteBlock, NoteKind


class ChangesLine:
    """Collects the file changes of one branch, from its entries or from messages as they arrive."""

    def __init__(self, key_label: KeyLabel) -> None:
        self._key_label = key_label
        self._since: list[Entry] = []

    def note(self, entry: Entry) -> None:
        """Adds an entry; only entries about files count."""
        if isinstance(entry, CustomEntry) and files_of(entry) is not None:
            self._since.append(entry)

    def before(self, said: Entry | Message) -> NoteBlock | None:
        """Returns the line to show before a message: only before a prompt."""
        return self.rest() if isinstance(_message(said), UserMessage) else None

    def behind(self, said: Entry | Message) -> NoteBlock | None:
        """Returns the line to show after a message: only after an answer without tool calls."""
        message = _message(said)
        is_last = isinstance(message, AssistantMessage) and not message.tool_calls
        return self.rest() if is_last else None

    def rest(self) -> NoteBlock | None:
        """Returns a line with the changes not shown yet; None if there are none."""
        entries, self._since = self._since, []
        counted = count_changes(entries)
        if not counted.files and not counted.unheld:
            return None
        parts = [counted.words] if counted.files else []
        if counted.unheld:
            first, *others = counted.unheld
            parts.append(f"not undoable: {first}" + (f" and {len(others)} more" if others else ""))
        keys = format_hints(
            [
                (self._key_label("app.review.show", "alt+g"), "shows"),
                (self._key_label("app.files.undo", "alt+z"), "takes back"),
            ]
        )
        text = " · ".join(filter(None, (*parts, keys)))
        kind = NoteKind.WARNING if counted.unheld else NoteKind.INFO
        return NoteBlock(id=f"changed/{entries[0].id}", text=text, kind=kind)


def _message(said: Entry | Message) -> object:
    return said.message if isinstance(said, MessageEntry) else said
