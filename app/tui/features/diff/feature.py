"""File changes: the `/diff` command and its key."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices
from app.tui.keys.page_keys import PageKey
from app.tui.slash import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.diff.page import DiffPage


class DiffFeature(Feature["DiffPage"]):
    slash: Sequence[SlashCommand["DiffPage"]] = (
        SlashCommand(
            name="diff",
            hint="[session|prompt|git]",
            verb="get_diff",
            run=lambda page, text: page.open(text or "session"),
        ),
    )
    keys: Sequence[PageKey["DiffPage"]] = (
        PageKey(
            id="app.diff.show",
            keys="alt+g",
            help="What the last prompt changed in files",
            do=lambda page: page.open("prompt"),
        ),
    )

    def page(self, screen: FeatureServices) -> "DiffPage":
        from app.tui.features.diff.page import DiffPage  # noqa: PLC0415  (when it is first used)

        return DiffPage(screen.session, screen.ask, screen.copy, edit=screen.edit)


DIFF = DiffFeature()
FEATURES = (DIFF,)
