"""The feature for keys and commands: their lists, the command palette, and rebinding."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, TuiFeature
from app.tui.keys.page_keys import PageKey
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.keys.page import KeysAndCommandsPage


class KeysFeature(TuiFeature["KeysAndCommandsPage"]):
    slash_commands: Sequence[SlashCommand["KeysAndCommandsPage"]] = (
        SlashCommand(
            name="hotkeys",
            help="all keys; {key} changes a key",
            key=("tui.select.confirm", "Enter"),
            run=lambda page, _: page.show_keys(),
        ),
        SlashCommand(name="keys", help="the same as /hotkeys", run=lambda page, _: page.show_keys()),
        SlashCommand(name="help", help="all commands", run=lambda page, _: page.show_commands()),
    )
    keys: Sequence[PageKey["KeysAndCommandsPage"]] = (
        PageKey(
            id="app.palette",
            keys="ctrl+k",
            help="All commands and actions",
            run_key_action=lambda page: page.show_palette(),
        ),
    )

    def page(self, screen: FeatureServices) -> "KeysAndCommandsPage":
        from app.tui.features.keys.page import KeysAndCommandsPage  # noqa: PLC0415  (when it is first used)

        own = screen.user_keys
        return KeysAndCommandsPage(
            screen.action_table,
            screen.ask,
            screen.write_to_editor,
            keys_file=own.file,
            reload_keys=own.apply_key_file,
            run_action=screen.run_action,
            recent_actions=[],
            reports_alt_separately=screen.reports_alt_separately,
        )


KEYS_FEATURE = KeysFeature()
TUI_FEATURES = (KEYS_FEATURE,)
