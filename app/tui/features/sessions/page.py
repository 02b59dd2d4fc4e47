"""The page for `/resume`, `/new`, `/fork` and related commands: the session list with search, renaming, the trash, and
a preview."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from app.engine.session import Session
from app.engine.tree.session_paths import SessionPaths
from app.engine.tree.tree_commands import clone_session_to_entry
from app.engine.tree.tree_commands import fork as fork_session
from app.sessions.errors import SessionError
from app.sessions.file.session_lock import session_files_locked_by_others
from app.sessions.index.list_values import SessionSummary
from app.sessions.session_library import (
    arrange_sessions_by_fork,
    list_sessions,
    newest_sessions,
    rename_session,
    search_indexed_sessions,
)
from app.sessions.session_log import SessionLog
from app.sessions.session_trash import move_session_to_trash, trashed_sessions, undo_session_delete
from app.tui.entry_texts import (
    MAX_ENTRY_PREVIEW_CHARS,
    one_line,
    session_entry_preview_parts,
    session_entry_title,
    session_prompt_rows,
)
from app.tui.features.leave_confirmation import LeaveSessionConfirmation
from app.tui.features.sessions.screen import SessionPickerRow, SessionsScreen
from app.tui.features.shared_dialogs import ask_text, pick_list_row
from app.tui.page_protocols import AskOnScreen, KeyLabel, ShowMessage, SpawnTask, WriteToEditor
from app.tui.status.header_and_footer import short_path
from app.values.usage import format_dollars
from app.values.user_errors import UserError
from app.values.wire import now_ms
from tools.number_formatting import count_with_noun, format_age, format_ago, format_byte_count
from widgets.lists.list_rows import ListRow
from widgets.screens.picker import PickerResult
from widgets.screens.preview_pane import PreviewParagraph, PreviewText
from widgets.screens.screen_request import ScreenRequest
from widgets.transcript.transcript_blocks import AppNoteKind

SESSION_SEARCH_DELAY_SECONDS = 0.12
"""Seconds without typing before all texts are searched."""
MAX_FOUND_SESSIONS = 200
_MIN_SHOWN_SESSION_BYTES = 1_000
"""Smaller sessions are shown as 1 kB: their bytes say nothing."""
PREVIEWED_LAST_MESSAGES = 12


class SessionsPage(msgspec.Struct):
    """Lists, opens and manages the user's sessions."""

    session: Session
    places: SessionPaths
    ask: AskOnScreen
    show_message: ShowMessage
    write: WriteToEditor
    key_label: KeyLabel
    continue_session: Callable[[Path], Awaitable[None]]
    """Opens a session file in this session."""
    import_session: Callable[[Path], Awaitable[bool]]
    """Imports a copy of a session file and continues with it; returns whether it did."""
    index_session_texts: Callable[[], None]
    """Starts to index the texts of all sessions for the search."""
    spawn: SpawnTask
    home: Path
    first_shown_event: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    """Set when the list has been shown once."""
    _screen: SessionsScreen | None = None
    """The list that was opened last."""
    _summaries: dict[str, SessionSummary] = {}
    _previews: dict[str, PreviewText] = {}
    _search_task: asyncio.Task[None] | None = None

    async def open(self, is_ready: asyncio.Event | None = None) -> None:
        """Shows the session list and resumes the chosen session. `is_ready`: set when the start is complete; the list
        opens before, and the choice waits for it."""
        rows = await self._newest_rows()
        is_whole = not rows
        rows = rows or await self._session_rows()
        if not rows:
            self.show_message("No sessions to resume yet.")
            return
        self._screen = screen = SessionsScreen(rows, preview=self._preview)
        screen.call_after_refresh(self._load_when_visible, screen, is_whole)
        picked: PickerResult | None = await self.ask(screen, on_request=self._handle_request)
        if picked is None or picked.row.id == str(self.session.state.file):
            return
        if is_ready is not None:
            await is_ready.wait()
        await self.continue_session(Path(picked.row.id))

    async def resume(self, named: str) -> None:
        """Resumes a session by its path or a part of its id (`/resume ID`)."""
        await self.continue_session(await asyncio.to_thread(self.places.find_session, named))

    async def start_session(self) -> None:
        if not await LeaveSessionConfirmation(self.session, self.ask).confirm_session_switch():
            return
        await self.session.abort()
        await self.session.branches.open_session(self.places.create_session(), "new")

    async def import_session_file(self, name: str) -> None:
        """Imports a session file (`/import FILE`)."""
        if not name:
            raise UserError(
                "No file given. /import FILE copies a session file (.jsonl) and continues it; `bayou "
                "import-pi` imports sessions of pi."
            )
        if await self.import_session(self.places.find_session(name)):
            self.show_message(f"Imported and opened: {self.session.state.file}")

    async def clone_session(self) -> None:
        if await clone_session_to_entry(self.session, self.session.state.leaf_id):
            self.show_message(f"Now working in a copy: {self.session.state.file}")

    async def rename_session(self, name: str) -> None:
        """Renames the session (`/name NAME`), or shows its name."""
        if name:
            await self.session.notes.rename(name)
        self.show_message(f"Session name: {self.session.state.name or '(none)'}")

    async def export_session(self, name: str) -> None:
        """Exports the session (`/export FILE`)."""
        target = self.session.cwd / name if name else None
        try:
            written = await asyncio.to_thread(self.session.export_to_file, target)
        except OSError as problem:
            raise UserError(f"{problem.filename or name}: {problem.strerror or problem}") from None
        self.show_message(f"Exported to {written}")

    async def show_session_counts(self) -> None:
        """Shows messages, tokens and cost of the session (`/session`)."""
        state, stats = self.session.state, self.session.stats
        usage = stats.usage
        prompts, answers, calls = (
            count_with_noun(stats.user_messages, "prompt"),
            count_with_noun(stats.assistant_messages, "answer"),
            count_with_noun(stats.tool_calls, "tool call"),
        )
        told = {
            "File": state.file or "(not saved)",
            "Id": state.session_id,
            "Messages": f"{prompts}, {answers}, {calls}",
            "Tokens": f"{usage.input:,} in, {usage.output:,} out, {usage.cache_read:,} from the cache",
            "Cost": format_dollars(usage.cost.total),
        }
        self.show_message("\n".join(f"{label:<10}{text}" for label, text in told.items()))

    async def fork_at_prompt(self) -> None:
        """Starts a new session that ends before a chosen prompt of this one."""
        rows = session_prompt_rows(self.session.log)
        if not rows:
            self.show_message("No prompts to fork from yet.")
            return
        picked = await pick_list_row(self.ask, "Fork from", rows, order="given")
        if picked is not None:
            data = await fork_session(self.session, picked.row.id)
            self.write(data.get("text") or "")

    def _handle_request(self, request: ScreenRequest[Any]) -> Awaitable[None] | None:
        match request:
            case SessionsScreen.QueryChanged():
                self._search_texts(request.screen, request.query)
            case SessionsScreen.ActionRequested(screen=SessionsScreen() as screen):
                return self._run_action(screen, request.action, request.row)
        return None

    async def _run_action(self, screen: SessionsScreen, action: str, row: ListRow | None) -> None:
        """Deletes, restores or renames a session on the user's request while the list stays open."""
        note = ""
        try:
            match action:
                case "app.session.delete" if row is not None:
                    note = await self._delete_session(Path(row.id), row.title)
                case "app.session.undelete":
                    note = await self._restore_deleted_session()
                case "app.session.rename" if row is not None:
                    note = await self._rename_session(Path(row.id))
        except SessionError as problem:
            note = str(problem).removeprefix(
                f"{row.id}: " if row is not None else ""
            )  # the list's line shows an excerpt, and the preview shows all of it
            self.show_message(str(problem), AppNoteKind.ERROR)
        screen.show_sessions(await self._session_rows(), note)

    def _search_texts(self, screen: SessionsScreen, query: str) -> None:
        """Searches the texts of all sessions in the background after typing has paused, and shows the hits in the
        list."""
        if self._search_task is not None:
            self._search_task.cancel()
        if len(query.strip()) < 2 or query.startswith("re:"):
            return

        async def look() -> None:
            await asyncio.sleep(SESSION_SEARCH_DELAY_SECONDS)
            root = self.places.sessions_root
            hits, unread = await asyncio.to_thread(
                search_indexed_sessions, root, query, limit=MAX_FOUND_SESSIONS
            )
            found: dict[str, str] = {}
            for hit in hits:
                excerpt = hit.excerpt.replace("\x01", "").replace("\x02", "")
                found.setdefault(str(hit.session.path), one_line(excerpt))
            if screen.is_there:
                screen.show_found_sessions(query, found, f"still indexing: {unread:,}" if unread else "")

        self._search_task = asyncio.get_running_loop().create_task(look())

    async def _newest_rows(self) -> list[SessionPickerRow]:
        """Returns the rows of this folder's newest sessions only, so that the list opens quickly."""
        places = self.places
        return await self._rows_of_summaries(
            await asyncio.to_thread(newest_sessions, places.sessions_root, places.cwd)
        )

    def _load_when_visible(self, screen: SessionsScreen, is_whole: bool) -> None:
        """Called when the session list is visible: loads the rest of the sessions, or starts indexing their texts."""
        self.first_shown_event.set()
        if is_whole:
            self.index_session_texts()
        else:
            self.spawn(self._show_all_sessions(screen))

    async def _show_all_sessions(self, screen: SessionsScreen) -> None:
        first = len(self._summaries)
        found = await asyncio.to_thread(list_sessions, self.places.sessions_root, self.places.cwd)
        if screen.is_there and len(found) >= first:  # fewer: another process is reading the sessions now
            screen.show_sessions(await self._rows_of_summaries(found))
        self.index_session_texts()

    async def _session_rows(self) -> list[SessionPickerRow]:
        places = self.places
        return await self._rows_of_summaries(
            await asyncio.to_thread(list_sessions, places.sessions_root, places.cwd)
        )

    async def _rows_of_summaries(self, found: list[SessionSummary]) -> list[SessionPickerRow]:
        elsewhere = await asyncio.to_thread(session_files_locked_by_others, [one.path for one in found])
        self._summaries = {str(one.path): one for one in found}
        now, here = now_ms(), str(self.places.cwd)
        recency = {one.path: -place for place, one in enumerate(found)}
        titles = Counter((one.cwd, one.title) for one in found)
        return [
            SessionPickerRow(
                id=str(one.path),
                title=one_line(one.title, 120),
                age=format_age((now - one.modified) / 1000),
                folder=short_path(Path(one.cwd), self.home),
                messages=f"{one.message_count:,}" if one.message_count >= 0 else "",
                cost=format_dollars(one.cost) if one.cost else "",
                size=format_byte_count(max(one.size, _MIN_SHOWN_SESSION_BYTES)) if one.size else "",
                first_words=one_line(one.first_prompt or "", 120)
                if one.name
                else _began_text(one.created)
                if titles[one.cwd, one.title] > 1
                else "",
                depth=thread.depth,
                recency=recency[one.path],
                is_in_this_folder=one.cwd == here,
                is_named=bool(one.name),
                is_open=one.path == self.session.state.file,
                is_open_elsewhere=one.path in elsewhere,
                search_text=one_line(one.first_prompt or "", 300),
            )
            for thread in arrange_sessions_by_fork(found)
            for one in (thread.summary,)
        ]

    async def _delete_session(self, path: Path, title: str) -> str:
        if path == self.session.state.file:
            return "this session is open: start another with /new, then delete it"
        await asyncio.to_thread(move_session_to_trash, path, self.places.sessions_root)
        key = self.key_label("app.session.undelete", "ctrl+z")
        return f"{key} restores it: {one_line(title, 30)}" if key else f"deleted: {one_line(title, 30)}"

    async def _restore_deleted_session(self) -> str:
        """Restores the session that was deleted last, even in an earlier run; returns a message."""
        trash = await asyncio.to_thread(trashed_sessions, self.places.sessions_root)
        if not trash:
            return "the trash is empty"
        path = await asyncio.to_thread(undo_session_delete, trash[0])
        await self._session_rows()
        summary = self._summaries.get(str(path))
        return f"restored: {(one_line(summary.title, 30) if summary else path.name)}"

    async def _rename_session(self, path: Path) -> str:
        summary = self._summaries[str(path)]
        name = await ask_text(self.ask, "Name of the session", prefill=summary.name or "")
        if name is None:
            return ""
        if path == self.session.state.file:
            await self.session.notes.rename(name)
        else:
            await asyncio.to_thread(rename_session, path, name.strip() or None)
        return "renamed" if name.strip() else "name removed"

    def _preview(self, row: ListRow) -> PreviewText:
        """Returns a session's facts from the index for the preview at once, and has its last messages read in the
        background."""
        summary = self._summaries.get(row.id)
        if summary is None:
            return PreviewText()
        told = self._previews.get(row.id)
        if told is None:
            self.spawn(self._read_last_messages(row.id, summary))
            told = _session_facts(summary, self.home)
        return told

    async def _read_last_messages(self, row_id: str, summary: SessionSummary) -> None:
        await asyncio.sleep(SESSION_SEARCH_DELAY_SECONDS)
        screen = self._screen
        if screen is None or screen.row is None or screen.row.id != row_id:
            return
        parts = await asyncio.to_thread(_last_message_parts, summary.path)
        head = _session_facts(summary, self.home)
        said = [PreviewParagraph(text=""), PreviewParagraph(text="Last messages", is_heading=True)]
        self._previews[row_id] = PreviewText(
            title=head.title, parts=(*head.parts, *said, *parts) if parts else head.parts
        )
        if screen.is_there:
            screen.refresh_preview()


def _began_text(created: int) -> str:
    """Returns when a session began: the time, with the day if it was another one."""
    moment = time.localtime(created / 1000)
    is_today = moment[:3] == time.localtime(now_ms() / 1000)[:3]
    return time.strftime("began at %H:%M" if is_today else "began %d %B at %H:%M", moment).replace(" 0", " ")


def _message_count_text(summary: SessionSummary) -> str:
    cost = format_dollars(summary.cost) if summary.cost else ""
    count = count_with_noun(summary.message_count, "message") if summary.message_count >= 0 else ""
    return " · ".join(filter(None, (count, cost)))


def _session_facts(summary: SessionSummary, home: Path) -> PreviewText:
    created, modified = (format_ago((now_ms() - then) / 1000) for then in (summary.created, summary.modified))
    facts = (
        f"{short_path(Path(summary.cwd), home)}",
        " · ".join(filter(None, (_message_count_text(summary), f"started {created}", f"last {modified}"))),
    )
    return PreviewText(
        title=one_line(summary.title, 200),
        parts=(
            *(PreviewParagraph(text=fact, tone="muted") for fact in facts),
            PreviewParagraph(text=""),
            PreviewParagraph(
                text=(summary.first_prompt or "No messages yet.")[:MAX_ENTRY_PREVIEW_CHARS], is_markdown=True
            ),
        ),
    )


def _last_message_parts(path: Path) -> list[PreviewParagraph]:
    """Returns the last entries on a session file's current branch for its preview; none if the file cannot be read."""
    try:
        log = SessionLog.open(path, read_only=True)
    except (SessionError, OSError):
        return []
    told = [entry for entry in log.path_to(log.leaf_id) if session_entry_title(entry)]
    return [part for entry in told[-PREVIEWED_LAST_MESSAGES:] for part in session_entry_preview_parts(entry)]
