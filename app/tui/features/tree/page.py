"""The session tree: shows entries and runs the chosen action."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, TypeVar

import msgspec

from app.engine.context.branch_summary import NavigationOptions
from app.engine.session import Session
from app.engine.tree.tree_commands import clone_from
from app.engine.tree.tree_commands import fork as fork_session
from app.resources.settings.settings import Settings
from app.sessions.session_log import SessionLog
from app.tui.entry_texts import entry_text, entry_title, one_line
from app.tui.features.shared_dialogs import ask_text, select
from app.tui.features.tree.entries import TreeEntries, files_changed, heading, kind_of, text_of_entry
from app.tui.features.tree.screen import TreeScreen
from app.tui.features.undo.page import FilesPage
from app.tui.page_protocols import AskPerson, Copy, ShowMessage, ShowProgress, Write
from app.undo.change_records import RestoreChoice
from app.values.content import text_of
from app.values.entries import Entry, MessageEntry
from app.values.messages import AssistantMessage, UserMessage
from app.values.usage import format_dollars
from widgets.lists.rows import ListRow
from widgets.screens.dialogs import GRACE_SECONDS, QuestionScreen
from widgets.screens.preview import PreviewPart, PreviewText, preview_of
from widgets.screens.text_pages import PageScreen

_MOVE_MEANINGS = {
    "fork": (
        "Fork from here",
        "A new session ends before this prompt, whose text comes back into the editor:",
    ),
    "clone": ("Clone this branch", "A new session with a copy of everything up to this entry:"),
    "merge": ("Merge this branch", "Adds a summary of that branch to the current one:"),
}
T = TypeVar("T")

KEEP, PUT_BACK = "Keep them as they are", "Restore them to that point"
WITHOUT, WITH, WITH_WORDS = "Without a summary", "With a summary", "With a summary of what I ask for"


class TreePage(msgspec.Struct, frozen=True):
    """Shows and navigates the tree of one session."""

    session: Session
    ask: AskPerson
    say: ShowMessage
    write: Write
    copy: Copy
    files: FilesPage
    review: Callable[[str], Awaitable[None]]
    """Opens the review of the changes since an entry."""
    show_progress: ShowProgress
    settings: Callable[[], Settings]
    clock: Callable[[], float]

    async def open(self) -> None:
        log = self.session.log
        if not log.entries:
            self.say("There is nothing in this session yet.")
            return
        chosen = self.settings().interaction.tree_filter_mode
        told = TreeEntries(log, self.session.tools.files_of)
        screen = TreeScreen(
            told.bare(), leaf=log.leaf_id, describe=told.described, preview=self._preview, filter=chosen
        )
        await self.ask(screen, on_request=self._requested)

    async def _requested(self, message: TreeScreen.ActionRequested) -> None:
        """Runs an action requested in the tree; the tree closes only when the session moves to
        another entry."""
        screen, entry_id = message.screen, message.entry_id
        log = self.session.log
        match message.action:
            case "label":
                label = await ask_text(self.ask, "Label", prefill=log.label(entry_id) or "")
                if label is not None:
                    self.session.log.set_label(entry_id, label.strip() or None)
                    screen.show_entries(TreeEntries(log, self.session.tools.files_of).bare())
            case "copy":
                self.copy(entry_text(log.entry(entry_id)), "entry")
            case "compare":
                await self._compare(entry_id, message.other_id)
            case "files":
                await self.files.to_entry(entry_id)
                screen.show_entries(TreeEntries(log, self.session.tools.files_of).bare(), log.leaf_id)
            case "review":
                await self.review(entry_id)
            case "go":
                await self.go_to(entry_id, leave=screen.dismiss)
            case "fork" if (entry_id := self._prompt_above(entry_id)) == "":
                screen.show_note("no prompt above this entry; c clones up to here")
            case "fork" | "clone" | "merge" as action:
                answer = await self._ask_options(action, entry_id)
                if answer is not None and answer.id == "yes":
                    screen.dismiss(None)
                    await self._fork_or_clone(action, entry_id)
                elif (
                    answer is not None and not answer.id
                ):  # the user kept typing: the text was meant for the search
                    screen.action_search(action[0] + answer.title)

    def _prompt_above(self, entry_id: str) -> str:
        """Returns the entry itself if it is a prompt, else the prompt above it; empty if there is
        none."""
        log = self.session.log
        path = log.path_to(entry_id)
        return next((entry.id for entry in reversed(path) if kind_of(entry) == "user"), "")

    async def _ask_options(self, action: Literal["fork", "clone", "merge"], entry_id: str) -> ListRow | None:
        title, means = _MOVE_MEANINGS[action]
        rows = (ListRow(id="yes", title=title), ListRow(id="no", title="Stay in the tree"))
        log = self.session.log
        entry = log.entry(entry_id)
        question = QuestionScreen(
            title,
            f"{means}\n\n{text_of_entry(entry)}",
            rows,
            grace=GRACE_SECONDS,
            returns_early_letters=True,
            clock=self.clock,
        )
        return await self.ask(question)

    async def _fork_or_clone(self, action: Literal["fork", "clone", "merge"], entry_id: str) -> None:
        session = self.session
        match action:
            case "fork":
                data = await fork_session(session, entry_id)
                self.write(data.get("text") or "")
            case "clone":
                if await clone_from(session, entry_id):
                    self.say(f"Now working in a copy: {session.state.file}")
            case "merge":
                await self._summarised(session.branches.merge(entry_id))

    async def branch_at(self, block_id: str) -> None:
        """Moves to the entry of a transcript block, if the block shows one."""
        if block_id in self.session.log:
            await self.go_to(block_id)

    async def go_to(self, entry_id: str, *, leave: Callable[[None], object] = lambda _: None) -> None:
        session = self.session
        how: str | None = WITHOUT
        if self._leaves_messages(entry_id) and not self.settings().branch_summary.skip_prompt:
            how = await select(self.ask, "Leave this branch", (WITHOUT, WITH, WITH_WORDS))
        if how is None:
            return
        instructions = None
        if how == WITH_WORDS:
            instructions = await ask_text(self.ask, "What should the summary be about?")
            if instructions is None:
                return
        choices = await self._of_files(entry_id)
        if choices is None:
            return
        leave(None)
        wish = NavigationOptions(
            summarise=how != WITHOUT,
            instructions=instructions,
            restores_files=bool(choices),
            choices=choices,
        )
        arrival = await self._summarised(session.branches.go_to(entry_id, wish))
        if arrival.files is not None:
            self.files.tell(arrival.files)
        if arrival.text:
            self.write(arrival.text)

    async def _of_files(self, entry_id: str) -> Mapping[str, RestoreChoice] | None:
        """Returns the choice for each file when moving to the entry: empty to leave files alone, None
        to cancel the move."""
        how = self.settings().undo.on_tree_move
        if how == "keep":
            return {}
        plan = await self.files.differ_at(entry_id)
        if plan is None:
            return {}
        if how == "ask":
            count = sum(row.state in ("ready", "conflict") for row in plan.rows)
            put_back = f"{PUT_BACK} ({count})"
            answer = await select(self.ask, "Files have changed since that point", (KEEP, put_back))
            if answer is None:
                return None
            if answer == KEEP:
                return {}
        return await self.files.choose(plan)

    def _leaves_messages(self, entry_id: str) -> bool:
        """Returns whether moving to the entry leaves any messages behind."""
        log = self.session.log
        if log.leaf_id is None:
            return False
        left = _after(log.path_to(log.leaf_id), log.common_ancestor(entry_id, log.leaf_id))
        return any(kind_of(entry) not in ("label", "change") for entry in left)

    async def _summarised(self, work: Awaitable[T]) -> T:
        try:
            return await work
        finally:
            self.show_progress("")

    def _preview(self, entry_id: str) -> PreviewText:
        log = self.session.log
        entry = log.entry(entry_id)
        return preview_of(heading(entry), entry_text(entry) or text_of_entry(entry))

    async def _compare(self, one: str, other: str) -> None:
        """Compares two branches from where they part: their messages and the files that each changed."""
        log = self.session.log
        ancestor = log.common_ancestor(one, other)
        branches = [_after(log.path_to(leaf), ancestor) for leaf in (one, other)]
        names = [_name(branch, log) for branch in branches]
        sides = [
            _branch_preview(
                name or "no messages after it", branch, files_changed(branch, self.session.tools.files_of)
            )
            for name, branch in zip(names, branches, strict=True)
        ]
        parted = text_of_entry(log.entry(ancestor)) if ancestor else "at the beginning"
        note = f"they part at: {one_line(parted, 40)}"
        await self.ask(PageScreen("Two branches", *sides, note=note))


def _after(path: Sequence[Entry], ancestor_id: str | None) -> Sequence[Entry]:
    ids = [entry.id for entry in path]
    return path[ids.index(ancestor_id) + 1 :] if ancestor_id in ids else path


def _name(branch: Sequence[Entry], log: SessionLog) -> str | None:
    """Returns a branch's name: its last label, else its first prompt."""
    labels = (label for entry in reversed(branch) if (label := log.label(entry.id)))
    asked = (
        one_line(text_of(entry.message.content), 60)
        for entry in branch
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)
    )
    return next(labels, None) or next(asked, None) or next(filter(None, map(entry_title, branch)), None)


def _branch_preview(name: str, entries: Sequence[Entry], files: Sequence[str]) -> PreviewText:
    """Describes a branch from where it parts: the files it changed, then its messages."""
    messages = [title for entry in entries if (title := entry_title(entry)) is not None]
    cost = sum(
        entry.message.usage.cost.total
        for entry in entries
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage)
    )
    return PreviewText(
        title=name,
        parts=(
            PreviewPart(text="Files changed", is_heading=True),
            *(PreviewPart(text=f"± {path}", tone="success") for path in files),
            *(() if files else (PreviewPart(text="none", tone="muted"),)),
            PreviewPart(text=""),
            PreviewPart(
                text=f"{len(messages)} message{'' if len(messages) == 1 else 's'}"
                + (f", {format_dollars(cost)}" if cost else ""),
                is_heading=True,
            ),
            *(PreviewPart(text=title) for title in messages),
        ),
    )
