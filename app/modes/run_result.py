"""Writes the result folder of a run (`--result`): what a script keeps of it, whether it succeeded or not.

`answer.md`, `changes.patch`, `usage.json`, `trajectory.json` and `session.jsonl`. A file without content is not
written, and one of an earlier run is removed.
"""

import json
from pathlib import Path
from typing import Any

from app.assembly.command_line_options import UsageError
from app.engine.files.file_commands import get_diff
from app.engine.session import Session
from app.exit_codes import FAILED
from app.modes.headless_runs import print_failure
from app.modes.trajectory import trajectory
from app.resources.text_files import write_text
from app.values.codec import encode
from app.values.user_errors import UserError
from app.values.wire import to_wire

RUN_RESULT_FILE_NAMES = ("answer.md", "changes.patch", "usage.json", "trajectory.json", "session.jsonl")


def make_run_result_folder(folder: Path) -> Path:
    """Makes the folder before anything is sent. Raises `UsageError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in RUN_RESULT_FILE_NAMES:
            (folder / name).unlink(missing_ok=True)
    except OSError as problem:
        raise UsageError(
            f"--result {folder}: {problem.strerror}. Name a folder that can be written."
        ) from None
    return folder


async def write_run_result_folder(folder: Path, session: Session, code: int) -> int:
    """Writes the files; returns the exit code, which is another if they cannot be written."""
    patch, note = await _changes_patch(session)
    entries = list(session.log.entries)
    document = trajectory(session.log.header, entries)
    answer = session.last_answer.text if session.last_answer is not None else ""
    texts = {
        "answer.md": answer and answer.rstrip("\n") + "\n",
        "changes.patch": patch,
        "usage.json": _json_text(_usage_data(session, code, note)),
        "trajectory.json": _json_text(document) if document["steps"] else "",
        "session.jsonl": "".join(encode(each).decode() + "\n" for each in (session.log.header, *entries)),
    }
    try:
        for name, text in texts.items():
            if text:
                write_text(folder / name, text)
    except UserError as problem:
        return print_failure(f"The result is not complete: {problem}", code or FAILED)
    return code


async def _changes_patch(session: Session) -> tuple[str, str]:
    """Returns the changes of the session's files as a patch for git, and a note on changes that the patch
    lacks."""
    try:
        found = await get_diff(session)
    except UserError as problem:
        return "", str(problem)
    return found.get("patch") or "", "; ".join(found.get("lacking") or ())


def _usage_data(session: Session, code: int, note: str) -> dict[str, Any]:
    used = session.budget.usage_so_far
    return {
        "exitCode": code,
        "turns": session.budget.turns,
        "model": session.model.key if session.model is not None else None,
        "usage": to_wire(used),
        **({"patchNote": note} if note else {}),
    }


def _json_text(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
