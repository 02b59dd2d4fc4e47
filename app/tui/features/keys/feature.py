"""Key bindings and commands: lists, palette and rebinding."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices
from app.tui.keys.page_keys import PageKey
from app.tui.slash import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.keys.page import KeysPage


class KeysFeature(Feature["KeysPage"]):
    slash: Sequence[SlashCommand["KeysPage"]] = (
        SlashCommand(
            name="hotkeys",
            help="all keys; {key} changes one",
            key=("tui.select.confirm", "Enter"),
            run=lambda page, _: page.open(),
        ),
        SlashCommand(name="keys", help="the same as /hotkeys", run=lambda page, _: page.open()),
        SlashCommand(name="help", help="all commands", run=lambda page, _: page.commands()),
    )
    keys: Sequence[PageKey["KeysPage"]] = (
        PageKey(
            id="app.palette",
            keys="ctrl+k",
            help="All commands and actions",
            do=lambda page: page.palette(),
        ),
    )

    def page(self, screen: FeatureServices) -> "KeysPage":
        from app.tui.features.keys.page import KeysPage  # noqa: PLC0415  (when it is first used)

        own = screen.user_keys
        return KeysPage(
            screen.action_table,
            screen.ask,
            screen.write,
            file=own.file,
            read_again=own.read,
            do=screen.do,
            recent=[],
        )


KEYS = KeysFeature()
FEATURES = (KEYS,)
