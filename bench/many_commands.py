"""Measures a hundred commands of one answer, each writing a file, in a repository of 2,000 files.

Whole programs with their default settings, undo included. With `BENCH_PI` set
(`bench/oneshot.py`), pi is measured too."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.processes import ROOT, Cost, bayou_command, median, run, temporary_home
from bench.table import Row

COMMANDS = 100
FILES = 2_000
REPEAT = 7
_LIMIT = "2x"
_SERVER = """
import asyncio, json, sys
calls, end = (answer.encode() for answer in json.load(sys.stdin))
async def serve(reader, writer):
    try:
        while True:
            length = 0
            while (line := await reader.readline()).strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            if not line:
                return
            body = await reader.readexactly(length)
            said = end if b"call_99" in body else calls
            writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\n")
            writer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(said) + said)
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=2**26)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


def rows() -> Iterator[Row]:
    with temporary_home() as (cwd, env), _server() as url:
        env = {**env, "PI_OFFLINE": "1"}
        _fill(cwd, env)
        card = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "made-up"}
        models = json.dumps(
            {"providers": {"local": {**card, "models": [{"id": "m", "contextWindow": 10**9}]}}}
        )
        for folder in (".bayou", ".pi"):
            place = Path(env["HOME"]) / folder / "agent"
            place.mkdir(parents=True, exist_ok=True)
            (place / "models.json").write_text(models)
        commands = {
            "bayou": bayou_command("-p", "--model", "local/m", "go"),
            "full": bayou_command("-p", "--model", "local/m", "--permissions", "full", "go"),
        }
        if pi := os.environ.get("BENCH_PI"):
            commands["pi"] = [*shlex.split(pi), "-p", "--provider", "local", "--model", "m", "go"]
        costs: dict[str, list[Cost]] = {program: [] for program in commands}
        for _ in range(REPEAT):
            for program, command in commands.items():
                costs[program].append(run(command, cwd, env))
                _reset_files(cwd)
        middle = {program: median(found) for program, found in costs.items()}
    theirs = middle.get("pi")
    for program, how in (("bayou", "in the sandbox"), ("full", "without a sandbox")):
        ours = middle[program]
        for title, field in (("wall", "wall"), ("CPU", "cpu")):
            yield Row(
                name=f"{COMMANDS} commands that write, {FILES:,} files, {how}: {title}",
                figure=getattr(ours, field),
                unit="s",
                ratio=getattr(ours, field) / getattr(theirs, field) if theirs else None,
                reference=f"pi, {getattr(theirs, field):.2f} s" if theirs else "",
                limit=_LIMIT if theirs and title == "wall" else "",
            )


def _fill(project: Path, env: dict[str, str]) -> None:
    for number in range(FILES):
        path = project / f"d{number // 400}" / f"s{number // 20 % 20}" / f"f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"def function_{number}(a):\n    return a * {number}\n" * 20)
    who = ("-c", "user.name=b", "-c", "user.email=b@b")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "one")):
        subprocess.run(["git", *words], cwd=project, env=env, check=True)


def _reset_files(project: Path) -> None:
    """Checks that every command wrote its file, and deletes the files for the next program."""
    written = sorted(project.glob("out*"))
    if len(written) != COMMANDS:
        raise RuntimeError(f"{len(written)} of {COMMANDS} files were written")
    for path in written:
        path.unlink()


@contextmanager
def _server() -> Iterator[str]:
    """Starts a server that sends all calls and then its end; in a separate process, so that only the
    program's CPU counts."""
    calls = [
        {
            "index": number,
            "id": f"call_{number}",
            "type": "function",
            "function": {
                "name": "bash",
                "arguments": json.dumps({"command": f"echo {number} > out{number}"}),
            },
        }
        for number in range(COMMANDS)
    ]
    answers = (
        _events({"tool_calls": calls}, "tool_calls"),
        _events({"content": "All are written."}, "stop"),
    )
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    try:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(answers))
        process.stdin.close()
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.kill()
        process.wait()


def _events(delta: dict[str, Any], reason: str) -> str:
    events = (
        {"id": "c", "choices": [{"index": 0, "delta": {"role": "assistant", **delta}}]},
        {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
    )
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
