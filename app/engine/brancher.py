"""Leaving a branch: moving the leaf, with a summary of what is left behind where one is wanted; and merging one in."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from app.compaction.branch import branch_of
from app.compaction.cut import as_edited, message_of
from app.compaction.files import files_of, own_details
from app.compaction.summary import BRANCH_PREAMBLE, Written, branch_request
from app.engine.choice import ModelChoice
from app.engine.conversation import Conversation
from app.engine.options import SessionOptions
from app.engine.summariser import Summariser, SummaryFailed
from app.engine.underway import Underway
from app.values.entries import BranchSummaryEntry, Entry
from app.values.messages import Message
from app.values.usage import Usage

_UNKNOWN_WINDOW = 128_000


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a branch that is left."""

    summarise: bool = False
    instructions: str | None = None
    replaces_instructions: bool = False
    """They stand instead of bayou's own, and not beside them."""
    label: str | None = None
    """Of the summary; without one, of the place that is gone to."""


class Leaving(msgspec.Struct, frozen=True, kw_only=True):
    """A move that is about to happen."""

    target_id: str | None
    old_leaf_id: str | None
    common_ancestor_id: str | None
    entries: tuple[Entry, ...]
    """What lies between the common ancestor and the old leaf, oldest first."""
    wish: Wish

    @property
    def messages(self) -> tuple[Message, ...]:
        """Without what was taken out of the context."""
        found = (message_of(entry) for entry in as_edited(self.entries))
        return tuple(message for message in found if message is not None)


class Opinion(msgspec.Struct, frozen=True, kw_only=True):
    """What an extension says to it."""

    is_cancelled: bool = False
    summary: str | None = None
    details: Any = None
    """Of an extension's own summary."""
    usage: Usage | None = None
    """What that summary took."""
    instructions: str | None = None
    replaces_instructions: bool | None = None
    label: str | None = None

    def changed(self, wish: Wish) -> Wish:
        replaces = wish.replaces_instructions
        return msgspec.structs.replace(
            wish,
            instructions=self.instructions or wish.instructions,
            replaces_instructions=replaces
            if self.replaces_instructions is None
            else self.replaces_instructions,
            label=self.label or wish.label,
        )


async def _no_opinion(leaving: Leaving) -> Opinion:
    return Opinion()


async def _not_told(leaving: Leaving, summary: BranchSummaryEntry | None) -> None:
    return None


class Cancelled(SummaryFailed):
    """An extension stopped the move."""


class Brancher:
    def __init__(
        self,
        *,
        conversation: Callable[[], Conversation],
        choice: ModelChoice,
        options: SessionOptions,
        summariser: Summariser,
    ) -> None:
        self.consult: Callable[[Leaving], Awaitable[Opinion]] = _no_opinion
        self.told: Callable[[Leaving, BranchSummaryEntry | None], Awaitable[None]] = _not_told
        self._conversation = conversation
        self._choice = choice
        self._options = options
        self._summariser = summariser
        self.underway = Underway()

    @property
    def is_running(self) -> bool:
        return self.underway.is_running

    async def leave(self, target_id: str | None, wish: Wish) -> BranchSummaryEntry | None:
        """Moves the leaf; returns the summary, if there is one. Raises `SummaryFailed`, with nothing moved."""
        log = self._conversation().log
        ancestor = log.common_ancestor(log.leaf_id, target_id)
        leaving = Leaving(
            target_id=target_id,
            old_leaf_id=log.leaf_id,
            common_ancestor_id=ancestor,
            entries=_below(log.path_to(), ancestor),
            wish=wish,
        )
        opinion = await self.consult(leaving)
        if opinion.is_cancelled:
            raise Cancelled("Going there was stopped by an extension.")
        wish = opinion.changed(wish)
        written = None
        if opinion.summary is not None:
            written = Written(text=opinion.summary, usage=opinion.usage or Usage())
        elif wish.summarise and leaving.messages:
            written = await self._write(leaving.entries, wish)
        log.move_leaf(target_id)
        entry = self._record(leaving, written, opinion) if written is not None else None
        labelled = entry.id if entry is not None else target_id
        if wish.label and labelled is not None:
            log.set_label(labelled, wish.label)
        await self.told(leaving, entry)
        return entry

    async def merge(self, leaf_id: str, wish: Wish) -> BranchSummaryEntry:
        """Summarises another branch into the present one, without leaving it."""
        log = self._conversation().log
        ancestor = log.common_ancestor(log.leaf_id, leaf_id)
        merging = Leaving(
            target_id=log.leaf_id,
            old_leaf_id=leaf_id,
            common_ancestor_id=ancestor,
            entries=_below(log.path_to(leaf_id), ancestor),
            wish=wish,
        )
        if not merging.messages:
            raise SummaryFailed("That branch holds nothing that is not in this one.")
        opinion = await self.consult(merging)
        if opinion.is_cancelled:
            raise Cancelled("The merge was stopped by an extension.")
        wish = opinion.changed(wish)
        if opinion.summary is not None:
            written = Written(text=opinion.summary, usage=opinion.usage or Usage())
        else:
            written = await self._write(merging.entries, wish)
        entry = self._record(merging, written, opinion)
        if wish.label:
            log.set_label(entry.id, wish.label)
        await self.told(merging, entry)
        return entry

    async def _write(self, entries: Sequence[Entry], wish: Wish) -> Written:
        with self.underway.begun() as abort:
            branch = branch_of(entries, self._budget)
            if not branch.messages:
                raise SummaryFailed(
                    f"The last message of that branch alone is larger than {self._budget:,} tokens, which is what "
                    "the model can read at once. Go there without a summary, or with a model of a larger window."
                )
            request = branch_request(branch, wish.instructions, replace=wish.replaces_instructions)
            written = await self._summariser.write(request, abort, "branchSummary")
            text = BRANCH_PREAMBLE + written.text + branch.files.as_text()
            return msgspec.structs.replace(written, text=text)

    @property
    def _budget(self) -> int:
        window = self._choice.required().context_window or _UNKNOWN_WINDOW
        return max(1_000, window - self._options.in_force.settings.branch_summary.reserve_tokens)

    def _record(self, leaving: Leaving, written: Written, opinion: Opinion) -> BranchSummaryEntry:
        files = files_of(leaving.entries)
        entry = BranchSummaryEntry(
            parent_id=None,
            from_id=leaving.old_leaf_id or "root",
            summary=written.text,
            details={
                "readFiles": list(files.read_files),
                "modifiedFiles": list(files.modified_files),
                **own_details(opinion.details),
            },
            usage=written.usage,
            from_hook=opinion.summary is not None,
        )
        stored = self._conversation().log.append(entry)
        assert isinstance(stored, BranchSummaryEntry)
        return stored


def _below(path: Sequence[Entry], ancestor_id: str | None) -> tuple[Entry, ...]:
    """What comes after the ancestor on a path from the root."""
    ids = [entry.id for entry in path]
    start = ids.index(ancestor_id) + 1 if ancestor_id in ids else 0
    return tuple(path[start:])
