"""Asks before a command removes files that undo could not restore."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice
from typing import Final

import msgspec

from app.permits.permission_decisions import CallDecision, PartDecision, is_decided_by_mode
from app.permits.verdicts import Removal
from app.undo.change_records import UnstoredFile

NOT_RESTORABLE_REASON: Final = "undo cannot restore these files"
_MAX_PATHS: Final = 500
_MAX_NAMED_FILES: Final = 5


FindUnrestorable = Callable[[Iterable[str], bool], Awaitable[tuple[UnstoredFile, ...]]]
"""A function that returns the files at or below paths that undo could not restore; the flag includes files that git
ignores."""


async def ask_about_unrestorable(
    decision: CallDecision, unheld: FindUnrestorable, workspace: str
) -> CallDecision:
    """Changes the decision on a command to a question for each part that removes files which undo could not
    restore."""
    answers: list[PartDecision] = []
    for answer in decision.part_decisions:
        part, lost = answer.part, list[UnstoredFile]()
        for ignored in (True, False) if is_decided_by_mode(answer.decided_by) else ():
            removals = [one for one in part.removals if one.takes_ignored is ignored]
            paths = await asyncio.to_thread(_removed_paths, removals, workspace) if removals else ()
            if paths:
                lost += await unheld(paths, ignored)
        if lost:
            why = f"{part.why}, and /undo could not restore {_list_names(lost)}"
            part = msgspec.structs.replace(part, why=why)
            answer = PartDecision(part=part, outcome="ask", decided_by=NOT_RESTORABLE_REASON)
        answers.append(answer)
    if all(answer.outcome == "run" for answer in answers):
        return decision
    verdict = msgspec.structs.replace(decision.verdict, parts=tuple(answer.part for answer in answers))
    return CallDecision(outcome="ask", verdict=verdict, part_decisions=tuple(answers))


def _removed_paths(removals: list[Removal], workspace: str) -> tuple[str, ...]:
    """Returns the existing paths in the workspace that a command would remove; temporary files do not count."""
    import glob  # noqa: PLC0415  (with the first command that removes files)

    found: list[str] = []
    for removal in removals:
        each: Iterable[str] = (removal.path,)
        if set("*?") & set(removal.path):
            pattern = removal.path.replace("[", "[[]")
            each = glob.iglob(pattern, recursive=True, include_hidden=True)  # noqa: PTH207  (absolute)
        found += islice((path for path in each if os.path.lexists(path)), _MAX_PATHS)
    return tuple(path for path in found if path == workspace or path.startswith(workspace + "/"))


def _list_names(lost: list[UnstoredFile]) -> str:
    shown = [f"{one.path} ({one.why})" for one in lost[:_MAX_NAMED_FILES]]
    more = len(lost) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
