"""The feature for MCP servers: the `/mcp` command, and the forms that servers request."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices, Subscription
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.mcp.page import McpPage


class McpFeature(Feature["McpPage"]):
    slash_commands: Sequence[SlashCommand["McpPage"]] = (
        SlashCommand(
            name="mcp",
            hint="[list | test | enable | disable | restart | login | logout | logs | remove] [name]",
            help="MCP servers: status, tools, sign-in",
            run=lambda page, text: page.open(text),
        ),
    )
    subscriptions: Sequence[Subscription["McpPage"]] = (
        Subscription(("form",), lambda page, event: page.answer_form(event)),
    )

    def page(self, screen: FeatureServices) -> "McpPage":
        from app.tui.features.mcp.page import McpPage  # noqa: PLC0415  (when it is first used)

        return McpPage(
            screen.session.mcp,
            screen.ask,
            screen.show_message,
            screen.notify_waiting,
            edit=screen.edit_file,
            spawn=screen.tasks.spawn,
            clock=screen.clock,
        )


MCP = McpFeature()
FEATURES = (MCP,)
