"""Implements `bayou batch show`, `apply` and `push`: what the runs of a batch have changed."""

import asyncio
import os
import sys
from pathlib import Path

from app.assembly.command_line_options import UsageError
from app.batch.patches import apply_run_patch, find_results_by_name, push_run_patch, read_run_patch
from app.batch.results import read_batch_results
from app.cli.change_folder import current_folder
from app.exit_codes import DONE, FAILED
from app.printing import print_data, print_line, print_problem, print_text
from app.resources.paths import BayouPaths
from app.values.user_errors import UserError
from bayou.batch import BatchResult

_BATCH_PATCHES_USAGE_TEXT = """\
bayou batch show DIR [ID…]
bayou batch apply DIR ID…
bayou batch push DIR ID… [--remote NAME] [--branch NAME]

show     list the results of a batch, in a terminal as a table whose runs you can open; with IDs, print their patches
apply    merge patches into the repositories or folders of their tasks; files changed there too are kept and named
push     commit each patch on a new branch batch/…, based on the commit its run started from, and push the branch

ID is a task's id; if the task has several runs, it is the run's name as `show` lists it.
"""


def run(verb: str, words: list[str]) -> int:
    if not words or {"-h", "--help"} & set(words):
        print_text(_BATCH_PATCHES_USAGE_TEXT)
        return 0
    options, names = _parse_arguments(verb, words)
    paths = BayouPaths.from_env(os.environ, current_folder())
    try:
        out = (paths.cwd / Path(names[0]).expanduser()).resolve()
        results = read_batch_results(out)
        if len(names) == 1:
            if verb != "show":
                raise UsageError(
                    f"bayou batch {verb} needs the ID of a task. `bayou batch show DIR` lists them."
                )
            return _show_patches(out, results, paths)
        chosen = find_results_by_name(results, names[1:])
        if verb == "show":
            print_data(read_run_patch(out, result) for result in chosen)
            return DONE
        if verb == "apply":
            return asyncio.run(_apply_patches(out, chosen, paths))
        if "--branch" in options and len(chosen) > 1:
            raise UsageError("--branch names one branch: push one ID.")
        return asyncio.run(_push_patches(out, chosen, paths, options))
    except UserError as problem:
        raise UsageError(str(problem)) from None


def _parse_arguments(verb: str, words: list[str]) -> tuple[dict[str, str], list[str]]:
    rest, options, names = list(words), dict[str, str](), list[str]()
    while rest:
        word = rest.pop(0)
        if verb == "push" and word in ("--remote", "--branch"):
            if not rest:
                raise UsageError(f"{word} needs a value: NAME.")
            options[word] = rest.pop(0)
        elif word.startswith("-"):
            raise UsageError(f"Unknown option: {word}. bayou batch {verb} --help lists the options.")
        else:
            names.append(word)
    if not names:
        raise UsageError(f"bayou batch {verb} needs the folder of a batch.")
    return options, names


def _show_patches(out: Path, results: list[BatchResult], paths: BayouPaths) -> int:
    latest = {result.key: result for result in results}
    if sys.stdin.isatty() and sys.stdout.isatty():
        from app.tui.batch.run import show_batch_results  # noqa: PLC0415  (Textual is the largest import of all)

        return show_batch_results(out, tuple(latest.values()), paths)
    for result in latest.values():
        change = "patch" if result.patch else "no change"
        print_line(f"{result.outcome:<10} {result.key}  {' · '.join(filter(None, (change, result.reason)))}")
    return DONE


async def _apply_patches(out: Path, chosen: list[BatchResult], paths: BayouPaths) -> int:
    has_conflicts = False
    for result in chosen:
        applied = await apply_run_patch(out, result, paths)
        print_line(f"{result.key}: {applied.text}", flush=True)
        for conflict in applied.conflicts:
            has_conflicts = True
            print_problem(f"{conflict.path}: {conflict.text.rstrip()}")
    return FAILED if has_conflicts else DONE


async def _push_patches(
    out: Path, chosen: list[BatchResult], paths: BayouPaths, options: dict[str, str]
) -> int:
    remote, branch = options.get("--remote", "origin"), options.get("--branch", "")
    for result in chosen:
        told = await push_run_patch(out, result, paths, remote=remote, branch=branch)
        print_line(f"{result.key}: {told}", flush=True)
    return DONE
