"""Decides whether a project's settings, extensions and commands may be used, and stores the answer. An answer is
stored per folder with a fingerprint of all that would run or come into force; when that changes, the question
returns, even within a session. `project_items` lists the items; the user interfaces show `TrustQuestion.items` and
ask."""

import hashlib
import json
import time
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.resources.paths import BayouPaths
from app.resources.text_files import read_text, write_text
from app.resources.trust.project_items import ProjectTrustItem, project_items
from app.values.json_comments import JsonSyntaxError, parse_json_with_comments
from app.values.user_errors import FileError
from tools.files.path_existence import exists
from tools.git.git_repository import find_repository

TrustReason = Literal[
    "flag", "extension", "saved", "setting", "answer", "nothing-to-trust", "not-asked", "changed"
]


class TrustQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The trust question about a folder: exactly the items that would come into force."""

    folder: Path
    items: tuple[ProjectTrustItem, ...]
    fingerprint: str

    @property
    def is_empty(self) -> bool:
        """Says whether the project has nothing that needs trust, so that no question is asked."""
        return not self.items

    @property
    def exceeded_limit(self) -> tuple[ProjectTrustItem, ...]:
        """Returns the items that are too large to check."""
        return tuple(item for item in self.items if item.exceeded_limit)


class TrustDecision(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a project is trusted, for which reason, and whether the user must still answer."""

    is_trusted: bool
    reason: TrustReason
    question: TrustQuestion
    """The question about the project's items: the one to ask if `needs_answer`, or the one that was answered with
    yes if `is_trusted`."""
    needs_answer: bool = False
    covers_future_items: bool = False
    """Whether the user trusted the project in advance, for all items that it will contain."""


class _StoredAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A stored answer to the trust question about a folder."""

    folder: Path
    trusted: bool
    fingerprint: str | None = None
    """The fingerprint of the items that the answer was given for; None: the user wrote the answer into the file,
    and it applies to any content."""
    at: str = ""


def trust_question_for(paths: BayouPaths) -> TrustQuestion:
    """Lists the items that the project at `paths.cwd` would bring into force. Reads files, runs nothing."""
    items = project_items(paths)
    whole = hashlib.sha256()
    for item in items:
        told = f"{item.kind}\0{item.path}\0{item.fingerprint}{item.exceeded_limit}\n"
        whole.update(told.encode("utf-8", "surrogatepass"))
    return TrustQuestion(folder=paths.cwd, items=items, fingerprint=whole.hexdigest()[:32] if items else "")


def decide_project_trust(
    paths: BayouPaths,
    *,
    flag: bool | None = None,
    default: Literal["ask", "always", "never"] = "ask",
    can_ask: bool = False,
) -> TrustDecision:
    """Decides by the flag, else the stored answer, else the setting. If no question can be asked, `ask` means
    no.

    A project without items to trust is not trusted either, so that a question is asked about items that
    appear later."""
    question = trust_question_for(paths)

    decided = partial(TrustDecision, question=question)
    if flag is not None:
        return decided(is_trusted=flag, reason="flag")
    saved = _nearest_answer(paths)
    if saved is not None:
        if not saved.trusted:
            return decided(is_trusted=False, reason="saved")
        if saved.fingerprint is None:
            return decided(is_trusted=True, reason="saved", covers_future_items=True)
        if question.is_empty:
            return decided(is_trusted=False, reason="nothing-to-trust")
        if _is_covered(paths, question, saved):
            return decided(is_trusted=True, reason="saved")
    elif default == "always":
        return decided(is_trusted=True, reason="setting", covers_future_items=True)
    elif question.is_empty:
        return decided(is_trusted=False, reason="nothing-to-trust")
    elif default == "never":
        return decided(is_trusted=False, reason="setting")
    return decided(is_trusted=False, reason="not-asked", needs_answer=can_ask)


def recheck_project_trust(paths: BayouPaths, decision: TrustDecision) -> TrustDecision:
    """Returns the same decision if its items are unchanged, else one that needs an answer."""
    is_final = not decision.is_trusted and decision.reason in (
        "flag",
        "extension",
        "saved",
        "setting",
        "answer",
    )
    if decision.covers_future_items or is_final:
        return decision
    now = trust_question_for(paths)
    if now.fingerprint == decision.question.fingerprint and not (decision.is_trusted and now.exceeded_limit):
        return decision
    if now.is_empty:
        return TrustDecision(is_trusted=False, reason="nothing-to-trust", question=now)
    return TrustDecision(is_trusted=False, reason="changed", question=now, needs_answer=True)


def new_trust_items(question: TrustQuestion, before: TrustQuestion) -> tuple[ProjectTrustItem, ...]:
    """Returns the items of `question` that are new or changed since the earlier question."""
    known = {(item.kind, item.path, item.detail, item.fingerprint) for item in before.items}
    return tuple(
        item for item in question.items if (item.kind, item.path, item.detail, item.fingerprint) not in known
    )


def store_trust_answer(paths: BayouPaths, question: TrustQuestion, *, is_trusted: bool) -> None:
    """Stores the answer for the folder. Raises `FileError`."""
    import filelock  # noqa: PLC0415  (most starts only read)

    if is_trusted and question.exceeded_limit:
        raise FileError(
            question.folder,
            "has more files than bayou can check, so it was not trusted. Start with --approve to "
            "trust it for one run.",
        )
    file = paths.trust_file
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{file}.lock", timeout=5):
            table = _read_answers_to_change(file)
            table[_folder_key(question.folder)] = {
                "trusted": is_trusted,
                "fingerprint": question.fingerprint,
                "at": time.strftime("%Y-%m-%d", time.gmtime()),
            }
            _write_answers(file, table)
    except (OSError, filelock.Timeout) as problem:
        raise FileError(file, f"cannot be written: {problem}") from None


def forget_trust_answer(paths: BayouPaths, folder: Path) -> bool:
    """Removes the folder's answer; False if there was none. Raises `FileError`."""
    table = _read_answers_to_change(paths.trust_file)
    if _folder_key(folder) not in table:
        return False
    del table[_folder_key(folder)]
    _write_answers(paths.trust_file, table)
    return True


def _nearest_answer(paths: BayouPaths) -> _StoredAnswer | None:
    """Returns the folder's own answer, else that of the nearest folder above. A no covers all folders below;
    a yes does not cover a repository that begins below its folder."""
    table = _read_answers(paths.trust_file)
    is_same_repository = True
    for folder in (paths.cwd, *paths.cwd.parents):
        saved = _stored_answer_of(table, folder)
        if saved is not None and (not saved.trusted or is_same_repository):
            return saved
        is_same_repository = is_same_repository and not _begins_repository(folder)
    return None


def _is_covered(paths: BayouPaths, question: TrustQuestion, saved: _StoredAnswer) -> bool:
    """Says whether the stored yes still covers this question: its items are unchanged and, for an answer about a
    folder above, include all items of the question."""
    if question.exceeded_limit:
        return False
    if saved.folder == paths.cwd:
        return saved.fingerprint == question.fingerprint
    above = trust_question_for(msgspec.structs.replace(paths, cwd=saved.folder))
    return above.fingerprint == saved.fingerprint and _item_identities(question) <= _item_identities(above)


def _item_identities(question: TrustQuestion) -> set[tuple[str, Path, str, str]]:
    return {
        (item.kind, question.folder / item.path, item.detail, item.fingerprint) for item in question.items
    }


def _begins_repository(folder: Path) -> bool:
    found = find_repository(folder)
    return exists(folder / ".git") or (found is not None and found.work_tree == folder)


def _stored_answer_of(table: dict[str, Any], folder: Path) -> _StoredAnswer | None:
    entry = table.get(_folder_key(folder))
    if isinstance(entry, bool):
        entry = {"trusted": entry}
    if not isinstance(entry, dict) or not isinstance(entry.get("trusted"), bool):
        return None
    mark = entry.get("fingerprint")
    return _StoredAnswer(
        folder=folder,
        trusted=entry["trusted"],
        fingerprint=None if mark is None else str(mark),
        at=str(entry.get("at", "")),
    )


def trust_file_problem(file: Path) -> str | None:
    """Returns the fault of the file with the answers; no folder is trusted until it is repaired."""
    try:
        _read_answers_to_change(file)
    except FileError as problem:
        return f"{problem}. Until this is fixed no folder is trusted; delete the file to be asked again."
    return None


def _read_answers(file: Path) -> dict[str, Any]:
    """Returns the stored answers; none if the file is broken. The file is not repaired here, so that nothing
    is lost."""
    try:
        return _read_answers_to_change(file)
    except FileError:
        return {}


def _read_answers_to_change(file: Path) -> dict[str, Any]:
    """Returns the stored answers. Raises `FileError` for a broken file, whose content a write would lose."""
    try:
        table = parse_json_with_comments(read_text(file) or "{}")
    except JsonSyntaxError as problem:
        raise FileError(file, problem.message, problem.line) from None
    if not isinstance(table, dict):
        raise FileError(file, "must be an object: { … }")
    return table


def _write_answers(file: Path, table: dict[str, Any]) -> None:
    write_text(file, json.dumps(table, indent=2, ensure_ascii=False) + "\n", mode=0o600)


def _folder_key(folder: Path) -> str:
    return str(folder.resolve())
