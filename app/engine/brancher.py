"""Leaving a branch: moving the leaf, with a summary of what is left behind where one is wanted; and merging one in."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from app.compaction.branch import Branch, branch_of
from app.compaction.cut import message_of
from app.compaction.files import own_details
from app.compaction.summary import BRANCH_PREAMBLE, Written, branch_request
from app.engine.choice import ModelChoice
from app.engine.conversation import Conversation
from app.engine.summariser import Summariser, SummaryFailed
from app.engine.underway import Underway
from app.values.entries import BranchSummaryEntry, Entry
from app.values.messages import Message


class Leaving(msgspec.Struct, frozen=True, kw_only=True):
    """A move that is about to happen."""

    target_id: str | None
    old_leaf_id: str | None
    common_ancestor_id: str | None
    entries: tuple[Entry, ...]
    """What lies between the common ancestor and the old leaf, oldest first."""
    wants_summary: bool
    instructions: str | None

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(message for entry in self.entries if (message := message_of(entry)) is not None)


class Opinion(msgspec.Struct, frozen=True, kw_only=True):
    """What an extension says to it."""

    is_cancelled: bool = False
    summary: str | None = None
    details: Any = None
    """Of an extension's own summary."""
    instructions: str | None = None
    label: str | None = None


async def _no_opinion(leaving: Leaving) -> Opinion:
    return Opinion()


async def _not_told(leaving: Leaving, summary: str | None) -> None:
    return None


class Cancelled(SummaryFailed):
    """An extension stopped the move."""


class Brancher:
    def __init__(
        self,
        *,
        conversation: Callable[[], Conversation],
        choice: ModelChoice,
        summariser: Summariser,
        reserve_tokens: int = 16_384,
    ) -> None:
        self.reserve_tokens = reserve_tokens
        self.consult: Callable[[Leaving], Awaitable[Opinion]] = _no_opinion
        self.told: Callable[[Leaving, str | None], Awaitable[None]] = _not_told
        self._conversation = conversation
        self._choice = choice
        self._summariser = summariser
        self.underway = Underway()

    @property
    def is_running(self) -> bool:
        return self.underway.is_running

    async def leave(
        self, target_id: str | None, *, summarise: bool = False, instructions: str | None = None
    ) -> str | None:
        """Moves the leaf; returns the summary's entry id. Raises `SummaryFailed`, with nothing moved."""
        log = self._conversation().log
        leaving = self._leaving(target_id, summarise, instructions)
        opinion = await self.consult(leaving)
        if opinion.is_cancelled:
            raise Cancelled("Going there was stopped by an extension.")
        written = None
        if opinion.summary is not None:
            written = Written(text=opinion.summary)
        elif summarise and leaving.entries:
            written = await self._write(leaving.entries, opinion.instructions or instructions)
        log.move_leaf(target_id)
        summary_id = None
        if written is not None:
            summary_id = self._record(leaving, written, opinion)
        await self.told(leaving, written.text if written else None)
        return summary_id

    async def merge(self, leaf_id: str, instructions: str | None = None) -> str:
        """Summarises another branch into the present one, without leaving it."""
        log = self._conversation().log
        ancestor = log.common_ancestor(log.leaf_id, leaf_id)
        entries = _below(log.path_to(leaf_id), ancestor)
        if not entries:
            raise SummaryFailed("That branch holds nothing that is not in this one.")
        merging = Leaving(
            target_id=log.leaf_id,
            old_leaf_id=leaf_id,
            common_ancestor_id=ancestor,
            entries=entries,
            wants_summary=True,
            instructions=instructions,
        )
        opinion = await self.consult(merging)
        if opinion.is_cancelled:
            raise Cancelled("The merge was stopped by an extension.")
        if opinion.summary is not None:
            written = Written(text=opinion.summary)
        else:
            written = await self._write(entries, opinion.instructions or instructions)
        summary_id = self._record(merging, written, opinion)
        await self.told(merging, written.text)
        return summary_id

    def _leaving(self, target_id: str | None, summarise: bool, instructions: str | None) -> Leaving:
        log = self._conversation().log
        ancestor = log.common_ancestor(log.leaf_id, target_id)
        return Leaving(
            target_id=target_id,
            old_leaf_id=log.leaf_id,
            common_ancestor_id=ancestor,
            entries=_below(log.path_to(), ancestor),
            wants_summary=summarise,
            instructions=instructions,
        )

    async def _write(self, entries: Sequence[Entry], instructions: str | None) -> Written:
        with self.underway.begun() as abort:
            branch = self._branch(entries)
            if not branch.messages:
                raise SummaryFailed("There is nothing in that branch to summarise.")
            request = branch_request(branch.messages, instructions)
            written = await self._summariser.write(request, abort, "branchSummary")
            text = BRANCH_PREAMBLE + written.text + branch.files.as_text()
            return msgspec.structs.replace(written, text=text)

    def _branch(self, entries: Sequence[Entry]) -> Branch:
        model = self._choice.required()
        return branch_of(entries, max(1_000, model.context_window - self.reserve_tokens))

    def _record(self, leaving: Leaving, written: Written, opinion: Opinion) -> str:
        log, files = self._conversation().log, self._branch(leaving.entries).files
        entry = log.append(
            BranchSummaryEntry(
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
        )
        if opinion.label:
            log.set_label(entry.id, opinion.label)
        return entry.id


def _below(path: Sequence[Entry], ancestor_id: str | None) -> tuple[Entry, ...]:
    """What comes after the ancestor on a path from the root."""
    ids = [entry.id for entry in path]
    start = ids.index(ancestor_id) + 1 if ancestor_id in ids else 0
    return tuple(path[start:])
