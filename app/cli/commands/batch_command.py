"""Implements `bayou batch`: many tasks, each in a separate bayou process and folder."""

import asyncio
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any, assert_never, get_args

import msgspec

from app.assembly.command_line_options import UsageError
from app.assembly.signals import TERMINATION_SIGNALS, handle_signals
from app.batch.batch_execution import BatchCommandArguments, read_and_plan_batch, run_batch
from app.batch.cluster.connection import check_cluster_address
from app.batch.pool import (
    BatchEnded,
    BatchEndReason,
    BatchEvent,
    BatchMachineNotice,
    BatchRunEnded,
    BatchRunPool,
    BatchRunStarted,
    BatchStarted,
)
from app.batch.results import BATCH_RUN_OUTCOMES
from app.batch.run_folders import resolve_task_commits
from app.batch.tasks import BatchDefaults, BatchRun, BatchTaskFields, Permissions, Thinking
from app.cli.change_folder import current_folder
from app.exit_codes import DONE, FAILED, INTERRUPTED, LIMIT_REACHED
from app.printing import print_json, print_line, print_text
from app.resources.paths import BayouPaths
from app.values.usage import format_dollars
from app.values.user_errors import UserError
from bayou.batch import BatchResult
from tools.number_formatting import count_with_noun, format_seconds, format_token_count

_BATCH_USAGE_TEXT = """\
bayou batch TASKS --out DIR [options] [-- OPTIONS OF EACH RUN]
bayou batch report DIR [DIR…] [--html FILE] [--csv FILE] [--json-report]
bayou batch show|apply|push DIR [ID…]

Runs the tasks of a file (.jsonl, .yaml, .csv), each in a separate bayou process and folder, and appends
results to DIR/results.jsonl. After an interruption, run the same command again to continue.

  --out DIR            folder of the batch: results, patches, sessions
  --jobs N             runs at the same time (default: number of cores)
  --cluster ADDRESS    run on the workers of a Dask scheduler; local:N starts N workers on this machine
  --dry-run            show what would run and its maximum cost
  --retry OUTCOMES     repeat runs with these outcomes: failed,limit,error,timeout,cancelled
  --budget USD         stop the batch once this much is spent
  --work DIR           parent of the runs' working folders (~/.local/state/bayou/batches)
  --json               print events as JSON, one a line

Defaults for tasks that do not set these themselves:
  --prompt TEXT        the prompt; {{field}} is a field of the task
  --prompt-file FILE   read the prompt from a file
  --folder DIR         work in copies of this folder
  --repo DIR           work in clones of this git repository
  --rev REVISION       revision to check out (with --repo)
  --models A,B         run each task with each of these models
  --repeat N           run each task N times with each model
  --thinking LEVEL     how much the model thinks
  --tools NAMES        use only these tools
  --permissions MODE   read-only, ask, auto-edit (the default: commands run in the sandbox) or full
  --setup COMMAND      runs before the agent
  --check COMMAND      runs after the agent; the run passes if it exits with 0
  --max-turns N, --max-cost USD, --max-tokens N, --time-limit SECONDS (3600)
  --setup-limit SECONDS, --check-limit SECONDS (600)
"""
_BATCH_TEXT_FLAGS = ("prompt", "folder", "repo", "rev", "thinking", "tools", "permissions", "setup", "check")
_BATCH_COUNT_FLAGS = ("max-turns", "max-tokens")
_BATCH_AMOUNT_FLAGS = ("max-cost", "time-limit", "setup-limit", "check-limit")
_BATCH_TASK_FLAGS = frozenset((*_BATCH_TEXT_FLAGS, *_BATCH_COUNT_FLAGS, *_BATCH_AMOUNT_FLAGS))
_WHOLE_BATCH_FLAGS = frozenset(
    ("out", "jobs", "cluster", "retry", "budget", "work", "models", "repeat", "prompt-file")
)
_BATCH_SWITCH_FLAGS = frozenset(("dry-run", "json"))
_DEFAULT_RUN_TIME_LIMIT_SECONDS = 3_600.0
_MAX_LISTED_DRY_RUNS = 20


def run(words: list[str]) -> int:
    if not words or {"-h", "--help"} & set(words[:1]):
        print_text(_BATCH_USAGE_TEXT)
        return 0
    if words[0] == "report":
        from app.cli.commands.batch_report_command import run as run_report  # noqa: PLC0415  (a separate subcommand)

        return run_report(words[1:])
    if words[0] in ("show", "apply", "push"):
        from app.cli.commands.batch_patch_commands import run as run_patches  # noqa: PLC0415  (as above)

        return run_patches(words[0], words[1:])
    asked = _parse_arguments(words)
    is_dry = "dry-run" in asked.switches
    if "out" not in asked.values and not is_dry:
        raise UsageError("bayou batch needs --out DIR: the folder that results are written to.")
    try:
        request = _batch_request(asked)
        return asyncio.run(
            _dry_run(request) if is_dry else _run_batch(request, is_json="json" in asked.switches)
        )
    except UserError as problem:
        raise UsageError(str(problem)) from None


class _BatchArguments(msgspec.Struct, frozen=True):
    """The parsed command line of `bayou batch`."""

    tasks: str
    values: dict[str, str]
    switches: frozenset[str]
    options: tuple[str, ...]


def _parse_arguments(words: list[str]) -> _BatchArguments:
    rest, values, switches, files = list(words), dict[str, str](), set[str](), list[str]()
    options: tuple[str, ...] = ()
    while rest:
        word = rest.pop(0)
        if word == "--":
            options, rest = tuple(rest), []
        elif not word.startswith("--"):
            files.append(word)
        else:
            name, separator, inline = word[2:].partition("=")
            if name in _BATCH_SWITCH_FLAGS and not separator:
                switches.add(name)
            elif name in _BATCH_TASK_FLAGS or name in _WHOLE_BATCH_FLAGS:
                if not separator and not rest:
                    raise UsageError(f"--{name} needs a value. bayou batch --help lists the options.")
                values[name] = inline if separator else rest.pop(0)
            else:
                raise UsageError(f"Unknown option: {word}. bayou batch --help lists the options.")
    if len(files) != 1:
        raise UsageError("bayou batch takes one file of tasks. bayou batch --help shows how it is used.")
    return _BatchArguments(files[0], values, frozenset(switches), options)


def _batch_request(asked: _BatchArguments) -> BatchCommandArguments:
    base, values = current_folder(), asked.values
    paths = BayouPaths.from_env(os.environ, base)
    work = values.get("work")
    return BatchCommandArguments(
        tasks=(base / Path(asked.tasks).expanduser()).resolve(),
        out=(base / Path(values.get("out", "")).expanduser()).resolve(),
        paths=paths,
        defaults=BatchDefaults(
            fields=_default_task_fields(values, base),
            models=tuple(filter(None, (one.strip() for one in values.get("models", "").split(",")))),
            repeat=_parse_count("repeat", values.get("repeat", "1")),
            options=asked.options,
            base_folder=base,
        ),
        jobs=_parse_count("jobs", values["jobs"]) if "jobs" in values else None,
        cluster=check_cluster_address(values["cluster"]) if "cluster" in values else None,
        budget=_parse_amount("budget", values["budget"]) if "budget" in values else None,
        retry=frozenset(_parse_outcome(one) for one in values["retry"].split(","))
        if "retry" in values
        else frozenset(),
        work=base / Path(work).expanduser() if work is not None else None,
    )


def _default_task_fields(values: dict[str, str], base: Path) -> BatchTaskFields:
    fields: dict[str, Any] = {name: values[name] for name in _BATCH_TEXT_FLAGS if name in values}
    for name in _BATCH_COUNT_FLAGS:
        if name in values:
            fields[name.replace("-", "_")] = _parse_count(name, values[name])
    for name in _BATCH_AMOUNT_FLAGS:
        if name in values:
            fields[name.replace("-", "_")] = _parse_amount(name, values[name])
    for name, choices in (("thinking", get_args(Thinking)), ("permissions", get_args(Permissions))):
        if name in fields and fields[name] not in choices:
            raise UsageError(f"--{name} {fields[name]}: not one of {', '.join(choices)}.")
    if "prompt-file" in values:
        if "prompt" in fields:
            raise UsageError("--prompt and --prompt-file cannot be used together.")
        fields["prompt"] = _read_text_file(base / Path(values["prompt-file"]).expanduser())
    if "folder" in fields and "repo" in fields:
        raise UsageError("--folder and --repo cannot be used together.")
    return BatchTaskFields(
        **{"permissions": "auto-edit", "time_limit": _DEFAULT_RUN_TIME_LIMIT_SECONDS, **fields}
    )


def _read_text_file(file: Path) -> str:
    from app.resources.text_files import read_text  # noqa: PLC0415  (only for this option)

    text = read_text(file)
    if text is None:
        raise UsageError(f"--prompt-file {file}: there is no such file.")
    return text


def _parse_count(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text) <= 999_999_999):
        raise UsageError(f"--{name} {text}: use a whole number from 1 on.")
    return int(text)


def _parse_amount(name: str, text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0 < amount <= 999_999_999:
        raise UsageError(f"--{name} {text}: use a number above 0, such as 0.5 or 60.")
    return amount


def _parse_outcome(text: str) -> Any:
    known = [one for one in BATCH_RUN_OUTCOMES if one != "passed"]
    if text not in known:
        raise UsageError(f"--retry {text}: not one of {', '.join(known)}.")
    return text


async def _dry_run(request: BatchCommandArguments) -> int:
    batch = read_and_plan_batch(request)
    await resolve_task_commits(batch.runs, {}, request.paths)
    models = Counter(run.task.model or "the default model" for run in batch.runs)
    at_a_time = (
        f"on {request.cluster}" if request.cluster else f"{request.jobs or os.cpu_count() or 1} at a time"
    )
    print_line(f"{count_with_noun(len(batch.runs), 'run')}, {at_a_time}: {_counts_text(models)}.")
    for one in batch.runs[:_MAX_LISTED_DRY_RUNS]:
        print_line(f"  {one.key}  {_folder_description(one)}")
    if len(batch.runs) > _MAX_LISTED_DRY_RUNS:
        print_line(f"  … {len(batch.runs) - _MAX_LISTED_DRY_RUNS} more")
    limits = [one.task.max_cost for one in batch.runs]
    known = sum(limit for limit in limits if limit is not None)
    if request.budget is not None and (None in limits or known > request.budget):
        print_line(
            f"Maximum cost: {format_dollars(request.budget)} (--budget), plus the requests running at that "
            f"moment."
        )
    elif None in limits:
        print_line("No cost limit: add --budget USD for the whole batch or --max-cost USD for each run.")
    else:
        print_line(f"Maximum cost: {format_dollars(known)} (--max-cost), plus the last request of each run.")
    return DONE


def _folder_description(run: BatchRun) -> str:
    task = run.task
    return f"{task.repo} at {task.rev or 'HEAD'}" if task.repo is not None else f"copy of {task.folder}"


async def _run_batch(request: BatchCommandArguments, *, is_json: bool) -> int:
    if not is_json and sys.stdin.isatty() and sys.stdout.isatty():
        return await _watch_on_screen(request)
    lines = _EventPrinter(is_json=is_json)

    def begun(pool: BatchRunPool) -> None:
        def stop(number: int) -> None:
            if lines.signal is not None:
                os._exit(128 + number)  # the runs end when they next write to the pipe that is gone
            lines.signal = number
            pool.stop("interrupted")

        handle_signals(TERMINATION_SIGNALS, stop)

    end = await run_batch(request, lines.print_event, begun)
    return lines.exit_code(end)


async def _watch_on_screen(request: BatchCommandArguments) -> int:
    from app.tui.batch.run import run_batch_with_table  # noqa: PLC0415  (Textual is the largest import of all)

    lines = _EventPrinter(is_json=False)
    last: list[BatchEvent] = []

    def tell(event: BatchEvent) -> None:
        lines.update_counts(event)
        last[:] = [event]

    end = await run_batch_with_table(request, tell)
    print_line(lines.event_line(last[0]))
    return lines.exit_code(end)


class _EventPrinter:
    """Prints each event of a batch as a line."""

    def __init__(self, *, is_json: bool) -> None:
        self._is_json = is_json
        self._outcomes: dict[str, int] = {}
        self._count = 0
        self._runs = 0
        self.signal: int | None = None

    def update_counts(self, event: BatchEvent) -> None:
        if isinstance(event, BatchStarted):
            self._runs, self._count = event.runs, event.done
        elif isinstance(event, BatchRunEnded):
            self._count += 1
        elif isinstance(event, BatchEnded):
            self._outcomes = event.outcomes

    def print_event(self, event: BatchEvent) -> None:
        self.update_counts(event)
        if self._is_json:
            print_json(msgspec.to_builtins(event), flush=True)
        else:
            print_line(self.event_line(event), flush=True)

    def exit_code(self, end: BatchEndReason) -> int:
        if self.signal is not None:
            return 128 + self.signal
        match end:
            case "budget":
                return LIMIT_REACHED
            case "interrupted":
                return INTERRUPTED
            case "done":
                return DONE if set(self._outcomes) <= {"passed"} else FAILED

    def event_line(self, event: BatchEvent) -> str:
        match event:
            case BatchStarted():
                changed = f", {event.changed} again because the task has changed" if event.changed else ""
                done = f", {event.done} done before" if event.done else ""
                left = event.runs - event.done
                return f"{count_with_noun(left, 'run')}{changed}{done}, {event.jobs} at a time."
            case BatchRunStarted():
                return f"started    {event.key}"
            case BatchRunEnded():
                return f"{event.result.outcome:<10} {event.result.key}  {self._result_figures(event.result)}"
            case BatchMachineNotice():
                return event.text
            case BatchEnded():
                return self._summary_line(event)
            case _:
                assert_never(event)

    def _result_figures(self, result: BatchResult) -> str:
        parts = [
            f"{self._count}/{self._runs}",
            format_seconds(result.seconds),
            f"{format_token_count(result.tokens)} tokens",
            format_dollars(result.cost),
            result.reason,
        ]
        return " · ".join(filter(None, parts))

    def _summary_line(self, event: BatchEnded) -> str:
        told = (
            ", ".join(f"{event.outcomes[one]} {one}" for one in BATCH_RUN_OUTCOMES if one in event.outcomes)
            or "No runs"
        )
        spent = f"{format_token_count(event.tokens)} tokens, {format_dollars(event.cost)}"
        if event.stopped_by == "budget":
            return (
                f"{told}. The budget is spent ({spent}); {count_with_noun(event.left, 'run')} did not start."
            )
        if event.stopped_by is not None:
            return (
                f"{told}. Stopped ({spent}). Run the same command again for the remaining "
                f"{count_with_noun(event.left, 'run')}."
            )
        return f"{told}. {spent}."


def _counts_text(counts: "Counter[str]") -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())
