"""Implements `bayou batch`: many tasks, each in a separate bayou process and folder."""

import asyncio
import os
from collections import Counter
from pathlib import Path
from typing import Any, assert_never, get_args

import msgspec

from app.assembly.options import UsageError
from app.assembly.signals import ENDING_SIGNALS, on_signals
from app.batch.batch_runs import BatchRequest, read_batch, run_batch
from app.batch.pool import BatchEnded, BatchEvent, BatchPool, BatchStarted, End, RunEnded, RunStarted
from app.batch.results import OUTCOMES
from app.batch.tasks import Defaults, Permissions, Run, TaskFields, Thinking
from app.batch.workspaces import find_commits
from app.cli.change_folder import current_folder
from app.exit_codes import DONE, FAILED, INTERRUPTED, LIMIT
from app.printing import print_json, print_line, print_text
from app.resources.paths import Paths
from app.values.usage import format_dollars
from app.values.user_errors import UserError
from bayou.batch import BatchResult
from tools.amounts import duration, pluralized, tokens

_USAGE = """\
bayou batch TASKS --out DIR [options] [-- OPTIONS OF EACH RUN]
bayou batch report DIR [DIR…] [--html FILE] [--csv FILE] [--json-report]

Runs the tasks of a file (.jsonl, .yaml, .csv), each in a separate bayou process and folder, and appends
results to DIR/results.jsonl. The same command continues after an interruption.

  --out DIR            folder of the batch: results, patches, sessions
  --jobs N             how many runs at a time (the number of cores)
  --dry-run            show what would run and what it may cost at most
  --retry OUTCOMES     run those with these outcomes again: failed,limit,error,timeout,cancelled
  --budget USD         stop everything once this much is spent
  --work DIR           where the folders of the runs are made (~/.local/state/bayou/batches)
  --json               print events as JSON, one a line

For tasks that do not say otherwise:
  --prompt TEXT        the prompt; {{field}} is a field of the task
  --prompt-file FILE   the same from a file
  --folder DIR         work in copies of this folder
  --repo DIR           work in clones of this git repository
  --rev REVISION       at this revision
  --models A,B         a run with each of these models
  --repeat N           so many runs with each
  --thinking LEVEL     how much the model thinks
  --tools NAMES        use only these tools
  --permissions MODE   read-only, ask, auto-edit (the default: commands run in the sandbox) or full
  --setup COMMAND      runs before the agent
  --check COMMAND      runs after the agent; the run has passed when it exits with 0
  --max-turns N, --max-cost USD, --max-tokens N, --time-limit SECONDS (3600)
  --setup-limit SECONDS, --check-limit SECONDS (600)
"""
_TEXTS = ("prompt", "folder", "repo", "rev", "thinking", "tools", "permissions", "setup", "check")
_COUNT_FLAGS = ("max-turns", "max-tokens")
_AMOUNT_FLAGS = ("max-cost", "time-limit", "setup-limit", "check-limit")
_FLAGS = frozenset((*_TEXTS, *_COUNT_FLAGS, *_AMOUNT_FLAGS))
_BATCH_FLAGS = frozenset(("out", "jobs", "retry", "budget", "work", "models", "repeat", "prompt-file"))
_SWITCHES = frozenset(("dry-run", "json"))
_TIME_LIMIT = 3_600.0
_SHOWN_RUNS = 20


def run(words: list[str]) -> int:
    if not words or {"-h", "--help"} & set(words[:1]):
        print_text(_USAGE)
        return 0
    if words[0] == "report":
        from app.cli.commands.batch_report import run as run_report  # noqa: PLC0415  (a subcommand of its own)

        return run_report(words[1:])
    asked = _read(words)
    is_dry = "dry-run" in asked.switches
    if "out" not in asked.values and not is_dry:
        raise UsageError("bayou batch needs --out DIR: the folder that results are written to.")
    try:
        request = _request(asked)
        return asyncio.run(_dry_run(request) if is_dry else _run(request, is_json="json" in asked.switches))
    except UserError as problem:
        raise UsageError(str(problem)) from None


class _Words(msgspec.Struct, frozen=True):
    """The command line, split."""

    tasks: str
    values: dict[str, str]
    switches: frozenset[str]
    options: tuple[str, ...]


def _read(words: list[str]) -> _Words:
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
            if name in _SWITCHES and not separator:
                switches.add(name)
            elif name in _FLAGS or name in _BATCH_FLAGS:
                if not separator and not rest:
                    raise UsageError(f"--{name} needs a value. bayou batch --help lists the options.")
                values[name] = inline if separator else rest.pop(0)
            else:
                raise UsageError(f"Unknown option: {word}. bayou batch --help lists the options.")
    if len(files) != 1:
        raise UsageError("bayou batch takes one file of tasks. bayou batch --help shows how it is used.")
    return _Words(files[0], values, frozenset(switches), options)


def _request(asked: _Words) -> BatchRequest:
    base, values = current_folder(), asked.values
    paths = Paths.from_env(os.environ, base)
    work = values.get("work")
    return BatchRequest(
        tasks=(base / Path(asked.tasks).expanduser()).resolve(),
        out=(base / Path(values.get("out", "")).expanduser()).resolve(),
        home=paths.home,
        defaults=Defaults(
            fields=_defaults(values, base),
            models=tuple(filter(None, (one.strip() for one in values.get("models", "").split(",")))),
            repeat=_count("repeat", values.get("repeat", "1")),
            options=asked.options,
            base=base,
        ),
        jobs=_count("jobs", values.get("jobs", str(os.cpu_count() or 1))),
        budget=_parse_amount("budget", values["budget"]) if "budget" in values else None,
        retry=frozenset(_outcome(one) for one in values["retry"].split(","))
        if "retry" in values
        else frozenset(),
        work=base / Path(work).expanduser() if work is not None else None,
    )


def _defaults(values: dict[str, str], base: Path) -> TaskFields:
    fields: dict[str, Any] = {name: values[name] for name in _TEXTS if name in values}
    for name in _COUNT_FLAGS:
        if name in values:
            fields[name.replace("-", "_")] = _count(name, values[name])
    for name in _AMOUNT_FLAGS:
        if name in values:
            fields[name.replace("-", "_")] = _parse_amount(name, values[name])
    for name, choices in (("thinking", get_args(Thinking)), ("permissions", get_args(Permissions))):
        if name in fields and fields[name] not in choices:
            raise UsageError(f"--{name} {fields[name]}: not one of {', '.join(choices)}.")
    if "prompt-file" in values:
        if "prompt" in fields:
            raise UsageError("--prompt and --prompt-file cannot be used together.")
        fields["prompt"] = _text_of(base / Path(values["prompt-file"]).expanduser())
    if "folder" in fields and "repo" in fields:
        raise UsageError("--folder and --repo cannot be used together.")
    return TaskFields(**{"permissions": "auto-edit", "time_limit": _TIME_LIMIT, **fields})


def _text_of(file: Path) -> str:
    from app.resources.text_files import read_text  # noqa: PLC0415  (only for this option)

    text = read_text(file)
    if text is None:
        raise UsageError(f"--prompt-file {file}: there is no such file.")
    return text


def _count(name: str, text: str) -> int:
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


def _outcome(text: str) -> Any:
    known = [one for one in OUTCOMES if one != "passed"]
    if text not in known:
        raise UsageError(f"--retry {text}: not one of {', '.join(known)}.")
    return text


async def _dry_run(request: BatchRequest) -> int:
    batch = read_batch(request)
    await find_commits(batch.runs, {}, request.home)
    models = Counter(run.task.model or "the default model" for run in batch.runs)
    print_line(f"{pluralized(len(batch.runs), 'run')}, {request.jobs} at a time: {_counts_text(models)}.")
    for one in batch.runs[:_SHOWN_RUNS]:
        print_line(f"  {one.key}  {_place(one)}")
    if len(batch.runs) > _SHOWN_RUNS:
        print_line(f"  … {len(batch.runs) - _SHOWN_RUNS} more")
    limits = [one.task.max_cost for one in batch.runs]
    known = sum(limit for limit in limits if limit is not None)
    if request.budget is not None and (None in limits or known > request.budget):
        print_line(
            f"It costs at most {format_dollars(request.budget)} (--budget), beside the requests then running."
        )
    elif None in limits:
        print_line("Its cost has no limit: add --budget USD for all or --max-cost USD for each run.")
    else:
        print_line(
            f"It costs at most {format_dollars(known)} (--max-cost), beside the last request of each run."
        )
    return DONE


def _place(run: Run) -> str:
    task = run.task
    return f"{task.repo} at {task.rev or 'HEAD'}" if task.repo is not None else f"copy of {task.folder}"


async def _run(request: BatchRequest, *, is_json: bool) -> int:
    lines = _Lines(is_json=is_json)

    def begun(pool: BatchPool) -> None:
        def stop(number: int) -> None:
            if lines.signal is not None:
                os._exit(128 + number)  # the runs end when they next write to the pipe that is gone
            lines.signal = number
            pool.stop("interrupted")

        on_signals(ENDING_SIGNALS, stop)

    end = await run_batch(request, lines.tell, begun)
    return lines.exit_code(end)


class _Lines:
    """Prints each event as a line."""

    def __init__(self, *, is_json: bool) -> None:
        self._is_json = is_json
        self._outcomes: dict[str, int] = {}
        self._count = 0
        self._runs = 0
        self.signal: int | None = None

    def tell(self, event: BatchEvent) -> None:
        if isinstance(event, BatchStarted):
            self._runs, self._count = event.runs, event.done
        elif isinstance(event, RunEnded):
            self._count += 1
        elif isinstance(event, BatchEnded):
            self._outcomes = event.outcomes
        if self._is_json:
            print_json(msgspec.to_builtins(event), flush=True)
        else:
            print_line(self._line(event), flush=True)

    def exit_code(self, end: End) -> int:
        if self.signal is not None:
            return 128 + self.signal
        match end:
            case "budget":
                return LIMIT
            case "interrupted":
                return INTERRUPTED
            case "done":
                return DONE if set(self._outcomes) <= {"passed"} else FAILED

    def _line(self, event: BatchEvent) -> str:
        match event:
            case BatchStarted():
                changed = f", {event.changed} of them because the task has changed" if event.changed else ""
                done = f", {event.done} done before" if event.done else ""
                left = event.runs - event.done
                return f"{pluralized(left, 'run')}{changed}{done}, {event.jobs} at a time."
            case RunStarted():
                return f"started    {event.key}"
            case RunEnded():
                return f"{event.result.outcome:<10} {event.result.key}  {self._figures(event.result)}"
            case BatchEnded():
                return self._sum(event)
            case _:
                assert_never(event)

    def _figures(self, result: BatchResult) -> str:
        parts = [
            f"{self._count}/{self._runs}",
            duration(result.seconds),
            f"{tokens(result.tokens)} tokens",
            format_dollars(result.cost),
            result.reason,
        ]
        return " · ".join(filter(None, parts))

    def _sum(self, event: BatchEnded) -> str:
        told = (
            ", ".join(f"{event.outcomes[one]} {one}" for one in OUTCOMES if one in event.outcomes)
            or "No runs"
        )
        spent = f"{tokens(event.tokens)} tokens, {format_dollars(event.cost)}"
        if event.stopped_by == "budget":
            return f"{told}. The budget is spent ({spent}); {pluralized(event.left, 'run')} did not start."
        if event.stopped_by is not None:
            return (
                f"{told}. Stopped ({spent}); the same command continues with {pluralized(event.left, 'run')}."
            )
        return f"{told}. {spent}."


def _counts_text(counts: "Counter[str]") -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())
