"""The page for the session tree: shows the entries and runs the chosen action."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, TypeVar

import msgspec

from app.engine.context.branch_summary import NavigationOptions, NavigationStopped
from app.engine.context.summariser import SummaryCancelled, SummaryFailed
from app.engine.session import Session
from app.engine.tree.navigation import NavigationResult
from app.engine.tree.tree_commands import clone_session_to_entry
from app.engine.tree.tree_commands import fork as fork_session
from app.resources.settings.settings import Settings
from app.sessions.session_log import SessionLog
from app.tui.entry_texts import one_line, session_entry_text, session_entry_title
from app.tui.features.shared_dialogs import ask_text, select_option
from app.tui.features.tree.entries import (
    SessionTreeEntries,
    full_session_entry_text,
    paths_changed_by_entries,
    tree_entry_kind,
)
from app.tui.features.tree.screen import SessionTreeScreen
from app.tui.features.undo.page import FileRestorePage
from app.tui.page_protocols import AskOnScreen, CopyText, ShowMessage, ShowProgress, WriteToEditor
from app.undo.change_records import RestoreChoice
from app.values.content import text_of
from app.values.entries import Entry, MessageEntry
from app.values.messages import AssistantMessage, UserMessage
from app.values.usage import format_dollars
from widgets.lists.list_rows import ListRow
from widgets.screens.dialogs import DIALOG_GRACE_SECONDS, QuestionScreen
from widgets.screens.preview_pane import PreviewParagraph, PreviewText
from widgets.screens.text_pages import PageScreen
from widgets.transcript.transcript_blocks import AppNoteKind

_TREE_MOVE_DESCRIPTIONS = {
    "fork": (
        "Fork from here",
        "Starts a new session before this prompt and puts its text into the editor:",
    ),
    "clone": ("Clone this branch", "Starts a new session with a copy of everything up to this entry:"),
    "merge": ("Merge this branch", "Adds a summary of that branch to the current one:"),
}
T = TypeVar("T")

KEEP_FILES, RESTORE_FILES = "Keep files as they are", "Restore files to that point"
TRY_AGAIN, GO_WITHOUT_SUMMARY, STAY_ON_BRANCH = "Retry", "Go without a summary", "Stay on this branch"
WITHOUT_SUMMARY, WITH_SUMMARY, WITH_REQUESTED_SUMMARY = (
    "Without a summary",
    "With a summary",
    "With a custom summary",
)


class SessionTreePage(msgspec.Struct, frozen=True):
    """Shows the tree of one session and moves the session to its entries."""

    session: Session
    ask: AskOnScreen
    show_message: ShowMessage
    write_to_editor: WriteToEditor
    copy: CopyText
    files: FileRestorePage
    review: Callable[[str], Awaitable[None]]
    """Opens the review of the changes since an entry."""
    show_progress: ShowProgress
    settings: Callable[[], Settings]
    clock: Callable[[], float]

    async def open(self) -> None:
        log = self.session.log
        if not log.entries:
            self.show_message("This session is empty.")
            return
        chosen = self.settings().interaction.tree_filter_mode
        told = SessionTreeEntries(log, self.session.tools)
        screen = SessionTreeScreen(
            told.tree_entries_without_texts(),
            leaf=log.leaf_id,
            describe=told.tree_entry_with_text,
            preview=told.preview,
            filter=chosen,
        )
        await self.ask(screen, on_request=self._handle_request)

    async def _handle_request(self, message: SessionTreeScreen.ActionRequested) -> None:
        """Runs an action requested in the session tree, such as a label, a comparison or a move; the tree closes only
        when the session moves to another entry."""
        screen, entry_id = message.screen, message.entry_id
        log = self.session.log
        match message.action:
            case "label":
                label = await ask_text(self.ask, "Label", prefill=log.label(entry_id) or "")
                if label is not None:
                    self.session.log.set_label(entry_id, label.strip() or None)
                    screen.show_entries(
                        SessionTreeEntries(log, self.session.tools).tree_entries_without_texts()
                    )
            case "copy":
                self.copy(session_entry_text(log.entry(entry_id)), "entry")
            case "compare":
                await self._compare_branches(entry_id, message.other_id)
            case "files":
                await self.files.restore_to_entry(entry_id)
                screen.show_entries(
                    SessionTreeEntries(log, self.session.tools).tree_entries_without_texts(), log.leaf_id
                )
            case "review":
                await self.review(entry_id)
            case "go":
                await self.move_to_entry(entry_id, leave=screen.dismiss)
            case "fork" if (entry_id := self._prompt_above(entry_id)) == "":
                screen.show_note("no prompt above this entry; c clones up to here")
            case "fork" | "clone" | "merge" as action:
                answer = await self._confirm_action(action, entry_id)
                if answer is not None and answer.id == "yes":
                    screen.dismiss(None)
                    await self._fork_clone_or_merge(action, entry_id)
                elif (
                    answer is not None and not answer.id
                ):  # the user kept typing: the text was meant for the search
                    screen.action_search(action[0] + answer.title)

    def _prompt_above(self, entry_id: str) -> str:
        """Returns the id of the prompt at or above a session entry; empty if there is none."""
        log = self.session.log
        path = log.path_to(entry_id)
        return next((entry.id for entry in reversed(path) if tree_entry_kind(entry) == "user"), "")

    async def _confirm_action(
        self, action: Literal["fork", "clone", "merge"], entry_id: str
    ) -> ListRow | None:
        title, means = _TREE_MOVE_DESCRIPTIONS[action]
        rows = (ListRow(id="yes", title=title), ListRow(id="no", title="Stay in the tree"))
        log = self.session.log
        entry = log.entry(entry_id)
        question = QuestionScreen(
            title,
            f"{means}\n\n{full_session_entry_text(entry)}",
            rows,
            grace=DIALOG_GRACE_SECONDS,
            returns_early_letters=True,
            clock=self.clock,
        )
        return await self.ask(question)

    async def _fork_clone_or_merge(self, action: Literal["fork", "clone", "merge"], entry_id: str) -> None:
        session = self.session
        match action:
            case "fork":
                data = await fork_session(session, entry_id)
                self.write_to_editor(data.get("text") or "")
            case "clone":
                if await clone_session_to_entry(session, entry_id):
                    self.show_message(f"Now working in a copy: {session.state.file}")
            case "merge":
                await self._hide_progress_after(session.branches.merge_branch(entry_id))

    async def go_to_entry_of_block(self, block_id: str) -> None:
        """Moves to the entry of a transcript block, if the block shows one."""
        if block_id in self.session.log:
            await self.move_to_entry(block_id)

    async def move_to_entry(self, entry_id: str, *, leave: Callable[[None], object] = lambda _: None) -> None:
        how: str | None = WITHOUT_SUMMARY
        if self._leaves_messages(entry_id) and not self.settings().branch_summary.skip_prompt:
            how = await select_option(
                self.ask, "Leave this branch", (WITHOUT_SUMMARY, WITH_SUMMARY, WITH_REQUESTED_SUMMARY)
            )
        if how is None:
            return
        instructions = None
        if how == WITH_REQUESTED_SUMMARY:
            instructions = await ask_text(self.ask, "What should the summary focus on?")
            if instructions is None:
                return
        choices = await self._ask_file_choices(entry_id)
        if choices is None:
            return
        leave(None)
        wish = NavigationOptions(
            should_summarise=how != WITHOUT_SUMMARY,
            instructions=instructions,
            should_restore_files=bool(choices),
            restore_choices=choices,
        )
        arrival = await self._move_to(entry_id, wish)
        if arrival is None:
            return
        if arrival.files is not None:
            self.files.report_restore_result(arrival.files)
        if arrival.prompt_text:
            self.write_to_editor(arrival.prompt_text)

    async def _move_to(self, entry_id: str, wish: NavigationOptions) -> NavigationResult | None:
        """Moves the session to an entry of the tree. If the summary of the branch fails, the user tries again, goes
        without it, or stays; None if the user stays."""
        while True:
            try:
                return await self._hide_progress_after(self.session.branches.go_to_entry(entry_id, wish))
            except (SummaryCancelled, NavigationStopped):
                raise
            except SummaryFailed as problem:
                if not wish.should_summarise:
                    raise
                self.show_message(str(problem), AppNoteKind.ERROR)
                how = await select_option(
                    self.ask,
                    "The summary of the branch failed",
                    (TRY_AGAIN, GO_WITHOUT_SUMMARY, STAY_ON_BRANCH),
                )
                if how not in (TRY_AGAIN, GO_WITHOUT_SUMMARY):
                    return None
                wish = msgspec.structs.replace(wish, should_summarise=how == TRY_AGAIN)

    async def _ask_file_choices(self, entry_id: str) -> Mapping[str, RestoreChoice] | None:
        """Decides by the setting, or by asking, which files are restored when the session moves to an entry: none if
        empty, None cancels the move."""
        how = self.settings().undo.on_tree_move
        if how == "keep":
            return {}
        plan = await self.files.restore_plan_if_different(entry_id)
        if plan is None:
            return {}
        if how == "ask":
            count = sum(row.state in ("ready", "conflict") for row in plan.rows)
            put_back = f"{RESTORE_FILES} ({count})"
            answer = await select_option(
                self.ask, "Files have changed since that point", (KEEP_FILES, put_back)
            )
            if answer is None:
                return None
            if answer == KEEP_FILES:
                return {}
        return await self.files.choose_files_to_restore(plan)

    def _leaves_messages(self, entry_id: str) -> bool:
        """Returns whether a move to the entry leaves any messages behind that could be summarised."""
        log = self.session.log
        if log.leaf_id is None:
            return False
        left = _entries_below(log.path_to(log.leaf_id), log.common_ancestor(entry_id, log.leaf_id))
        return any(tree_entry_kind(entry) not in ("label", "change") for entry in left)

    async def _hide_progress_after(self, work: Awaitable[T]) -> T:
        try:
            return await work
        finally:
            self.show_progress("")

    async def _compare_branches(self, one: str, other: str) -> None:
        """Compares two branches from where they part: their messages and the files that each changed."""
        log = self.session.log
        ancestor = log.common_ancestor(one, other)
        branches = [_entries_below(log.path_to(leaf), ancestor) for leaf in (one, other)]
        names = [_branch_name(branch, log) for branch in branches]
        sides = [
            _branch_preview(
                name or "no messages after it",
                branch,
                paths_changed_by_entries(branch, self.session.tools.files_of_call),
            )
            for name, branch in zip(names, branches, strict=True)
        ]
        parted = one_line(full_session_entry_text(log.entry(ancestor)), 40) if ancestor else ""
        note = f"the branches split at: {parted}" if parted else "the branches split at the beginning"
        await self.ask(PageScreen("Two branches", *sides, note=note))


def _entries_below(path: Sequence[Entry], ancestor_id: str | None) -> Sequence[Entry]:
    ids = [entry.id for entry in path]
    return path[ids.index(ancestor_id) + 1 :] if ancestor_id in ids else path


def _branch_name(branch: Sequence[Entry], log: SessionLog) -> str | None:
    """Returns a branch's name: its last label, else its first prompt."""
    labels = (label for entry in reversed(branch) if (label := log.label(entry.id)))
    asked = (
        one_line(text_of(entry.message.content), 60)
        for entry in branch
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)
    )
    return (
        next(labels, None) or next(asked, None) or next(filter(None, map(session_entry_title, branch)), None)
    )


def _branch_preview(name: str, entries: Sequence[Entry], files: Sequence[str]) -> PreviewText:
    """Returns the preview of a branch in a comparison: the files it changed, then its messages, and the cost."""
    messages = [title for entry in entries if (title := session_entry_title(entry)) is not None]
    cost = sum(
        entry.message.usage.cost.total
        for entry in entries
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage)
    )
    return PreviewText(
        title=name,
        parts=(
            PreviewParagraph(text="Files changed", is_heading=True),
            *(PreviewParagraph(text=f"± {path}", tone="success") for path in files),
            *(() if files else (PreviewParagraph(text="none", tone="muted"),)),
            PreviewParagraph(text=""),
            PreviewParagraph(
                text=f"{len(messages)} message{'' if len(messages) == 1 else 's'}"
                + (f", {format_dollars(cost)}" if cost else ""),
                is_heading=True,
            ),
            *(PreviewParagraph(text=title) for title in messages),
        ),
    )
