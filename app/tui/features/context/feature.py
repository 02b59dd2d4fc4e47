"""The feature for the context window: its usage and compaction."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, TuiFeature
from app.tui.keys.page_keys import PageKey
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.context.page import ContextWindowPage


async def _run_compact_command(page: "ContextWindowPage", argument: str) -> None:
    is_preview = argument.split(" ", 1)[0] == "--preview"
    instructions = argument.removeprefix("--preview").strip() if is_preview else argument
    if is_preview:
        await page.edit_compaction_summary(instructions or None)
    else:
        await page.compact(instructions or None)


class ContextFeature(TuiFeature["ContextWindowPage"]):
    slash_commands: Sequence[SlashCommand["ContextWindowPage"]] = (
        SlashCommand(
            name="context",
            help="context usage; drop large results",
            run=lambda page, _: page.open(),
        ),
        SlashCommand(
            name="compact", hint="[--preview] [focus]", session_command="compact", run=_run_compact_command
        ),
        SlashCommand(
            name="uncompact", session_command="undo_compaction", run=lambda page, _: page.undo_compaction()
        ),
    )
    keys: Sequence[PageKey["ContextWindowPage"]] = (
        PageKey(
            id="app.context.show",
            slash_command="context",
            keys="alt+c",
            help="Show the context usage",
            run_key_action=lambda page: page.open(),
        ),
        PageKey(
            id="app.compaction.preview",
            keys="alt+s",
            help="Compact, and edit the summary first",
            run_key_action=lambda page: page.edit_compaction_summary(),
        ),
        PageKey(
            id="app.compaction.undo",
            slash_command="uncompact",
            keys="alt+u",
            session_command="undo_compaction",
            run_key_action=lambda page: page.undo_compaction(),
        ),
    )

    def page(self, screen: FeatureServices) -> "ContextWindowPage":
        from app.tui.features.context.page import ContextWindowPage  # noqa: PLC0415  (when it is first used)

        return ContextWindowPage(
            screen.session,
            screen.ask,
            screen.show_message,
            screen.write_to_editor,
            screen.key_label,
            show_progress=screen.show_progress,
        )


CONTEXT_FEATURE = ContextFeature()
TUI_FEATURES = (CONTEXT_FEATURE,)
