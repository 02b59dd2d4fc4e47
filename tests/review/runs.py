"""What the last run of the tests made that is not as stored: kept until it is taken or a later run says otherwise.

`BUILD/pictures/RUN/…svg` are the pictures, each with a `.json` that says which test made it; `BUILD/pictures/last.json`
names the run. Each run has a separate folder, so that two at once do not mix, and the last one to end counts. An
accepted picture says who reviewed it, in a comment, so that it goes wherever the picture goes.
"""

import hashlib
import html
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from tests.review.sources import NotThere

_KEPT_SECONDS = 24 * 3600
"""The age after which the folder of an unfinished run is deleted."""


class Made(NamedTuple):
    """A picture that is not as stored."""

    name: str
    path: Path
    test: str
    words: str
    """What the test says of itself."""
    stored: str
    """Hash of the picture that it was compared with; empty: there was none."""


class Run:
    """One run of the tests, from any of its processes."""

    def __init__(self, root: Path, id: str) -> None:
        self.id = id
        self._root = root
        self._folder = root / id

    def keep(self, name: str, svg: str, stored: str | None, test: str, words: str) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(svg, "utf-8")
        about = {"test": test, "words": words, "stored": hash_of(stored)}
        path.with_suffix(".json").write_text(json.dumps(about), "utf-8")

    def looked(self) -> None:
        """At a picture: from now on this run says what is."""
        self._folder.mkdir(parents=True, exist_ok=True)

    @property
    def has_differences(self) -> bool:
        return any(_made_in(self._folder))

    def end(self) -> None:
        """It is the last run now, if it looked at a picture."""
        if not self._folder.is_dir():
            return
        _write(self._root / "last.json", json.dumps({"run": self.id}))
        for other in self._root.iterdir():
            is_old = other.is_dir() and time.time() - other.stat().st_mtime > _KEPT_SECONDS
            if is_old and other != self._folder:
                shutil.rmtree(other, ignore_errors=True)


def made_by_last_run(root: Path) -> dict[str, Made]:
    folder = _last_folder(root)
    return {made.name: made for made in _made_in(folder)} if folder else {}


def keep_changes(root: Path, changes: Mapping[str, Sequence[str]]) -> None:
    """Keeps which pictures each change on the page has, for `accept`: taking one may join or part the others."""
    if folder := _last_folder(root):
        _write(root / "changes.json", json.dumps({"run": folder.name, "changes": changes}))


def accept(root: Path, folder: Path, patterns: list[str], reviewer: str, *, all_but: bool) -> list[str]:
    """Moves the pictures that the patterns name into the folder, all or none; `all_but`: those they do not name."""
    made = made_by_last_run(root)
    if not made:
        raise NotThere("The last run left nothing to accept. Run the tests first.")
    named = {name for pattern in patterns for name in _named(root, pattern, made)}
    chosen = {name: one for name, one in made.items() if (name in named) != all_but}
    if not chosen:
        raise NotThere("These are all pictures of the last run: none is left to accept.")
    for name, one in chosen.items():
        if not is_acceptable(folder, one):
            raise NotThere(f"{name} was changed since the last run. Run its test again.")
    for name, one in chosen.items():
        _write(folder / name, with_reviewer(one.path.read_text("utf-8"), reviewer))
        one.path.unlink()
        one.path.with_suffix(".json").unlink()
    return sorted(chosen)


def is_acceptable(folder: Path, made: Made) -> bool:
    """The stored picture is still the one that the run compared with."""
    return hash_of(_text(folder / made.name)) == made.stored


def _named(root: Path, pattern: str, made: Mapping[str, Made]) -> list[str]:
    id = pattern.removeprefix("change:")
    if id == pattern:
        names = [name for name in made if _is_meant(pattern, name)]
        if not names:
            listed = "\n  ".join(sorted(made))
            raise NotThere(f"{pattern} is no picture of the last run. It has:\n  {listed}")
        return names
    names = [name for name in _kept_changes(root).get(id, ()) if name in made]
    if not names:
        raise NotThere(
            f"{pattern} is no change on the page of the last run, or it is accepted. "
            "To write the page again: python -m tests.review"
        )
    return names


def _kept_changes(root: Path) -> dict[str, list[str]]:
    folder = _last_folder(root)
    try:
        kept = json.loads((root / "changes.json").read_text("utf-8"))
        return kept["changes"] if folder and kept["run"] == folder.name else {}
    except (OSError, ValueError, KeyError):
        return {}


_REVIEWED = re.compile(r"<!-- reviewed by ([^<>]*) -->\n")


def with_reviewer(svg: str, reviewer: str) -> str:
    """The picture with the name of the person or program that reviewed it."""
    name = html.escape(re.sub(r"-{2,}", "-", " ".join(reviewer.split()))).strip("-")
    body, end, rest = without_reviewer(svg).rpartition("</svg>")
    return f"{body}<!-- reviewed by {name} -->\n{end}{rest}" if end else svg


def without_reviewer(svg: str) -> str:
    return _REVIEWED.sub("", svg)


def reviewer_of(svg: str) -> str:
    """Empty: the picture was not accepted by name."""
    found = _REVIEWED.search(svg)
    return html.unescape(found[1]) if found else ""


def hash_of(text: str | None) -> str:
    return hashlib.sha256(text.encode()).hexdigest() if text is not None else ""


def _last_folder(root: Path) -> Path | None:
    try:
        id = json.loads((root / "last.json").read_text("utf-8"))["run"]
    except (OSError, ValueError, KeyError):
        return None
    return root / id if isinstance(id, str) and "/" not in id else None


def _made_in(folder: Path) -> Iterator[Made]:
    for path in sorted(folder.rglob("*.svg")):
        try:
            about = json.loads(path.with_suffix(".json").read_text("utf-8"))
            yield Made(
                path.relative_to(folder).as_posix(), path, about["test"], about["words"], about["stored"]
            )
        except (OSError, ValueError, KeyError):
            continue  # a run that was killed while it wrote


def _is_meant(pattern: str, name: str) -> bool:
    """By its path, its last part, or what stands in brackets there: `queue-80x24*`."""
    stem = Path(name).name.removesuffix(".svg")
    inner = stem.partition("[")[2].replace("][", "\n").rstrip("]").split("\n")
    return any(pattern == known or fnmatchcase(known, pattern) for known in (name, stem, *inner))


def _text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(text, "utf-8")
    fresh.replace(path)
