"""Staged changes: exact new contents that wait until they are applied or discarded, once.

`tools.files.mutations` writes them like every change, and only if each file is still as it was when they were
staged. Work that was done on a copy is merged instead, file by file, into what each file has become; a file that both
have changed in the same place is not written and stays staged."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Final, Literal

import msgspec

from tools.edits.diffs import Diff
from tools.edits.merging import conflict_text, three_way_merge
from tools.files.mutations import FileState, MutationQueue, NewContent, content_hash

MAX_PENDING: Final = 8
_MAX_CONFLICTS: Final = 5
_MAX_CONFLICT_CHARS: Final = 4_000
_NOTHING_STAGED_TEXT: Final = "No pending action to resolve. Nothing to apply or discard."

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
    base: bytes | None = None
    """For a merge: the content that the new one was made of."""
    is_executable: bool | None = None
    """Whether the file becomes executable; None: it stays as it is."""
    conflict: str = ""
    """Why it could not be merged: both versions of the lines, or words."""


class StagedAction(msgspec.Struct, frozen=True, kw_only=True):
    """A change that is staged: it waits until the user or the model applies or discards it."""

    id: str
    label: str
    source_tool: str
    files: tuple[StagedFile, ...] = ()
    apply: Callable[[str], Awaitable[str]] | None = None
    """Called with the reason, in addition to or instead of writing files; returns a text for the result."""
    reject: Callable[[str], Awaitable[str | None]] | None = None
    is_merged: bool = False
    """Whether each file is merged by itself into what it has become; otherwise all are written as shown, or none."""

    @property
    def patch(self) -> str:
        return "".join(file.diff.patch for file in self.files)


class ResolvedAction(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a staged action that was applied or discarded."""

    staged: StagedAction
    action: Resolution
    is_done: bool
    """False if the action was to be applied, and could not be."""
    text: str
    by: ResolvedBy


class UnknownAction(Exception):
    """Raised if no staged action has this id; the message lists the existing ones."""


class PendingChanges:
    """The staged actions of one session that are not yet applied or discarded, oldest first."""

    def __init__(self, mutations: Callable[[], MutationQueue]) -> None:
        self._mutations = mutations
        self._waiting: list[StagedAction] = []
        self._count = 0
        self._listeners: list[Callable[[ResolvedAction | None], None]] = []

    def subscribe(self, listener: Callable[[ResolvedAction | None], None]) -> None:
        """Calls `listener` whenever the list of staged actions changes, with the outcome of a resolved action."""
        self._listeners.append(listener)

    @property
    def pending_actions(self) -> tuple[StagedAction, ...]:
        return tuple(self._waiting)

    def stage(
        self,
        label: str,
        source_tool: str,
        files: Sequence[StagedFile] = (),
        *,
        apply: Callable[[str], Awaitable[str]] | None = None,
        reject: Callable[[str], Awaitable[str | None]] | None = None,
        is_merged: bool = False,
    ) -> StagedAction:
        """Adds a staged action. Raises `UnknownAction` if too many are pending."""
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
            is_merged=is_merged,
        )
        self._waiting.append(made)
        self._notify(None)
        return made

    def find(self, id: str | None) -> StagedAction:
        """Returns the staged action with this id; without an id there must be exactly one. Raises `UnknownAction`."""
        if not self._waiting:
            raise UnknownAction(_NOTHING_STAGED_TEXT)
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

    def restage(self, id: str, label: str, files: Sequence[StagedFile]) -> None:
        """Replaces the new contents that a staged action would write. Raises `UnknownAction`."""
        found = self.find(id)
        made = msgspec.structs.replace(found, label=label, files=tuple(files))
        self._waiting[self._waiting.index(found)] = made
        self._notify(None)

    def affected_paths(self, id: str | None, files: Collection[str] = ()) -> tuple[str, ...]:
        """Returns the files that applying a staged action would write, for all actions that the id may mean."""
        chosen = [one for one in self._waiting if id in (None, one.id)]
        found = (file for one in chosen for file in one.files if not files or file.shown in files)
        return tuple(dict.fromkeys(file.path for file in found))

    async def resolve(
        self,
        id: str | None,
        action: Resolution,
        reason: str,
        *,
        by: ResolvedBy,
        call_id: str,
        files: Collection[str] = (),
    ) -> ResolvedAction:
        """Applies or discards a staged action, which is then no longer pending. Raises `UnknownAction`, or what `apply`
        raises. `files`: only these files of a copy's work; the others stay staged."""
        staged = self.find(id)
        if files and (chosen := _named_files(staged, files)) != staged.files:
            return await self._resolve_part(staged, chosen, action, by, call_id)
        self._waiting.remove(staged)
        found = ResolvedAction(staged=staged, action=action, is_done=False, text="", by=by)
        try:
            found = await (self._apply if action == "apply" else self._discard)(staged, reason, by, call_id)
        except BaseException as problem:
            said = f"Could not apply: {staged.label}: {problem}"
            found = msgspec.structs.replace(found, text=said)
            if staged.is_merged:  # work that is nowhere else
                self._waiting.insert(0, staged)
            raise
        finally:
            self._notify(found)
        return found

    async def _resolve_part(
        self,
        staged: StagedAction,
        chosen: tuple[StagedFile, ...],
        action: Resolution,
        by: ResolvedBy,
        call_id: str,
    ) -> ResolvedAction:
        """Applies or discards some files of a staged action, which keeps the others and those that are not written."""
        at = self._waiting.index(staged)
        self._waiting.remove(staged)
        part = msgspec.structs.replace(staged, files=chosen)
        names = ", ".join(file.shown for file in chosen)
        left, text = {file.shown: file for file in chosen}, f"Could not apply: {names}"
        try:
            refused = await self._write(part, call_id) if action == "apply" else ()
            left = {file.shown: file for file in refused}
            did = "Applied" if action == "apply" else "Discarded"
            text = _conflict_message(part, refused) if refused else f"{did}: {names}, of {staged.label}."
        finally:
            done = {file.shown for file in chosen} - left.keys()
            files = tuple(left.get(file.shown, file) for file in staged.files if file.shown not in done)
            self._waiting.insert(at, msgspec.structs.replace(staged, files=files))
            found = ResolvedAction(staged=part, action=action, is_done=not left, text=text, by=by)
            self._notify(found)
        return found

    def drop_all(self, why: str, ids: Collection[str] | None = None) -> tuple[StagedAction, ...]:
        """Discards all staged actions, or those of these ids, because what they refer to is gone."""
        gone = tuple(one for one in self._waiting if ids is None or one.id in ids)
        self._waiting = [one for one in self._waiting if one not in gone]
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
            refused = await self._write(staged, call_id)
            if refused and staged.is_merged:
                self._waiting.insert(0, msgspec.structs.replace(staged, files=refused))
                return msgspec.structs.replace(done, is_done=False, text=_conflict_message(staged, refused))
            if refused:
                return msgspec.structs.replace(
                    done,
                    is_done=False,
                    text=f"Discarded: {', '.join(file.shown for file in refused)} changed since the preview. "
                    f"Nothing was written. Run {staged.source_tool} again.",
                )
        said = await staged.apply(reason) if staged.apply is not None else ""
        return msgspec.structs.replace(
            done, text=said or f"Applied: {_label_with_count(staged.label, staged.files)}."
        )

    async def _write(self, staged: StagedAction, call_id: str) -> tuple[StagedFile, ...]:
        """Writes the files of a staged action and returns those that were not written because they have changed
        meanwhile: in a merge those in conflict, otherwise all if there is one."""
        refused: list[StagedFile] = []

        def compute(states: Sequence[FileState | None]) -> list[NewContent | None]:
            refused.clear()
            present = [state.data if state is not None else None for state in states]
            if staged.is_merged:
                return [
                    _merged_content(file, data, refused)
                    for file, data in zip(staged.files, present, strict=True)
                ]
            for file, data in zip(staged.files, present, strict=True):
                if (content_hash(data) if data is not None else None) != file.before_hash:
                    refused.append(file)
            return [None if refused else _new_content(file, file.data) for file in staged.files]

        await self._mutations().change_all([file.path for file in staged.files], call_id, compute)
        return tuple(refused)

    async def _discard(
        self, staged: StagedAction, reason: str, by: ResolvedBy, call_id: str
    ) -> ResolvedAction:
        said = await staged.reject(reason) if staged.reject is not None else None
        text = said or f"Discarded: {staged.label}. Reason: {reason}"
        return ResolvedAction(staged=staged, action="discard", is_done=True, text=text, by=by)

    def _notify(self, resolved: ResolvedAction | None) -> None:
        for listener in tuple(self._listeners):
            listener(resolved)


def _named_files(staged: StagedAction, files: Collection[str]) -> tuple[StagedFile, ...]:
    """Returns those files of a staged action that the caller named. Raises `UnknownAction`."""
    if not staged.is_merged:
        raise UnknownAction(f"The files of {staged.id} are written together, or none of them. Name no files.")
    unknown = set(files) - {file.shown for file in staged.files}
    if unknown:
        known = ", ".join(file.shown for file in staged.files)
        raise UnknownAction(f"{staged.id} has no file {', '.join(sorted(unknown))}. Its files: {known}.")
    return tuple(file for file in staged.files if file.shown in files)


def _new_content(file: StagedFile, data: bytes | None) -> NewContent:
    return NewContent(
        data=data, added=file.diff.added, removed=file.diff.removed, is_executable=file.is_executable
    )


def _merged_content(file: StagedFile, present: bytes | None, refused: list[StagedFile]) -> NewContent | None:
    """Returns the content of a file that has both the staged change and the one made meanwhile; None if it needs no
    writing, or is refused."""
    if present == file.data and file.is_executable is None:
        return None
    if present in (file.base, file.data) or file.data == file.base:
        return _new_content(file, present if file.data == file.base else file.data)
    texts = [_decode_for_merge(data) for data in (file.base, present, file.data)]
    base, mine, other = texts
    conflict = (
        "Only one of both still has the file." if file.data is None or present is None else "It is no text."
    )
    if base is not None and mine is not None and other is not None:
        merged = three_way_merge(base, mine, other)
        if merged is not None:
            return _new_content(file, merged.encode())
        conflict = conflict_text(base, mine, other, ("here", "staged")) or "It is too long to be merged."
    refused.append(msgspec.structs.replace(file, conflict=conflict))
    return None


def _decode_for_merge(data: bytes | None) -> str | None:
    """Decodes a file's content for a merge, in which a missing file is an empty one; None if it is not text."""
    if data is None:
        return ""
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


def _label_with_count(label: str, files: Sequence[StagedFile]) -> str:
    count = len(files)
    told = f" in {count} file{'' if count == 1 else 's'}" if count else ""
    return label if label.endswith(told) else label + told


def _conflict_message(staged: StagedAction, refused: Sequence[StagedFile]) -> str:
    count = len(staged.files) - len(refused)
    written = f"Applied: {_label_with_count(staged.label, staged.files[:count])}. " if count else ""
    parts = [f"{file.shown}:\n{file.conflict[:_MAX_CONFLICT_CHARS]}" for file in refused[:_MAX_CONFLICTS]]
    more = len(refused) - len(parts)
    parts += [f"and {more} more files"] if more > 0 else []
    return (
        f"{written}Not written, because it was changed here meanwhile, in the same lines: "
        f"{', '.join(file.shown for file in refused)}. Write these files as they should be, and discard {staged.id}."
        + "".join(f"\n\n{part}" for part in parts)
    )
