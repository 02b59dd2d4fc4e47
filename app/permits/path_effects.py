"""Judges what reading, writing and removing a path means for a command, with the folder and variables at its
position in the script.

A path is judged by its own name and by the file that its links lead to; the stricter result counts.
"""

import posixpath
import re
from collections.abc import Iterator

from app.permits.command_findings import (
    READS_ONLY_FINDING,
    RiskFinding,
    contained_risk_finding,
    forbidden_risk_finding,
    highest_risk_finding,
    network_risk_finding,
)
from app.permits.command_place import CommandPlace
from app.permits.risk_classes import FilesLostByCommand
from app.permits.secret_files import (
    Likelihood,
    autorun_reason,
    bare_git_repository_reason,
    folder_autorun_reason,
    secret_likelihood_of_path,
)
from app.permits.shell_scope import ShellScope
from app.permits.shell_words import (
    ANY_CHARACTER_MARK,
    ANY_DEPTH_MARK,
    ANY_FILE_NAME_MARK,
    UNKNOWN_TEXT_MARK,
    WILDCARD_MARK_PATTERN,
    ShellWord,
    marks_to_readable_text,
    reached_paths_regex,
)
from tools.protected.autorun_files import VCS_FOLDERS

_PROC_ROOT_LINK = re.compile(r"/proc/(?:self|thread-self|\d+)(?:/task/\d+)?/root(?=/|$)")
_PROC_CWD_LINK = re.compile(r"/proc/(?:self|thread-self)(?:/task/\d+)?/cwd(?=/|$)")
_HARMLESS_DEVICE_PATH = re.compile(r"/dev/(?:null|zero|full)")
_OWN_FILE_DESCRIPTOR_PATH = re.compile(
    r"/dev/(?:stdin|stdout|stderr|fd/\d+)|/proc/(?:self|thread-self)/fd/\d+"
)
"""Matches the paths of a process's own descriptors, which are the command's when it opens them, not bayou's."""
_BASH_NETWORK_DEVICE_PATH = re.compile(r"/dev/(?:tcp|udp)/([^/]*)/?(.*)")


class PathEffectJudge:
    """Judges what a command does with paths, from the folder in which it runs."""

    def __init__(self, place: CommandPlace, scope: ShellScope) -> None:
        self.place = place
        self.scope = scope

    # Which path is meant

    @property
    def possible_workspace_roots(self) -> set[str]:
        """The workspace folders in which the script may be running; the session's folder if it may be elsewhere."""
        place = self.place
        return {
            place.root_containing(folder) or place.workspace for folder in self.scope.possible_folders
        } or {place.workspace}

    def possible_absolute_paths(self, text: str) -> list[str]:
        """Returns all absolute paths that the text may mean, one for each possible folder; UNKNOWN if that is not
        known."""
        if text.startswith(UNKNOWN_TEXT_MARK):
            return [UNKNOWN_TEXT_MARK]
        if text.startswith("/"):
            return [self._without_proc_links(text)]
        return [
            UNKNOWN_TEXT_MARK if folder == UNKNOWN_TEXT_MARK else self._without_proc_links(f"{folder}/{text}")
            for folder in self.scope.possible_folders
        ]

    def _without_proc_links(self, path: str) -> str:
        path = _PROC_ROOT_LINK.sub("", "/" + path.lstrip("/")) or "/"
        if "cwd" in path:
            path = _PROC_CWD_LINK.sub(self.scope.possible_folders[0], path)
        return path

    def resolved_and_unresolved_path(self, text: str) -> dict[str, bool]:
        """Returns the resolved path with the value True, and the path as it is written with False if it differs."""
        found: dict[str, bool] = {}
        for path in self.possible_absolute_paths(text):
            if path == UNKNOWN_TEXT_MARK:
                found[UNKNOWN_TEXT_MARK] = True
                continue
            found[self._resolve_links(path)] = True
            found.setdefault(_normalise_path(path), False)
        return found

    def _resolve_links(self, path: str) -> str:
        """Resolves links as far as the path is literal text; the part with wildcards stays."""
        wild = WILDCARD_MARK_PATTERN.search(path)
        if wild is None:
            plain = _normalise_path(path)
            return plain if _OWN_FILE_DESCRIPTOR_PATH.fullmatch(plain) else self.place.resolve_links(path)
        cut = path.rfind("/", 0, wild.start())
        head = self.place.resolve_links(path[:cut] or "/")
        return _normalise_path(head.rstrip("/") + path[cut:])

    # What is done with it

    def judge_read(self, word: ShellWord, *, deeply: bool = False, with_hidden: bool = True) -> RiskFinding:
        """Judges reading a file. `deeply` means recursively; `with_hidden` includes files and folders whose names
        start with a dot."""
        if word.is_process_substitution:
            return READS_ONLY_FINDING
        return highest_risk_finding(
            found
            for form, _ in self._with_hard_links(word.text)
            for found in (
                self._judge_read_path(form, deeply),
                self._judge_reached_key_files(form, deeply, with_hidden),
            )
        )

    def _judge_reached_key_files(self, path: str, deeply: bool, with_hidden: bool) -> RiskFinding:
        """Judges the key files that a pattern matches or that are below a folder; the sandbox hides them."""
        place = self.place
        if (
            place.hides_secrets
            or UNKNOWN_TEXT_MARK in path
            or not (deeply or WILDCARD_MARK_PATTERN.search(path))
        ):
            return READS_ONLY_FINDING
        folder = _folder_before_wildcard(path)
        if WILDCARD_MARK_PATTERN.search(path) and ANY_DEPTH_MARK not in path:
            matches = place.files_matching(path)
            if matches is not None:
                judged = (
                    self.judge_secret_path(ShellWord(one), deeply=deeply, with_hidden=with_hidden)
                    for one in matches
                )
                return next((one for one in judged if one is not READS_ONLY_FINDING), READS_ONLY_FINDING)
            deeply = True  # one of the many may lead anywhere below
            path = folder
        form = reached_paths_regex(path, deeply=deeply)
        for file in place.key_files_below(folder):
            if form.fullmatch(file) and (with_hidden or "/." not in file[len(folder) :]):
                return forbidden_risk_finding(
                    f"reads {self.display_path(path)}, and in it {self.display_path(file)}, which may hold keys"
                )
        return READS_ONLY_FINDING

    def _judge_read_path(self, path: str, deeply: bool) -> RiskFinding:
        place = self.place
        if path == UNKNOWN_TEXT_MARK or UNKNOWN_TEXT_MARK in path:
            if self._secret_likelihood_of(path) == "likely":
                return forbidden_risk_finding(f"reads {self.display_path(path)}, which contains secrets")
            if place.hides_secrets:
                return READS_ONLY_FINDING
            return contained_risk_finding("reads a path computed at run time")
        elsewhere = _BASH_NETWORK_DEVICE_PATH.fullmatch(path)
        if elsewhere:
            return network_risk_finding(f"connects to {marks_to_readable_text(elsewhere[1])}")
        how = self._secret_likelihood_of(path)
        if how == "likely":
            return forbidden_risk_finding(f"reads {self.display_path(path)}, which contains secrets")
        if place.is_private_key_outside_project(path):
            return forbidden_risk_finding(
                f"reads {self.display_path(path)}, which may contain keys: its permissions or its name "
                f"suggest it"
            )
        if (how == "maybe" or deeply) and not place.hides_secrets:
            folder = path if deeply else path.rsplit("/", 1)[0]
            if place.has_secrets_below(_folder_before_wildcard(folder)):
                return contained_risk_finding(
                    f"may read secrets in {self.display_path(_folder_before_wildcard(folder))}"
                )
        if (deeply or WILDCARD_MARK_PATTERN.search(path)) and not place.hides_secrets:
            folder = _folder_before_wildcard(path)
            if place.has_links_to_secrets(folder):
                return contained_risk_finding(f"may read secrets by links in {self.display_path(folder)}")
        return READS_ONLY_FINDING

    def judge_write(self, word: ShellWord, *, deed: str = "writes") -> RiskFinding:
        """Judges creating a file or changing its content or mode."""
        if word.is_process_substitution:
            return READS_ONLY_FINDING
        why = self._autorun_reason(f"/{word.text}") if word.text.startswith(UNKNOWN_TEXT_MARK) else None
        if why is not None:
            return forbidden_risk_finding(f"{deed} {self.display_path(word.text)}: {why}")
        return highest_risk_finding(
            self._judge_write_path(form, is_real, deed) for form, is_real in self._with_hard_links(word.text)
        )

    def _judge_write_path(self, path: str, is_real: bool, deed: str) -> RiskFinding:
        if _HARMLESS_DEVICE_PATH.fullmatch(path):
            return READS_ONLY_FINDING
        elsewhere = _BASH_NETWORK_DEVICE_PATH.fullmatch(path)
        if elsewhere:
            return network_risk_finding(f"connects to {marks_to_readable_text(elsewhere[1])}")
        why = self._autorun_reason(path)
        if why is not None:
            return forbidden_risk_finding(f"{deed} {self.display_path(path)}: {why}")
        if UNKNOWN_TEXT_MARK in path:
            known = path[: path.index(UNKNOWN_TEXT_MARK)].rpartition("/")[0]
            where = f" in {self.display_path(known)}" if is_real and known else ""
            return contained_risk_finding(f"{deed} a file{where} whose path is computed at run time")
        where = ", outside the workspace" if is_real and not self.is_in_writable_folder(path) else ""
        return contained_risk_finding(f"{deed} {self.display_path(path)}{where}")

    def judge_unsandboxed_write(self, word: ShellWord) -> RiskFinding:
        """Judges a write by bayou's own tools, which no sandbox limits to the workspace."""
        found = self.judge_write(word)
        if found.risk == "contained" and self.may_be_outside_workspace(word):
            return forbidden_risk_finding(found.why)
        return found

    def judge_removal(self, word: ShellWord, *, deeply: bool = False, moves: bool = False) -> RiskFinding:
        deed = "moves" if moves else "removes"
        if word.is_process_substitution:
            return READS_ONLY_FINDING
        found = [
            self._judge_removed_path(form, is_real, deeply, deed)
            for form, is_real in self._paths_of_link_itself(word.text).items()
        ]
        if moves:
            found.append(self.judge_secret_path(word))
        return highest_risk_finding(found)

    def judge_secret_path(
        self, word: ShellWord, *, deeply: bool = False, with_hidden: bool = True
    ) -> RiskFinding:
        """Judges only whether the path is a file with secrets or, with `deeply`, a folder with such files."""
        if word.is_process_substitution:
            return READS_ONLY_FINDING
        found = highest_risk_finding(
            found
            for form, _ in self._with_hard_links(word.text)
            for found in (
                self._judge_read_path(form, deeply=False),
                self._judge_reached_key_files(form, deeply, with_hidden),
            )
        )
        return found if found.risk == "forbidden" else READS_ONLY_FINDING

    def removed_files(self, text: str, *, takes_ignored: bool = True) -> Iterator[FilesLostByCommand]:
        """Returns the files that a removal deletes, so that undo can save them first."""
        for path, is_real in self._paths_of_link_itself(text).items():
            if is_real and UNKNOWN_TEXT_MARK not in path and self.is_in_writable_folder(path):
                yield FilesLostByCommand(
                    path=path.replace(ANY_FILE_NAME_MARK, "*")
                    .replace(ANY_CHARACTER_MARK, "?")
                    .replace(ANY_DEPTH_MARK, "**"),
                    takes_ignored=takes_ignored,
                )

    def _judge_removed_path(self, path: str, is_real: bool, deeply: bool, deed: str) -> RiskFinding:
        place = self.place
        if UNKNOWN_TEXT_MARK in path:
            if deeply:
                return forbidden_risk_finding(f"{deed} recursively a path computed at run time")
            return contained_risk_finding(f"{deed} a path computed at run time")
        held = [*place.writable_roots, *place.temporary_folders]
        if any(root == path or root.startswith(path.rstrip("/") + "/") for root in held):
            return forbidden_risk_finding(
                f"{deed} {self.display_path(path)}, which contains the workspace or all temporary files"
            )
        if path.rsplit("/", 1)[-1].casefold() in VCS_FOLDERS:
            return forbidden_risk_finding(f"{deed} {self.display_path(path)}, the project's git history")
        why = self._autorun_reason(path)
        if why is not None:
            return forbidden_risk_finding(f"{deed} {self.display_path(path)}: {why}")
        if is_real and not self.is_in_writable_folder(path):
            said = f"{deed} {self.display_path(path)}, outside the workspace"
            return contained_risk_finding(said) if deed == "moves" else forbidden_risk_finding(said)
        if deeply and self._is_broad_pattern(path):
            return forbidden_risk_finding(f"{deed} everything in {self.display_path(path.rsplit('/', 1)[0])}")
        return contained_risk_finding(f"{deed} {self.display_path(path)}")

    def _is_broad_pattern(self, path: str) -> bool:
        """Returns whether a pattern matches everything directly in the workspace or in a folder of temporary files,
        because it has no literal characters."""
        folder, _, name = path.rpartition("/")
        if folder not in (*self.place.writable_roots, *self.place.temporary_folders):
            return False
        plain = WILDCARD_MARK_PATTERN.sub("", name)
        return (WILDCARD_MARK_PATTERN.search(name) is not None and plain in ("", ".", "..")) or (
            ANY_FILE_NAME_MARK in name and plain == "."
        )

    def folders_after_cd(self, word: ShellWord) -> tuple[str, ...]:
        """Returns the folders in which the script may be after `cd` with this word. For `..` behind a link there
        are two: the shell goes back to the link's folder, the system to the parent of its target."""
        folders: list[str] = []
        for form in self.possible_absolute_paths(word.text):
            folders += (
                [UNKNOWN_TEXT_MARK]
                if UNKNOWN_TEXT_MARK in form
                else [self._resolve_links(form), _normalise_path(form)]
            )
        return tuple(dict.fromkeys(folders))

    def is_in_writable_folder(self, path: str) -> bool:
        """Returns whether the path is in the workspace, in an added folder or among temporary files; a home folder
        among these does not count."""
        place = self.place
        if place.root_containing(path) is not None:
            return True
        if _is_path_below(path, place.home_folder) or (
            place.resolved_home_folder and _is_path_below(path, place.resolved_home_folder)
        ):
            return False
        return any(_is_path_below(path, root) for root in place.temporary_folders)

    def may_be_outside_workspace(self, word: ShellWord) -> bool:
        """Returns whether the word names, or may name, a path outside the workspace that is no temporary file."""
        return any(
            is_real and not self.is_in_writable_folder(form)
            for form, is_real in self.resolved_and_unresolved_path(word.text).items()
        )

    def may_be_outside_workspace_roots(self, word: ShellWord) -> bool:
        """Returns whether the word names, or may name, a path outside the workspace, temporary files included."""
        return any(
            is_real and self.place.root_containing(form) is None
            for form, is_real in self.resolved_and_unresolved_path(word.text).items()
        )

    def _with_hard_links(self, text: str) -> Iterator[tuple[str, bool]]:
        for form, is_real in self.resolved_and_unresolved_path(text).items():
            yield form, is_real
            if is_real and not WILDCARD_MARK_PATTERN.search(form):
                for other in self.place.hard_links_of(form):
                    yield other, False

    def _paths_of_link_itself(self, text: str) -> dict[str, bool]:
        """Returns the paths that removing or moving this text affects: a link itself and not its target, but with
        links in its parent folders resolved. The value says whether the path is resolved."""
        found: dict[str, bool] = {}
        for path in self.possible_absolute_paths(text):
            if path == UNKNOWN_TEXT_MARK:
                found[UNKNOWN_TEXT_MARK] = True
                continue
            bare = path.rstrip("/") or "/"
            folder, _, name = bare.rpartition("/")
            if name in ("", ".", "..") or bare != path:
                found[self._resolve_links(bare)] = True
            else:
                found[_normalise_path(self._resolve_links(folder or "/") + "/" + name)] = True
            found.setdefault(_normalise_path(bare), False)
        return found

    def _secret_likelihood_of(self, path: str) -> Likelihood:
        place = self.place
        found = secret_likelihood_of_path(path, place.home_folder, place.bayou_folders)
        if found == "no" and place.resolved_home_folder and place.resolved_home_folder != place.home_folder:
            return secret_likelihood_of_path(path, place.resolved_home_folder, place.bayou_folders)
        return found

    def _autorun_reason(self, path: str) -> str | None:
        place = self.place
        found = autorun_reason(path, place.home_folder, place.bayou_folders)
        if found is None and place.resolved_home_folder and place.resolved_home_folder != place.home_folder:
            found = autorun_reason(path, place.resolved_home_folder, place.bayou_folders)
        return found or bare_git_repository_reason(path, place.path_exists)

    def folder_autorun_reason(self, word: ShellWord) -> str | None:
        """Returns why a file in the named folder may run later; None if none may."""
        place = self.place
        homes = dict.fromkeys(filter(None, (place.home_folder, place.resolved_home_folder)))
        return next(
            (
                why
                for form in self.resolved_and_unresolved_path(word.text)
                for home in homes
                if (why := folder_autorun_reason(form, home))
            ),
            None,
        )

    def display_path(self, path: str) -> str:
        """Returns the path as the user would write it in the session's folder."""
        place = self.place
        if path == place.workspace:
            return "the workspace"
        if path.startswith(place.workspace + "/"):
            path = path[len(place.workspace) + 1 :]
        elif path == place.home_folder or path.startswith(place.home_folder + "/"):
            path = "~" + path[len(place.home_folder) :]
        return marks_to_readable_text(path)


def _is_path_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _normalise_path(path: str) -> str:
    """Normalises a path by its text alone. A `..` behind a wildcard cannot be removed."""
    if path.startswith("/") and "//" not in path and "/." not in path:
        return path.rstrip("/") or "/"
    kept: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            kept.append(part)
        elif kept:
            last = kept.pop()
            if UNKNOWN_TEXT_MARK in last or ANY_DEPTH_MARK in last:
                return UNKNOWN_TEXT_MARK
    return "/" + "/".join(kept)


def _folder_before_wildcard(path: str) -> str:
    """Returns the folder in front of a path's first wildcard."""
    wild = WILDCARD_MARK_PATTERN.search(path)
    if wild is None:
        return path
    return path[: path.rfind("/", 0, wild.start())] or "/"


def file_name_of_path(text: str) -> str:
    return posixpath.basename(text.rstrip("/"))
