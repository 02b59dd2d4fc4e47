"""What programs newly say of files that were changed: each looks at them as they are, and where it finds something, at
how they were before."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from tools.diagnostics import reading
from tools.diagnostics.image import FolderImage
from tools.diagnostics.problems import (
    Alignment,
    ChangedText,
    CodeProblem,
    in_changed_lines,
    new_problems,
)
from tools.diagnostics.programs import CannotLook, LookGround, ProgramStart, looks, planned
from tools.diagnostics.running import MOST_OUTPUT, Circumstances, Heard, look
from tools.threads import to_the_end

_AT_ONCE: Final = 2
_MOST_TEXTS: Final = 40
"""Of so many files the old text is handed to a program one by one; of more, the lines that are new decide."""


class NewlySaid(msgspec.Struct, frozen=True, kw_only=True):
    """What came of all programs."""

    problems: tuple[CodeProblem, ...] = ()
    failures: tuple[str, ...] = ()
    """Why some of them had nothing to say, each a sentence without its full stop."""


def wanted(
    commands: Mapping[str, Sequence[str]], changed: Sequence[ChangedText], ground: LookGround
) -> tuple[list[ProgramStart], list[str]]:
    """What is to be started, and why some of it is not. For a thread."""
    starts: list[ProgramStart] = []
    failures: list[str] = []
    there = [one.path for one in changed if one.after is not None]
    gone = [one.path for one in changed if one.after is None]
    for command, files in looks(commands, there, ground).items():
        try:
            starts += planned(command, files, ground)
        except CannotLook as problem:
            failures.append(str(problem))
    for command in ("tsc",) if gone else ():
        # What refers to a file that is gone is found by who looks at all files.
        files = looks(commands, gone, ground).get(command, [])
        if files and not any(one.name == command for one in starts):
            with contextlib.suppress(CannotLook):
                starts += planned(command, files, ground)
    return starts, failures


async def compared(
    starts: Sequence[ProgramStart], changed: Sequence[ChangedText], ground: LookGround, around: Circumstances
) -> NewlySaid:
    changed = [one for one in changed if one.path.startswith(ground.root.rstrip("/") + "/")]
    alignments = await asyncio.to_thread(lambda: {one.path: one.alignment() for one in changed})
    turns = asyncio.Semaphore(_AT_ONCE)

    async def one(start: ProgramStart) -> tuple[Sequence[CodeProblem], str]:
        async with turns:
            try:
                return await _fresh(start, changed, alignments, ground, around)
            except CannotLook as problem:
                return (), str(problem)

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(one(start)) for start in starts]
    results = [task.result() for task in running]
    return NewlySaid(
        problems=tuple({problem: None for problems, _ in results for problem in problems}),
        failures=tuple(dict.fromkeys(failure for _, failure in results if failure)),
    )


async def _fresh(
    start: ProgramStart,
    changed: Sequence[ChangedText],
    alignments: Mapping[str, Alignment],
    ground: LookGround,
    around: Circumstances,
) -> tuple[Sequence[CodeProblem], str]:
    """What is new, and why that may not be all."""
    place = reading.leading(start.works_in, ground.root, ground.root)
    now = await look(start, around, place=place, works_in=start.works_in, argv=start.argv)
    cut = (
        f"{start.name} said more than {MOST_OUTPUT >> 20} MB, and the rest was not read" if now.is_cut else ""
    )
    if not now.problems:
        return (), cut
    try:
        before = await _before(start, now, changed, ground, around)
    except (CannotLook, OSError):
        return in_changed_lines(now.problems, alignments), cut
    return new_problems(before, now.problems, alignments), cut


async def _before(
    start: ProgramStart, now: Heard, changed: Sequence[ChangedText], ground: LookGround, around: Circumstances
) -> Sequence[CodeProblem]:
    """What it would have said before. Raises `CannotLook`."""
    if start.of_text:
        return await _of_texts(start, now, changed, ground, around)
    root = ground.root.rstrip("/")
    missing = {one.path[len(root) + 1 :] for one in changed if one.before is None}
    gone = {word for word in start.given if word.removeprefix("./") in missing}
    if start.given and len(gone) == len(start.given):
        return ()
    image = FolderImage(around.private_folder("before"))
    try:
        await to_the_end(lambda: image.fill(ground.root, changed))
        works_in = image.root + start.works_in[len(root) :]
        argv = tuple(word for word in start.argv if word not in gone)
        place = reading.leading(works_in, image.root, ground.root)
        seen = await look(start, around.seeing(image.root), place=place, works_in=works_in, argv=argv)
    finally:
        await to_the_end(image.close)
    if seen.is_cut:
        raise CannotLook("it said too much")
    new = {one.path for one in changed if one.before is None}
    return [problem for problem in seen.problems if problem.path not in new]


async def _of_texts(
    start: ProgramStart, now: Heard, changed: Sequence[ChangedText], ground: LookGround, around: Circumstances
) -> Sequence[CodeProblem]:
    named = {problem.path for problem in now.problems}
    texts = [one for one in changed if one.path in named and one.before is not None]
    if len(texts) > _MOST_TEXTS:
        raise CannotLook("too many files")
    place = reading.leading(start.works_in, ground.root, ground.root)
    found: list[CodeProblem] = []
    for one in texts:
        argv = (*start.of_text, one.path)
        seen = await look(
            start, around, place=place, works_in=start.works_in, argv=argv, text=one.before or b""
        )
        if seen.is_cut:
            raise CannotLook("it said too much")
        found += seen.problems
    return found
