"""Context usage and compaction."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices
from app.tui.keys.page_keys import PageKey
from app.tui.slash import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.context.page import ContextPage


async def _compact(page: "ContextPage", argument: str) -> None:
    is_preview = argument.split(" ", 1)[0] == "--preview"
    instructions = argument.removeprefix("--preview").strip() if is_preview else argument
    if is_preview:
        await page.preview(instructions or None)
    else:
        await page.compact(instructions or None)


class Context(Feature["ContextPage"]):
    slash: Sequence[SlashCommand["ContextPage"]] = (
        SlashCommand(
            name="context",
            help="what fills the window, and dropping parts of it",
            run=lambda page, _: page.open(),
        ),
        SlashCommand(name="compact", hint="[--preview] [focus]", verb="compact", run=_compact),
        SlashCommand(name="uncompact", verb="undo_compaction", run=lambda page, _: page.undo()),
    )
    keys: Sequence[PageKey["ContextPage"]] = (
        PageKey(
            id="app.context.show",
            keys="alt+c",
            help="What fills the context window",
            do=lambda page: page.open(),
        ),
        PageKey(
            id="app.compaction.preview",
            keys="alt+s",
            help="Summarise the older part, the summary to be changed first",
            do=lambda page: page.preview(),
        ),
        PageKey(
            id="app.compaction.undo",
            keys="alt+u",
            verb="undo_compaction",
            do=lambda page: page.undo(),
        ),
    )

    def page(self, screen: FeatureServices) -> "ContextPage":
        from app.tui.features.context.page import ContextPage  # noqa: PLC0415  (when it is first used)

        return ContextPage(
            screen.session,
            screen.ask,
            screen.say,
            screen.write,
            screen.key_label,
            show_progress=screen.show_progress,
        )


CONTEXT = Context()
FEATURES = (CONTEXT,)
