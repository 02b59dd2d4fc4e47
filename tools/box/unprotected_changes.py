"""Moves autorun files that a sandboxed command created out of the workspace, and keeps them.

A mount cannot protect a missing file. An editor, or entering the folder, would run a new autorun file outside of
the sandbox, so it is moved before any other program sees it. The user can allow the place. Repositories are left
in place: the files in them that start programs are reported."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tools.box.git_backups import GitBackups, RestoredGitFiles
from tools.box.git_sandbox_paths import GitSandboxPaths, merge_git_sandbox_paths
from tools.box.guarded_paths_and_sockets import list_folder
from tools.box.hard_link_search import VcsHardLinkBreaker
from tools.box.nested_repositories import NestedRepositoryFinder
from tools.box.sandbox_policy import SandboxPolicy, innermost_containing, is_inside_folder
from tools.box.unprotected_path_stamps import (
    FileStampsByPath,
    compare_file_stamps,
    file_change_stamp,
    find_git_hooks_and_redirects,
    find_links_in_git_folders,
    find_vcs_control_files,
    find_written_hard_linked_files,
    stamp_hard_linked_files,
    stamp_unprotected_paths,
)
from tools.files.paths import real_path
from tools.protected.autorun_files import VCS_FOLDERS

_ThreadActivity = dict[str, bytes]
"""How long and how often each thread below this process has run, by the thread's folder in `/proc`: a thread that
has not run since has changed no file."""
_PACKAGE_PATH_FILE_SUFFIX: Final = ".pth"
"""The ending of files that installers create for packages; they are reported and not moved."""
_ACTIVITY_SETTLE_SECONDS: Final = 0.01
_MAX_CHECKS_FOR_FURTHER_CHANGES: Final = 5


class MovedAutorunFile(msgspec.Struct, frozen=True):
    path: str
    """The path at which the command created the file."""
    kept_path: str
    """The path to which the file was moved."""


class UnprotectedPathsSnapshot(msgspec.Struct, frozen=True):
    """The state of the places that a sandbox cannot protect, at one moment."""

    files: FileStampsByPath = {}
    autorun_files: frozenset[str] = frozenset()
    """The existing autorun files, except those that only git's configuration names."""
    git: GitSandboxPaths = GitSandboxPaths()
    named: FileStampsByPath = {}
    """The files whose names occur as words in commands of git's configuration, each with a stamp whose first value
    is its mode."""
    shared: FileStampsByPath = {}
    """The files with further hard links elsewhere that the process can write, with their state."""
    limits: tuple[str, ...] = ()
    """Places where the search for changes was cut short because of a limit."""


class UnpreventedChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Changes by a command that its sandbox could not prevent."""

    planted: tuple[str, ...] = ()
    """Autorun files that the command created or changed, and that were left in place."""
    set_aside: tuple[MovedAutorunFile, ...] = ()
    """Autorun files that were moved out of the workspace."""
    put_back: tuple[RestoredGitFiles, ...] = ()
    """Parts of git folders that were destroyed and restored."""
    written_through: tuple[str, ...] = ()
    """Files that the command wrote although they have further hard links elsewhere."""
    limits: tuple[str, ...] = ()
    """Places where the search stopped, so that there may be more changes; each is reported once."""


class _LastingProcesses(msgspec.Struct, frozen=True, kw_only=True):
    """The processes of a session that last beyond a tool call, with their policy and activity."""

    box: SandboxPolicy
    """The sandbox policy of the lasting processes."""
    seen: UnprotectedPathsSnapshot
    """The state of the unprotected places at the last comparison."""
    activity: _ThreadActivity = {}
    """The activity counters of the processes just before the last comparison; empty if they are unknown."""


class UnpreventedChangeDetector:
    """Detects changes in the places of one session that its sandboxes cannot protect: around each process, and between
    calls while a process lasts that is not tied to one, such as an MCP server. All methods but `accept` are for
    threads."""

    def __init__(
        self,
        nested: NestedRepositoryFinder,
        private_folder: Callable[[str], Path],
        folder: Callable[[], Path],
    ) -> None:
        """Creates the guard. `private_folder` creates a private folder for the copies of git's files. Moved files
        are kept below `folder`."""
        self._nested = nested
        self._copies = GitBackups(private_folder)
        self._vcs_files = VcsHardLinkBreaker()
        self._folder = folder
        self._lock = threading.Lock()
        self._lasting_processes: _LastingProcesses | None = None
        self._lasting_names: dict[str, None] = {}
        self._unreported_changes = UnpreventedChanges()
        self._named_files: set[str] = set()
        """The files that were already reported because git's configuration contains their names."""
        self._accepted_files: dict[str, tuple[int, ...]] = {}
        """The files that bayou itself wrote, each with its stamp at that time."""

    @property
    def is_watching(self) -> bool:
        """Returns whether `changes_between_calls` may find something."""
        return self._lasting_processes is not None or self._unreported_changes != UnpreventedChanges()

    @property
    def lasting_process_names(self) -> tuple[str, ...]:
        return tuple(self._lasting_names) or ("a command that did not finish its start",)

    def snapshot_before_process(self, box: SandboxPolicy | None) -> UnprotectedPathsSnapshot:
        """Takes a snapshot of the unprotected places before a process starts; `changes_after_process` must follow each
        call. `box` is None for a process outside the sandbox."""
        if box is None or box.kind == "work":
            self._note_changes(self._compare_lasting())
        if box is not None and self._vcs_files.break_hard_links(box.vcs_folders, (*box.guarded, *box.hidden)):
            self._accept_current_files()
        seen = _take_snapshot(_current_box(box), self._nested)
        if box is not None and box.repositories:
            self._copies.back_up_git_folders(box.repositories)
        return seen

    def changes_after_process(
        self, before: UnprotectedPathsSnapshot, box: SandboxPolicy | None
    ) -> UnpreventedChanges:
        """Returns the changes in unprotected places by a process that has ended."""
        restored = self._copies.put_back(box.repositories) if box is not None and box.repositories else ()
        changes, _ = self.changes_of_running_process(before, box)
        return msgspec.structs.replace(changes, put_back=restored)

    def compare_after_failed_process(
        self, before: UnprotectedPathsSnapshot, box: SandboxPolicy | None
    ) -> None:
        """Compares the unprotected places after a process that returned no result, because it failed or was
        cancelled at its start, and keeps the changes for the next `changes_between_calls`."""
        self._note_changes(self.changes_after_process(before, box))

    def changes_of_running_process(
        self, before: UnprotectedPathsSnapshot, box: SandboxPolicy | None
    ) -> tuple[UnpreventedChanges, UnprotectedPathsSnapshot]:
        """Returns the changes in unprotected places by a running process so far, and the present snapshot."""
        found = self._compare_places(before, _current_box(box))
        if box is None or box.kind == "work":
            self._accept_current_files()
        return found

    def watch_lasting_process(self, box: SandboxPolicy, name: str) -> None:
        """Starts looking for changes between calls, before the lasting process `name` starts, or again after its
        policy has changed."""
        with self._lock:
            self._lasting_names[name] = None
            now = _current_box(box)
            assert now is not None
            known = self._lasting_processes or _LastingProcesses(
                box=now, seen=_take_snapshot(now, self._nested)
            )
            self._lasting_processes = msgspec.structs.replace(known, box=now)

    def changes_between_calls(self) -> UnpreventedChanges:
        """Returns what processes that outlive their call (jobs, the kernel) changed in unprotected places between tool
        calls, since the last comparison. Changes while no such process ran are not reported."""
        self._note_changes(self._compare_lasting())
        with self._lock:
            found, self._unreported_changes = self._unreported_changes, UnpreventedChanges()
        return found

    def close(self) -> None:
        self._copies.close()

    def accept_autorun_file(self, path: str) -> None:
        """Records that bayou itself has written an autorun file with permission, so that the file is not moved
        away."""
        real = real_path(path)
        self._accepted_files[real] = file_change_stamp(real)

    def _compare_lasting(self) -> UnpreventedChanges:
        """Compares the places while lasting processes run. If none of these has run since the last comparison, the
        changes were made by other programs or the user and are not reported."""
        with self._lock:
            if self._lasting_processes is None:
                return UnpreventedChanges()
            activity = _settled_activity()
            box, before = self._lasting_processes.box, self._lasting_processes.seen
            after = _take_snapshot(box, self._nested)
            changes = UnpreventedChanges()
            if after != before and _has_run(self._lasting_processes.activity, _current_activity()):
                changes, after = self._compare_places(before, box)
            self._lasting_processes = _LastingProcesses(box=box, seen=after, activity=activity)
            return changes

    def _accept_current_files(self) -> None:
        """Takes the present files as the new state for comparison, because an allowed process made them or they
        were already reported."""
        with self._lock:
            if self._lasting_processes is not None:
                seen = _take_snapshot(self._lasting_processes.box, self._nested)
                self._lasting_processes = msgspec.structs.replace(
                    self._lasting_processes, seen=seen, activity={}
                )

    def _note_changes(self, changes: UnpreventedChanges) -> None:
        with self._lock:
            self._unreported_changes = join_unprevented_changes(self._unreported_changes, changes)

    def _compare_places(
        self, before: UnprotectedPathsSnapshot, box: SandboxPolicy | None
    ) -> tuple[UnpreventedChanges, UnprotectedPathsSnapshot]:
        after, moved = _take_snapshot(box, self._nested), tuple[MovedAutorunFile, ...]()
        for _ in range(
            _MAX_CHECKS_FOR_FURTHER_CHANGES
        ):  # a process that goes on may make them again and again
            new = self._new_autorun_files(before, after, box)
            found = move_autorun_files_away(new, self._folder()) if new else ()
            if not found:
                break
            moved += found
            after = _take_snapshot(box, self._nested)
        places = tuple(one.path for one in moved)
        planted = tuple(
            path
            for path in compare_file_stamps(before.files, after.files)
            if innermost_containing(path, places) is None and not self._is_as_accepted(path, after.files)
        )
        planted = (*planted, *self._newly_named(before, after, box, (*planted, *places)))
        limits = (
            self._nested.take_newly_reached_limits(after.limits) if box is not None and box.searched else ()
        )
        searched = box.searched if box is not None else ()
        written = tuple(
            path
            for path in find_written_hard_linked_files(before.shared, after.shared, searched)
            if path not in self._accepted_files
        )
        found = UnpreventedChanges(planted=planted, set_aside=moved, written_through=written, limits=limits)
        return found, after

    def _new_autorun_files(
        self, before: UnprotectedPathsSnapshot, after: UnprotectedPathsSnapshot, box: SandboxPolicy | None
    ) -> frozenset[str]:
        """Returns the new autorun files that must be moved. If there are links among them, returns only those,
        because the files behind them may be any of the user's."""
        new = frozenset(
            path
            for path in (after.autorun_files - before.autorun_files)
            | self._newly_started(before.git, after.git, box)
            if not self._has_accepted(path) and not _is_in_new_repository(path, before.files)
        )
        return frozenset(filter(os.path.islink, new)) or new

    def _newly_started(
        self, before: GitSandboxPaths, after: GitSandboxPaths, box: SandboxPolicy | None
    ) -> frozenset[str]:
        """Returns the files in writable places that git could not start before and may start now, judged by the
        earlier configuration. Commands cannot write the configuration, so one that has changed names files that
        existed before."""
        if box is None:
            return frozenset()
        if (before.commands, before.hook_folders) != (after.commands, after.hook_folders):
            git_folders = self._nested.find_in(box.searched).git_folders
            after = merge_git_sandbox_paths(box.searched, Path.home(), self._nested, git_folders, before)
        new = frozenset(after.started).difference(before.started)
        return frozenset(
            path for path in new if innermost_containing(path, box.writable) and not _is_allowed(path, box)
        )

    def _newly_named(
        self,
        before: UnprotectedPathsSnapshot,
        after: UnprotectedPathsSnapshot,
        box: SandboxPolicy | None,
        reported: Sequence[str],
    ) -> tuple[str, ...]:
        """Returns the files that are new, or executable and changed, and whose names are words of the earlier
        configuration; each once, because a word may mean something else."""
        if box is None:
            return ()
        named = after.named
        if before.git.commands != after.git.commands:
            named = self._nested.find_files_named_in_commands(before.git.commands, box.searched)
        found = tuple(
            path
            for path, stamp in named.items()
            if stamp != before.named.get(path)
            and (path not in before.named or stamp[0] & 0o111)
            and path not in self._named_files
            and not self._has_accepted(path)
            and not _is_allowed(path, box)
            and innermost_containing(path, (*reported, *box.guarded)) is None
        )
        self._named_files.update(found)
        return found

    def _has_accepted(self, path: str) -> bool:
        """Returns whether bayou itself wrote the file with permission, or a file in the folder."""
        return path in self._accepted_files or any(
            is_inside_folder(one, path) for one in tuple(self._accepted_files)
        )

    def _is_as_accepted(self, path: str, files: FileStampsByPath) -> bool:
        if path in self._accepted_files:
            return files.get(path, ()) == self._accepted_files[path]
        return any(is_inside_folder(one, path) for one in tuple(self._accepted_files))


def _current_box(box: SandboxPolicy | None) -> SandboxPolicy | None:
    """Returns the sandbox policy that a running process would get if it started now, so that places guarded only
    since its start are compared."""
    if box is None:
        return None
    unseen = (*(f"{folder}/objects" for folder in box.repositories), *box.hidden_folders, *box.unwatched)
    places = tuple(path for path in box.guarded if innermost_containing(path, unseen) is None)
    return msgspec.structs.replace(box, watched=(*box.watched, *places), guarded=())


def _take_snapshot(box: SandboxPolicy | None, nested: NestedRepositoryFinder) -> UnprotectedPathsSnapshot:
    """Takes a snapshot of the unprotected places: searches the policy's folders once for repositories and autorun
    files."""
    if box is None:
        return UnprotectedPathsSnapshot()
    below = nested.find_in(box.searched)
    git = merge_git_sandbox_paths(box.searched, Path.home(), nested, below.git_folders)
    files = stamp_unprotected_paths(box, below, git)
    links, too_many = find_links_in_git_folders((*git.repositories, *below.git_folders), box.writable)
    present = (path for path in box.watched if path in files)
    return UnprotectedPathsSnapshot(
        files=files,
        autorun_files=_autorun_files(box, (*present, *below.later)) | links,
        git=git,
        named=nested.find_files_named_in_commands(git.commands, box.searched),
        shared=stamp_hard_linked_files(box.shared),
        limits=(*below.limits, *too_many),
    )


def join_unprevented_changes(first: UnpreventedChanges, then: UnpreventedChanges) -> UnpreventedChanges:
    """Joins the changes that two comparisons found, each path once."""
    return UnpreventedChanges(
        planted=tuple(dict.fromkeys((*first.planted, *then.planted))),
        set_aside=(*first.set_aside, *then.set_aside),
        put_back=(*first.put_back, *then.put_back),
        written_through=tuple(dict.fromkeys((*first.written_through, *then.written_through))),
        limits=(*first.limits, *then.limits),
    )


def _autorun_files(box: SandboxPolicy, places: Sequence[str]) -> frozenset[str]:
    """Returns the autorun files, including those in git folders, that exist and that commands with this policy can
    create, except those that must stay in place."""
    later = [
        path
        for path in places
        if not VCS_FOLDERS.intersection(path.split("/")) and not path.endswith(_PACKAGE_PATH_FILE_SUFFIX)
    ]
    later += find_git_hooks_and_redirects(box.repositories)
    later += find_vcs_control_files(path for path in places if path.rpartition("/")[2] in VCS_FOLDERS)
    return frozenset(path for path in later if not _is_allowed(path, box))


def move_autorun_files_away(paths: frozenset[str], folder: Path) -> tuple[MovedAutorunFile, ...]:
    """Moves autorun files out of the workspace, below `folder`, and returns what was moved. Files that cannot be
    moved stay."""
    moved: list[MovedAutorunFile] = []
    number = len(list_folder(str(folder)))
    for path in _outermost(paths):
        while os.path.lexists(place := folder / str(number)):
            number += 1
        try:
            place.mkdir(parents=True, mode=0o700)
            shutil.move(path, kept := place / Path(path).name)
        except OSError:
            continue
        moved.append(MovedAutorunFile(path, str(kept)))
    return tuple(moved)


def _is_in_new_repository(path: str, before: FileStampsByPath) -> bool:
    """Returns whether a file belongs to a repository, other than git's, that the command has created."""
    parts = path.split("/")
    return any(
        part in VCS_FOLDERS and part != ".git" and "/".join(parts[: count + 1]) not in before
        for count, part in enumerate(parts)
    )


def _is_allowed(path: str, box: SandboxPolicy) -> bool:
    return innermost_containing(path, box.allowed) is not None


def _outermost(paths: frozenset[str]) -> Sequence[str]:
    return [
        path
        for path in sorted(paths)
        if innermost_containing(os.path.dirname(path), paths) is None  # noqa: PTH120  (of a text)
    ]


def _current_activity() -> _ThreadActivity:
    """Returns counters of what the sandboxed processes below this one have done; empty if they are unknown. bayou's own
    workers, and the process that starts commands, have no more filters than this one. For a thread."""
    found: _ThreadActivity = {}
    own_filters = _count_filters("self")
    for process in _descendants(os.getpid()):
        filters = _count_filters(process)
        if filters is not None and own_filters is not None and filters <= own_filters:
            continue
        folder = f"/proc/{process}/task"
        try:
            for thread in os.listdir(folder):  # noqa: PTH208  (texts are wanted)
                with open(f"{folder}/{thread}/schedstat", "rb") as file:  # noqa: PTH123  (a text, and many)
                    found[f"{folder}/{thread}"] = file.read()
        except OSError:
            continue  # It ended: if it was there before, it is missed in the comparison.
    return found


def _count_filters(process: int | str) -> int | None:
    """Returns the number of seccomp programs that filter the process's system calls. Each sandbox adds one, which its
    processes cannot remove. None: the process has ended, or the kernel does not say."""
    try:
        with open(f"/proc/{process}/status", "rb") as file:  # noqa: PTH123  (a text, and many)
            status = file.read()
    except OSError:
        return None
    _, _, count = status.partition(b"\nSeccomp_filters:")
    return int(count.split(maxsplit=1)[0]) if count else None


def _settled_activity() -> _ThreadActivity:
    """Returns the activity counters of the processes once none of them runs any more, or after a short wait. Call
    it in a thread."""
    before = _current_activity()
    for _ in range(_MAX_CHECKS_FOR_FURTHER_CHANGES):
        time.sleep(_ACTIVITY_SETTLE_SECONDS)
        now = _current_activity()
        if now == before:
            break
        before = now
    return before


def _has_run(before: _ThreadActivity, now: _ThreadActivity) -> bool:
    """Returns whether one of the lasting processes has run between two counts, or may have."""
    return not before or before != now


def _descendants(parent: int) -> set[int]:
    above: dict[int, int] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208  (texts are wanted)
    except OSError:
        return set()
    for name in filter(str.isdigit, names):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123  (a text, and many)
                said = file.read()
        except OSError:
            continue
        # The name, in parentheses, may contain anything; the fields follow the last parenthesis.
        above[int(name)] = int(said[said.rfind(b")") + 2 :].split(maxsplit=2)[1])
    found = {parent}
    while new := {process for process, one in above.items() if one in found} - found:
        found |= new
    return found - {parent}
