"""Finds the new problems in changed files: each program checks the files as they are, and if it reports problems,
as they were before."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from tools.diagnostics import output_parsers
from tools.diagnostics.checker_runs import (
    MAX_CHECKER_OUTPUT_BYTES,
    CheckerEnvironment,
    CheckerResult,
    run_checker,
)
from tools.diagnostics.checkers import (
    CannotStartChecker,
    CheckedProjectFolder,
    CheckerCommand,
    group_files_by_check_command,
    make_checker_commands,
)
from tools.diagnostics.code_problems import (
    CodeProblem,
    FileChangeTexts,
    OldToNewLineMap,
    find_added_code_problems,
    select_code_problems_in_changed_lines,
)
from tools.diagnostics.folder_before_change import FolderBeforeChange
from tools.thread_work import run_in_thread_to_completion

_MAX_PARALLEL_CHECKERS: Final = 2
_MAX_FILES_CHECKED_ON_STDIN: Final = 40
"""The maximum number of files whose old text is passed to a checker on stdin; with more, all problems in changed
lines count as new."""


class NewCodeProblems(msgspec.Struct, frozen=True, kw_only=True):
    """The new problems that all checking programs found in the changed files, and why some could not check."""

    problems: tuple[CodeProblem, ...] = ()
    failures: tuple[str, ...] = ()
    """Sentences, without the full stop, that say why some checkers reported nothing."""


def plan_checkers_for_changes(
    commands: Mapping[str, Sequence[str]], changed: Sequence[FileChangeTexts], ground: CheckedProjectFolder
) -> tuple[list[CheckerCommand], list[str]]:
    """Returns the commands of the linters and type checkers to start for changed files, and why some are not started.
    Blocks."""
    starts: list[CheckerCommand] = []
    failures: list[str] = []
    there = [one.path for one in changed if one.new_content is not None]
    gone = [one.path for one in changed if one.new_content is None]
    for command, files in group_files_by_check_command(commands, there, ground).items():
        try:
            starts += make_checker_commands(command, files, ground)
        except CannotStartChecker as problem:
            failures.append(str(problem))
    for command in ("tsc",) if gone else ():
        # Only programs that check all files find references to a deleted file.
        files = group_files_by_check_command(commands, gone, ground).get(command, [])
        if files and not any(one.name == command for one in starts):
            with contextlib.suppress(CannotStartChecker):
                starts += make_checker_commands(command, files, ground)
    return starts, failures


async def find_new_code_problems(
    starts: Sequence[CheckerCommand],
    changed: Sequence[FileChangeTexts],
    ground: CheckedProjectFolder,
    around: CheckerEnvironment,
) -> NewCodeProblems:
    changed = [one for one in changed if one.path.startswith(ground.root_folder.rstrip("/") + "/")]
    alignments = await asyncio.to_thread(lambda: {one.path: one.map_old_lines_to_new() for one in changed})
    turns = asyncio.Semaphore(_MAX_PARALLEL_CHECKERS)

    async def one(start: CheckerCommand) -> tuple[Sequence[CodeProblem], str]:
        async with turns:
            try:
                return await _find_new_problems_of_checker(start, changed, alignments, ground, around)
            except CannotStartChecker as problem:
                return (), str(problem)

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(one(start)) for start in starts]
    results = [task.result() for task in running]
    return NewCodeProblems(
        problems=tuple({problem: None for problems, _ in results for problem in problems}),
        failures=tuple(dict.fromkeys(failure for _, failure in results if failure)),
    )


async def _find_new_problems_of_checker(
    start: CheckerCommand,
    changed: Sequence[FileChangeTexts],
    alignments: Mapping[str, OldToNewLineMap],
    ground: CheckedProjectFolder,
    around: CheckerEnvironment,
) -> tuple[Sequence[CodeProblem], str]:
    """Returns the problems that one checking program reports for the changed files and did not report before, and why
    they may be incomplete."""
    place = output_parsers.make_checker_path_resolver(start.folder, ground.root_folder, ground.root_folder)
    now = await run_checker(start, around, place=place, works_in=start.folder, argv=start.argv)
    cut = (
        f"{start.name} said more than {MAX_CHECKER_OUTPUT_BYTES >> 20} MB, and the rest was not read"
        if now.is_cut
        else ""
    )
    if not now.problems:
        return (), cut
    try:
        before = await _find_problems_before_change(start, now, changed, ground, around)
    except (CannotStartChecker, OSError):
        return select_code_problems_in_changed_lines(now.problems, alignments), cut
    return find_added_code_problems(before, now.problems, alignments), cut


async def _find_problems_before_change(
    start: CheckerCommand,
    now: CheckerResult,
    changed: Sequence[FileChangeTexts],
    ground: CheckedProjectFolder,
    around: CheckerEnvironment,
) -> Sequence[CodeProblem]:
    """Returns the problems that a checking program reports for the files as they were before the change. Raises
    `CannotStartChecker`."""
    if start.stdin_argv:
        return await _check_old_texts(start, now, changed, ground, around)
    root = ground.root_folder.rstrip("/")
    missing = {one.path[len(root) + 1 :] for one in changed if one.old_content is None}
    gone = {word for word in start.file_arguments if word.removeprefix("./") in missing}
    if start.file_arguments and len(gone) == len(start.file_arguments):
        return ()
    image = FolderBeforeChange(around.private_folder("before"))
    try:
        await run_in_thread_to_completion(lambda: image.fill_folder(ground.root_folder, changed))
        works_in = image.root + start.folder[len(root) :]
        argv = tuple(word for word in start.argv if word not in gone)
        place = output_parsers.make_checker_path_resolver(works_in, image.root, ground.root_folder)
        seen = await run_checker(
            start, around.with_readable_folder(image.root), place=place, works_in=works_in, argv=argv
        )
    finally:
        await run_in_thread_to_completion(image.close)
    if seen.is_cut:
        raise CannotStartChecker("it said too much")
    new = {one.path for one in changed if one.old_content is None}
    return [problem for problem in seen.problems if problem.path not in new]


async def _check_old_texts(
    start: CheckerCommand,
    now: CheckerResult,
    changed: Sequence[FileChangeTexts],
    ground: CheckedProjectFolder,
    around: CheckerEnvironment,
) -> Sequence[CodeProblem]:
    named = {problem.path for problem in now.problems}
    texts = [one for one in changed if one.path in named and one.old_content is not None]
    if len(texts) > _MAX_FILES_CHECKED_ON_STDIN:
        raise CannotStartChecker("too many files")
    place = output_parsers.make_checker_path_resolver(start.folder, ground.root_folder, ground.root_folder)
    found: list[CodeProblem] = []
    for one in texts:
        argv = (*start.stdin_argv, one.path)
        seen = await run_checker(
            start, around, place=place, works_in=start.folder, argv=argv, text=one.old_content or b""
        )
        if seen.is_cut:
            raise CannotStartChecker("it said too much")
        found += seen.problems
    return found
