"""The feature for MCP servers: the `/mcp` command, and the forms that servers request."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, FeatureSubscription, TuiFeature
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.mcp.page import McpServersPage


class McpFeature(TuiFeature["McpServersPage"]):
    slash_commands: Sequence[SlashCommand["McpServersPage"]] = (
        SlashCommand(
            name="mcp",
            hint="[list | test | enable | disable | restart | login | logout | logs | remove] [name]",
            help="MCP servers: status, tools, sign-in",
            run=lambda page, text: page.open(text),
        ),
    )
    subscriptions: Sequence[FeatureSubscription["McpServersPage"]] = (
        FeatureSubscription(("form",), lambda page, event: page.show_server_form(event)),
    )

    def page(self, screen: FeatureServices) -> "McpServersPage":
        from app.tui.features.mcp.page import McpServersPage  # noqa: PLC0415  (when it is first used)

        return McpServersPage(
            screen.session.mcp,
            screen.ask,
            screen.show_message,
            screen.notify_waiting,
            edit=screen.edit_file,
            spawn=screen.tasks.spawn,
            clock=screen.clock,
        )


MCP_FEATURE = McpFeature()
TUI_FEATURES = (MCP_FEATURE,)
