"""Chooses how stored entries look in the transcript: by an extension's renderer first, else by bayou's own drawing.

The transcript draws the cards; `message_blocks` converts messages to blocks."""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from app.extensions.extension_catalogue import ExtensionCatalogue, ExtensionRenderedOutput
from app.tui.page_protocols import KeyLabel
from app.tui.transcript.cell_block import excluded_cell_block
from app.values.cells import CELL_ENTRY_TYPE
from app.values.content import ToolCall
from app.values.entries import BranchSummaryEntry, CustomEntry, CustomMessageEntry, Entry
from app.values.messages import AssistantMessage, CustomMessage
from tools.tool_result_values import Card, ToolResult
from widgets.transcript.transcript_blocks import AppNoteKind, CustomBlock, CustomBlockKind

TextKind = Literal["user", "assistant", "thinking", "custom", "summary"]
_NOTE_KIND_BY_LEVEL = {"warning": AppNoteKind.WARNING, "error": AppNoteKind.ERROR}


class EntryRenderers(msgspec.Struct):
    """The functions that draw the entries of one session. Without extensions bayou draws everything."""

    draw_card: Callable[[ToolCall, ToolResult | None], Card]
    """Returns the card with which a tool shows a call and its result."""
    key_label: KeyLabel
    next_step: Callable[[AssistantMessage], str] = lambda _: ""
    """Returns the suggested next step after a failed answer."""
    branch_name: Callable[[BranchSummaryEntry], str] = lambda _: ""
    """Returns the name of the branch that a summary is about."""
    retry_key: str = ""
    """The label of the key that retries a request."""
    is_staged: Callable[[str], bool] = lambda _: False
    """Returns whether staged changes with this id wait for an answer: the question about them shows their diff."""
    catalogue: ExtensionCatalogue | None = None

    def call_card(self, call: ToolCall, result: ToolResult | None = None) -> Card:
        usual = self.draw_card(call, result)
        if self.catalogue is None:
            return usual
        shown = self.catalogue.render_tool(call.name, call.arguments, result, usual)
        return shown.view.card() if shown is not None and shown.view is not None else usual

    def message_block(
        self, block_id: str, message: CustomMessage, kind: CustomBlockKind
    ) -> CustomBlock | None:
        """Returns the block that an extension draws for a custom message; None if no extension draws this type."""
        if self.catalogue is None:
            return None
        shown = self.catalogue.render_message(message, expanded=True)
        return self._extension_block(block_id, message.custom_type, shown, kind)

    def entry_block(self, entry: CustomEntry) -> CustomBlock | None:
        """Returns the transcript block of a custom entry; None if nothing draws its type, so that it is not shown."""
        if entry.custom_type == CELL_ENTRY_TYPE:
            return excluded_cell_block(entry.id, entry.data)
        if self.catalogue is None:
            return None
        shown = self.catalogue.render_entry(entry.custom_type, entry.data, expanded=True)
        return self._extension_block(entry.id, entry.custom_type, shown, CustomBlockKind.EXTENSION)

    @property
    def has_text_transforms(self) -> bool:
        return self.catalogue is not None and self.catalogue.has_markdown_transforms

    def transform_text(self, text: str, kind: TextKind) -> str:
        return text if self.catalogue is None else self.catalogue.transform_markdown(text, kind)

    def make_entry_widget(self, entry: Entry) -> object | None:
        """Creates an extension's widget for an entry; a new one each time, because a widget can be
        shown only once."""
        if self.catalogue is None:
            return None
        if isinstance(entry, CustomMessageEntry):
            message = CustomMessage(
                custom_type=entry.custom_type, content=entry.content, details=entry.details
            )
            shown = self.catalogue.render_message(message, expanded=True)
        elif isinstance(entry, CustomEntry):
            shown = self.catalogue.render_entry(entry.custom_type, entry.data, expanded=True)
        else:
            return None
        return shown.widget if shown is not None else None

    def entries_to_redraw(self, entries: Sequence[Entry]) -> list[CustomMessageEntry] | None:
        """Returns the entries that loaded extensions draw differently than bayou; None if that may be any entry."""
        if self.catalogue is None:
            return []
        if self.catalogue.draws_more_than_messages:
            return None
        return [
            entry
            for entry in entries
            if type(entry) is CustomMessageEntry and self.catalogue.has_renderer_for(entry.custom_type)
        ]

    def _extension_block(
        self, block_id: str, name: str, shown: ExtensionRenderedOutput | None, kind: CustomBlockKind
    ) -> CustomBlock | None:
        if shown is None:
            return None
        key = self.key_label("transcript.full-screen", "Enter")
        if (
            shown.view is None
        ):  # a widget: the block shows one line, which opens the widget on a separate screen
            return CustomBlock(
                id=block_id, kind=kind, card=Card(title=name, summary=f"{key} show" if key else "")
            )
        view = shown.view
        toggle = self.key_label("app.tools.expand", "Ctrl+O")
        return CustomBlock(
            id=block_id,
            kind=kind,
            card=view.card(),
            preview_lines=view.collapsed_lines,
            tone=_NOTE_KIND_BY_LEVEL.get(view.level),
            open_hint=f"{toggle} open" if toggle and view.body and not view.collapsed_lines else "",
        )
