"""Staged changes: exact new contents that wait until they are applied or discarded, once.

`tools.files.file_changes` writes them like every change, and only if each file is still as it was when they were
staged. Work that was done on a copy is merged instead, file by file, into what each file has become; a file that both
have changed in the same place is not written and stays staged."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Final, Literal

import msgspec

from tools.edits.diffs import Diff
from tools.edits.three_way_merge import format_conflicts, merge_three_way
from tools.files.file_changes import FileChangeQueue, FileStateBeforeChange, NewFileContent, hash_file_content

MAX_STAGED_ACTIONS: Final = 8
_MAX_QUOTED_CONFLICTS: Final = 5
_MAX_CONFLICT_CHARS: Final = 4_000
_NOTHING_STAGED_TEXT: Final = "No pending action to resolve. Nothing to apply or discard."

StagedActionResolution = Literal["apply", "discard"]
StagedActionResolver = Literal["model", "person", "program", "extension"]


class StagedFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    """The absolute path of the staged file."""
    display_path: str
    before_hash: str | None
    """The hash of the file's content at the time of staging; None if the file did not exist."""
    new_content: bytes | None
    """The content that the file gets; None to remove the file."""
    diff: Diff
    merge_base: bytes | None = None
    """For a merge: the earlier content that the staged change was made from."""
    is_executable: bool | None = None
    """Whether the file becomes executable; None leaves it as it is."""
    conflict_text: str = ""
    """The reason why the staged file could not be merged: the lines with both versions in conflict marks, or a
    sentence."""


class StagedAction(msgspec.Struct, frozen=True, kw_only=True):
    """A change that is staged: it waits until the user or the model applies or discards it."""

    id: str
    label: str
    source_tool: str
    files: tuple[StagedFile, ...] = ()
    apply_callback: Callable[[str], Awaitable[str]] | None = None
    """A function that is called with the reason when the action is applied, in addition to or instead of writing
    files; it returns a text for the result."""
    reject_callback: Callable[[str], Awaitable[str | None]] | None = None
    merges_each_file: bool = False
    """Whether each file is merged separately with its present content; otherwise all files are written as staged,
    or none."""

    @property
    def patch(self) -> str:
        return "".join(file.diff.patch for file in self.files)


class ResolvedStagedAction(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a staged action that was applied or discarded."""

    staged: StagedAction
    action: StagedActionResolution
    is_done: bool
    """Whether the action was carried out; False if it should have been applied and could not be."""
    text: str
    resolved_by: StagedActionResolver


class UnknownStagedAction(Exception):
    """Raised if no staged action has this id; the message lists the existing ones."""


class StagedActions:
    """The staged actions of one session that are not yet applied or discarded, oldest first."""

    def __init__(self, mutations: Callable[[], FileChangeQueue]) -> None:
        self._mutations = mutations
        self._pending_actions: list[StagedAction] = []
        self._count = 0
        self._listeners: list[Callable[[ResolvedStagedAction | None], None]] = []

    def subscribe(self, listener: Callable[[ResolvedStagedAction | None], None]) -> None:
        """Calls `listener` whenever the list of staged actions changes, with the outcome of a resolved action."""
        self._listeners.append(listener)

    @property
    def pending_staged_actions(self) -> tuple[StagedAction, ...]:
        return tuple(self._pending_actions)

    def stage_action(
        self,
        label: str,
        source_tool: str,
        files: Sequence[StagedFile] = (),
        *,
        apply: Callable[[str], Awaitable[str]] | None = None,
        reject: Callable[[str], Awaitable[str | None]] | None = None,
        is_merged: bool = False,
    ) -> StagedAction:
        """Adds a staged action. Raises `UnknownStagedAction` if too many are pending."""
        if len(self._pending_actions) >= MAX_STAGED_ACTIONS:
            raise UnknownStagedAction(
                f"{MAX_STAGED_ACTIONS} actions wait already. Resolve one of them first."
            )
        self._count += 1
        made = StagedAction(
            id=f"p{self._count}",
            label=label,
            source_tool=source_tool,
            files=tuple(files),
            apply_callback=apply,
            reject_callback=reject,
            merges_each_file=is_merged,
        )
        self._pending_actions.append(made)
        self._notify_listeners(None)
        return made

    def find_staged_action(self, id: str | None) -> StagedAction:
        """Returns the staged action with this id; without an id there must be exactly one. Raises
        `UnknownStagedAction`."""
        if not self._pending_actions:
            raise UnknownStagedAction(_NOTHING_STAGED_TEXT)
        if id is None:
            if len(self._pending_actions) > 1:
                names = "; ".join(f"{one.id}: {one.label}" for one in self._pending_actions)
                raise UnknownStagedAction(f"Several actions wait; say which by id. {names}")
            return self._pending_actions[0]
        found = next((one for one in self._pending_actions if one.id == id), None)
        if found is None:
            known = ", ".join(one.id for one in self._pending_actions)
            raise UnknownStagedAction(f"No action {id} waits. Waiting: {known}.")
        return found

    def replace_staged_files(self, id: str, label: str, files: Sequence[StagedFile]) -> None:
        """Replaces the new contents that a staged action would write. Raises `UnknownStagedAction`."""
        found = self.find_staged_action(id)
        made = msgspec.structs.replace(found, label=label, files=tuple(files))
        self._pending_actions[self._pending_actions.index(found)] = made
        self._notify_listeners(None)

    def paths_written_by_staged_action(self, id: str | None, files: Collection[str] = ()) -> tuple[str, ...]:
        """Returns the files that applying a staged action would write, for all actions that the id may mean."""
        chosen = [one for one in self._pending_actions if id in (None, one.id)]
        found = (file for one in chosen for file in one.files if not files or file.display_path in files)
        return tuple(dict.fromkeys(file.path for file in found))

    async def resolve_staged_action(
        self,
        id: str | None,
        action: StagedActionResolution,
        reason: str,
        *,
        by: StagedActionResolver,
        call_id: str,
        files: Collection[str] = (),
    ) -> ResolvedStagedAction:
        """Applies or discards a staged action, which is then no longer pending. Raises `UnknownStagedAction`, or what
        `apply` raises. `files`: only these files of a copy's work; the others stay staged."""
        staged = self.find_staged_action(id)
        if files and (chosen := _select_staged_files(staged, files)) != staged.files:
            return await self._resolve_some_files(staged, chosen, action, by, call_id)
        self._pending_actions.remove(staged)
        found = ResolvedStagedAction(staged=staged, action=action, is_done=False, text="", resolved_by=by)
        try:
            found = await (self._apply_action if action == "apply" else self._discard_action)(
                staged, reason, by, call_id
            )
        except BaseException as problem:
            said = f"Could not apply: {staged.label}: {problem}"
            found = msgspec.structs.replace(found, text=said)
            if staged.merges_each_file:  # work that is nowhere else
                self._pending_actions.insert(0, staged)
            raise
        finally:
            self._notify_listeners(found)
        return found

    async def _resolve_some_files(
        self,
        staged: StagedAction,
        chosen: tuple[StagedFile, ...],
        action: StagedActionResolution,
        by: StagedActionResolver,
        call_id: str,
    ) -> ResolvedStagedAction:
        """Applies or discards some files of a staged action, which keeps the others and those that are not written."""
        at = self._pending_actions.index(staged)
        self._pending_actions.remove(staged)
        part = msgspec.structs.replace(staged, files=chosen)
        names = ", ".join(file.display_path for file in chosen)
        left, text = {file.display_path: file for file in chosen}, f"Could not apply: {names}"
        try:
            refused = await self._write_staged_files(part, call_id) if action == "apply" else ()
            left = {file.display_path: file for file in refused}
            did = "Applied" if action == "apply" else "Discarded"
            text = (
                _format_conflict_message(part, refused) if refused else f"{did}: {names}, of {staged.label}."
            )
        finally:
            done = {file.display_path for file in chosen} - left.keys()
            files = tuple(
                left.get(file.display_path, file) for file in staged.files if file.display_path not in done
            )
            self._pending_actions.insert(at, msgspec.structs.replace(staged, files=files))
            found = ResolvedStagedAction(
                staged=part, action=action, is_done=not left, text=text, resolved_by=by
            )
            self._notify_listeners(found)
        return found

    def discard_all_staged_actions(
        self, why: str, ids: Collection[str] | None = None
    ) -> tuple[StagedAction, ...]:
        """Discards all staged actions, or those of these ids, because what they refer to is gone."""
        gone = tuple(one for one in self._pending_actions if ids is None or one.id in ids)
        self._pending_actions = [one for one in self._pending_actions if one not in gone]
        for one in gone:
            self._notify_listeners(
                ResolvedStagedAction(
                    staged=one,
                    action="discard",
                    is_done=True,
                    text=f"Discarded: {one.label}. {why}",
                    resolved_by="program",
                )
            )
        return gone

    async def _apply_action(
        self, staged: StagedAction, reason: str, by: StagedActionResolver, call_id: str
    ) -> ResolvedStagedAction:
        done = ResolvedStagedAction(staged=staged, action="apply", is_done=True, text="", resolved_by=by)
        if staged.files:
            refused = await self._write_staged_files(staged, call_id)
            if refused and staged.merges_each_file:
                self._pending_actions.insert(0, msgspec.structs.replace(staged, files=refused))
                return msgspec.structs.replace(
                    done, is_done=False, text=_format_conflict_message(staged, refused)
                )
            if refused:
                return msgspec.structs.replace(
                    done,
                    is_done=False,
                    text=f"Discarded: {', '.join(file.display_path for file in refused)} changed since the preview. "
                    f"Nothing was written. Run {staged.source_tool} again.",
                )
        said = await staged.apply_callback(reason) if staged.apply_callback is not None else ""
        return msgspec.structs.replace(
            done, text=said or f"Applied: {_label_with_count(staged.label, staged.files)}."
        )

    async def _write_staged_files(self, staged: StagedAction, call_id: str) -> tuple[StagedFile, ...]:
        """Writes the files of a staged action and returns those that were not written because they have changed
        meanwhile: in a merge those in conflict, otherwise all if there is one."""
        refused: list[StagedFile] = []

        def compute(states: Sequence[FileStateBeforeChange | None]) -> list[NewFileContent | None]:
            refused.clear()
            present = [state.data if state is not None else None for state in states]
            if staged.merges_each_file:
                return [
                    _merge_staged_content(file, data, refused)
                    for file, data in zip(staged.files, present, strict=True)
                ]
            for file, data in zip(staged.files, present, strict=True):
                if (hash_file_content(data) if data is not None else None) != file.before_hash:
                    refused.append(file)
            return [
                None if refused else _make_staged_content(file, file.new_content) for file in staged.files
            ]

        await self._mutations().change_files_together([file.path for file in staged.files], call_id, compute)
        return tuple(refused)

    async def _discard_action(
        self, staged: StagedAction, reason: str, by: StagedActionResolver, call_id: str
    ) -> ResolvedStagedAction:
        said = await staged.reject_callback(reason) if staged.reject_callback is not None else None
        text = said or f"Discarded: {staged.label}. Reason: {reason}"
        return ResolvedStagedAction(staged=staged, action="discard", is_done=True, text=text, resolved_by=by)

    def _notify_listeners(self, resolved: ResolvedStagedAction | None) -> None:
        for listener in tuple(self._listeners):
            listener(resolved)


def _select_staged_files(staged: StagedAction, files: Collection[str]) -> tuple[StagedFile, ...]:
    """Returns the files of a staged action that the caller named. Raises `UnknownStagedAction` for other names, and
    if the action writes all its files together."""
    if not staged.merges_each_file:
        raise UnknownStagedAction(
            f"The files of {staged.id} are written together, or none of them. Name no files."
        )
    unknown = set(files) - {file.display_path for file in staged.files}
    if unknown:
        known = ", ".join(file.display_path for file in staged.files)
        raise UnknownStagedAction(
            f"{staged.id} has no file {', '.join(sorted(unknown))}. Its files: {known}."
        )
    return tuple(file for file in staged.files if file.display_path in files)


def _make_staged_content(file: StagedFile, data: bytes | None) -> NewFileContent:
    return NewFileContent(
        data=data, added=file.diff.added, removed=file.diff.removed, is_executable=file.is_executable
    )


def _merge_staged_content(
    file: StagedFile, present: bytes | None, refused: list[StagedFile]
) -> NewFileContent | None:
    """Returns the content of a file that contains the staged change and the change made meanwhile. None if the file
    needs no writing, or if both conflict; then the file is added to `refused`."""
    if present == file.new_content and file.is_executable is None:
        return None
    if present in (file.merge_base, file.new_content) or file.new_content == file.merge_base:
        return _make_staged_content(
            file, present if file.new_content == file.merge_base else file.new_content
        )
    texts = [_decode_for_merge(data) for data in (file.merge_base, present, file.new_content)]
    base, mine, other = texts
    conflict = (
        "Only one of both still has the file."
        if file.new_content is None or present is None
        else "It is no text."
    )
    if base is not None and mine is not None and other is not None:
        merged = merge_three_way(base, mine, other)
        if merged is not None:
            return _make_staged_content(file, merged.encode())
        conflict = format_conflicts(base, mine, other, ("here", "staged")) or "It is too long to be merged."
    refused.append(msgspec.structs.replace(file, conflict_text=conflict))
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


def _format_conflict_message(staged: StagedAction, refused: Sequence[StagedFile]) -> str:
    count = len(staged.files) - len(refused)
    written = f"Applied: {_label_with_count(staged.label, staged.files[:count])}. " if count else ""
    parts = [
        f"{file.display_path}:\n{file.conflict_text[:_MAX_CONFLICT_CHARS]}"
        for file in refused[:_MAX_QUOTED_CONFLICTS]
    ]
    more = len(refused) - len(parts)
    parts += [f"and {more} more files"] if more > 0 else []
    return (
        f"{written}Not written, because it was changed here meanwhile, in the same lines: "
        f"{', '.join(file.display_path for file in refused)}. "
        f"Write these files as they should be, and discard {staged.id}."
        + "".join(f"\n\n{part}" for part in parts)
    )
