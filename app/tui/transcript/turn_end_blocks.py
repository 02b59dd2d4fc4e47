"""Keeps the ends of turns in the transcript up to date: which changes are undone, what their keys would act on now, and
what still waits."""

from collections.abc import Iterable

import msgspec

from app.engine.session import Session
from app.tui.page_protocols import KeyLabel
from app.tui.transcript.turn_end import TURN_DONE_WORD
from app.undo.change_records import file_restore_data_of_entry
from app.undo.file_history import find_redo_target, restore_by_undone_entry
from tools.number_formatting import count_with_noun
from widgets.transcript.transcript_blocks import (
    Block,
    CardState,
    TurnAction,
    TurnEndBlock,
    UserPromptBlock,
)
from widgets.transcript.view import Transcript

_TURN_CHANGE_KEYS = (("app.review.show", "alt+g", "review"), ("app.files.undo", "alt+z", "undo"))
_REDO_ACTION = "app.files.redo"


class TurnEndBars:
    """The ends of turns in one transcript. The keys for changes are named only at the turn on which they would act."""

    def __init__(self, session: Session, transcript: Transcript, key_label: KeyLabel) -> None:
        self._session, self._transcript, self._key_label = session, transcript, key_label
        self._ends: dict[str, TurnEndBlock] = {}
        """The ends as they were made, by their ids."""
        self._last_id = ""
        """The end of the last turn; empty while it has none."""
        self._undone: dict[str, str] = {}
        self._undoable_id = self._redoable_restore = ""

    def add(self, end: TurnEndBlock) -> None:
        """Adds the end of the last turn to the transcript, in place of an earlier end of the same turn."""
        if end.replaces not in ("", end.id):
            self._ends.pop(end.replaces, None)
            self._transcript.remove_block(end.replaces)
        before, self._last_id = self._last_id, end.id
        self._ends[end.id] = end
        before_undoable = self._undoable_id
        self._look_up_changes()
        self._transcript.add(self._as_of_now(end))
        for id in dict.fromkeys((before, before_undoable)):
            if id in self._ends and id != end.id:
                self._replace(id)

    def replace_all(self, blocks: Iterable[Block]) -> list[Block]:
        """Forgets the known ends of turns; returns the blocks of another conversation with the ends of its turns as
        they are now."""
        self._ends.clear()
        shown = list(blocks)
        last = next((one for one in reversed(shown) if isinstance(one, TurnEndBlock | UserPromptBlock)), None)
        self._last_id = last.id if isinstance(last, TurnEndBlock) else ""
        return self.add_earlier(shown)

    def mark_next_turn_begun(self) -> None:
        """Called when a prompt begins the next turn: draws the end of the last turn without what still waits."""
        before, self._last_id = self._last_id, ""
        if before in self._ends:
            self._replace(before)

    def add_earlier(self, blocks: Iterable[Block]) -> list[Block]:
        """Adds the ends of earlier turns; returns the blocks with these ends as they are now."""
        shown = list(blocks)
        earlier = {block.id: block for block in shown if isinstance(block, TurnEndBlock)}
        undoable = self._undoable_id
        self._ends = earlier | self._ends
        self._look_up_changes()
        if self._undoable_id != undoable and undoable in self._ends and undoable not in earlier:
            self._replace(undoable)
        return [self._as_of_now(block) if isinstance(block, TurnEndBlock) else block for block in shown]

    def update_undone_changes(self) -> None:
        """Updates the ends of all turns after files were restored."""
        self._look_up_changes()
        for id in self._ends:
            self._replace(id)

    def update_waiting_work(self) -> None:
        """Updates the end of the last turn after some work began to wait or ended."""
        if self._last_id in self._ends:
            self._replace(self._last_id)

    def _replace(self, id: str) -> None:
        shown, wanted = self._transcript.find_block(id), self._as_of_now(self._ends[id])
        if shown is not None and shown != wanted:
            self._transcript.add(wanted)

    def _look_up_changes(self) -> None:
        path = self._session.log.path_to()
        self._undone = restore_by_undone_entry(path)
        redo = find_redo_target(path) if self._undone else None
        self._redoable_restore = redo.undoes or "" if redo is not None else ""
        changed = (id for id, end in reversed(self._ends.items()) if end.change_id)
        self._undoable_id = next((id for id in changed if not self._restore_of(id)), "")

    def _restore_of(self, id: str) -> str:
        """Returns the id of the restore that undid the changes of a turn; empty if they are not undone."""
        return self._undone.get(self._ends[id].change_id, "")

    def _as_of_now(self, end: TurnEndBlock) -> TurnEndBlock:
        if restore := self._restore_of(end.id):
            is_last = restore == self._redoable_restore
            return msgspec.structs.replace(
                end,
                words="Undone",
                state=CardState.SKIPPED,
                doubt="",
                warning=self._kept_files(restore),
                actions=(self._redo(),) if is_last else (),
            )
        waiting, words, state = self._what_waits() if end.id == self._last_id else "", end.words, end.state
        if waiting and state is CardState.DONE:
            words, state = f"Answered{words.removeprefix(TURN_DONE_WORD)}", state
            if self._session.pending.waiting_actions:
                words, state = "Waiting to apply", CardState.ASKED
        actions = self._change_actions() if end.id == self._undoable_id else ()
        return msgspec.structs.replace(end, words=words, state=state, waiting=waiting, actions=actions)

    def _kept_files(self, restore: str) -> str:
        data = file_restore_data_of_entry(self._session.log.entry(restore))
        kept = [one.path for one in data.kept] if data is not None else []
        return f"kept: {kept[0]}" + (f" and {len(kept) - 1} more" if kept[1:] else "") if kept else ""

    def _what_waits(self) -> str:
        session = self._session
        staged, jobs = len(session.pending.waiting_actions), len(session.jobs.running_jobs())
        queued = len(session.queues) if not session.is_running else 0
        waiting = (
            f"{count_with_noun(staged, 'staged change')}: /pending" if staged else "",
            f"{count_with_noun(jobs, 'job is still running', 'jobs are still running')}: /jobs"
            if jobs
            else "",
            count_with_noun(queued, "message is queued", "messages are queued") if queued else "",
        )
        return ", ".join(filter(None, waiting))

    def _change_actions(self) -> tuple[TurnAction, ...]:
        return tuple(
            TurnAction(key=key, words=words, id=action)
            for action, usual, words in _TURN_CHANGE_KEYS
            if (key := self._key_label(action, usual))
        )

    def _redo(self) -> TurnAction:
        return TurnAction(key=self._key_label(_REDO_ACTION, "") or "/redo", words="reapply", id=_REDO_ACTION)
