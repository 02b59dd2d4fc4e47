"""Lists what differs between a work tree, with its untracked files, and a commit. Git only reads. Blocks."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from app.undo.change_lists import ChangedFileList, ChangedFileRow, FileBeforeAndAfter
from app.undo.change_records import StoredFileState, readable_file_name
from app.undo.content_store import blob_hash
from app.undo.disk_files import UnsupportedFileForUndo, read_disk_file_state
from app.undo.patches import FilePatch, FileSideOfPatch, make_file_patch
from app.values.user_errors import UserError
from tools.git.git_command import make_read_only_git_command
from tools.git.git_config import GitConfiguration
from tools.git.git_repository import GitRepository, find_repository

_GIT_TIMEOUT = 60.0
_MAX_DIFF_BYTES = 64 << 20
_MAX_UNTRACKED_FILES = 2_000
_GIT_DIFF_COMMAND = (
    "diff",
    "--patch-with-raw",
    "-z",
    "--binary",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-renames",
    "--ignore-submodules=all",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
_GIT_UNTRACKED_FILES_COMMAND = ("ls-files", "--others", "--exclude-standard", "-z")
_BINARY_PATCH_MARKER = "\nGIT binary patch\n"


class GitRefused(UserError):
    """Raised if git may not be run in this folder, or if a git command failed."""


class _GitQueries(msgspec.Struct, frozen=True, kw_only=True):
    """Runs git commands that read one repository."""

    repository: GitRepository
    configuration: GitConfiguration
    home: Path

    def __call__(self, *words: str) -> bytes:
        """Runs a git command and returns its output. Raises `GitRefused`."""
        command = make_read_only_git_command(
            self.repository.work_tree, *words, repository=self.configuration, home=self.home
        )
        if command is None:
            raise GitRefused("Git is not installed on this machine.")
        try:
            code, told = command.run(_GIT_TIMEOUT)
        except TimeoutError:
            raise GitRefused("Git takes too long to compare this repository.") from None
        except OSError as problem:
            raise GitRefused(f"Git cannot be started: {problem.strerror}.") from None
        if code:
            raise GitRefused(
                f"Git cannot compare this repository: git {words[0]} failed with exit code {code}."
            )
        if len(told) > _MAX_DIFF_BYTES:
            raise GitRefused(
                f"More than {_MAX_DIFF_BYTES >> 20} MB differ from the last commit: use git diff."
            )
        return told

    def object_id(self, *words: str) -> str | None:
        """Returns the object id that a git revision names; None when there is none."""
        try:
            return self("rev-parse", "--verify", "--quiet", *words).decode().strip()
        except GitRefused:
            return None

    def empty_tree_id(self) -> str:
        """Returns the object id of git's empty tree."""
        return self("hash-object", "-t", "tree", os.devnull).decode().strip()


def list_changes_against_git(
    root: Path, *, home: Path, may_ask_git: Callable[[], bool], max_bytes: int, revision: str = ""
) -> ChangedFileList:
    """Returns the uncommitted changes or, with `revision`, the changes since a branch or of one commit.

    Raises `GitRefused`."""
    repository = find_repository(root)
    if repository is None or repository.is_bare:
        raise GitRefused(f"{root} is not in a git repository.")
    if repository.risky_settings(home) and not may_ask_git():
        raise GitRefused(
            "Git is not used here: the repository's configuration can start programs, and this "
            "folder is not trusted. /trust shows details."
        )
    ask = _GitQueries(repository=repository, configuration=repository.configuration(home), home=home)
    if revision:
        return _diff_of_revision(ask, revision, root)
    head = ask.object_id("HEAD^{commit}") or ask.empty_tree_id()
    patches = dict(_parse_diff(ask(*_GIT_DIFF_COMMAND, head)))
    files = [_file_difference(name, one, repository.work_tree, root) for name, one in patches.items()]
    new = [
        os.fsdecode(name)
        for name in ask(*_GIT_UNTRACKED_FILES_COMMAND).split(b"\0")
        if name and not name.endswith(b"/")
    ]
    for name in new[:_MAX_UNTRACKED_FILES]:
        one = _new_file_patch(name, repository.work_tree, max_bytes)
        patches[name] = one
        files.append(_file_difference(name, one, repository.work_tree, root, is_new=True))
    if len(new) > _MAX_UNTRACKED_FILES:
        why = f"more than {_MAX_UNTRACKED_FILES:,} new files: the rest is not shown"
        files.append(ChangedFileRow(path=f"{len(new) - _MAX_UNTRACKED_FILES:,} more", deed="new", why=why))
    names = {_absolute_path(name, repository.work_tree, root): name for name in patches}

    def sides(path: str) -> FileBeforeAndAfter | None:
        return _committed_and_present(ask, head, names[path], root, max_bytes) if path in names else None

    return ChangedFileList(
        title=f"Changed since the last commit of {repository.branch_or_commit_name()}",
        files=tuple(sorted(files, key=lambda file: file.path)),
        patch=lambda path: patches.get(names.get(path, ""), FilePatch()),
        sides=sides,
    )


def _committed_and_present(
    ask: _GitQueries, head: str, name: str, root: Path, max_bytes: int
) -> FileBeforeAndAfter:
    """Returns a file as it was committed and as it is on the disk."""
    top = ask.repository.work_tree
    try:
        now = read_disk_file_state(f"{top}/{name}", max_bytes)
        after = None if now.image is None else FileSideOfPatch(image=now.image, data=now.data)
    except UnsupportedFileForUndo as problem:
        after = FileSideOfPatch(image=StoredFileState(), missing_reason=str(problem))
    row = ask("ls-tree", "-z", "--full-tree", head, "--", name)
    before = None
    if row:
        mode, _, blob = row.partition(b"\t")[0].decode().split()
        before = _committed_image(mode, ask("cat-file", "blob", blob), None if after is None else after.image)
    return FileBeforeAndAfter(name=_name_in_session(name, top, root), before=before, after=after)


def _committed_image(mode: str, data: bytes, now: StoredFileState | None) -> FileSideOfPatch:
    """Returns the image of a committed file; git knows only whether a file is executable, the rest is as on the
    disk."""
    kind = "link" if mode == "120000" else "file"
    bits = 0o755 if mode == "100755" else 0o644
    if now is not None and now.kind == "file" and bool(now.mode & 0o100) == (bits == 0o755):
        bits = now.mode
    image = StoredFileState(
        kind=kind, hash=blob_hash(data), mode=0 if kind == "link" else bits, size=len(data)
    )
    return FileSideOfPatch(image=image, data=data)


def _diff_of_revision(ask: _GitQueries, revision: str, root: Path) -> ChangedFileList:
    top = ask.repository.work_tree
    commit, head = ask.object_id("--end-of-options", f"{revision}^{{commit}}"), ask.object_id("HEAD^{commit}")
    if commit is None or head is None:
        raise GitRefused(f"{revision} is not a branch or commit here.")
    before, after = _commit_range(ask, revision, commit, head)
    patches = dict(_parse_diff(ask(*_GIT_DIFF_COMMAND, before, after)))
    names = {_absolute_path(name, top, root): name for name in patches}

    def source(path: str) -> bytes | None:
        try:
            return ask("cat-file", "blob", f"{after}:{names[path]}")
        except (GitRefused, KeyError, ValueError):
            return None

    files = [_file_difference(name, one, top, root) for name, one in patches.items()]
    is_since = after == head != commit
    return ChangedFileList(
        title=f"Changed since {revision}" if is_since else f"Changed by {revision}",
        is_since_merge_base=is_since,
        files=tuple(sorted(files, key=lambda file: file.path)),
        patch=lambda path: patches.get(names.get(path, ""), FilePatch()),
        source=source,
    )


def _commit_range(ask: _GitQueries, revision: str, commit: str, head: str) -> tuple[str, str]:
    """Returns the two commits that a diff compares: the merge base and the head; for a commit of the current
    branch, its parent and itself."""
    try:
        parted = ask("merge-base", commit, head).decode().strip()
    except GitRefused:
        parted = commit
    is_here = parted == commit
    if not is_here or (_is_branch(ask, revision) and commit != head):
        return parted, head
    # The first commit has no parent.
    return ask.object_id(f"{commit}^") or ask.empty_tree_id(), commit


def _is_branch(ask: _GitQueries, revision: str) -> bool:
    return any(ask.object_id(f"{place}/{revision}") is not None for place in ("refs/heads", "refs/remotes"))


def _parse_diff(told: bytes) -> Iterator[tuple[str, FilePatch]]:
    """Yields file names and patches from the output of git diff, which lists both in the same order."""
    raw, is_there, text = told.partition(b"\0\0")
    if not is_there:
        return
    words = raw.split(b"\0")
    names = [os.fsdecode(name) for name in words[1::2]]
    text = b"\n" + text
    parts = text.split(b"\ndiff --git ")[1:]
    for name, part in zip(names, parts, strict=False):
        decoded = f"diff --git {part.decode('utf-8', 'replace').removesuffix(chr(10))}\n"
        yield name, _patch_from_git(decoded)


def _patch_from_git(text: str) -> FilePatch:
    is_binary = _BINARY_PATCH_MARKER in text
    lines = [] if is_binary else text.partition("\n@@ ")[2].split("\n")[1:]
    return FilePatch(
        text=text,
        incomplete_reason="no text" if is_binary else "",
        is_whole=True,
        added=sum(line.startswith("+") for line in lines),
        removed=sum(line.startswith("-") for line in lines),
    )


def _new_file_patch(name: str, top: Path, max_bytes: int) -> FilePatch:
    try:
        found = read_disk_file_state(f"{top}/{name}", max_bytes)
    except UnsupportedFileForUndo as problem:
        return FilePatch(incomplete_reason=str(problem))
    if found.image is None:
        return FilePatch(incomplete_reason="it has been deleted in the meantime")
    return make_file_patch(
        readable_file_name(name), None, FileSideOfPatch(image=found.image, data=found.data)
    )


def _file_difference(
    name: str, patch: FilePatch, top: Path, root: Path, *, is_new: bool = False
) -> ChangedFileRow:
    head = patch.text.partition("\n@@ ")[0]
    deed = "changed"
    if is_new or "\nnew file mode " in head:
        deed = "new, not in git" if is_new else "new"
    elif "\ndeleted file mode " in head:
        deed = "removed"
    elif "\nold mode " in head and "\n--- " not in head and _BINARY_PATCH_MARKER not in patch.text:
        deed = "mode"
    return ChangedFileRow(
        path=_absolute_path(name, top, root),
        deed=deed,
        added=patch.added,
        removed=patch.removed,
        why=patch.incomplete_reason,
        absolute_path=f"{top}/{name}",
    )


def _absolute_path(name: str, top: Path, root: Path) -> str:
    return readable_file_name(_name_in_session(name, top, root))


def _name_in_session(name: str, top: Path, root: Path) -> str:
    """Returns a file's name relative to the session's folder, or absolute when it is outside."""
    place = f"{top}/{name}"
    inside = f"{str(root).rstrip('/')}/"
    return place[len(inside) :] if place.startswith(inside) else place
