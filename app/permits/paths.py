"""What reading, writing and removing a path means, seen from where the command stands.

A path is judged by its own name and by what it is after its links are followed; the stricter counts.
"""

import posixpath
import re
from collections.abc import Iterator

from app.permits.letters import Finding, worst
from app.permits.place import CommandPlace
from app.permits.scope import ShellScope
from app.permits.secrets import Likelihood, plants, secrecy
from app.permits.words import DEEP, STAR, TORN, UNKNOWN, WILD, Word, readable
from tools.protected.later import VCS

_ROOT_AGAIN = re.compile(r"/proc/(?:self|thread-self|\d+)(?:/task/\d+)?/root(?=/|$)")
_FOLDER_AGAIN = re.compile(r"/proc/(?:self|thread-self)(?:/task/\d+)?/cwd(?=/|$)")
_NO_FILE = re.compile(
    r"/dev/(?:null|zero|full|u?random|tty|stdin|stdout|stderr|fd/\d+|ptmx|pts/\d+)|/proc/self/fd/\d+"
)
_ELSEWHERE = re.compile(r"/dev/(?:tcp|udp)/([^/]*)/?(.*)")

READS = Finding("R", "only reads")


class PathGround:
    """Paths as a command at this point of its command line sees them."""

    def __init__(self, place: CommandPlace, scope: ShellScope) -> None:
        self.place = place
        self.scope = scope

    # Which path is meant

    def absolute(self, text: str) -> list[str]:
        """Where it may be, one path for each folder one may be in; UNKNOWN for what cannot be told."""
        if text.startswith(UNKNOWN):
            return [UNKNOWN]
        if text.startswith("/"):
            return [self._mended(text)]
        return [
            UNKNOWN if folder == UNKNOWN else self._mended(f"{folder}/{text}")
            for folder in self.scope.folders
        ]

    def _mended(self, path: str) -> str:
        path = _ROOT_AGAIN.sub("", "/" + path.lstrip("/")) or "/"
        if "cwd" in path:
            path = _FOLDER_AGAIN.sub(self.scope.folders[0], path)
        return path

    def forms(self, text: str) -> dict[str, bool]:
        """What its links lead to (True), and its own name if that is another (False)."""
        found: dict[str, bool] = {}
        for path in self.absolute(text):
            if path == UNKNOWN:
                found[UNKNOWN] = True
                continue
            found[self._by_links(path)] = True
            found.setdefault(_normal(path), False)
        return found

    def _by_links(self, path: str) -> str:
        """As far as it is plain text; what a wildcard leaves open cannot be followed."""
        wild = WILD.search(path)
        if wild is None:
            return self.place.resolve(path)
        cut = path.rfind("/", 0, wild.start())
        head = self.place.resolve(path[:cut] or "/")
        return _normal(head.rstrip("/") + path[cut:])

    # What is done with it

    def read(self, word: Word, *, deeply: bool = False) -> Finding:
        """Its content; `deeply`: everything below it too."""
        if word.from_network or word.is_pipe:
            return READS
        if word.text == TORN:
            return worst(self._read(folder, True) for folder in self.scope.folders)
        return worst(self._read(form, deeply) for form, _ in self._with_others(word.text))

    def _read(self, path: str, deeply: bool) -> Finding:
        place = self.place
        if path == UNKNOWN or UNKNOWN in path:
            if self._secrecy(path) == "likely":
                return Finding("F", f"reads {self.shown(path)}, which holds secrets")
            if place.hides_secrets:
                return READS
            return Finding("U", "reads a file that only the run will tell")
        if self._is_linked(path):
            return Finding("U", f"reads {self.shown(path)}, a link that this command makes")
        elsewhere = _ELSEWHERE.fullmatch(path)
        if elsewhere:
            return Finding("N", f"connects to {readable(elsewhere[1])}")
        how = self._secrecy(path)
        if how == "likely":
            return Finding("F", f"reads {self.shown(path)}, which holds secrets")
        if (how == "maybe" or deeply) and not place.hides_secrets:
            folder = path if deeply else path.rsplit("/", 1)[0]
            if place.holds_secrets(_plain_head(folder)):
                return Finding("U", f"may read secrets below {self.shown(_plain_head(folder))}")
        return READS

    def write(self, word: Word) -> Finding:
        """Makes it, or changes its content or its rights."""
        if word.is_pipe:
            return READS
        why = self._plants(f"/{word.text}") if word.text.startswith(UNKNOWN) else None
        if why is not None:
            return Finding("F", f"writes {self.shown(word.text)}: {why}")
        return worst(self._write(form, is_real) for form, is_real in self._with_others(word.text))

    def _write(self, path: str, is_real: bool) -> Finding:
        if _NO_FILE.fullmatch(path):
            return READS
        elsewhere = _ELSEWHERE.fullmatch(path)
        if elsewhere:
            return Finding("N", f"connects to {readable(elsewhere[1])}")
        why = self._plants(path)
        if why is not None:
            return Finding("F", f"writes {self.shown(path)}: {why}")
        if UNKNOWN in path:
            known = path[: path.index(UNKNOWN)].rpartition("/")[0]
            if is_real and known and not self.is_inside(known):
                return Finding("F", f"writes below {self.shown(known)}, outside the workspace")
            return Finding("U", "writes a file that only the run will tell")
        if self._is_linked(path):
            return Finding("U", f"writes {self.shown(path)} through a link that this command makes")
        if is_real and not self.is_inside(path):
            return Finding("F", f"writes {self.shown(path)}, outside the workspace")
        return Finding("E", f"writes {self.shown(path)}")

    def remove(self, word: Word, *, deeply: bool = False, moves: bool = False) -> Finding:
        deed = "moves" if moves else "removes"
        if word.is_pipe:
            return READS
        found = [
            self._remove(form, is_real, deeply, deed) for form, is_real in self._unfollowed(word.text).items()
        ]
        if moves and all(one.letter != "F" for one in found):
            found.append(self._moved_secret(word))
        return worst(found)

    def _moved_secret(self, word: Word) -> Finding:
        found = self.read(word)
        return found if found.letter == "F" else READS

    def _remove(self, path: str, is_real: bool, deeply: bool, deed: str) -> Finding:
        place = self.place
        if UNKNOWN in path:
            if deeply:
                return Finding("F", f"{deed} recursively what only the run will tell")
            return Finding("U", f"{deed} what only the run will tell")
        if self._is_linked(path) and deeply:
            return Finding("U", f"{deed} {self.shown(path)}, a link that this command makes")
        held = [place.workspace, *place.temporary]
        if any(root == path or root.startswith(path.rstrip("/") + "/") for root in held):
            return Finding(
                "F", f"{deed} {self.shown(path)}, which holds the workspace or all temporary files"
            )
        if path.rsplit("/", 1)[-1].casefold() in VCS:
            return Finding("F", f"{deed} {self.shown(path)}, the history of the project")
        why = self._plants(path)
        if why is not None:
            return Finding("F", f"{deed} {self.shown(path)}: {why}")
        if is_real and not self.is_inside(path):
            return Finding("F", f"{deed} {self.shown(path)}, outside the workspace")
        if deeply and self._is_sweeping(path):
            return Finding("F", f"{deed} everything in {self.shown(path.rsplit('/', 1)[0])}")
        return Finding("E", f"{deed} {self.shown(path)}")

    def _is_sweeping(self, path: str) -> bool:
        """A pattern without a word of its own, right in the workspace or in the folder of all temporary files."""
        folder, _, name = path.rpartition("/")
        if folder not in (self.place.workspace, *self.place.temporary):
            return False
        plain = WILD.sub("", name)
        return (WILD.search(name) is not None and plain in ("", ".", "..")) or (STAR in name and plain == ".")

    def enter(self, word: Word) -> tuple[str, ...]:
        """Where a change of folder leads."""
        folders: list[str] = []
        for form in self.absolute(word.text):
            folders.append(UNKNOWN if UNKNOWN in form else self._by_links(form))
        return tuple(dict.fromkeys(folders))

    def is_inside(self, path: str) -> bool:
        """In the workspace, or among temporary files; the person's home is neither, wherever it lies."""
        place = self.place
        if _lies_in(path, place.workspace):
            return True
        if _lies_in(path, place.home) or (place.real_home and _lies_in(path, place.real_home)):
            return False
        return any(_lies_in(path, root) for root in place.temporary)

    def is_outside(self, word: Word, *, surely: bool = False) -> bool:
        """Whether it is outside: surely or maybe, as a place that is not known counts, or `surely` alone."""
        return any(
            is_real and not self.is_inside(form) and not (surely and UNKNOWN in form)
            for form, is_real in self.forms(word.text).items()
        )

    def was(self, files: frozenset[str], word: Word) -> bool:
        """Whether it is one of these files."""
        return bool(files) and any(form in files for form in self.forms(word.text))

    def _is_linked(self, path: str) -> bool:
        links = self.scope.links
        return bool(links) and any(path == link or path.startswith(link + "/") for link in links)

    def _with_others(self, text: str) -> Iterator[tuple[str, bool]]:
        for form, is_real in self.forms(text).items():
            yield form, is_real
            if is_real and not WILD.search(form):
                for other in self.place.other_names(form):
                    yield other, False

    def _unfollowed(self, text: str) -> dict[str, bool]:
        """What is removed or moved is a link itself, never what it leads to; but the folders before it are "
        "followed."""
        found: dict[str, bool] = {}
        for path in self.absolute(text):
            if path == UNKNOWN:
                found[UNKNOWN] = True
                continue
            bare = path.rstrip("/") or "/"
            folder, _, name = bare.rpartition("/")
            if name in ("", ".", "..") or bare != path:
                found[self._by_links(bare)] = True
            else:
                found[_normal(self._by_links(folder or "/") + "/" + name)] = True
            found.setdefault(_normal(bare), False)
        return found

    def _secrecy(self, path: str) -> Likelihood:
        place = self.place
        found = secrecy(path, place.home, place.own)
        if found == "no" and place.real_home and place.real_home != place.home:
            return secrecy(path, place.real_home, place.own)
        return found

    def _plants(self, path: str) -> str | None:
        place = self.place
        found = plants(path, place.home, place.own)
        if found is None and place.real_home and place.real_home != place.home:
            return plants(path, place.real_home, place.own)
        return found

    def shown(self, path: str) -> str:
        """A path as a person would write it here."""
        place = self.place
        if path == place.workspace:
            return "the workspace"
        if path.startswith(place.workspace + "/"):
            path = path[len(place.workspace) + 1 :]
        elif path == place.home or path.startswith(place.home + "/"):
            path = "~" + path[len(place.home) :]
        return readable(path)


def _lies_in(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _normal(path: str) -> str:
    """By text alone. A `..` behind something open cannot be taken back."""
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
            if UNKNOWN in last or DEEP in last:
                return UNKNOWN
    return "/" + "/".join(kept)


def _plain_head(path: str) -> str:
    """The folder before anything is open."""
    wild = WILD.search(path)
    if wild is None:
        return path
    return path[: path.rfind("/", 0, wild.start())] or "/"


def file_name(text: str) -> str:
    return posixpath.basename(text.rstrip("/"))
