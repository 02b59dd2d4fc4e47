"""Scenes of lists with keys of their own, for `gallery`."""

from app.tui.features.jobs.page import JobsScreen
from app.tui.features.mcp.form_screen import FilledField, FormScreen
from app.tui.features.mcp.page import ServersScreen
from widgets.lists.rows import Badge, ListRow, Tone
from widgets.screens.preview import PreviewPart, PreviewText, fact_parts


def jobs() -> JobsScreen:
    tails = {"1": "compiling…\n[42/100] src/parser.ts", "2": "1 failed, 20 passed"}
    return JobsScreen(
        [
            ListRow(
                id="1",
                title="npm run build",
                badges=(Badge(text="running", tone="accent"),),
                right="1 m 12 s",
            ),
            ListRow(
                id="2",
                title="pytest -q",
                badges=(Badge(text="failed", tone="error"),),
                detail="exit 1",
                right="8 s",
            ),
        ],
        lambda row: PreviewText(parts=(PreviewPart(text=tails[row.id], tone="muted"),)),
    )


def servers() -> ServersScreen:
    def row(name: str, state: str, tone: Tone, detail: str = "", file: str = "mcp.json") -> ListRow:
        return ListRow(id=name, title=name, badges=(Badge(text=state, tone=tone),), detail=detail, right=file)

    about = PreviewText(
        title="docs",
        parts=(
            *fact_parts(
                (
                    ("command", "npx -y docs --api-key •••"),
                    ("protocol", "2025-11-25 (1.4)"),
                )
            ),
            PreviewPart(text="Last log lines", is_heading=True),
            PreviewPart(text="listening", tone="dim"),
        ),
    )
    return ServersScreen(
        [
            row("issues", "sign-in", "warning"),
            row("docs", "ready", "success", "12 tools, 2 prompts  direct 1.1k", ".mcp.json"),
            row("files", "known", "muted", "14 tools  search"),
            row("theirs", "untrusted", "warning", file=".mcp.json"),
            row("old", "off", "muted"),
        ],
        lambda row: about,
        current="docs",
    )


def form() -> FormScreen:
    message = "Which [b]boat[/b] shall be booked?\nNever enter a password or key here: the server sees what you type."
    return FormScreen(
        "harbour asks",
        message,
        [
            FilledField(
                id="name",
                title="Your name",
                description="as on the list; needed",
                error="Your name is needed",
                is_required=True,
            ),
            FilledField(id="oars", title="Oars", value="4", description="type a whole number"),
            FilledField(id="size", title="Size", value="large"),
        ],
    )
