"""Implements `bayou undo [SESSION]`: restores the files of a session from the shell, with a preview first."""

import os
from pathlib import Path

import msgspec

from app.assembly.command_line_options import UsageError
from app.cli.change_folder import current_folder
from app.engine.files.file_restorer import FILE_RESTORE_MESSAGE_TYPE, restore_message_text
from app.engine.tree.session_paths import SessionPaths
from app.printing import print_json, print_line, print_problem, print_text
from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from app.sessions.errors import SessionError
from app.sessions.session_library import find_session, latest_session
from app.sessions.session_log import SessionLog
from app.undo.change_records import (
    FILE_RESTORE_ENTRY_TYPE,
    FileRestoreData,
    RestoreChoice,
    decode_file_changes,
    file_data_to_entry_data,
)
from app.undo.content_store import UndoStoreSettings
from app.undo.restore_plan import RestoreFileRow, RestorePlan
from app.undo.session_undo import SessionUndo, finished_restore_text, open_session_undo
from app.values.entries import CustomEntry, CustomMessageEntry
from app.values.user_errors import UserError
from tools.files.path_existence import is_dir
from tools.number_formatting import format_changed_files, format_changed_lines
from tools.text_sanitizing import reveal_hidden_characters

_UNDO_USAGE_TEXT = (
    "bayou undo [SESSION] [--last N | --redo | --to ENTRY] [--yes] [--json]\n\nRestores "
    "files to before the last prompt that changed any. SESSION is a session file or part of "
    "a session id; without\nit, the latest session of this folder. Without --yes only a "
    "preview is printed.\n\n  --last N      undo the last N prompts\n  --redo        reverse "
    "the last restore\n  --to ENTRY    restore to an entry of the session; `root` is before "
    "everything\n  --take PATH   restore a file although it was changed outside the "
    "session\n  --merge PATH  undo only the session's changes in a file that was also "
    "changed elsewhere\n  --keep PATH   leave a file unchanged\n  --diff        show the "
    "changes in each file\n  --yes         restore the files\n  --json        print the "
    "preview, or the result, as JSON\n"
)
_RESTORE_CHOICE_BY_FLAG: dict[str, RestoreChoice] = {
    "--take": "restore",
    "--merge": "merge",
    "--keep": "keep",
}
_RESTORE_STATE_MARKS = {"ready": "✓", "conflict": "!", "unheld": "·", "refused": "·", "same": " "}


class _UndoArguments(msgspec.Struct, kw_only=True):
    """The arguments of `bayou undo`."""

    session: str | None = None
    last: int = 1
    redo: bool = False
    to: str | None = None
    choices: dict[str, RestoreChoice] = msgspec.field(default_factory=dict)
    yes: bool = False
    json: bool = False
    diff: bool = False


def run(words: list[str]) -> int:
    if {"-h", "--help"} & set(words):
        print_text(_UNDO_USAGE_TEXT)
        return 0
    asked = _parse_arguments(words)
    paths = BayouPaths.from_env(os.environ, current_folder())
    try:
        return _run_undo(asked, paths)
    except (UserError, SessionError) as problem:
        print_problem(str(problem))
        return 1


def _run_undo(asked: _UndoArguments, paths: BayouPaths) -> int:
    effective_settings = EffectiveSettings(paths)
    places = SessionPaths(
        default_root=paths.sessions_dir, cwd=paths.cwd, effective_settings=effective_settings
    )
    if asked.session is not None:
        file = find_session(asked.session, places.sessions_root, paths.cwd)
    else:
        file = latest_session(places.project_folder, paths.cwd)
        if file is None:
            raise UserError("This folder has no session. Name one: bayou undo SESSION.")
    log = SessionLog.open(file, read_only=not asked.yes)
    try:
        if not is_dir(log.cwd):
            raise UserError(f"The session's folder, {log.cwd}, does not exist any more.")
        if asked.yes and not _belongs_here(file, log, paths):
            raise UserError(
                f"{file.name} says that its session worked in {log.cwd}, not here. Nothing was changed. "
                "If that is right, run the command in that folder."
            )
        place = UndoStoreSettings(store=paths.agent_dir / "blobs", home=paths.home, may_ask_git=lambda: False)
        limit = effective_settings.settings.undo.max_file_mb << 20
        parts = open_session_undo(log, place, log.cwd, limit=lambda: limit)
        try:
            plan = _plan_restore(asked, parts)
            return _carry_out_restore(asked, plan, parts) if asked.yes else _print_preview(asked, plan)
        finally:
            parts.close()
    finally:
        log.close()


def _belongs_here(file: Path, log: SessionLog, paths: BayouPaths) -> bool:
    """Whether the session worked in this folder, or is stored among bayou's own: a session file from
    elsewhere may name any folder."""
    is_own = Path(os.path.realpath(file)).is_relative_to(os.path.realpath(paths.sessions_dir))
    return is_own or os.path.realpath(log.cwd) == os.path.realpath(paths.cwd)


def _plan_restore(asked: _UndoArguments, parts: SessionUndo) -> RestorePlan:
    if asked.redo:
        return parts.restores.plan_redo()
    if asked.to is None:
        return parts.restores.plan_undo(asked.last)
    if asked.to == "root":
        return parts.restores.plan_restore_to_entry(None)
    return parts.restores.plan_restore_to_entry(parts.log.navigation(asked.to).leaf_id)


def _print_preview(asked: _UndoArguments, plan: RestorePlan) -> int:
    rows = plan.rows
    if asked.json:
        print_json(
            {
                "title": plan.target.title,
                "digest": plan.digest,
                "files": msgspec.to_builtins(rows),
                "heads": [list(head) for head in plan.head_moves],
            }
        )
        return 0
    print_line(f"{plan.target.label}: {format_changed_files(len(rows), plan.added, plan.removed)}")
    width = max((len(reveal_hidden_characters(row.path)) for row in rows), default=0)
    for row in rows:
        print_line(_file_line(row, asked, min(width, 60)))
        if asked.diff and row.state in ("ready", "conflict"):
            print_text(plan.diff(row.path))
    for before, after in plan.head_moves:
        print_line(f"git's HEAD moved from {before} to {after} and is left there: only files are restored.")
    ready = sum(asked.choices.get(row.path, row.choice) != "keep" for row in rows)
    print_line(f"Nothing is changed yet. With --yes: {_file_count_text(ready)} restored.")
    return 0


def _file_line(row: RestoreFileRow, asked: _UndoArguments, width: int) -> str:
    path = reveal_hidden_characters(row.path)
    lines = format_changed_lines(row.added, row.removed)
    why = row.why or row.by
    if row.state == "conflict" and row.path not in asked.choices:
        merge = f", --merge {path}" if row.can_merge else ""
        why += f": it is kept (--take {path}{merge})"
    chosen = asked.choices.get(row.path)
    words = (row.deed, lines, f"[{chosen}]" if chosen else "", why)
    said = "  ".join(word for word in words if word)
    return f"  {_RESTORE_STATE_MARKS[row.state]} {path:{width}}  {said}"


def _carry_out_restore(asked: _UndoArguments, plan: RestorePlan, parts: SessionUndo) -> int:
    data = parts.restores.carry_out_restore_plan(plan, asked.choices)
    if data.total:
        _record_restore(data, parts)
    parts.recorder.mark_recorded(data.id)
    if asked.json:
        kept = [{"path": one.path, "why": one.why} for one in data.kept]
        print_json({"restored": data.total, "kept": kept})
    else:
        print_line(finished_restore_text(data))
        for one in data.kept:
            print_line(f"  {reveal_hidden_characters(one.path)}: {one.why}")
    return 0


def _record_restore(data: FileRestoreData, parts: SessionUndo) -> None:
    """Records the restore in the session, as an entry and as a message for the model."""
    log = parts.log
    changes = data.changes if data.more is None else decode_file_changes(parts.store.get(data.more))
    log.append(
        CustomEntry(parent_id=None, custom_type=FILE_RESTORE_ENTRY_TYPE, data=file_data_to_entry_data(data))
    )
    content = restore_message_text(data, tuple(change.path for change in changes))
    details = {"files": data.total, "kept": len(data.kept), "redone": data.undoes is not None}
    log.append(
        CustomMessageEntry(
            parent_id=None, custom_type=FILE_RESTORE_MESSAGE_TYPE, content=content, details=details
        )
    )


def _file_count_text(files: int) -> str:
    return f"{files} file{'' if files == 1 else 's'}"


def _parse_arguments(words: list[str]) -> _UndoArguments:
    asked, rest = _UndoArguments(), list(words)
    while rest:
        word = rest.pop(0)
        if word in ("--yes", "--json", "--redo", "--diff"):
            setattr(asked, word.removeprefix("--"), True)
        elif word in ("--last", "--to", *_RESTORE_CHOICE_BY_FLAG):
            if not rest:
                raise UsageError(f"{word} needs a value. bayou undo --help lists the options.")
            value = rest.pop(0)
            if word in _RESTORE_CHOICE_BY_FLAG:
                asked.choices[value] = _RESTORE_CHOICE_BY_FLAG[word]
            elif word == "--to":
                asked.to = value
            elif value.isdecimal() and int(value) > 0:
                asked.last = int(value)
            else:
                raise UsageError("--last takes a number of prompts, 1 or more.")
        elif word.startswith("-"):
            raise UsageError(f"Unknown option: {word}. bayou undo --help lists the options.")
        elif asked.session is None:
            asked.session = word
        else:
            raise UsageError("bayou undo takes one session, but several were given.")
    if asked.redo and (asked.to is not None or asked.last != 1):
        raise UsageError("--redo stands alone: it takes the last restore back.")
    return asked
