"""Asks before a command removes files that undo could not restore."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice
from typing import Final

import msgspec

from app.permits.permission_decisions import CallPartDecision, ToolCallDecision, is_decided_by_mode
from app.permits.risk_classes import FilesLostByCommand
from app.undo.change_records import FileWithoutStoredContent

NOT_RESTORABLE_REASON: Final = "undo cannot restore these files"
_MAX_CHECKED_REMOVED_PATHS: Final = 500
_MAX_FILES_NAMED_IN_QUESTION: Final = 5


FindUnrestorable = Callable[[Iterable[str], bool], Awaitable[tuple[FileWithoutStoredContent, ...]]]
"""A function that returns the files at or below paths that undo could not restore; the flag includes files that git
ignores."""


async def ask_about_unrestorable(
    decision: ToolCallDecision, unheld: FindUnrestorable, workspace: str
) -> ToolCallDecision:
    """Changes the decision on a command to a question for each part that removes files which undo could not
    restore."""
    answers: list[CallPartDecision] = []
    for answer in decision.part_decisions:
        part, lost = answer.part, list[FileWithoutStoredContent]()
        for ignored in (True, False) if is_decided_by_mode(answer.decided_by) else ():
            removals = [one for one in part.removals if one.takes_ignored is ignored]
            paths = await asyncio.to_thread(_removed_paths, removals, workspace) if removals else ()
            if paths:
                lost += await unheld(paths, ignored)
        if lost:
            why = f"{part.why}, and /undo could not restore {_list_names(lost)}"
            part = msgspec.structs.replace(part, why=why)
            answer = CallPartDecision(part=part, outcome="ask", decided_by=NOT_RESTORABLE_REASON)
        answers.append(answer)
    if all(answer.outcome == "run" for answer in answers):
        return decision
    verdict = msgspec.structs.replace(decision.verdict, parts=tuple(answer.part for answer in answers))
    return ToolCallDecision(outcome="ask", verdict=verdict, part_decisions=tuple(answers))


def _removed_paths(removals: list[FilesLostByCommand], workspace: str) -> tuple[str, ...]:
    """Returns the existing paths in the workspace that a command would remove; temporary files do not count."""
    import glob  # noqa: PLC0415  (with the first command that removes files)

    found: list[str] = []
    for removal in removals:
        each: Iterable[str] = (removal.path,)
        if set("*?") & set(removal.path):
            pattern = removal.path.replace("[", "[[]")
            each = glob.iglob(pattern, recursive=True, include_hidden=True)  # noqa: PTH207  (absolute)
        found += islice((path for path in each if os.path.lexists(path)), _MAX_CHECKED_REMOVED_PATHS)
    return tuple(path for path in found if path == workspace or path.startswith(workspace + "/"))


def _list_names(lost: list[FileWithoutStoredContent]) -> str:
    shown = [f"{one.path} ({one.why})" for one in lost[:_MAX_FILES_NAMED_IN_QUESTION]]
    more = len(lost) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
