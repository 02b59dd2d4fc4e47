"""Measures what users wait for: whole programs against a local server, and long sessions.

With `BENCH_PI` set to the command of pi (`BENCH_PI="node /path/to/cli.js"`), pi is measured in
alternation in the same run."""

import asyncio
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.processes import (
    ROOT,
    Cost,
    Terminal,
    bayou_command,
    cpu_seconds,
    median,
    python_command,
    resident_bytes,
    run,
    temporary_home,
)
from bench.providers import APIS, resident_kilobytes, sse_events
from bench.table import Row

REPEAT = 7
FEW_DELTAS, MANY_DELTAS = 20, 4_000
MODEL, READY_TEXT = "made-up-model", "it is there"
TURNS = 10_000
COMPACTION_INTERVAL = 2
WINDOW = 40
"""The number of turns that are averaged."""
_WORD = "word and "
_SERVER = """
import asyncio, json, ssl, sys
head, delta, tail, count, certificate, pause = json.loads(sys.argv[1])
tls = None
if certificate:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate + "/cert.pem", certificate + "/key.pem")
asked = 0
async def serve(reader, writer):
    global asked
    try:
        while True:
            length = 0
            while (line := await reader.readline()).strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            if not line:
                return
            await reader.readexactly(length)
            asked += 1
            said = [(piece if isinstance(piece, str) else "").replace("NUMBER", str(asked)).encode()
                    for piece in (head, delta, tail)]
            whole = len(said[0]) + len(said[1]) * count + len(said[2])
            writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\n")
            writer.write(b"Content-Length: %d\\r\\n\\r\\n" % whole + said[0])
            for number in range(count):
                writer.write(said[1])
                if pause and number % pause == 0:
                    await writer.drain()
                    await asyncio.sleep(0.002)
            writer.write(said[2])
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls, limit=2**28)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


def rows() -> Iterator[Row]:
    with temporary_home() as (cwd, env), tempfile.TemporaryDirectory() as certificates:
        env = {**env, "PI_OFFLINE": "1", "NODE_EXTRA_CA_CERTS": f"{certificates}/cert.pem"}
        _make_certificate(Path(certificates))
        for api in APIS:
            with _server(api, FEW_DELTAS) as url:
                yield from _compare(f"-p hi, {api}", api, url, ("-p",), cwd, env, "0.6x", "0.36x")
        with _server(APIS[0], FEW_DELTAS, certificates) as url:
            yield from _compare("-p hi, over TLS", APIS[0], url, ("-p",), cwd, env, "0.7x", "0.36x")
        with _server(APIS[0], MANY_DELTAS) as url:
            yield from _compare(f"-p, {MANY_DELTAS:,} deltas", APIS[0], url, ("-p",), cwd, env, "0.6x", "")
            yield from _compare(
                f"JSON mode, {MANY_DELTAS:,} deltas", APIS[0], url, ("--mode", "json"), cwd, env, "0.6x", ""
            )
        yield from _memory_rows(cwd, env)
        yield from _first_page_rows(cwd, env)
    yield from _growth()


def _compare(
    name: str,
    api: str,
    url: str,
    words: Sequence[str],
    cwd: Path,
    env: dict[str, str],
    limit: str,
    memory_limit: str,
) -> Iterator[Row]:
    card = _model_entry(api, url)
    for folder in (".bayou", ".pi"):
        place = Path(env["HOME"]) / folder / "agent"
        place.mkdir(parents=True, exist_ok=True)
        (place / "models.json").write_text(json.dumps({"providers": {"local": card}}))
    commands = {"bayou": bayou_command(*words, "--model", "local/m", "hi")}
    if pi := os.environ.get("BENCH_PI"):
        commands["pi"] = [*shlex.split(pi), *words, "--provider", "local", "--model", "m", "hi"]
    costs: dict[str, list[Cost]] = {program: [] for program in commands}
    for _ in range(REPEAT):
        for program, command in commands.items():
            costs[program].append(run(command, cwd, env))
    middle = {program: median(found) for program, found in costs.items()}
    ours, theirs = middle["bayou"], middle.get("pi")
    for title, unit, scale, field, most in (
        ("wall", "ms", 1000, "wall", limit if "JSON" not in name else ""),
        ("CPU", "ms", 1000, "cpu", limit),
        ("peak memory", "MiB", 1 / 2**20, "peak", memory_limit),
    ):
        yield Row(
            name=f"{name}: {title}",
            figure=getattr(ours, field) * scale,
            unit=unit,
            ratio=getattr(ours, field) / getattr(theirs, field) if theirs else None,
            reference=f"pi, {getattr(theirs, field) * scale:.0f} {unit}" if theirs else "",
            limit=most if theirs else "",
        )
    if "json" in words:
        done = subprocess.run(
            commands["bayou"], cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True
        )
        yield Row(name=f"{name}: output", figure=len(done.stdout) / 1e6, unit="MB", limit="0.35 MB")


def _memory_rows(cwd: Path, env: dict[str, str]) -> Iterator[Row]:
    """Measures the memory of the full screen some time after the first answer, pi's on the first wire."""
    pi, theirs = os.environ.get("BENCH_PI"), 0.0
    for api in APIS:
        with _server(api, FEW_DELTAS) as url:
            for folder in (".bayou", ".pi"):
                place = Path(env["HOME"]) / folder / "agent" / "models.json"
                place.write_text(json.dumps({"providers": {"local": _model_entry(api, url)}}))
            ours = _least_memory(bayou_command("--no-session", "--model", "local/m", "hi"), cwd, env)
            if pi and not theirs:
                words = ("--no-session", "--provider", "local", "--model", "m", "hi")
                theirs = _least_memory([*shlex.split(pi), *words], cwd, env)
        yield Row(
            name=f"full screen after an answer, {api}: memory",
            figure=ours,
            unit="MiB",
            ratio=ours / theirs if theirs else None,
            reference=f"pi, {theirs:.0f} MiB" if theirs else "",
            limit="0.45x" if theirs else "",
        )


def _least_memory(command: Sequence[str], cwd: Path, env: dict[str, str]) -> float:
    found: list[float] = []
    for _ in range(3):
        terminal = Terminal(command, cwd, env, (120, 40))
        try:
            terminal.wait_for(_WORD.strip().encode())
            terminal.read_for(2.0)
            found.append(resident_bytes(terminal.pid) / 2**20)
        finally:
            terminal.close()
    return min(found)


def _first_page_rows(cwd: Path, env: dict[str, str]) -> Iterator[Row]:
    """Measures the time to the page with the model's name at a usual start, and to the launch frame
    before it."""
    card = {
        **_model_entry(APIS[0], "http://127.0.0.1:9"),
        "models": [{"id": MODEL, "contextWindow": 200_000}],
    }
    for folder in (".bayou", ".pi"):
        (Path(env["HOME"]) / folder / "agent" / "models.json").write_text(
            json.dumps({"providers": {"local": card}})
        )
    commands = {"bayou": (bayou_command("--no-session", "--model", f"local/{MODEL}"), MODEL.encode())}
    if pi := os.environ.get("BENCH_PI"):
        words = ("--provider", "local", "--model", MODEL, "--no-session")
        commands["pi"] = ([*shlex.split(pi), *words], b"Press ctrl+o")
    commands["textual"] = (
        python_command(f"import textual.app; print({READY_TEXT!r}, flush=True)"),
        READY_TEXT.encode(),
    )
    commands["pass"] = (python_command(f"print({READY_TEXT!r}, flush=True)"), READY_TEXT.encode())
    costs: dict[str, list[Cost]] = {program: [] for program in commands}
    frames: list[float] = []
    for number in range(REPEAT + 1):
        for program, (command, mark) in commands.items():
            terminal = Terminal(command, cwd, env, (100, 30))
            try:
                frame = terminal.wait_for(b"\x1b[?1049h") if program == "bayou" else 0.0
                wall = terminal.wait_for(mark)
                if number:  # the first start has no caches
                    costs[program].append(Cost(wall=wall, cpu=cpu_seconds(terminal.pid)))
                    frames += [frame] if frame else []
                else:
                    terminal.read_for(1.5)
            finally:
                terminal.close()
    middle = {program: median(found) for program, found in costs.items()}
    ours, theirs, textual = middle["bayou"], middle.get("pi"), middle["textual"]
    for title, field in (("wall", "wall"), ("CPU", "cpu")):
        yield Row(
            name=f"page ready: {title}",
            figure=getattr(ours, field) * 1000,
            unit="ms",
            ratio=getattr(ours, field) / getattr(theirs, field) if theirs else None,
            reference=f"pi, {getattr(theirs, field) * 1000:.0f} ms" if theirs else "",
            limit="0.9x" if theirs else "",
        )
    yield Row(
        name="page ready: CPU",
        figure=ours.cpu * 1000,
        unit="ms",
        ratio=ours.cpu / textual.cpu,
        reference=f"importing textual.app, {textual.cpu * 1000:.0f} ms",
        limit="1.67x",
    )
    nothing, frame = middle["pass"].wall, sorted(frames)[len(frames) // 2]
    yield Row(
        name="launch frame: wall",
        figure=frame * 1000,
        unit="ms",
        ratio=frame / nothing,
        reference=f"a word of python -c, {nothing * 1000:.0f} ms",
        limit="40 ms",
    )


def _model_entry(api: str, url: str) -> dict[str, Any]:
    base = url if api == "anthropic-messages" else f"{url}/v1"
    return {"baseUrl": base, "api": api, "apiKey": "made-up", "models": [{"id": "m", "contextWindow": 10**9}]}


def _make_certificate(folder: Path) -> None:
    words = (
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    )
    subprocess.run(
        ["openssl", *words.split(), "-keyout", "key.pem", "-out", "cert.pem"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip


@contextmanager
def _server(
    api: str, count: int, certificates: str = "", *, pause: int = 0, parts: Sequence[bytes] | None = None
) -> Iterator[str]:
    """Starts the server in a separate process, so that only the program's CPU counts."""
    said = [part.decode() for part in (parts or sse_events(api, _WORD))]
    program = [sys.executable, "-c", _SERVER, json.dumps([*said, count, certificates, pause])]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None
        yield f"{'https' if certificates else 'http'}://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.kill()
        process.wait()


# Long sessions


def _growth() -> Iterator[Row]:
    for compacts in (False, True):
        done = subprocess.run(
            [sys.executable, "-P", "-c", f"import bench.oneshot; bench.oneshot.measure_turns({compacts})"],
            capture_output=True, text=True, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        found = json.loads(done.stdout.splitlines()[-1])
        how = f"compacting every {COMPACTION_INTERVAL} turns" if compacts else "whole"
        first = found["100"]["cpu"]
        for turn, limit in (("100", ""), ("1000", "1.3x"), (str(TURNS), "2x")):
            yield Row(
                name=f"turn {int(turn):,} with a tool over HTTP, {how}: CPU",
                figure=found[turn]["cpu"] * 1000,
                unit="ms",
                ratio=found[turn]["cpu"] / first if limit else None,
                reference="turn 100" if limit else "",
                limit=limit,
            )
        grown = (found[str(TURNS)]["memory"] - found["1000"]["memory"]) / (TURNS - 1000)
        yield Row(name=f"memory a turn leaves, {how}", figure=grown, unit="KiB", limit="8 KiB")


def measure_turns(compacts: bool) -> None:
    """Prints CPU and memory around some turns of a run. Runs in a separate process."""
    call = {
        "index": 0,
        "id": "call_NUMBER",
        "type": "function",
        "function": {"name": "nothing", "arguments": "{}"},
    }
    head = _event(
        {"id": "c", "choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}}]}
    )
    end = _event({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    with _server("", 0, parts=(head, b"", end + b"data: [DONE]\n\n")) as url:
        asyncio.run(_measure_turns(url, compacts))


def _event(data: Any) -> bytes:
    return b"data: %s\n\n" % json.dumps(data).encode()


async def _measure_turns(url: str, compacts: bool) -> None:
    from app.values.entries import CompactionEntry
    from app.values.events import Event, TurnEnd
    from app.values.models import Model
    from bench.loop import BenchSession

    marks = {turn - WINDOW: None for turn in (100, 1000, TURNS)} | dict.fromkeys((100, 1000, TURNS))
    found: dict[int, tuple[float, int]] = {}
    seen = 0
    with tempfile.TemporaryDirectory() as name:
        stage = BenchSession(Path(name), 0)
        session = stage.session
        stage.choice.credentials.set_command_line_key("bench", "made-up")
        stage.choice.set_model(
            Model(
                id="m",
                name="m",
                api="openai-completions",
                provider="bench",
                base_url=url,
                context_window=10**9,
            )
        )

        leaving: list[asyncio.Task[Any]] = []

        def hear(event: Event) -> None:
            nonlocal seen
            if not isinstance(event, TurnEnd):
                return
            seen += 1
            if seen in marks:
                found[seen] = (time.process_time(), resident_kilobytes())
            if compacts and seen % COMPACTION_INTERVAL == 0:
                kept = session.log.leaf_id or ""
                stage.parts.core.conversation.record_entry(
                    CompactionEntry(
                        parent_id=None, summary=f"{seen} turns.", first_kept_entry_id=kept, tokens_before=1
                    )
                )
                stage.parts.core.conversation.reload_context()
            if seen == TURNS:
                leaving.append(asyncio.ensure_future(session.abort()))

        session.subscribe(hear)
        await session.prompt("go")
        await session.wait_until_idle()
        await session.close()
    told = {
        str(turn): {"cpu": (found[turn][0] - found[turn - WINDOW][0]) / WINDOW, "memory": found[turn][1]}
        for turn in (100, 1000, TURNS)
    }
    print(json.dumps(told))
