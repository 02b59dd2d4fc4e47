"""Measures model providers: importing the package, reading a stream, loading an SDK, a very long
answer."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from bench.processes import ROOT, Terminal, bayou_command, run, temporary_home
from bench.table import Row

DELTAS = 5_000
ROUNDS = 7
MEGABYTES = 100
STARTS, KEYS = 5, 80
APIS = ("anthropic-messages", "openai-completions", "openai-responses")

_SERVER = """
import asyncio, sys
head, delta, tail, count = (bytes.fromhex(a) if i < 3 else int(a) for i, a in enumerate(sys.argv[1:]))
async def serve(reader, writer):
    try:
        while True:
            length = 0
            while (line := await reader.readline()).strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            if not line:
                return
            await reader.readexactly(length)
            writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\n")
            writer.write(b"Content-Length: %d\\r\\n\\r\\n" % (len(head) + len(delta) * count + len(tail)))
            writer.write(head)
            for n in range(count):
                writer.write(delta)
                if n % 64 == 0:
                    await writer.drain()
            writer.write(tail)
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
_IMPORT_PROGRAM = """
import time
start = time.process_time()
import app.providers.adapter_registry, app.providers.models.catalogue
print(time.process_time() - start)
"""
_MEMORY_PROGRAM = """
import sys, time
from app.providers.adapter_registry import AdapterRegistry
from bench.providers import model_of, resident_kilobytes
before, start = resident_kilobytes(), time.process_time()
AdapterRegistry().load_modules_for_model(model_of(*sys.argv[1:]))
print(resident_kilobytes() - before, time.process_time() - start)
"""
_LATENESS_PROGRAM = """
import asyncio, sys, time
from app.providers.adapter_registry import AdapterRegistry
from bench.providers import model_of
async def main():
    late = []
    warming = asyncio.create_task(asyncio.to_thread(AdapterRegistry().load_modules_for, model_of(*sys.argv[1:])))
    while not warming.done():
        due = time.perf_counter() + 0.005
        await asyncio.sleep(0.005)
        late.append(time.perf_counter() - due)
    late.sort()
    print(late[min(len(late) - 1, int(len(late) * 0.99))], late[-1])
asyncio.run(main())
"""


def rows() -> Iterator[Row]:
    yield Row(
        name="import of registry and catalogue, CPU",
        figure=min(float(_python(_IMPORT_PROGRAM)) for _ in range(ROUNDS)) * 1000,
        unit="ms",
        limit="60 ms",
    )
    for api in APIS:
        yield from _stream(api)
    memory, seconds = map(float, _python(_MEMORY_PROGRAM, APIS[0], "http").split())
    yield Row(name="sender, resident", figure=memory / 1024, unit="MB", limit="12 MB")
    yield Row(name="sender and certificates, import CPU", figure=seconds * 1000, unit="ms", limit="150 ms")
    for api in APIS[:2]:
        memory, seconds = map(float, _python(_MEMORY_PROGRAM, api, "sdk").split())
        name = f"SDK of {api}"
        yield Row(name=f"{name}, resident", figure=memory / 1024, unit="MB")
        yield Row(name=f"{name}, import CPU", figure=seconds * 1000, unit="ms")
        late, worst = map(float, _python(_LATENESS_PROGRAM, api, "sdk").split())
        yield Row(name=f"{name}, loop late p99 while warming", figure=late * 1000, unit="ms", limit="50 ms")
        yield Row(name=f"{name}, loop late at worst", figure=worst * 1000, unit="ms")
    yield from _typing_during_import()
    yield from _partial_arguments()
    yield _long_answer()
    yield _printed_answer()


def _typing_during_import() -> Iterator[Row]:
    """Measures key echo in the real full screen, from the first paint until the SDK is loaded."""
    for words in (("ANTHROPIC_API_KEY", "anthropic/claude-sonnet-4-5"), ("OPENAI_API_KEY", "openai/gpt-5")):
        waits = sorted(wait for _ in range(STARTS) for wait in _echo_times(*words))
        name = f"keys echo while {words[1].partition('/')[0]}'s SDK loads"
        at = min(len(waits) - 1, int(len(waits) * 0.99))
        yield Row(name=f"{name}, p99 of {len(waits)}", figure=waits[at] * 1000, unit="ms", limit="50 ms")
        yield Row(name=f"{name}, median", figure=waits[len(waits) // 2] * 1000, unit="ms")


def _echo_times(variable: str, model: str) -> list[float]:
    waits: list[float] = []
    with temporary_home() as (cwd, env):
        card = Path(env["HOME"]) / ".bayou" / "agent" / "models.json"
        card.parent.mkdir(parents=True)
        provider = {model.partition("/")[0]: {"transport": "sdk"}}
        card.write_text(json.dumps({"providers": provider}))
        command = bayou_command("--no-session", "--model", model)
        terminal = Terminal(command, cwd, {**env, variable: "no-real-key"}, (100, 30))
        try:
            terminal.wait_for(model.partition("/")[2].encode())
            # Letters that occur in no escape sequence, all different.
            for number in range(KEYS):
                key = chr(0x430 + number % 32).encode()
                terminal.read_for(0.02)
                terminal.drawn = b""
                pressed = time.perf_counter()
                terminal.write(key)
                terminal.wait_for(key)
                waits.append(time.perf_counter() - pressed)
        finally:
            terminal.close()
    return waits


def _stream(api: str) -> Iterator[Row]:
    with _server(*sse_events(api, "word and "), DELTAS) as url:
        bare, ours = asyncio.run(_cpu(api, url))
    per_thousand = 1000 / DELTAS * 1000
    yield Row(
        name=f"{api}, CPU per 1,000 deltas",
        figure=ours * per_thousand,
        unit="ms",
        ratio=ours / bare,
        reference="bare httpcore2 loop with json.loads",
        limit="3x",
    )


async def _cpu(api: str, url: str) -> tuple[float, float]:
    """Returns the best CPU times of some rounds in alternation."""
    import httpcore2

    from app.providers.adapter_registry import AdapterRegistry
    from app.providers.model_stream import RequestContext, StreamOptions
    from app.values.messages import user_message

    registry, model = AdapterRegistry(), _model(api, url)
    asked = RequestContext(messages=(user_message("Hi"),))

    async def read_bare(pool: httpcore2.AsyncConnectionPool) -> int:
        seen, rest = 0, b""
        async with pool.stream("POST", url, content=b"{}") as response:
            async for chunk in response.aiter_stream():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line.startswith(b"data: ") and line != b"data: [DONE]":
                        json.loads(line[6:])
                        seen += 1
        return seen

    async def read_ours() -> None:
        stream = registry.stream_answer(model, asked, StreamOptions())
        async for _ in stream:
            pass
        assert len((await stream.final_message()).text) == DELTAS * len("word and ")

    bare, ours = [], []
    async with httpcore2.AsyncConnectionPool() as client:
        await read_bare(client)
        await read_ours()
        for _ in range(ROUNDS):
            start = time.process_time()
            assert await read_bare(client) >= DELTAS
            middle = time.process_time()
            await read_ours()
            bare.append(middle - start)
            ours.append(time.process_time() - middle)
    return min(bare), min(ours)


def sse_events(api: str, text: str) -> tuple[bytes, bytes, bytes]:
    """Returns the events of a stream: beginning, one delta, end."""

    def event(data: Any) -> bytes:
        kind = b"event: %s\n" % data["type"].encode() if "type" in data else b""
        return kind + b"data: %s\n\n" % json.dumps(data).encode()

    if api == "anthropic-messages":
        usage = {"input_tokens": 1, "output_tokens": 1}
        head = event({"type": "message_start", "message": {"id": "m", "model": "x", "usage": usage}})
        block = {"type": "text", "text": ""}
        head += event({"type": "content_block_start", "index": 0, "content_block": block})
        delta = {"type": "text_delta", "text": text}
        tail = event({"type": "content_block_stop", "index": 0})
        tail += event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage})
        tail += event({"type": "message_stop"})
        return head, event({"type": "content_block_delta", "index": 0, "delta": delta}), tail
    if api == "openai-completions":
        shared = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "x"}
        delta = event(
            {**shared, "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
        )
        end = event({**shared, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        return b"", delta, end + b"data: [DONE]\n\n"
    head = event({"type": "response.created", "response": {"id": "r", "model": "x"}})
    shared = {"item_id": "msg_1", "output_index": 0, "content_index": 0, "sequence_number": 7}
    delta = event({"type": "response.output_text.delta", **shared, "delta": text, "logprobs": []})
    return head, delta, event({"type": "response.completed", "response": {"id": "r", "status": "completed"}})


def _model(api: str, url: str) -> Any:
    from app.values.models import Model

    return Model(id="x", name="x", api=api, provider="bench", base_url=url)


def model_of(api: str, transport: Literal["http", "sdk"]) -> Any:
    """Returns a model at the provider's usual address."""
    return msgspec.structs.replace(_model(api, ""), transport=transport)


@contextmanager
def _server(head: bytes, delta: bytes, tail: bytes, count: int) -> Iterator[str]:
    """Starts the server in a separate process, so that only the reader's CPU counts."""
    arguments = [head.hex(), delta.hex(), tail.hex(), str(count)]
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, *arguments], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.kill()
        process.wait()


def _partial_arguments() -> Iterator[Row]:
    """Measures a tool argument of 1 MB in pieces of 20 bytes, parsed after each piece."""
    from app.providers.stream.partial_json import PartialToolArguments, parse_tool_arguments

    text = json.dumps({"path": "a.txt", "content": "a line of text, nothing more\n" * 34_000})
    pieces = [text[start : start + 20] for start in range(0, len(text), 20)]

    def joined() -> None:
        arguments = PartialToolArguments()
        for piece in pieces:
            arguments.add_delta(piece)
        arguments.parse_complete()
        parse_tool_arguments(text)

    def growing() -> None:
        arguments = PartialToolArguments()
        for piece in pieces:
            arguments.add_delta(piece)
            arguments.latest_value  # noqa: B018  (as a live view does)
        arguments.parse_complete()

    once, ours = _best(joined), _best(growing)
    yield Row(
        name="1 MB of arguments in 20-byte deltas",
        figure=ours * 1000,
        unit="ms",
        ratio=ours / once,
        reference="two final parses and adding the pieces",
        limit="2x a final parse, and linear work",
    )


def _best(work: Callable[[], None]) -> float:
    costs: list[float] = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        costs.append(time.process_time() - start)
    return min(costs)


def _long_answer() -> Row:
    """Measures the growth of the peak while 100 MB of text arrive; the finished message alone takes
    as much."""
    text = "x" * 1000
    with _server(*sse_events("openai-completions", text), MEGABYTES * 1000) as url:
        growth = float(_python(_LONG_ANSWER_PROGRAM, url))
    return Row(
        name=f"{MEGABYTES} MB of text, growth of the peak",
        figure=growth / 1024,
        unit="MB",
        ratio=growth / 1024 / MEGABYTES,
        reference="the text itself",
    )


def _printed_answer() -> Row:
    """Measures the whole program: 100 MB in pieces of 50 KB, recorded in the session and printed."""
    with (
        temporary_home() as (cwd, env),
        _server(*sse_events("openai-completions", "lorem ips " * 5_000), MEGABYTES * 20) as url,
    ):
        folder = Path(env["HOME"]) / ".bayou" / "agent"
        folder.mkdir(parents=True)
        models = [{"id": "m", "contextWindow": 10**9}]
        entry = {"baseUrl": url, "api": "openai-completions", "apiKey": "none", "models": models}
        (folder / "models.json").write_text(json.dumps({"providers": {"mine": entry}}))
        cost = run(bayou_command("--model", "mine/m", "-p", "Say it"), cwd, env)
    return Row(
        name=f"{MEGABYTES} MB in pieces of 50 KB, -p, CPU",
        figure=cost.cpu,
        unit="s",
        ratio=cost.peak / 1_000_000 / MEGABYTES,
        reference="the text itself, in memory",
        limit="3 s, 4x",
    )


_LONG_ANSWER_PROGRAM = """
import sys
from bench.providers import measure_long_answer
print(measure_long_answer(sys.argv[1]))
"""


def measure_long_answer(url: str) -> int:
    """Returns the growth of the peak in kilobytes. Runs in a separate process."""
    from app.providers.adapter_registry import AdapterRegistry
    from app.providers.model_stream import RequestContext, StreamOptions
    from app.values.messages import user_message

    async def run() -> int:
        registry = AdapterRegistry()
        registry.load_modules_for_model(_model("openai-completions", url))
        before = resident_kilobytes()
        _reset_peak()
        asked = RequestContext(messages=(user_message("Hi"),))
        stream = registry.stream_answer(_model("openai-completions", url), asked, StreamOptions())
        async for _ in stream:
            pass
        assert len((await stream.final_message()).text) == MEGABYTES * 1_000_000
        return resident_kilobytes("VmHWM") - before

    return asyncio.run(run())


def resident_kilobytes(field: str = "VmRSS") -> int:
    """Returns this process's memory: current (`VmRSS`) or peak (`VmHWM`)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    return 0


def _reset_peak() -> None:
    """Resets the peak, which a child would inherit from its parent."""
    Path("/proc/self/clear_refs").write_text("5")


def _python(program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return done.stdout.strip()
