"""Where pictures come from: a commit, a folder, the last run. Names are paths below the folder of pictures."""

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple


class NotThere(Exception):
    """Something that was named cannot be had. The words are for the person."""


class Review(NamedTuple):
    """What `review.json` in the folder of pictures says of them; all of it may be left out."""

    themes: Mapping[str, Mapping[str, str]] = {}
    """By the name of a theme: its colours and what they are called there."""
    made_up: tuple[str, ...] = ()
    """Patterns of pictures that show scenes with made-up data."""
    tests: str = "tests"
    """The folder that has a module for each folder of pictures."""


def read_review(folder: Path) -> Review:
    path = folder / "review.json"
    try:
        said = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return Review()
    except ValueError as problem:
        raise NotThere(f"{path.name} is no JSON: {problem}") from None
    return Review(
        themes=said.get("themes", {}),
        made_up=tuple(said.get("made_up", ())),
        tests=said.get("tests", "tests"),
    )


class Commit:
    """The pictures of one commit: nothing is checked out, and nothing of the repository runs."""

    def __init__(self, repository: Path, revision: str, folder: Path) -> None:
        self._repository = repository
        self.id = self._resolved(revision)
        self._prefix = folder.resolve().relative_to(repository.resolve()).as_posix()

    def _resolved(self, revision: str) -> str:
        if revision.startswith("-"):
            raise NotThere(f"{revision} is no commit")
        found = git(self._repository, "rev-parse", "--verify", "--quiet", revision + "^{commit}")
        if found is None:
            raise NotThere(f"{revision} is no commit that this repository has")
        return found.decode().strip()

    def blobs(self) -> dict[str, str]:
        listed = git(self._repository, "ls-tree", "-r", "-z", self.id, "--", self._prefix) or b""
        blobs: dict[str, str] = {}
        for row in listed.decode("utf-8", "surrogateescape").split("\0"):
            about, _, path = row.partition("\t")
            if path.endswith(".svg") and about.startswith("100"):
                blobs[path.removeprefix(self._prefix).lstrip("/")] = about.split()[2]
        return blobs

    def read(self, blobs: Iterable[str]) -> list[str]:
        """In that order."""
        asked = list(blobs)
        if not asked:
            return []
        data = git(self._repository, "cat-file", "--batch", given="\n".join(asked).encode() + b"\n") or b""
        texts: list[str] = []
        at = 0
        for blob in asked:
            end = data.index(b"\n", at)
            head = data[at:end].split()
            if len(head) < 3:
                raise NotThere(f"the repository has no {blob}")
            size = int(head[2])
            texts.append(data[end + 1 : end + 1 + size].decode("utf-8", "replace"))
            at = end + 2 + size
        return texts


class Checkout:
    """The pictures that lie in the folder, and, over those, what the last run made instead."""

    def __init__(self, repository: Path, folder: Path, made_instead: Mapping[str, Path]) -> None:
        self._repository = repository
        self._paths = {
            path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.svg"))
        } | dict(made_instead)

    def blobs(self) -> dict[str, str]:
        """By the ids that a commit would give them."""
        given = "\n".join(map(str, self._paths.values())).encode() + b"\n"
        if not self._paths:
            return {}
        ids = git(self._repository, "hash-object", "--no-filters", "--stdin-paths", given=given)
        if ids is None:
            raise NotThere("git could not read the pictures")
        return dict(zip(self._paths, ids.decode().split(), strict=True))

    def read(self, names: Iterable[str]) -> list[str]:
        return [self._paths[name].read_text("utf-8", errors="replace") for name in names]


def git(repository: Path, *words: str, given: bytes | None = None) -> bytes | None:
    """None: it failed."""
    done = subprocess.run(
        ["git", "-C", str(repository), "--no-optional-locks", *words],
        input=given,
        capture_output=True,
        check=False,
    )
    return done.stdout if done.returncode == 0 else None
