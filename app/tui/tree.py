"""The session tree on the full screen: entries as the tree's values, and what choosing one does."""

from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING

from app.engine.commands.base import CommandError, NoParams
from app.engine.commands.places import EntryParams
from app.engine.commands.places import clone as clone_session
from app.engine.commands.places import fork as fork_session
from app.engine.summariser import SummaryFailed
from app.sessions.log import SessionLog
from app.tui import pickers
from app.tui.dialogs import ask_text
from app.values.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomEntry,
    CustomMessageEntry,
    Entry,
    LabelEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
    ThinkingLevelChangeEntry,
)
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from widgets.lists.tree import EntryKind, TreeEntry
from widgets.screens.pages import compare_screen
from widgets.screens.preview import PreviewText, preview_of
from widgets.screens.tree import TreeChoice, TreeScreen

if TYPE_CHECKING:
    from app.tui.app import BayouApp

WITHOUT, WITH, WITH_WORDS = "without a summary", "with a summary", "with a summary, as I say"


def tree_entries(log: SessionLog) -> list[TreeEntry]:
    return [
        TreeEntry(
            id=entry.id,
            parent=entry.parent_id,
            kind=_kind(entry),
            text=_text(entry),
            label=log.label(entry.id) or "",
            time=entry.timestamp[11:16],
            is_minor=_is_minor(entry),
        )
        for entry in log.entries
    ]


class SessionTree:
    """The open tree of one application."""

    def __init__(self, app: "BayouApp") -> None:
        self._app = app

    async def open(self) -> None:
        log = self._app.session.log
        if not log.entries:
            self._app.presenter.note("There is nothing in this session yet.")
            return
        screen = TreeScreen(tree_entries(log), leaf=log.leaf_id, preview=self._preview)
        choice: TreeChoice | None = await self._app.choosing.ask(screen)
        if choice is not None:
            await self._take(choice)

    async def act(self, message: TreeScreen.ActionRequested) -> None:
        """What is done while the tree stays open."""
        log = self._app.session.log
        match message.action:
            case "label":
                label = await ask_text(self._app, "Label", prefill=log.label(message.entry_id) or "")
                if label is not None:
                    log.set_label(message.entry_id, label.strip() or None)
                    message.screen.show_entries(tree_entries(log))
            case "copy":
                self._app.copy(pickers.entry_text(log.entry(message.entry_id)), "entry")
            case "compare":
                await self._compare(message.entry_id, message.other_id)

    async def _take(self, choice: TreeChoice) -> None:
        session, entry_id = self._app.session, choice.entry_id
        match choice.action:
            case "go":
                await self.go_to(entry_id)
            case "fork":
                data = await fork_session(session, EntryParams(entry_id=entry_id))
                self._app.editor.set_text(data.get("text") or "")
            case "clone":
                session.log.move_leaf(entry_id)
                await clone_session(session, NoParams())
            case "merge":
                await self._summarised(session.merge(entry_id))

    async def go_to(self, entry_id: str) -> None:
        session = self._app.session
        how: str | None = WITHOUT
        if entry_id != session.log.leaf_id and not self._app.assembled.settings.branch_summary.skip_prompt:
            how = await self._app.choosing.select("Leave this branch", (WITHOUT, WITH, WITH_WORDS))
        if how is None:
            return
        instructions = (
            await ask_text(self._app, "What should the summary say?") if how == WITH_WORDS else None
        )
        going = session.go_to(entry_id, summarise=how != WITHOUT, instructions=instructions)
        text = await self._summarised(going)
        if text:
            self._app.editor.set_text(text)

    async def _summarised(self, work: Awaitable[str | None]) -> str | None:
        try:
            return await work
        except SummaryFailed as problem:
            raise CommandError(str(problem)) from None

    def _preview(self, entry_id: str) -> PreviewText:
        entry = self._app.session.log.entry(entry_id)
        return preview_of(_text(entry), pickers.entry_text(entry))

    async def _compare(self, one: str, other: str) -> None:
        """Two branches, from where they part: what was said, and which files each changed."""
        log = self._app.session.log
        ancestor = log.common_ancestor(one, other)
        sides = [
            preview_of(name, _story(_after(log.path_to(leaf), ancestor)))
            for name, leaf in (("this branch", one), ("that branch", other))
        ]
        await self._app.choosing.ask(compare_screen("Two branches", sides[0], sides[1]))


def _after(path: list[Entry], ancestor_id: str | None) -> list[Entry]:
    ids = [entry.id for entry in path]
    return path[ids.index(ancestor_id) + 1 :] if ancestor_id in ids else path


def _story(entries: Iterable[Entry]) -> str:
    told = list(entries)
    lines = [f"  {title}" for entry in told if (title := pickers.entry_title(entry)) is not None]
    files = sorted(
        {
            str(call.arguments["path"])
            for entry in told
            if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage)
            for call in entry.message.tool_calls
            if call.name in ("write", "edit") and "path" in call.arguments
        }
    )
    return "\n".join([*lines, f"  files changed: {', '.join(files) or 'none'}"])


def _text(entry: Entry) -> str:
    match entry:
        case ModelChangeEntry():
            return f"{entry.provider}/{entry.model_id}"
        case ThinkingLevelChangeEntry():
            return entry.thinking_level
        case LabelEntry():
            return entry.label or "(label taken away)"
        case SessionInfoEntry():
            return entry.name or "(name taken away)"
        case CustomEntry():
            return entry.custom_type
        case ContextEditEntry():
            return (
                f"leaves out {entry.target_id}" if entry.replacement is None else f"edits {entry.target_id}"
            )
        case MessageEntry(message=AssistantMessage() as message) if not message.text:
            return ", ".join(call.name for call in message.tool_calls) or message.stop_reason
        case CompactionEntry() | BranchSummaryEntry() | CustomMessageEntry() | MessageEntry():
            return pickers.one_line(pickers.entry_text(entry))
    return ""


def _is_minor(entry: Entry) -> bool:
    match entry:
        case MessageEntry(message=AssistantMessage() as message):
            return not message.text and message.stop_reason not in ("error", "aborted")
    return False


def _kind(entry: Entry) -> EntryKind:
    match entry:
        case MessageEntry(message=message):
            return _message_kind(message)
        case CompactionEntry():
            return "compaction"
        case BranchSummaryEntry():
            return "summary"
        case CustomMessageEntry():
            return "custom"
        case LabelEntry():
            return "label"
    return "change"


def _message_kind(message: Message) -> EntryKind:
    match message:
        case UserMessage():
            return "user"
        case AssistantMessage():
            return "assistant"
        case ToolResultMessage():
            return "tool"
        case BashExecutionMessage():
            return "shell"
        case SystemMessage():
            return "change"
    return "custom"
