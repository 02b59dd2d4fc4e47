"""`/mcp`: the session's servers, what each offers and costs, and actions on them."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

import msgspec
from textual.binding import BindingType

from app.engine.mcp.mcp_commands import offered_text, run_mcp_command, test_server
from app.engine.mcp.session_servers import McpServers
from app.tui.features.models.login import LoginUi
from app.tui.features.shared_dialogs import ask_live, pick
from app.tui.page_protocols import AskPerson, NotifyWaiting, ShowMessage
from app.values.events import QuestionAsked
from app.values.mcp_servers import ServerState, ServerView, ToolExposure, ToolView
from app.values.user_errors import UserError
from tools.text import escape_controls, one_line
from widgets.lists.rows import Badge, ListRow, Tone
from widgets.screens.dialogs import ConfirmScreen
from widgets.screens.picker import Picked, PickerAction, PickerScreen, bindings_of
from widgets.screens.preview import PreviewPart, PreviewText, facts
from widgets.transcript.blocks import NoteKind


class ServersScreen(PickerScreen):
    """Enter opens a server's tools; the application answers each key with `show_servers`."""

    ACTIONS = (
        PickerAction(id="app.mcp.test", keys="t", label="test", closes=False, importance=7),
        PickerAction(id="app.mcp.switch", keys="e", label="on/off", closes=False, importance=7),
        PickerAction(id="app.mcp.exposure", keys="x", label="exposure", closes=False, importance=5),
        PickerAction(id="app.mcp.restart", keys="r", label="restart", closes=False, importance=5),
        PickerAction(id="app.mcp.sign", keys="l", label="sign in/out", importance=6),
        PickerAction(id="app.mcp.open", keys="o", label="open its file", importance=4),
        PickerAction(id="app.mcp.remove", keys="d", label="remove", importance=4),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)
    IS_SEARCHED: ClassVar[bool] = False  # single letters are keys here

    def __init__(
        self, rows: Sequence[ListRow], about: Callable[[ListRow], PreviewText], *, current: str = ""
    ) -> None:
        """`about`: returns the details of a server for the preview."""
        super().__init__(
            "MCP servers",
            rows,
            order="given",
            choose="its tools",
            current=current,
            empty="no servers",
            preview=about,
        )

    def show_servers(self, rows: Sequence[ListRow], note: str | None = None) -> None:
        """Updates the rows; nothing is drawn if nothing changed."""
        if tuple(rows) != self._rows or note is not None:
            self.show_rows(rows, note=note)
        self.refresh_preview()

    def _fit(self) -> None:
        super()._fit()
        is_below = not self.has_class("beside") and self.app.size.height >= 20
        self.set_class(is_below, "below")
        if is_below or self.has_class("beside"):
            around = 9 if is_below else 12
            self.query_one("#body").styles.height = min(
                len(self._rows) + around, self.app.size.height * 3 // 5
            )


_EXPOSURES: tuple[ToolExposure, ...] = ("auto", "direct", "search", "hidden")
_TONES: dict[ServerState, Tone] = {
    **dict.fromkeys(("off", "new", "known"), "muted"),
    **dict.fromkeys(("untrusted", "sign-in"), "warning"),
    **dict.fromkeys(("error", "failed"), "error"),
    "starting": "accent",
    "ready": "success",
}
_STATES_NEEDING_USER = ("sign-in", "failed", "error", "untrusted")
_LOG_LINES_SHOWN = 20


class McpPage(msgspec.Struct, frozen=True):
    """Shows and manages the MCP servers of one session."""

    verbs: McpServers
    ask: AskPerson
    say: ShowMessage
    told: NotifyWaiting
    edit: Callable[[Path], str]
    """Opens a file in an editor; returns an error message or an empty text."""
    spawn: Callable[[Awaitable[None]], object]
    clock: Callable[[], float]

    async def open(self, text: str = "") -> None:
        """Opens the page; with arguments, runs the `/mcp` subcommand that they name."""
        if text:
            await self._run_command(text)
            return
        current = ""
        while True:
            if not self.verbs.servers():
                self.say(await run_mcp_command(self.verbs, "list"))
                return
            screen = ServersScreen(self._rows(), self._about, current=current)
            look = partial(self._show, screen)
            picked = await ask_live(self.ask, screen, look, self._requested)
            if picked is None:
                return
            current = picked.row.id
            await self._picked(picked)

    async def answer(self, event: QuestionAsked) -> None:
        """Shows the form that a server requests during a call."""
        from app.tui.features.mcp.form import FormPage  # noqa: PLC0415  (few servers ask anything)

        await FormPage(self.ask, self.told, clock=self.clock).answer(event)

    async def _run_command(self, text: str) -> None:
        if text.split()[0] == "test" and len(text.split()) > 1:
            self.say(f'Testing connection to "{one_line(text.split()[1])}"…')
        await self._trying(run_mcp_command(self.verbs, text, LoginUi(self.ask, self.say)))

    async def _trying(self, work: Awaitable[str]) -> None:
        try:
            self.say(escape_controls(await work))
        except UserError as problem:
            self.say(escape_controls(str(problem)), NoteKind.ERROR)

    async def _picked(self, picked: Picked) -> None:
        name = picked.row.id
        match picked.action:
            case "app.mcp.sign":
                changes = self.verbs.changes
                verb = "logout" if await changes.is_signed_in(name) else "login"
                await self._run_command(f"{verb} {name}")
            case "app.mcp.open":
                await self._open_file(name)
            case "app.mcp.remove":
                await self._remove(name)
            case _:
                await self._tools(name)

    async def _open_file(self, name: str) -> None:
        file = self.verbs.changes.config(name).file
        problem = self.edit(file) if file is not None else "It is not in a config file."
        if problem:
            self.say(problem, NoteKind.ERROR)
        else:
            self.verbs.follow()

    async def _remove(self, name: str) -> None:
        view = self.verbs.server(name)
        text = f"This removes its entry from {view.origin}."
        if await self.ask(ConfirmScreen(f"Remove {name}?", text, yes="remove", no="keep", is_dangerous=True)):
            await self._run_command(f"remove {name}")

    def _requested(self, request: ServersScreen.ActionRequested) -> None:
        screen, row = request.screen, request.row
        if not isinstance(screen, ServersScreen) or row is None:
            return
        self.spawn(self._run_action(screen, request.action, row.id))

    async def _run_action(self, screen: ServersScreen, action: str, name: str) -> None:
        note = ""
        try:
            match action:
                case "app.mcp.test":
                    screen.show_note(f"testing {name} …")
                    await test_server(self.verbs, name)
                    note = f"{name} answers"
                case "app.mcp.switch":
                    self.verbs.changes.enable(name, self.verbs.server(name).state == "off")
                case "app.mcp.exposure":
                    now = self.verbs.server(name).exposure
                    then = _EXPOSURES[(_EXPOSURES.index(now) + 1) % len(_EXPOSURES)]
                    self.verbs.changes.expose(name, then)
                    note = "applies from the next prompt"
                case _:
                    await self.verbs.restart(name)
                    note = f"{name} starts again on next use"
        except UserError as problem:
            note = one_line(str(problem).partition("\n")[0])
        if screen.is_there:
            screen.show_servers(self._rows(), note)

    def _show(self, screen: ServersScreen) -> None:
        screen.show_servers(self._rows())

    async def _tools(self, name: str) -> None:
        """Shows one server's tools with the tokens that each costs."""
        view = self.verbs.server(name)
        if not view.tools:
            self.say(f"{name} is {view.state}, so its tools are not known. {one_line(view.reason)}".rstrip())
            return
        tools = {tool.name: tool for tool in view.tools}
        await pick(
            self.ask,
            f"Tools of {name}",
            [_tool_row(tool) for tool in view.tools],
            order="given",
            choose="",
            preview=lambda row: _tool_preview(tools[row.id]),
        )

    def _about(self, row: ListRow) -> PreviewText:
        view = next((view for view in self.verbs.servers() if view.name == row.id), None)
        return _server_preview(view) if view is not None else PreviewText()

    def _rows(self) -> list[ListRow]:
        views = self.verbs.servers()
        return [_row(view) for view in sorted(views, key=lambda view: view.state not in _STATES_NEEDING_USER)]


def _row(view: ServerView) -> ListRow:
    cost = f" {_tokens(view.tokens)}" if view.tokens and view.reach == "direct" else ""
    reach = f"{view.reach}{cost}" if view.tools else ""
    return ListRow(
        id=view.name,
        title=view.name,
        badges=(Badge(text=view.state, tone=_TONES[view.state]),),
        detail="  ".join(filter(None, (offered_text(view), reach))),
        right=Path(view.origin).name or view.origin,
    )


def _server_preview(view: ServerView) -> PreviewText:
    parts = facts(
        (
            ("runs" if "://" not in view.address else "at", escape_controls(view.address)),
            ("for", escape_controls(view.description)),
            ("speaks", f"{view.era} ({escape_controls(view.version)})" if view.era else ""),
            ("exposure", view.exposure),
            ("offers", offered_text(view)),
            ("stands in", _from_home(view.origin)),
            ("log", _from_home(view.log)),
        )
    )
    if view.reason:
        parts.insert(0, PreviewPart(text=escape_controls(view.reason), tone=_TONES[view.state]))
    if view.stderr:
        parts.append(PreviewPart(text="What it wrote last", is_heading=True))
        parts.append(PreviewPart(text="\n".join(view.stderr[-_LOG_LINES_SHOWN:]), tone="dim"))
    return PreviewText(title=view.name, parts=tuple(parts))


def _from_home(path: str) -> str:
    home = f"{Path.home()}/"
    return f"~/{path.removeprefix(home)}" if path.startswith(home) else path


def _tool_row(tool: ToolView) -> ListRow:
    says = ["says it only reads"] if tool.says_read_only else []
    says += ["declared destructive"] if tool.says_destructive else []
    return ListRow(
        id=tool.name,
        title=one_line(tool.name),
        detail=", ".join(says),
        badges=(Badge(text=tool.reach),),
        right=_tokens(tool.tokens),
    )


def _tool_preview(tool: ToolView) -> PreviewText:
    parts = [PreviewPart(text=escape_controls(tool.description) or "No description.")]
    parts.append(PreviewPart(text=f"For rules and the model: {tool.full_name}", tone="muted"))
    return PreviewText(title=one_line(tool.title or tool.name), parts=tuple(parts))


def _tokens(count: int) -> str:
    return f"{count / 1000:.1f}k" if count >= 1000 else str(count)
