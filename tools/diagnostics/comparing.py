"""Finds the new problems in changed files: each program checks the files as they are, and if it reports problems,
as they were before."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from tools.diagnostics import reading
from tools.diagnostics.image import FolderImage
from tools.diagnostics.problems import (
    CodeProblem,
    FileChangeTexts,
    LineAlignment,
    in_changed_lines,
    new_problems,
)
from tools.diagnostics.programs import (
    CannotCheck,
    CheckerCommand,
    CheckerScope,
    checker_commands,
    files_by_command,
)
from tools.diagnostics.running import MAX_OUTPUT, CheckerEnvironment, CheckerResult, run_checker
from tools.threads import run_to_completion

_MAX_PARALLEL: Final = 2
_MAX_STDIN_FILES: Final = 40
"""Up to this many files, the old text of each is passed to the program; beyond, problems in changed lines count as
new."""


class NewProblems(msgspec.Struct, frozen=True, kw_only=True):
    """The combined result of all programs."""

    problems: tuple[CodeProblem, ...] = ()
    failures: tuple[str, ...] = ()
    """Why some programs reported nothing, each a sentence without its full stop."""


def plan_starts(
    commands: Mapping[str, Sequence[str]], changed: Sequence[FileChangeTexts], ground: CheckerScope
) -> tuple[list[CheckerCommand], list[str]]:
    """Returns the programs to start, and why some are not started. For a thread."""
    starts: list[CheckerCommand] = []
    failures: list[str] = []
    there = [one.path for one in changed if one.after is not None]
    gone = [one.path for one in changed if one.after is None]
    for command, files in files_by_command(commands, there, ground).items():
        try:
            starts += checker_commands(command, files, ground)
        except CannotCheck as problem:
            failures.append(str(problem))
    for command in ("tsc",) if gone else ():
        # Only programs that check all files find references to a deleted file.
        files = files_by_command(commands, gone, ground).get(command, [])
        if files and not any(one.name == command for one in starts):
            with contextlib.suppress(CannotCheck):
                starts += checker_commands(command, files, ground)
    return starts, failures


async def run_and_compare(
    starts: Sequence[CheckerCommand],
    changed: Sequence[FileChangeTexts],
    ground: CheckerScope,
    around: CheckerEnvironment,
) -> NewProblems:
    changed = [one for one in changed if one.path.startswith(ground.root.rstrip("/") + "/")]
    alignments = await asyncio.to_thread(lambda: {one.path: one.alignment() for one in changed})
    turns = asyncio.Semaphore(_MAX_PARALLEL)

    async def one(start: CheckerCommand) -> tuple[Sequence[CodeProblem], str]:
        async with turns:
            try:
                return await _new_problems_of(start, changed, alignments, ground, around)
            except CannotCheck as problem:
                return (), str(problem)

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(one(start)) for start in starts]
    results = [task.result() for task in running]
    return NewProblems(
        problems=tuple({problem: None for problems, _ in results for problem in problems}),
        failures=tuple(dict.fromkeys(failure for _, failure in results if failure)),
    )


async def _new_problems_of(
    start: CheckerCommand,
    changed: Sequence[FileChangeTexts],
    alignments: Mapping[str, LineAlignment],
    ground: CheckerScope,
    around: CheckerEnvironment,
) -> tuple[Sequence[CodeProblem], str]:
    """Returns the new problems of one program, and why they may be incomplete."""
    place = reading.path_resolver(start.folder, ground.root, ground.root)
    now = await run_checker(start, around, place=place, works_in=start.folder, argv=start.argv)
    cut = (
        f"{start.name} said more than {MAX_OUTPUT >> 20} MB, and the rest was not read" if now.is_cut else ""
    )
    if not now.problems:
        return (), cut
    try:
        before = await _problems_before(start, now, changed, ground, around)
    except (CannotCheck, OSError):
        return in_changed_lines(now.problems, alignments), cut
    return new_problems(before, now.problems, alignments), cut


async def _problems_before(
    start: CheckerCommand,
    now: CheckerResult,
    changed: Sequence[FileChangeTexts],
    ground: CheckerScope,
    around: CheckerEnvironment,
) -> Sequence[CodeProblem]:
    """Returns the problems before the change. Raises `CannotCheck`."""
    if start.stdin_argv:
        return await _problems_of_texts(start, now, changed, ground, around)
    root = ground.root.rstrip("/")
    missing = {one.path[len(root) + 1 :] for one in changed if one.before is None}
    gone = {word for word in start.given if word.removeprefix("./") in missing}
    if start.given and len(gone) == len(start.given):
        return ()
    image = FolderImage(around.private_folder("before"))
    try:
        await run_to_completion(lambda: image.fill(ground.root, changed))
        works_in = image.root + start.folder[len(root) :]
        argv = tuple(word for word in start.argv if word not in gone)
        place = reading.path_resolver(works_in, image.root, ground.root)
        seen = await run_checker(
            start, around.with_readable_folder(image.root), place=place, works_in=works_in, argv=argv
        )
    finally:
        await run_to_completion(image.close)
    if seen.is_cut:
        raise CannotCheck("it said too much")
    new = {one.path for one in changed if one.before is None}
    return [problem for problem in seen.problems if problem.path not in new]


async def _problems_of_texts(
    start: CheckerCommand,
    now: CheckerResult,
    changed: Sequence[FileChangeTexts],
    ground: CheckerScope,
    around: CheckerEnvironment,
) -> Sequence[CodeProblem]:
    named = {problem.path for problem in now.problems}
    texts = [one for one in changed if one.path in named and one.before is not None]
    if len(texts) > _MAX_STDIN_FILES:
        raise CannotCheck("too many files")
    place = reading.path_resolver(start.folder, ground.root, ground.root)
    found: list[CodeProblem] = []
    for one in texts:
        argv = (*start.stdin_argv, one.path)
        seen = await run_checker(
            start, around, place=place, works_in=start.folder, argv=argv, text=one.before or b""
        )
        if seen.is_cut:
            raise CannotCheck("it said too much")
        found += seen.problems
    return found
