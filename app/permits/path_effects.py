"""What reading, writing and removing a path means for a command at its place in the script.

A path is judged by its own name and by the file that its links lead to; the stricter result counts."""

import posixpath
import re
from collections.abc import Iterator

from app.permits.command_findings import SAFE, Finding, contained, forbidden, network, worst_finding
from app.permits.command_place import CommandPlace
from app.permits.secret_files import (
    Likelihood,
    bare_repository_reason,
    content_run_reason,
    delayed_run_reason,
    secret_likelihood,
)
from app.permits.shell_scope import ShellScope
from app.permits.shell_words import (
    ANY_CHARACTER,
    ANY_DEPTH,
    ANY_NAME,
    UNKNOWN,
    WILDCARD,
    Word,
    marks_as_text,
    reached_by,
)
from app.permits.verdicts import Removal
from tools.protected.later import VCS_FOLDERS

_PROC_ROOT = re.compile(r"/proc/(?:self|thread-self|\d+)(?:/task/\d+)?/root(?=/|$)")
_PROC_CWD = re.compile(r"/proc/(?:self|thread-self)(?:/task/\d+)?/cwd(?=/|$)")
_HARMLESS_DEVICE = re.compile(r"/dev/(?:null|zero|full)")
_OWN_DESCRIPTOR = re.compile(r"/dev/(?:stdin|stdout|stderr|fd/\d+)|/proc/(?:self|thread-self)/fd/\d+")
"""What the command's descriptors lead to, not those of bayou."""
_NETWORK_DEVICE = re.compile(r"/dev/(?:tcp|udp)/([^/]*)/?(.*)")


class PathEffects:
    """Judges what a command does with paths, from the folder in which it runs."""

    def __init__(self, place: CommandPlace, scope: ShellScope) -> None:
        self.place = place
        self.scope = scope

    # Which path is meant

    @property
    def possible_roots(self) -> set[str]:
        """The workspace folders in which the script may be; the workspace where it may be elsewhere."""
        place = self.place
        return {place.root_of(folder) or place.workspace for folder in self.scope.folders} or {
            place.workspace
        }

    def possible_paths(self, text: str) -> list[str]:
        """All absolute paths that the text may mean, one for each possible folder; UNKNOWN if that is not known."""
        if text.startswith(UNKNOWN):
            return [UNKNOWN]
        if text.startswith("/"):
            return [self._without_proc_links(text)]
        return [
            UNKNOWN if folder == UNKNOWN else self._without_proc_links(f"{folder}/{text}")
            for folder in self.scope.folders
        ]

    def _without_proc_links(self, path: str) -> str:
        path = _PROC_ROOT.sub("", "/" + path.lstrip("/")) or "/"
        if "cwd" in path:
            path = _PROC_CWD.sub(self.scope.folders[0], path)
        return path

    def path_forms(self, text: str) -> dict[str, bool]:
        """The resolved path (True), and the path as it is written where that differs (False)."""
        found: dict[str, bool] = {}
        for path in self.possible_paths(text):
            if path == UNKNOWN:
                found[UNKNOWN] = True
                continue
            found[self._resolve_links(path)] = True
            found.setdefault(_normalise(path), False)
        return found

    def _resolve_links(self, path: str) -> str:
        """Resolves links as far as the path is literal text; the part with wildcards stays."""
        wild = WILDCARD.search(path)
        if wild is None:
            plain = _normalise(path)
            return plain if _OWN_DESCRIPTOR.fullmatch(plain) else self.place.resolve(path)
        cut = path.rfind("/", 0, wild.start())
        head = self.place.resolve(path[:cut] or "/")
        return _normalise(head.rstrip("/") + path[cut:])

    # What is done with it

    def read(self, word: Word, *, deeply: bool = False, with_hidden: bool = True) -> Finding:
        """Judges reading a file; `deeply`: recursively, `with_hidden`: also files and folders whose names start with
        a dot."""
        if word.is_pipe:
            return SAFE
        return worst_finding(
            found
            for form, _ in self._with_other_names(word.text)
            for found in (self._read(form, deeply), self._reach_keys(form, deeply, with_hidden))
        )

    def _reach_keys(self, path: str, deeply: bool, with_hidden: bool) -> Finding:
        """Judges the files with keys that a pattern matches, or that are below a folder; in the sandbox they are
        hidden."""
        place = self.place
        if place.hides_secrets or UNKNOWN in path or not (deeply or WILDCARD.search(path)):
            return SAFE
        folder = _literal_parent(path)
        if not deeply and ANY_DEPTH not in path:
            matches = place.matches(path)
            if matches is not None:
                read = (self.read(Word(one)) for one in matches)
                return next((one for one in read if one.risk == "forbidden"), SAFE)
            deeply = True  # one of the many may lead anywhere below
            path = folder
        form = reached_by(path, deeply=deeply)
        for file in place.key_files_below(folder):
            if form.fullmatch(file) and (with_hidden or "/." not in file[len(folder) :]):
                return forbidden(
                    f"reads {self.display_path(path)}, and in it {self.display_path(file)}, which may hold keys"
                )
        return SAFE

    def _read(self, path: str, deeply: bool) -> Finding:
        place = self.place
        if path == UNKNOWN or UNKNOWN in path:
            if self._judge_secrecy(path) == "likely":
                return forbidden(f"reads {self.display_path(path)}, which contains secrets")
            if place.hides_secrets:
                return SAFE
            return contained("reads a path computed at run time")
        elsewhere = _NETWORK_DEVICE.fullmatch(path)
        if elsewhere:
            return network(f"connects to {marks_as_text(elsewhere[1])}")
        how = self._judge_secrecy(path)
        if how == "likely":
            return forbidden(f"reads {self.display_path(path)}, which contains secrets")
        if place.is_private_here(path):
            return forbidden(
                f"reads {self.display_path(path)}, which may contain keys: its permissions or its name "
                f"suggest it"
            )
        if (how == "maybe" or deeply) and not place.hides_secrets:
            folder = path if deeply else path.rsplit("/", 1)[0]
            if place.holds_secrets(_literal_parent(folder)):
                return contained(f"may read secrets in {self.display_path(_literal_parent(folder))}")
        if (deeply or WILDCARD.search(path)) and not place.hides_secrets:
            folder = _literal_parent(path)
            if place.leads_to_secrets(folder):
                return contained(f"may read secrets by links in {self.display_path(folder)}")
        return SAFE

    def write(self, word: Word, *, deed: str = "writes") -> Finding:
        """Judges creating a file or changing its content or mode."""
        if word.is_pipe:
            return SAFE
        why = self._delayed_run_reason(f"/{word.text}") if word.text.startswith(UNKNOWN) else None
        if why is not None:
            return forbidden(f"{deed} {self.display_path(word.text)}: {why}")
        return worst_finding(
            self._write(form, is_real, deed) for form, is_real in self._with_other_names(word.text)
        )

    def _write(self, path: str, is_real: bool, deed: str) -> Finding:
        if _HARMLESS_DEVICE.fullmatch(path):
            return SAFE
        elsewhere = _NETWORK_DEVICE.fullmatch(path)
        if elsewhere:
            return network(f"connects to {marks_as_text(elsewhere[1])}")
        why = self._delayed_run_reason(path)
        if why is not None:
            return forbidden(f"{deed} {self.display_path(path)}: {why}")
        if UNKNOWN in path:
            known = path[: path.index(UNKNOWN)].rpartition("/")[0]
            where = f" in {self.display_path(known)}" if is_real and known else ""
            return contained(f"{deed} a file{where} whose path is computed at run time")
        where = ", outside the workspace" if is_real and not self.is_inside(path) else ""
        return contained(f"{deed} {self.display_path(path)}{where}")

    def judge_write(self, word: Word) -> Finding:
        """Judges a write by bayou's own tools, which no sandbox limits to the workspace."""
        found = self.write(word)
        if found.risk == "contained" and self.is_outside(word):
            return forbidden(found.why)
        return found

    def remove(self, word: Word, *, deeply: bool = False, moves: bool = False) -> Finding:
        deed = "moves" if moves else "removes"
        if word.is_pipe:
            return SAFE
        found = [
            self._remove(form, is_real, deeply, deed)
            for form, is_real in self._unresolved_forms(word.text).items()
        ]
        if moves:
            found.append(self.judge_secret(word))
        return worst_finding(found)

    def judge_secret(self, word: Word, *, deeply: bool = False) -> Finding:
        """Judges only whether the path is a file with secrets; `deeply`: or a folder with such files."""
        found = self.read(word, deeply=deeply)
        return found if found.risk == "forbidden" else SAFE

    def removed_files(self, text: str, *, takes_ignored: bool = True) -> Iterator[Removal]:
        """The files that a removal deletes, so that undo can save them first."""
        for path, is_real in self._unresolved_forms(text).items():
            if is_real and UNKNOWN not in path and self.is_inside(path):
                yield Removal(
                    path=path.replace(ANY_NAME, "*").replace(ANY_CHARACTER, "?").replace(ANY_DEPTH, "**"),
                    takes_ignored=takes_ignored,
                )

    def _remove(self, path: str, is_real: bool, deeply: bool, deed: str) -> Finding:
        place = self.place
        if UNKNOWN in path:
            if deeply:
                return forbidden(f"{deed} recursively a path computed at run time")
            return contained(f"{deed} a path computed at run time")
        held = [*place.roots, *place.temporary]
        if any(root == path or root.startswith(path.rstrip("/") + "/") for root in held):
            return forbidden(
                f"{deed} {self.display_path(path)}, which contains the workspace or all temporary files"
            )
        if path.rsplit("/", 1)[-1].casefold() in VCS_FOLDERS:
            return forbidden(f"{deed} {self.display_path(path)}, the project's git history")
        why = self._delayed_run_reason(path)
        if why is not None:
            return forbidden(f"{deed} {self.display_path(path)}: {why}")
        if is_real and not self.is_inside(path):
            said = f"{deed} {self.display_path(path)}, outside the workspace"
            return contained(said) if deed == "moves" else forbidden(said)
        if deeply and self._is_broad_pattern(path):
            return forbidden(f"{deed} everything in {self.display_path(path.rsplit('/', 1)[0])}")
        return contained(f"{deed} {self.display_path(path)}")

    def _is_broad_pattern(self, path: str) -> bool:
        """Whether the pattern has no literal name and stands in the workspace or in the folder of temporary files."""
        folder, _, name = path.rpartition("/")
        if folder not in (*self.place.roots, *self.place.temporary):
            return False
        plain = WILDCARD.sub("", name)
        return (WILDCARD.search(name) is not None and plain in ("", ".", "..")) or (
            ANY_NAME in name and plain == "."
        )

    def folders_after_cd(self, word: Word) -> tuple[str, ...]:
        """The folders in which the script may be after `cd` with this word. For the shell `..` leads back to where a
        link is, for the system to the parent of what it leads to."""
        folders: list[str] = []
        for form in self.possible_paths(word.text):
            folders += [UNKNOWN] if UNKNOWN in form else [self._resolve_links(form), _normalise(form)]
        return tuple(dict.fromkeys(folders))

    def is_inside(self, path: str) -> bool:
        """Whether the path is in the workspace, in an added folder or among temporary files; the home folder itself
        never is."""
        place = self.place
        if place.root_of(path) is not None:
            return True
        if _is_below(path, place.home) or (place.real_home and _is_below(path, place.real_home)):
            return False
        return any(_is_below(path, root) for root in place.temporary)

    def is_outside(self, word: Word) -> bool:
        """Whether the word names, or may name, a path outside."""
        return any(
            is_real and not self.is_inside(form) for form, is_real in self.path_forms(word.text).items()
        )

    def _with_other_names(self, text: str) -> Iterator[tuple[str, bool]]:
        for form, is_real in self.path_forms(text).items():
            yield form, is_real
            if is_real and not WILDCARD.search(form):
                for other in self.place.other_names(form):
                    yield other, False

    def _unresolved_forms(self, text: str) -> dict[str, bool]:
        """What is removed or moved is a link itself, never what it leads to; but the folders before it are "
        "followed."""
        found: dict[str, bool] = {}
        for path in self.possible_paths(text):
            if path == UNKNOWN:
                found[UNKNOWN] = True
                continue
            bare = path.rstrip("/") or "/"
            folder, _, name = bare.rpartition("/")
            if name in ("", ".", "..") or bare != path:
                found[self._resolve_links(bare)] = True
            else:
                found[_normalise(self._resolve_links(folder or "/") + "/" + name)] = True
            found.setdefault(_normalise(bare), False)
        return found

    def _judge_secrecy(self, path: str) -> Likelihood:
        place = self.place
        found = secret_likelihood(path, place.home, place.own)
        if found == "no" and place.real_home and place.real_home != place.home:
            return secret_likelihood(path, place.real_home, place.own)
        return found

    def _delayed_run_reason(self, path: str) -> str | None:
        place = self.place
        found = delayed_run_reason(path, place.home, place.own)
        if found is None and place.real_home and place.real_home != place.home:
            found = delayed_run_reason(path, place.real_home, place.own)
        return found or bare_repository_reason(path, place.exists)

    def content_run_reason(self, word: Word) -> str | None:
        """Why a file in the folder that the word names may run later; None if none may."""
        place = self.place
        homes = dict.fromkeys(filter(None, (place.home, place.real_home)))
        return next(
            (
                why
                for form in self.path_forms(word.text)
                for home in homes
                if (why := content_run_reason(form, home))
            ),
            None,
        )

    def display_path(self, path: str) -> str:
        """The path as a person would write it here."""
        place = self.place
        if path == place.workspace:
            return "the workspace"
        if path.startswith(place.workspace + "/"):
            path = path[len(place.workspace) + 1 :]
        elif path == place.home or path.startswith(place.home + "/"):
            path = "~" + path[len(place.home) :]
        return marks_as_text(path)


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _normalise(path: str) -> str:
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
            if UNKNOWN in last or ANY_DEPTH in last:
                return UNKNOWN
    return "/" + "/".join(kept)


def _literal_parent(path: str) -> str:
    """The folder before the first wildcard."""
    wild = WILDCARD.search(path)
    if wild is None:
        return path
    return path[: path.rfind("/", 0, wild.start())] or "/"


def file_name(text: str) -> str:
    return posixpath.basename(text.rstrip("/"))
