"""The list of queued messages above the editor: those that steer the running agent, and those sent after the run.

It takes frozen rows. Without focus it is dimmed; with focus messages are edited, moved and removed."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import msgspec
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from widgets.key_labels import fitting_key_hints, format_key_hints, key_label, split_key_hints
from widgets.readable_styles import selected_row_style
from widgets.row_builder import RIGHT_MARGIN_CELLS, RowBuilder, clean_single_line
from widgets.textual_internals import app_keymap

QueuedMessageKind = Literal["steer", "followUp"]
_QUEUED_MESSAGE_KIND_LABELS: dict[QueuedMessageKind, str] = {"steer": "steer", "followUp": "follow up"}
MAX_QUEUE_ROWS = 5


class QueuedMessageRow(msgspec.Struct, frozen=True, kw_only=True):
    """A queued message in the list above the editor."""

    id: str
    kind: QueuedMessageKind
    text: str
    image_count: int = 0


class QueueView(Widget, can_focus=True):
    """A widget with the list of queued messages above the editor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, id="app.queue.up"),
        Binding("down,j", "move(1)", "Down", show=False, id="app.queue.down"),
        Binding("shift+up,K", "shift(-1)", "Send the message earlier", show=False, id="app.queue.earlier"),
        Binding("shift+down,J", "shift(1)", "Send the message later", show=False, id="app.queue.later"),
        Binding("enter,e", "edit", "Edit the message", show=False, id="app.queue.edit"),
        Binding("delete,backspace,x", "remove", "Remove the message", show=False, id="app.queue.remove"),
        Binding("tab,s", "switch", "Switch between steer and follow up", show=False, id="app.queue.switch"),
        Binding("escape", "leave", "Back to the editor", show=False, id="app.queue.leave"),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "queue--label",
        "queue--label-follow",
        "queue--text",
        "queue--current",
        "queue--hint",
        "queue--key",
    }
    DEFAULT_CSS = "QueueView { height: 0; }"

    class EditRequested(Message):
        """Message: the user wants to move a queued message into the editor."""

        def __init__(self, row_id: str) -> None:
            super().__init__()
            self.row_id = row_id

    class RemoveRequested(EditRequested):
        """Message: the user wants to remove a message from the queue."""

    class SwitchRequested(EditRequested):
        """Message: the user wants to switch a queued message between steering the run and being sent after it."""

    class MoveRequested(Message):
        def __init__(self, row_id: str, delta: int) -> None:
            super().__init__()
            self.row_id = row_id
            self.delta = delta

    class Left(Message):
        """Message: Escape was pressed in the queue, so that the focus returns to the editor."""

    def __init__(self, rows: Sequence[QueuedMessageRow] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: tuple[QueuedMessageRow, ...] = ()
        self._at = 0
        self.hint = ""
        """The text below the messages while the editor has the focus."""
        self.show(rows)

    def show(self, rows: Sequence[QueuedMessageRow]) -> None:
        """Shows the queued messages in the order in which they will be sent."""
        rows = tuple(rows)
        if rows == self.rows:
            return
        current = self.rows[self._at].id if self._at < len(self.rows) else ""
        self.rows = rows
        stays = next((at for at, row in enumerate(rows) if row.id == current), min(self._at, len(rows) - 1))
        self._at = max(0, stays) if self.has_focus else 0
        height = min(len(rows), MAX_QUEUE_ROWS) + 1 if rows else 0
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        self.display = bool(rows)
        self.refresh()

    @property
    def current(self) -> QueuedMessageRow | None:
        return self.rows[self._at] if self.rows else None

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self._at = 0
        self.refresh()

    def render_line(self, y: int) -> Strip:
        line = RowBuilder(self.size.width, self.rich_style, edge=RIGHT_MARGIN_CELLS)
        shown = min(len(self.rows), MAX_QUEUE_ROWS)
        hint = self.get_component_rich_style("queue--hint")
        if y >= shown:
            more = len(self.rows) - shown
            text = self._key_hints() if self.has_focus else self.hint
            line.add(f"  … and {more} more · " if more else "  ", hint)
            key = self.get_component_rich_style("queue--key")
            for piece, is_key in split_key_hints(fitting_key_hints(text, line.remaining_cells)):
                line.add(piece, key if is_key else hint)
            return line.strip()
        first = max(0, min(self._at - shown + 1, len(self.rows) - shown)) if self.has_focus else 0
        row = self.rows[first + y]
        is_current = self.has_focus and first + y == self._at
        name = "queue--label-follow" if row.kind == "followUp" else "queue--label"
        label, style = self.get_component_rich_style(name), self.get_component_rich_style("queue--text")
        if is_current:  # to the edge, as in every list
            current = self.get_component_rich_style("queue--current")
            line.base = selected_row_style(line.base, current)
            hint, label, style = (
                selected_row_style(each, current)
                for each in (self.get_component_rich_style("queue--key"), label, current)
            )
        line.add("› " if is_current else "  ", hint).add(
            _QUEUED_MESSAGE_KIND_LABELS[row.kind].ljust(11), label
        )
        images = f"[{row.image_count} image{'s' if row.image_count > 1 else ''}] " if row.image_count else ""
        return line.add(images + clean_single_line(row.text), style).strip()

    def _key_hints(self) -> str:
        """Returns the key hints that are shown while the queue has the focus, with the user's keys."""
        own = app_keymap(self.app)
        moves = key_label(own, "app.queue.earlier", "shift+↑"), key_label(own, "app.queue.later", "shift+↓")
        usual = "shift+↑/↓" if moves == ("shift+↑", "shift+↓") else "/".join(filter(None, moves))
        told = (
            (key_label(own, "app.queue.edit", "enter"), "edit"),
            (usual, "move"),
            (key_label(own, "app.queue.remove", "del"), "remove"),
            (key_label(own, "app.queue.switch", "tab"), "steer/follow up"),
            (key_label(own, "app.queue.leave", "esc"), "back"),
        )
        return format_key_hints(told)

    def action_move(self, delta: int) -> None:
        if self.rows:
            self._at = min(max(0, self._at + delta), len(self.rows) - 1)
            self.refresh()

    def action_shift(self, delta: int) -> None:
        if self.current is not None:
            self.post_message(self.MoveRequested(self.current.id, delta))

    def action_edit(self) -> None:
        self._post_request(self.EditRequested)

    def action_remove(self) -> None:
        self._post_request(self.RemoveRequested)

    def action_switch(self) -> None:
        self._post_request(self.SwitchRequested)

    def action_leave(self) -> None:
        self.post_message(self.Left())

    def _post_request(self, kind: type[EditRequested]) -> None:
        if self.current is not None:
            self.post_message(kind(self.current.id))
