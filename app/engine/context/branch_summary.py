"""Moves the leaf of the session tree, with a summary of the branch that is left if requested, and merges
branches."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from app.compaction.branch_content import branch_content
from app.compaction.summary_requests import (
    BRANCH_SUMMARY_PREAMBLE,
    SUMMARY_SHARE,
    WrittenSummary,
    branch_summary_request,
)
from app.compaction.touched_files import FileLists, FilesOfCall, extension_summary_details, touched_files
from app.engine.context.summariser import Summariser, SummaryFailed
from app.engine.core.cancellable_task import CancellableTask
from app.engine.core.conversation import Conversation
from app.engine.core.hook_results import NavigationOptions, NavigationOverride, NavigationRequest
from app.engine.core.hooks import Hooks
from app.engine.core.model_choice import ModelChoice
from app.engine.core.session_options import SessionOptions
from app.values.entries import BranchSummaryEntry, Entry
from app.values.usage import Usage

_DEFAULT_CONTEXT_WINDOW = 128_000


class NavigationStopped(SummaryFailed):
    """Raised if an extension stopped a navigation in the session tree."""


class BranchSummariser(msgspec.Struct, eq=False, kw_only=True):
    conversation: Conversation
    model_choice: ModelChoice
    options: SessionOptions
    hooks: Hooks
    summariser: Summariser
    files_of_call: FilesOfCall
    running_task: CancellableTask = msgspec.field(default_factory=CancellableTask)

    async def move_and_summarise(
        self, target_id: str | None, wish: NavigationOptions, before_moving: Callable[[], Awaitable[None]]
    ) -> BranchSummaryEntry | None:
        """Moves the leaf of the session tree; returns the summary of the branch that is left, if one was
        written. Raises `SummaryFailed`, with nothing moved. `before_moving` is awaited last, when only it can
        still stop the move."""
        log = self.conversation.log
        leaving = self._navigation_request(log.leaf_id, target_id, wish)
        opinion = await self._run_navigation_hooks(
            leaving, "An extension cancelled the move to another branch."
        )
        wish = opinion.apply_to_options(wish)
        written, files = _extension_summary(opinion), FileLists()
        if written is not None or (wish.should_summarise and leaving.messages):
            files = await self._touched_files_of(leaving.entries)
            written = written or await self._write_summary(leaving.entries, wish, files)
        await before_moving()
        log.move_leaf(target_id)
        entry = self._record_summary(leaving, written, files, opinion) if written is not None else None
        labelled = entry.id if entry is not None else target_id
        if wish.label and labelled is not None:
            log.set_label(labelled, wish.label)
        await self.hooks.after_navigation(leaving, entry)
        return entry

    async def merge_branch(self, leaf_id: str, wish: NavigationOptions) -> BranchSummaryEntry:
        """Summarises another branch into the current one, without leaving the current one."""
        log = self.conversation.log
        merging = self._navigation_request(leaf_id, log.leaf_id, wish)
        if not merging.messages:
            raise SummaryFailed(
                "That branch has no messages beyond those of the current branch, so there is nothing to "
                "merge."
            )
        opinion = await self._run_navigation_hooks(merging, "An extension cancelled the merge.")
        wish = opinion.apply_to_options(wish)
        files = await self._touched_files_of(merging.entries)
        written = _extension_summary(opinion) or await self._write_summary(merging.entries, wish, files)
        entry = self._record_summary(merging, written, files, opinion)
        if wish.label:
            log.set_label(entry.id, wish.label)
        await self.hooks.after_navigation(merging, entry)
        return entry

    def _navigation_request(
        self, old_leaf_id: str | None, target_id: str | None, wish: NavigationOptions
    ) -> NavigationRequest:
        log = self.conversation.log
        ancestor = log.common_ancestor(old_leaf_id, target_id)
        return NavigationRequest(
            target_id=target_id,
            old_leaf_id=old_leaf_id,
            common_ancestor_id=ancestor,
            entries=_entries_below(log.path_to(old_leaf_id), ancestor),
            options=wish,
        )

    async def _run_navigation_hooks(self, move: NavigationRequest, refusal: str) -> NavigationOverride:
        opinion = await self.hooks.before_navigation(move)
        if opinion.is_cancelled:
            raise NavigationStopped(refusal)
        return opinion

    async def _touched_files_of(self, entries: Sequence[Entry]) -> FileLists:
        return await asyncio.to_thread(touched_files, entries, self.files_of_call)

    async def _write_summary(
        self, entries: Sequence[Entry], wish: NavigationOptions, files: FileLists
    ) -> WrittenSummary:
        with self.running_task.mark_running() as abort:
            branch = branch_content(entries, self._branch_token_budget)
            if not branch.messages:
                raise SummaryFailed(
                    f"The last message of that branch alone is larger than {self._branch_token_budget:,} tokens, "
                    "the most the model can read for a summary. Go there without a summary, or choose a model with a "
                    "larger window (/model)."
                )
            request = branch_summary_request(branch, wish.instructions, replace=wish.replaces_instructions)
            reserve = self.options.effective_settings.settings.branch_summary.reserve_tokens
            written = await self.summariser.write_summary(
                request, abort, "branchSummary", budget=int(reserve * SUMMARY_SHARE)
            )
            text = BRANCH_SUMMARY_PREAMBLE + written.text + files.as_text()
            return msgspec.structs.replace(written, text=text)

    @property
    def _branch_token_budget(self) -> int:
        window = self.model_choice.require_model().context_window or _DEFAULT_CONTEXT_WINDOW
        return max(1_000, window - self.options.effective_settings.settings.branch_summary.reserve_tokens)

    def _record_summary(
        self,
        leaving: NavigationRequest,
        written: WrittenSummary,
        files: FileLists,
        opinion: NavigationOverride,
    ) -> BranchSummaryEntry:
        entry = BranchSummaryEntry(
            parent_id=None,
            from_id=leaving.old_leaf_id or "root",
            summary=written.text,
            details={
                "readFiles": list(files.read_files),
                "modifiedFiles": list(files.modified_files),
                **extension_summary_details(opinion.details),
            },
            usage=written.usage,
            from_hook=opinion.summary is not None,
        )
        stored = self.conversation.log.append(entry)
        assert isinstance(stored, BranchSummaryEntry)
        return stored


def _extension_summary(opinion: NavigationOverride) -> WrittenSummary | None:
    """Returns the branch summary that an extension wrote; None if it wrote none."""
    if opinion.summary is None:
        return None
    return WrittenSummary(text=opinion.summary, usage=opinion.usage or Usage())


def _entries_below(path: Sequence[Entry], ancestor_id: str | None) -> tuple[Entry, ...]:
    """Returns the entries that follow the ancestor on a path from the root."""
    ids = [entry.id for entry in path]
    start = ids.index(ancestor_id) + 1 if ancestor_id in ids else 0
    return tuple(path[start:])
