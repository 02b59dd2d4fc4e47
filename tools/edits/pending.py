"""Staged changes: exact new contents that wait until they are applied or discarded, once.

`tools.files.mutations` writes them like every change, and only if each file is still as it was when they were
staged."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal

import msgspec

from tools.edits.diffs import Diff
from tools.files.mutations import FileState, MutationQueue, NewContent, content_hash

MAX_PENDING: Final = 8
_NOTHING_PENDING: Final = "No pending action to resolve. Nothing to apply or discard."

Resolution = Literal["apply", "discard"]
ResolvedBy = Literal["model", "person", "program", "extension"]


class StagedFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    """Absolute path."""
    shown: str
    before_hash: str | None
    """Hash of the old content; None if the file did not exist."""
    data: bytes | None
    """The new content; None to remove the file."""
    diff: Diff


class StagedAction(msgspec.Struct, frozen=True, kw_only=True):
    """One pending action."""

    id: str
    label: str
    source_tool: str
    files: tuple[StagedFile, ...] = ()
    apply: Callable[[str], Awaitable[str]] | None = None
    """Called with the reason, in addition to or instead of writing files; returns a text for the result."""
    reject: Callable[[str], Awaitable[str | None]] | None = None

    @property
    def patch(self) -> str:
        return "".join(file.diff.patch for file in self.files)


class ResolvedAction(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an action."""

    staged: StagedAction
    action: Resolution
    is_done: bool
    """False if the action was to be applied, and could not be."""
    text: str
    by: ResolvedBy


class UnknownAction(Exception):
    """No such action exists; the message lists the existing ones."""


class PendingChanges:
    """The pending actions of one session, oldest first."""

    def __init__(self, mutations: Callable[[], MutationQueue]) -> None:
        self._mutations = mutations
        self._waiting: list[StagedAction] = []
        self._count = 0
        self._listeners: list[Callable[[ResolvedAction | None], None]] = []

    def subscribe(self, listener: Callable[[ResolvedAction | None], None]) -> None:
        """Calls `listener` whenever the list changes, with the outcome of a resolved action."""
        self._listeners.append(listener)

    @property
    def waiting(self) -> tuple[StagedAction, ...]:
        return tuple(self._waiting)

    def stage(
        self,
        label: str,
        source_tool: str,
        files: Sequence[StagedFile] = (),
        *,
        apply: Callable[[str], Awaitable[str]] | None = None,
        reject: Callable[[str], Awaitable[str | None]] | None = None,
    ) -> StagedAction:
        """Adds an action. Raises `UnknownAction` if too many are pending."""
        if len(self._waiting) >= MAX_PENDING:
            raise UnknownAction(f"{MAX_PENDING} actions wait already. Resolve one of them first.")
        self._count += 1
        made = StagedAction(
            id=f"p{self._count}",
            label=label,
            source_tool=source_tool,
            files=tuple(files),
            apply=apply,
            reject=reject,
        )
        self._waiting.append(made)
        self._notify(None)
        return made

    def find(self, id: str | None) -> StagedAction:
        """Returns the action; without an id there must be exactly one. Raises `UnknownAction`."""
        if not self._waiting:
            raise UnknownAction(_NOTHING_PENDING)
        if id is None:
            if len(self._waiting) > 1:
                names = "; ".join(f"{one.id}: {one.label}" for one in self._waiting)
                raise UnknownAction(f"Several actions wait; say which by id. {names}")
            return self._waiting[0]
        found = next((one for one in self._waiting if one.id == id), None)
        if found is None:
            known = ", ".join(one.id for one in self._waiting)
            raise UnknownAction(f"No action {id} waits. Waiting: {known}.")
        return found

    def affected_paths(self, id: str | None) -> tuple[str, ...]:
        """Returns the files that applying would write, for all actions that the id may mean."""
        chosen = [one for one in self._waiting if id in (None, one.id)]
        return tuple(dict.fromkeys(file.path for one in chosen for file in one.files))

    async def resolve(
        self, id: str | None, action: Resolution, reason: str, *, by: ResolvedBy, call_id: str
    ) -> ResolvedAction:
        """Applies or discards an action, which is then no longer pending. Raises `UnknownAction`, or what `apply`
        raises."""
        staged = self.find(id)
        self._waiting.remove(staged)
        found = ResolvedAction(staged=staged, action=action, is_done=False, text="", by=by)
        try:
            found = await (self._apply if action == "apply" else self._discard)(staged, reason, by, call_id)
        except BaseException as problem:
            said = f"Could not apply: {staged.label}: {problem}"
            found = msgspec.structs.replace(found, text=said)
            raise
        finally:
            self._notify(found)
        return found

    def drop_all(self, why: str) -> tuple[StagedAction, ...]:
        """Discards all actions, because their context is gone."""
        gone, self._waiting = tuple(self._waiting), []
        for one in gone:
            self._notify(
                ResolvedAction(
                    staged=one,
                    action="discard",
                    is_done=True,
                    text=f"Discarded: {one.label}. {why}",
                    by="program",
                )
            )
        return gone

    async def _apply(self, staged: StagedAction, reason: str, by: ResolvedBy, call_id: str) -> ResolvedAction:
        done = ResolvedAction(staged=staged, action="apply", is_done=True, text="", by=by)
        if staged.files:
            changed = await self._write(staged, call_id)
            if changed:
                return msgspec.structs.replace(
                    done,
                    is_done=False,
                    text=f"Discarded: {', '.join(changed)} changed since the preview. Nothing was written. "
                    f"Run {staged.source_tool} again.",
                )
        said = await staged.apply(reason) if staged.apply is not None else ""
        count = len(staged.files)
        files = f" in {count} file{'' if count == 1 else 's'}" if count else ""
        what = staged.label if staged.label.endswith(files) else staged.label + files
        return msgspec.structs.replace(done, text=said or f"Applied: {what}.")

    async def _write(self, staged: StagedAction, call_id: str) -> list[str]:
        """Writes all files, or none and returns the names of files that have changed."""
        changed: list[str] = []

        def compute(states: Sequence[FileState | None]) -> list[NewContent | None]:
            changed.clear()
            for file, state in zip(staged.files, states, strict=True):
                if (content_hash(state.data) if state is not None else None) != file.before_hash:
                    changed.append(file.shown)
            if changed:
                return [None] * len(staged.files)
            return [
                NewContent(data=file.data, added=file.diff.added, removed=file.diff.removed)
                for file in staged.files
            ]

        await self._mutations().change_all([file.path for file in staged.files], call_id, compute)
        return changed

    async def _discard(
        self, staged: StagedAction, reason: str, by: ResolvedBy, call_id: str
    ) -> ResolvedAction:
        said = await staged.reject(reason) if staged.reject is not None else None
        text = said or f"Discarded: {staged.label}. Reason: {reason}"
        return ResolvedAction(staged=staged, action="discard", is_done=True, text=text, by=by)

    def _notify(self, resolved: ResolvedAction | None) -> None:
        for listener in tuple(self._listeners):
            listener(resolved)
