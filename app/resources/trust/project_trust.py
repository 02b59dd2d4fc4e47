"""Decides whether a project's settings, extensions and commands may be used, and stores the answer.

An answer is stored per folder with a fingerprint of all that would run or come into force; when that
changes, the question returns, even within a session. `brought` lists the items; the user interfaces show
`Question.items` and ask."""

import hashlib
import json
import time
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.resources.files import read_text, write_text
from app.resources.paths import Paths
from app.resources.trust.brought import BroughtItem, brought_along
from app.values.json_comments import JsonFault, parse
from app.values.unable import FileFault
from tools.files.presence import exists
from tools.git.repository import find_repository

Reason = Literal[
    "flag", "extension", "saved", "setting", "answer", "nothing-to-trust", "not-asked", "changed"
]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """The trust question about a folder: exactly the items that would come into force."""

    folder: Path
    items: tuple[BroughtItem, ...]
    fingerprint: str

    @property
    def is_empty(self) -> bool:
        """Says whether the project has nothing that needs trust, so that no question is asked."""
        return not self.items

    @property
    def too_much(self) -> tuple[BroughtItem, ...]:
        """Returns the items that are too large to check."""
        return tuple(item for item in self.items if item.too_much)


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a project is trusted, for which reason, and whether the user must still answer."""

    is_trusted: bool
    reason: Reason
    question: Question
    """The question to ask if `needs_answer`; the question that was answered with yes if `is_trusted`."""
    needs_answer: bool = False
    is_for_all: bool = False
    """The yes was given in advance for all that the project will contain."""


class _Saved(msgspec.Struct, frozen=True, kw_only=True):
    """A stored answer."""

    folder: Path
    trusted: bool
    fingerprint: str | None = None
    """None: the user wrote the answer into the file, for any content."""
    at: str = ""


def question_for(paths: Paths) -> Question:
    """Lists the items that the project at `paths.cwd` would bring into force. Reads files, runs nothing."""
    items = brought_along(paths)
    whole = hashlib.sha256()
    for item in items:
        told = f"{item.kind}\0{item.path}\0{item.fingerprint}{item.too_much}\n"
        whole.update(told.encode("utf-8", "surrogatepass"))
    return Question(folder=paths.cwd, items=items, fingerprint=whole.hexdigest()[:32] if items else "")


def decide(
    paths: Paths,
    *,
    flag: bool | None = None,
    default: Literal["ask", "always", "never"] = "ask",
    can_ask: bool = False,
) -> Decision:
    """Decides by the flag, else the stored answer, else the setting. If no question can be asked, `ask` means
    no.

    A project without items to trust is not trusted either, so that a question is asked about items that
    appear later."""
    question = question_for(paths)

    decided = partial(Decision, question=question)
    if flag is not None:
        return decided(is_trusted=flag, reason="flag")
    saved = _nearest(paths)
    if saved is not None:
        if not saved.trusted:
            return decided(is_trusted=False, reason="saved")
        if saved.fingerprint is None:
            return decided(is_trusted=True, reason="saved", is_for_all=True)
        if question.is_empty:
            return decided(is_trusted=False, reason="nothing-to-trust")
        if _is_covered(paths, question, saved):
            return decided(is_trusted=True, reason="saved")
    elif default == "always":
        return decided(is_trusted=True, reason="setting", is_for_all=True)
    elif question.is_empty:
        return decided(is_trusted=False, reason="nothing-to-trust")
    elif default == "never":
        return decided(is_trusted=False, reason="setting")
    return decided(is_trusted=False, reason="not-asked", needs_answer=can_ask)


def look_again(paths: Paths, decision: Decision) -> Decision:
    """Returns the same decision if its items are unchanged, else one that needs an answer."""
    is_final = not decision.is_trusted and decision.reason in (
        "flag",
        "extension",
        "saved",
        "setting",
        "answer",
    )
    if decision.is_for_all or is_final:
        return decision
    now = question_for(paths)
    if now.fingerprint == decision.question.fingerprint and not (decision.is_trusted and now.too_much):
        return decision
    if now.is_empty:
        return Decision(is_trusted=False, reason="nothing-to-trust", question=now)
    return Decision(is_trusted=False, reason="changed", question=now, needs_answer=True)


def new_in(question: Question, before: Question) -> tuple[BroughtItem, ...]:
    """Returns the items of `question` that are new or changed since the earlier question."""
    known = {(item.kind, item.path, item.detail, item.fingerprint) for item in before.items}
    return tuple(
        item for item in question.items if (item.kind, item.path, item.detail, item.fingerprint) not in known
    )


def remember(paths: Paths, question: Question, *, is_trusted: bool) -> None:
    """Stores the answer for the folder. Raises `FileFault`."""
    import filelock  # noqa: PLC0415  (most starts only read)

    if is_trusted and question.too_much:
        raise FileFault(
            question.folder,
            "has more files than bayou can check, so it was not trusted. Start with --approve to "
            "trust it for one run.",
        )
    file = paths.trust_file
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{file}.lock", timeout=5):
            table = _read_to_change(file)
            table[_key(question.folder)] = {
                "trusted": is_trusted,
                "fingerprint": question.fingerprint,
                "at": time.strftime("%Y-%m-%d", time.gmtime()),
            }
            _write(file, table)
    except (OSError, filelock.Timeout) as problem:
        raise FileFault(file, f"cannot be written: {problem}") from None


def forget(paths: Paths, folder: Path) -> bool:
    """Removes the folder's answer; False if there was none. Raises `FileFault`."""
    table = _read_to_change(paths.trust_file)
    if _key(folder) not in table:
        return False
    del table[_key(folder)]
    _write(paths.trust_file, table)
    return True


def _nearest(paths: Paths) -> _Saved | None:
    """Returns the folder's own answer, else that of the nearest folder above. A no covers all folders below;
    a yes does not cover a repository that begins below its folder."""
    table = _read(paths.trust_file)
    is_same_repository = True
    for folder in (paths.cwd, *paths.cwd.parents):
        saved = _entry(table, folder)
        if saved is not None and (not saved.trusted or is_same_repository):
            return saved
        is_same_repository = is_same_repository and not _begins_repository(folder)
    return None


def _is_covered(paths: Paths, question: Question, saved: _Saved) -> bool:
    """Says whether the stored yes still covers this question: its items are unchanged and, for a folder
    above, include all items of the question."""
    if question.too_much:
        return False
    if saved.folder == paths.cwd:
        return saved.fingerprint == question.fingerprint
    above = question_for(msgspec.structs.replace(paths, cwd=saved.folder))
    return above.fingerprint == saved.fingerprint and _placed(question) <= _placed(above)


def _placed(question: Question) -> set[tuple[str, Path, str, str]]:
    return {
        (item.kind, question.folder / item.path, item.detail, item.fingerprint) for item in question.items
    }


def _begins_repository(folder: Path) -> bool:
    found = find_repository(folder)
    return exists(folder / ".git") or (found is not None and found.top == folder)


def _entry(table: dict[str, Any], folder: Path) -> _Saved | None:
    entry = table.get(_key(folder))
    if isinstance(entry, bool):
        entry = {"trusted": entry}
    if not isinstance(entry, dict) or not isinstance(entry.get("trusted"), bool):
        return None
    mark = entry.get("fingerprint")
    return _Saved(
        folder=folder,
        trusted=entry["trusted"],
        fingerprint=None if mark is None else str(mark),
        at=str(entry.get("at", "")),
    )


def problem_with(file: Path) -> str | None:
    """Returns the fault of the file with the answers; no folder is trusted until it is repaired."""
    try:
        _read_to_change(file)
    except FileFault as problem:
        return f"{problem}. Until this is fixed no folder is trusted; delete the file to be asked again."
    return None


def _read(file: Path) -> dict[str, Any]:
    """Returns the stored answers; none if the file is broken. The file is not repaired here, so that nothing
    is lost."""
    try:
        return _read_to_change(file)
    except FileFault:
        return {}


def _read_to_change(file: Path) -> dict[str, Any]:
    """Returns the stored answers. Raises `FileFault` for a broken file, whose content a write would lose."""
    try:
        table = parse(read_text(file) or "{}")
    except JsonFault as problem:
        raise FileFault(file, problem.message, problem.line) from None
    if not isinstance(table, dict):
        raise FileFault(file, "must be an object: { … }")
    return table


def _write(file: Path, table: dict[str, Any]) -> None:
    write_text(file, json.dumps(table, indent=2, ensure_ascii=False) + "\n", mode=0o600)


def _key(folder: Path) -> str:
    return str(folder.resolve())
