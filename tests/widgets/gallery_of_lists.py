"""Scenes of lists with keys of their own, for `gallery`."""

from widgets.screens.form import FilledField, FormScreen
from widgets.screens.jobs import JobRow, JobsScreen
from widgets.screens.servers import ServerRow, ServersScreen


def jobs() -> JobsScreen:
    return JobsScreen(
        [
            JobRow(id="1", title="npm run build", age="1 m 12 s", tail="compiling…\n[42/100] src/parser.ts"),
            JobRow(
                id="2",
                title="pytest -q",
                state="failed",
                age="8 s",
                note="exit 1",
                tail="1 failed, 20 passed",
            ),
        ]
    )


def servers() -> ServersScreen:
    return ServersScreen(
        [
            ServerRow(
                name="issues",
                standing="sign-in",
                origin="mcp.json",
                reason="it wants to know who asks: /mcp login issues",
                about=(("at", "https://issues.example/mcp?•••"), ("exposure", "auto")),
            ),
            ServerRow(
                name="docs",
                standing="ready",
                offers="12 tools, 2 prompts",
                reach="direct 1.1k",
                origin=".mcp.json",
                about=(("runs", "npx -y docs --api-key •••"), ("speaks", "2025-11-25 (1.4)")),
                said="listening",
            ),
            ServerRow(name="files", standing="known", offers="14 tools", reach="search", origin="mcp.json"),
            ServerRow(name="theirs", standing="untrusted", origin=".mcp.json"),
            ServerRow(name="old", standing="off", origin="mcp.json"),
        ],
        current="docs",
    )


def form() -> FormScreen:
    message = (
        "Which [b]boat[/b] shall be booked?\nNever give a password or a key here: they see what you type."
    )
    return FormScreen(
        "harbour asks",
        message,
        [
            FilledField(
                id="name",
                title="Your name",
                about="as on the list; needed",
                wrong="Your name is needed",
                is_required=True,
            ),
            FilledField(id="oars", title="Oars", value="4", about="a whole number"),
            FilledField(id="size", title="Size", value="large"),
        ],
    )
