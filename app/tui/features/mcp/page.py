"""The page for `/mcp`: the session's MCP servers, what each offers and costs, and actions on them."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

import msgspec
from textual.binding import BindingType

from app.engine.mcp.mcp_commands import mcp_offered_tools_text, run_mcp_command, test_server
from app.engine.mcp.session_servers import McpServers
from app.tui.features.models.login import SignInScreenUi
from app.tui.features.shared_dialogs import ask_with_refreshed_picker, pick_list_row
from app.tui.page_protocols import AskOnScreen, NotifyWaiting, ShowMessage
from app.values.events import QuestionAsked
from app.values.mcp_servers import ServerState, ServerView, ToolExposure, ToolView
from app.values.user_errors import UserError
from tools.number_formatting import format_token_count
from tools.text_sanitizing import escape_controls, one_line
from widgets.lists.list_rows import ListRow, RowBadge, RowTone, make_column_heads
from widgets.lists.row_filter import MatchedListRow
from widgets.screens.dialogs import ConfirmScreen
from widgets.screens.picker import PickerAction, PickerResult, PickerScreen, picker_bindings
from widgets.screens.preview_pane import PreviewParagraph, PreviewText, labelled_fact_paragraphs
from widgets.transcript.transcript_blocks import AppNoteKind

_MIN_WIDTH_FOR_ALL_SERVER_COLUMNS = 60
"""Columns of the terminal from which there is room for all columns of the list."""


class McpServersScreen(PickerScreen):
    """A picker of the MCP servers; Enter opens a server's tools, other keys test, switch, restart or remove
    it."""

    ACTIONS = (
        PickerAction(
            id="app.mcp.test",
            keys="t",
            label="test",
            help="Test the connection to the server",
            closes=False,
            importance=7,
        ),
        PickerAction(
            id="app.mcp.switch",
            keys="e",
            label="on/off",
            help="Enable or disable the server",
            closes=False,
            importance=7,
        ),
        PickerAction(
            id="app.mcp.exposure",
            keys="x",
            label="exposure",
            help="Change how the model reaches the server's tools",
            closes=False,
            importance=5,
        ),
        PickerAction(
            id="app.mcp.restart",
            keys="r",
            label="restart",
            help="Restart the server",
            closes=False,
            importance=5,
        ),
        PickerAction(
            id="app.mcp.sign",
            keys="l",
            label="sign in/out",
            help="Sign in to the server, or sign out",
            importance=6,
        ),
        PickerAction(
            id="app.mcp.open",
            keys="o",
            label="open config",
            help="Open the server's config file",
            importance=4,
        ),
        PickerAction(
            id="app.mcp.remove",
            keys="d",
            label="remove",
            help="Remove the server from its config file",
            importance=4,
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)
    IS_SEARCHED: ClassVar[bool] = False  # single letters are keys here

    def __init__(
        self, rows: Sequence[ListRow], about: Callable[[ListRow], PreviewText], *, current: str = ""
    ) -> None:
        """Creates the list. `about`: returns the details of a server for the preview."""
        super().__init__(
            "MCP servers",
            rows,
            order="given",
            choose="tools",
            current=current,
            empty="no MCP servers",
            heads=_column_heads(),
            preview=about,
        )

    def show_servers(self, rows: Sequence[ListRow], note: str | None = None) -> None:
        """Updates the list of MCP servers; nothing is drawn if nothing changed."""
        if tuple(rows) != self._rows or note is not None:
            self.show_rows(rows, note=note, heads=_column_heads())
        self.refresh_preview()

    def on_resize(self) -> None:
        self.show_rows(self._rows)
        super().on_resize()

    def adjust_visible_rows(self, shown: list[MatchedListRow]) -> list[MatchedListRow]:
        """Returns the rows of the servers; on a narrow page with only the number of tools instead of all columns."""
        if self.app.size.width >= _MIN_WIDTH_FOR_ALL_SERVER_COLUMNS:
            return shown
        rows = [
            msgspec.structs.replace(
                item.row,
                detail=f"{count} tools" if (count := item.row.detail.split()[0]) != "–" else "",
                right="",
            )
            for item in shown
        ]
        return [item._replace(row=row) for item, row in zip(shown, rows, strict=True)]

    def _fit(self) -> None:
        super()._fit()
        is_below = not self.has_class("beside") and self.app.size.height >= 20
        self.set_class(is_below, "below")
        if is_below or self.has_class("beside"):
            around = 9 if is_below else 12
            self.query_one("#body").styles.height = min(
                len(self._rows) + around, self.app.size.height * 3 // 5
            )


_MCP_EXPOSURE_VALUES: tuple[ToolExposure, ...] = ("auto", "direct", "search", "hidden")
_MCP_SERVER_STATE_TONES: dict[ServerState, RowTone] = {
    **dict.fromkeys(("off", "new", "known"), "muted"),
    **dict.fromkeys(("untrusted", "sign-in"), "warning"),
    **dict.fromkeys(("error", "failed"), "error"),
    "starting": "accent",
    "ready": "success",
}
_MCP_STATES_NEEDING_USER = ("sign-in", "failed", "error", "untrusted")
_MAX_SERVER_LOG_LINES = 20


class McpServersPage(msgspec.Struct, frozen=True):
    """Shows and manages the MCP servers of one session."""

    servers: McpServers
    ask: AskOnScreen
    show_message: ShowMessage
    notify_waiting: NotifyWaiting
    edit: Callable[[Path], str]
    """Opens a file in an editor; returns an error message or an empty text."""
    spawn: Callable[[Awaitable[None]], object]
    clock: Callable[[], float]

    async def open(self, text: str = "") -> None:
        """Shows the MCP servers of the session; with arguments, runs the `/mcp` subcommand that they name."""
        if text:
            await self._run_command(text)
            return
        current = ""
        while True:
            if not self.servers.server_views():
                self.show_message(await run_mcp_command(self.servers, "list"))
                return
            screen = McpServersScreen(self._server_rows(), self._server_details, current=current)
            look = partial(self._refresh_rows, screen)
            picked = await ask_with_refreshed_picker(self.ask, screen, look, self._handle_request)
            if picked is None:
                return
            current = picked.row.id
            await self._run_closing_action(picked)

    async def show_server_form(self, event: QuestionAsked) -> None:
        """Shows the form that an MCP server requests during a call."""
        from app.tui.features.mcp.form import RequestedFormPage  # noqa: PLC0415  (few servers ask anything)

        await RequestedFormPage(self.ask, self.notify_waiting, clock=self.clock).show_form(event)

    async def _run_command(self, text: str) -> None:
        if text.split()[0] == "test" and len(text.split()) > 1:
            self.show_message(f'Testing connection to "{one_line(text.split()[1])}"…')
        await self._show_connecting(
            run_mcp_command(self.servers, text, SignInScreenUi(self.ask, self.show_message))
        )

    async def _show_connecting(self, work: Awaitable[str]) -> None:
        try:
            self.show_message(escape_controls(await work))
        except UserError as problem:
            self.show_message(escape_controls(str(problem)), AppNoteKind.ERROR)

    async def _run_closing_action(self, picked: PickerResult) -> None:
        name = picked.row.id
        match picked.action:
            case "app.mcp.sign":
                changes = self.servers.server_configuration_changes
                verb = "logout" if await changes.is_signed_in(name) else "login"
                await self._run_command(f"{verb} {name}")
            case "app.mcp.open":
                await self._open_config_file(name)
            case "app.mcp.remove":
                await self._remove_server(name)
            case _:
                await self._show_tools(name)

    async def _open_config_file(self, name: str) -> None:
        file = self.servers.server_configuration_changes.server_config(name).file
        problem = self.edit(file) if file is not None else "This server is not in a config file."
        if problem:
            self.show_message(problem, AppNoteKind.ERROR)
        else:
            self.servers.reload_configuration()

    async def _remove_server(self, name: str) -> None:
        view = self.servers.server_view(name)
        text = f"This removes the server from {view.origin}."
        if await self.ask(ConfirmScreen(f"Remove {name}?", text, yes="remove", no="keep", is_dangerous=True)):
            await self._run_command(f"remove {name}")

    def _handle_request(self, request: McpServersScreen.ActionRequested) -> None:
        screen, row = request.screen, request.row
        if not isinstance(screen, McpServersScreen) or row is None:
            return
        self.spawn(self._run_action(screen, request.action, row.id))

    async def _run_action(self, screen: McpServersScreen, action: str, name: str) -> None:
        note = ""
        try:
            match action:
                case "app.mcp.test":
                    screen.show_note(f"testing {name} …")
                    await test_server(self.servers, name)
                    note = f"{name} works"
                case "app.mcp.switch":
                    self.servers.server_configuration_changes.set_server_enabled(
                        name, self.servers.server_view(name).state == "off"
                    )
                case "app.mcp.exposure":
                    now = self.servers.server_view(name).exposure
                    then = _MCP_EXPOSURE_VALUES[
                        (_MCP_EXPOSURE_VALUES.index(now) + 1) % len(_MCP_EXPOSURE_VALUES)
                    ]
                    self.servers.server_configuration_changes.set_exposure(name, then)
                    note = "applies from the next prompt"
                case _:
                    await self.servers.restart_server(name)
                    note = f"{name} restarts on next use"
        except UserError as problem:
            note = one_line(str(problem).partition("\n")[0])
        if screen.is_there:
            screen.show_servers(self._server_rows(), note)

    def _refresh_rows(self, screen: McpServersScreen) -> None:
        screen.show_servers(self._server_rows())

    async def _show_tools(self, name: str) -> None:
        """Shows a list of one MCP server's tools with the tokens that each costs."""
        view = self.servers.server_view(name)
        if not view.tools:
            self.show_message(
                "\n".join(view.omissions)
                or f"{name} is {view.state}, so its tools are unknown. {one_line(view.reason)}".rstrip()
            )
            return
        tools = {tool.name: tool for tool in view.tools}
        await pick_list_row(
            self.ask,
            f"Tools of {name}",
            [_tool_row(tool) for tool in view.tools],
            order="given",
            choose="",
            heads=make_column_heads("Tool", badges=(f"{'reach':<{_MCP_COLUMN_WIDTHS[1]}}",), right="tokens"),
            preview=lambda row: _tool_preview(tools[row.id]),
        )

    def _server_details(self, row: ListRow) -> PreviewText:
        view = next((view for view in self.servers.server_views() if view.name == row.id), None)
        return mcp_server_preview(view) if view is not None else PreviewText()

    def _server_rows(self) -> list[ListRow]:
        views = self.servers.server_views()
        return [
            _server_row(view)
            for view in sorted(views, key=lambda view: view.state not in _MCP_STATES_NEEDING_USER)
        ]


_MCP_STATE_CELLS = max(map(len, _MCP_SERVER_STATE_TONES))
_MCP_COLUMN_WIDTHS = (5, 6, 7)


def _join_columns(tools: str, reach: str, tokens: str) -> str:
    return (
        f"{tools:>{_MCP_COLUMN_WIDTHS[0]}}  {reach:<{_MCP_COLUMN_WIDTHS[1]}}{tokens:>{_MCP_COLUMN_WIDTHS[2]}}"
    )


def _column_heads() -> ListRow:
    return make_column_heads(
        "Server",
        badges=(f"{'state':<{_MCP_STATE_CELLS}}",),
        detail=_join_columns("tools", "reach", "tokens"),
        right="file",
    )


def _server_row(view: ServerView) -> ListRow:
    tools = f"{len(view.tools):,}" if view.tools else "–"
    cost = format_token_count(view.tokens) if view.tokens and view.reach == "direct" else "–"
    return ListRow(
        id=view.name,
        title=view.name,
        badges=(
            RowBadge(text=f"{view.state:<{_MCP_STATE_CELLS}}", tone=_MCP_SERVER_STATE_TONES[view.state]),
        ),
        detail=_join_columns(tools, view.reach if view.tools else "–", cost),
        right=Path(view.origin).name or view.origin,
    )


def mcp_server_preview(view: ServerView) -> PreviewText:
    parts = labelled_fact_paragraphs(
        (
            ("command" if "://" not in view.address else "address", escape_controls(view.address)),
            ("about", escape_controls(view.description)),
            ("protocol", f"{view.era} ({escape_controls(view.version)})" if view.era else ""),
            ("exposure", view.exposure),
            ("provides", mcp_offered_tools_text(view)),
            ("defined in", _home_relative(view.origin)),
            ("log", _home_relative(view.log)),
        )
    )
    if view.reason:
        parts.insert(
            0, PreviewParagraph(text=escape_controls(view.reason), tone=_MCP_SERVER_STATE_TONES[view.state])
        )
    parts += [PreviewParagraph(text=text, tone="warning") for text in view.omissions]
    if view.stderr:
        parts.append(PreviewParagraph(text="Last log lines", is_heading=True))
        parts.append(PreviewParagraph(text="\n".join(view.stderr[-_MAX_SERVER_LOG_LINES:]), tone="dim"))
    return PreviewText(title=view.name, parts=tuple(parts))


def _home_relative(path: str) -> str:
    home = f"{Path.home()}/"
    return f"~/{path.removeprefix(home)}" if path.startswith(home) else path


def _tool_row(tool: ToolView) -> ListRow:
    says = ["declared read-only"] if tool.says_read_only else []
    says += ["declared dangerous"] if tool.says_destructive else []
    return ListRow(
        id=tool.name,
        title=tool.name,
        detail=", ".join(says),
        badges=(RowBadge(text=f"{tool.reach:<{_MCP_COLUMN_WIDTHS[1]}}"),),
        right=format_token_count(tool.tokens),
    )


def _tool_preview(tool: ToolView) -> PreviewText:
    parts = [PreviewParagraph(text=escape_controls(tool.description) or "No description.")]
    parts.append(PreviewParagraph(text=f"Name in rules and for the model: {tool.full_name}", tone="muted"))
    return PreviewText(title=tool.title or tool.name, parts=tuple(parts))
