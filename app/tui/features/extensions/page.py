"""The page for `/extensions`: the loaded extensions, their origin, what they register, and their errors."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from app.extensions.extension_registrations import ExtensionStatus
from app.tui.features.shared_dialogs import pick_list_row
from app.tui.page_protocols import AskOnScreen
from widgets.lists.list_rows import ListRow, RowBadge, make_column_heads
from widgets.screens.preview_pane import PreviewParagraph, PreviewText, labelled_fact_paragraphs

if TYPE_CHECKING:
    from app.assembly.extensions.extension_setup import ConnectedExtensions


class ExtensionsPage(msgspec.Struct, frozen=True):
    """Shows which extensions are loaded in one session."""

    connected_extensions: Callable[[], "ConnectedExtensions | None"]
    ask: AskOnScreen

    async def open(self) -> None:
        extended = self.connected_extensions()
        await show_extensions(extended.extensions.status() if extended is not None else (), self.ask)


async def show_extensions(status: Sequence[ExtensionStatus], ask: AskOnScreen) -> None:
    """Shows a list of the loaded extensions with their origin, what they registered, and their errors."""
    by_path = {each.path: each for each in status}
    await pick_list_row(
        ask,
        "Extensions",
        [_extension_row(each) for each in status],
        empty="no extensions are loaded",
        choose="",
        heads=make_column_heads("Extension", detail="registers", right="from"),
        note="/reload reloads them",
        preview=lambda row: _extension_preview(by_path[row.id]),
        is_full_height=True,
    )


def _extension_row(status: ExtensionStatus) -> ListRow:
    problems = len(status.problems)
    badge = RowBadge(text=f"{problems} {'problem' if problems == 1 else 'problems'}", tone="error")
    return ListRow(
        id=status.path,
        title=status.name.rsplit("/", 1)[-1],
        detail=", ".join(
            f"{count} {what if count > 1 else what.rstrip('s')}" for what, count in status.counts.items()
        ),
        right=status.origin,
        badges=(badge,) if problems else (),
    )


def _extension_preview(status: ExtensionStatus) -> PreviewText:
    parts = [PreviewParagraph(text=status.path, tone="muted")] if status.path != status.name else []
    parts += labelled_fact_paragraphs(
        ((what, str(count)) for what, count in status.counts.items()), tone="text"
    )
    parts += [PreviewParagraph(text=f"{each.event}: {each.text}", tone="error") for each in status.problems]
    return PreviewText(title=status.name, parts=tuple(parts))
