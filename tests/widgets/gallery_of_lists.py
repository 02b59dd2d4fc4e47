"""Scenes of lists with keys of their own, for `gallery`."""

from app.tui.features.jobs.page import BackgroundJobsScreen
from app.tui.features.mcp.form_screen import FilledFormField, RequestedFormScreen
from app.tui.features.mcp.page import McpServersScreen
from widgets.lists.list_rows import ListRow, RowBadge, RowTone
from widgets.screens.preview_pane import PreviewParagraph, PreviewText, labelled_fact_paragraphs


def jobs() -> BackgroundJobsScreen:
    tails = {"1": "compiling…\n[42/100] src/parser.ts", "2": "1 failed, 20 passed"}
    return BackgroundJobsScreen(
        [
            ListRow(
                id="1",
                title="npm run build",
                badges=(RowBadge(text="running", tone="accent"),),
                right="1 m 12 s",
            ),
            ListRow(
                id="2",
                title="pytest -q",
                badges=(RowBadge(text="failed", tone="error"),),
                detail="exit 1",
                right="8 s",
            ),
        ],
        lambda row: PreviewText(parts=(PreviewParagraph(text=tails[row.id], tone="muted"),)),
    )


def servers() -> McpServersScreen:
    def row(name: str, state: str, tone: RowTone, detail: str = "", file: str = "mcp.json") -> ListRow:
        return ListRow(
            id=name, title=name, badges=(RowBadge(text=state, tone=tone),), detail=detail, right=file
        )

    about = PreviewText(
        title="docs",
        parts=(
            *labelled_fact_paragraphs(
                (
                    ("command", "npx -y docs --api-key •••"),
                    ("protocol", "2025-11-25 (1.4)"),
                )
            ),
            PreviewParagraph(text="Last log lines", is_heading=True),
            PreviewParagraph(text="listening", tone="dim"),
        ),
    )
    return McpServersScreen(
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


def form() -> RequestedFormScreen:
    message = "Which [b]boat[/b] shall be booked?\nNever enter a password or key here: the server sees what you type."
    return RequestedFormScreen(
        "harbour asks",
        message,
        [
            FilledFormField(
                id="name",
                title="Your name",
                description="as on the list; needed",
                error="Your name is needed",
                is_required=True,
            ),
            FilledFormField(id="oars", title="Oars", value="4", description="type a whole number"),
            FilledFormField(id="size", title="Size", value="large"),
        ],
    )
