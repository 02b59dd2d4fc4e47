"""Measures with a real model whether the repository hint for a first question helps: `python -m
bench first-question CLONE…`.

Tasks are drawn like the questions of `repository_maps`. Each is given to bayou twice in a
checkout of the commit's parent, with `repositoryMaps.firstQuestion` off and auto, using the
model in `BENCH_MODEL` with credentials from the environment. The criteria for `auto` as the
default: a fifth fewer search and read calls before the first edit, no more input tokens, and
no fewer runs that edit a file of the commit."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from bench.repository_maps import Case, cases_of
from bench.table import Row

TASKS = int(os.environ.get("BENCH_QUESTIONS", "20"))
_LOOKING_TOOLS = frozenset(("read", "grep", "find", "ls", "locate", "bash"))
_EDITING_TOOLS = frozenset(("edit", "write", "ast_edit"))
_TIMEOUT = 900
FirstQuestionSetting = Literal["off", "auto"]


class TaskRun(msgspec.Struct, frozen=True):
    """The figures of one run of the agent."""

    looks: int
    """The number of search and read calls before the first edit."""
    input_tokens: int
    edited: frozenset[str]
    """The edited paths, as the calls name them."""


def rows(clones: Sequence[str] = ()) -> Iterator[Row]:
    model = os.environ.get("BENCH_MODEL")
    if not clones or not model:
        return
    runs: dict[FirstQuestionSetting, list[tuple[Case, TaskRun]]] = {"off": [], "auto": []}
    for clone in clones:
        for case in cases_of(Path(clone), max(1, TASKS // len(clones))):
            for way, done in runs.items():
                done.append((case, _run_task(Path(clone), case, way, model)))
    off, auto = ([run for _, run in runs[way]] for way in ("off", "auto"))
    yield _comparison_row("calls before the first edit", off, auto, lambda run: run.looks, "0.80x")
    yield _comparison_row("input tokens", off, auto, lambda run: run.input_tokens, "1.00x")
    right = {way: sum(is_right(case, run) for case, run in done) for way, done in runs.items()}
    yield Row(
        name=f"{len(auto)} tasks: a touched file is edited",
        figure=right["auto"],
        unit="runs",
        ratio=right["auto"] / right["off"] if right["off"] else None,
        reference=f"off: {right['off']}",
        limit="1.00x or more",
    )


def _comparison_row(name: str, off: Sequence[TaskRun], auto: Sequence[TaskRun], of: Any, limit: str) -> Row:
    before, after = sum(map(of, off)), sum(map(of, auto))
    return Row(
        name=f"{len(auto)} tasks: {name}",
        figure=after,
        unit="",
        ratio=after / before if before else None,
        reference=f"off: {before:,}",
        limit=limit,
    )


def is_right(case: Case, run: TaskRun) -> bool:
    return any(Path(path).as_posix().endswith(touched) for path in run.edited for touched in case.touched)


def _run_task(clone: Path, case: Case, way: FirstQuestionSetting, model: str) -> TaskRun:
    with tempfile.TemporaryDirectory() as folder:
        tree, home = Path(folder, "tree"), Path(folder, "home")
        subprocess.run(["git", "clone", "-q", "-n", "-s", str(clone), str(tree)], check=True)
        subprocess.run(["git", "-C", str(tree), "checkout", "-q", "-f", case.parent], check=True)
        settings = home / ".bayou" / "agent" / "settings.json"
        settings.parent.mkdir(parents=True)
        settings.write_text(json.dumps({"repositoryMaps": {"firstQuestion": way}}))
        env = {**os.environ, "HOME": str(home)}
        # Make the index first, as in a folder that was used before.
        subprocess.run(
            [sys.executable, "-m", "app", "map", str(tree)], env=env, check=True, capture_output=True
        )
        words = ["--mode", "json", "--model", model, "--permissions", "full", "--no-session"]
        done = subprocess.run(
            [sys.executable, "-m", "app", *words, f"Make this change: {case.question}"],
            cwd=tree,
            env={**env, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
        return parse_run(done.stdout.splitlines())


def parse_run(lines: Iterable[str]) -> TaskRun:
    """Computes the figures from the output of JSON mode."""
    looks = tokens = 0
    edited: set[str] = set()
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        match event.get("type"):
            case "tool_execution_start" if event.get("parentToolCallId") is None:
                name = event.get("toolName")
                if name in _EDITING_TOOLS:
                    edited.add(str((event.get("args") or {}).get("path", "")))
                elif name in _LOOKING_TOOLS and not edited:
                    looks += 1
            case "message_end" if (event.get("message") or {}).get("role") == "assistant":
                usage = event["message"].get("usage") or {}
                tokens += sum(int(usage.get(kind, 0)) for kind in ("input", "cacheRead", "cacheWrite"))
            case _:
                pass
    return TaskRun(looks, tokens, frozenset(edited))
