"""The pipes of RPC: no foreign output, slow and vanished readers, huge lines, orderly ends."""

import asyncio
import json
import os
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest

from app.modes.stdout_writer import StdoutLineWriter
from app.modes.wire_events import EventLineWriter
from app.sessions.session_log import SessionLog
from app.values.codec import decode_json
from app.values.entries import MessageEntry
from app.values.events import MessageUpdate
from app.values.messages import user_message
from app.values.stream import TextDelta
from app.values.usage import Usage
from bayou.client import RpcClient
from tests.modes.processes import COLD_RPC, STAGE, lines_until, put, start
from tests.support.warm_bayou import BAYOU


async def test_only_the_protocol_reaches_standard_output(tmp_path: Path) -> None:
    process = await start(tmp_path, "-e", STAGE)
    put(process, type="prompt", message="/noise", id="1")
    await lines_until(process, id="1")  # every line was JSON
    out, err = await process.communicate(b"")
    assert [json.loads(line)["type"] for line in out.splitlines()] == ["prompt_result"]
    for words in (b"while loading", b"by Python", b"to the descriptor", b"to the original", b"EOFError"):
        assert words in err


async def test_json_mode_keeps_its_output_to_itself(tmp_path: Path) -> None:
    process = await start(
        tmp_path,
        "-e",
        STAGE,
        "/noise",
        "hello",
        command=(*BAYOU, "--mode", "json"),
    )
    out, err = await process.communicate(b"")
    assert [json.loads(line)["type"] for line in out.splitlines()][-1] == "agent_settled"
    assert b"to the descriptor" in err


DELTAS = 20_000


async def test_a_slow_reader_slows_the_agent_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each delta is a line of 270 bytes: five times what may wait to be read."""
    sent = tmp_path / "sent"
    monkeypatch.setenv("STAGE_COUNTS", str(sent))
    process = await start(tmp_path, "-e", STAGE, "--no-merge-deltas", command=COLD_RPC)
    assert process.stdout is not None
    put(process, type="set_auto_compaction", enabled=False, id="begun")
    await lines_until(process, id="begun")
    before = resident(process.pid)
    process.stdout._transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue]  (how else to read nothing)
    put(process, type="prompt", message=f"deltas {DELTAS}", id="p")
    while not (sent.exists() and size(sent)):  # noqa: ASYNC110  (its output is what we do not read)
        await asyncio.sleep(0.05)
    memory = await settled_memory(process.pid)
    assert memory - before < 40 * 2**20
    assert 0 < size(sent) < DELTAS // 2  # the model itself waits
    process.stdout._transport.resume_reading()  # pyright: ignore[reportAttributeAccessIssue]
    lines = await lines_until(process, type="agent_settled")
    updates = [line["assistantMessageEvent"] for line in lines if line["type"] == "message_update"]
    deltas = [update["delta"] for update in updates if update["type"] == "text_delta"]
    assert deltas == [f"word{index % 10_000:04} " for index in range(DELTAS)]
    assert size(sent) == DELTAS
    await process.communicate(b"")


def size(file: Path) -> int:
    return file.stat().st_size


async def settled_memory(pid: int) -> int:
    """Resident bytes, once they do not grow any more."""
    seen = -1
    while (now := resident(pid)) != seen:
        seen = now
        await asyncio.sleep(0.3)
    return seen


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def test_abort_works_while_output_is_not_read(tmp_path: Path) -> None:
    process = await start(tmp_path, "-e", STAGE, "--no-merge-deltas", command=COLD_RPC)
    assert process.stdout is not None
    put(process, type="prompt", message="words 50000", id="p")
    await lines_until(process, id="p")
    process.stdout._transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue]
    await settled_memory(process.pid)
    put(process, type="abort", id="a")
    await settled_memory(process.pid)
    process.stdout._transport.resume_reading()  # pyright: ignore[reportAttributeAccessIssue]
    lines = await lines_until(process, id="a")
    assert {"type": "agent_settled", "aborted": True} in lines
    await process.communicate(b"")


async def test_sigterm_ends_it_while_output_is_not_read(tmp_path: Path) -> None:
    process = await start(tmp_path, "-e", STAGE, "--no-merge-deltas", command=COLD_RPC)
    assert process.stdout is not None
    put(process, type="prompt", message="words 50000", id="p")
    await lines_until(process, id="p")
    process.stdout._transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue]
    await settled_memory(process.pid)
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(20):
        while process.returncode is None:  # noqa: ASYNC110  (asyncio's `wait` waits for the pipes too)
            await asyncio.sleep(0.05)
    assert process.returncode == 143
    process.stdout._transport.resume_reading()  # pyright: ignore[reportAttributeAccessIssue]
    await process.communicate()  # or the pipe would outlive the loop


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)]
)
@pytest.mark.parametrize("mode", ["rpc", "json"])
async def test_a_signal_ends_it_with_the_run_settled(
    mode: str, number: int, code: int, tmp_path: Path
) -> None:
    words = ["hang"] if mode == "json" else []
    process = await start(tmp_path, "-e", STAGE, *words, command=(*BAYOU, "--mode", mode))
    assert process.stdin is not None and process.stdout is not None
    if mode == "rpc":
        put(process, type="prompt", message="hang", id="p")
    else:
        process.stdin.close()
    await lines_until(process, type="message_update")
    process.send_signal(number)
    lines = [json.loads(line) for line in (await process.stdout.read()).splitlines()]
    settled = {"type": "agent_settled", "aborted": True}
    assert [line for line in lines[-2:] if line["type"] != "prompt_result"][-1] == settled
    assert await process.wait() == code


async def test_the_end_of_input_ends_a_run_that_hangs(tmp_path: Path) -> None:
    process = await start(tmp_path, "-e", STAGE)
    put(process, type="prompt", message="hang", id="p")
    await lines_until(process, type="message_update")
    out, _ = await process.communicate(b"")
    *_, settled, outcome = map(json.loads, out.splitlines())
    assert settled == {"type": "agent_settled", "aborted": True}
    assert (outcome["type"], outcome["id"], outcome["status"]) == ("prompt_result", "p", "aborted")
    assert process.returncode == 0


async def test_a_reader_that_has_gone_ends_it(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *BAYOU, "--mode", "rpc",
        cwd=tmp_path, stdin=asyncio.subprocess.PIPE, stdout=write_end,
    )  # fmt: skip
    os.close(write_end)
    os.close(read_end)
    put(process, type="get_state")
    assert await asyncio.wait_for(process.wait(), 20) == 1


async def test_a_huge_line_is_refused_and_the_next_one_works(tmp_path: Path) -> None:
    process = await start(tmp_path)
    assert process.stdin is not None
    block = b"x" * 2**20
    for _ in range(65):
        process.stdin.write(block)
        await process.stdin.drain()
    process.stdin.write(b"\n")
    put(process, type="get_state", id="after")
    first, second = await lines_until(process, id="after")
    assert first["error"] == "Failed to parse command: The line is longer than 64 MB"
    assert second["success"] is True
    process.stdin.write(block * 65)  # and never an end
    out, _ = await process.communicate(b"")
    assert [json.loads(line)["success"] for line in out.splitlines()] == [False]


async def test_a_line_below_the_limit_is_taken_whole(tmp_path: Path) -> None:
    async with RpcClient(cwd=tmp_path) as client:
        await client.set_session_name("n" * 8_000_000)
        assert len((await client.get_state()).get("sessionName", "")) == 8_000_000


async def test_the_tree_of_a_long_session_is_read_although_it_is_deep(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path, tmp_path)
    for index in range(3000):
        log.append(MessageEntry(parent_id=None, message=user_message(f"message {index}")))
    log.close()
    async with RpcClient(cwd=tmp_path, arguments=["--session", str(log.path)]) as client:
        [node] = (await client.get_tree())["tree"]
    depth = 1
    while node["children"]:
        node = node["children"][0]
        depth += 1
    assert depth >= 3000


async def test_the_ready_frame_comes_first(tmp_path: Path) -> None:
    process = await start(tmp_path, "--rpc-ready")
    assert (await lines_until(process, type="ready"))[0]["type"] == "ready"
    await process.communicate(b"")


async def test_held_deltas_are_written_although_nothing_follows() -> None:
    written: list[bytes] = []
    come = asyncio.Event()

    def write(line: Iterable[bytes]) -> None:
        written.append(b"".join(line))
        if len(written) == 2:
            come.set()

    lines = EventLineWriter(write)
    for word in ("a", "b", "c"):
        update = TextDelta(content_index=0, delta=word)
        lines.handle_event(MessageUpdate(usage=Usage(), assistant_message_event=update))
    await asyncio.wait_for(come.wait(), 10)
    assert [decode_json(line)["assistantMessageEvent"]["delta"] for line in written] == ["a", "bc"]


async def test_a_reader_that_takes_nothing_is_given_up() -> None:
    read_end, write_end = os.pipe()
    try:
        writer = StdoutLineWriter(write_end)
        writer.queue_line(b"x" * 5_000_000)
        assert not writer.has_output_space
        assert await writer.flush(0.1) is False
        assert writer.is_broken and writer.has_output_space
    finally:
        os.close(read_end)
        os.close(write_end)


async def test_a_reader_that_goes_ends_the_work_although_nothing_is_written() -> None:
    read_end, write_end = os.pipe()
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        await asyncio.Event().wait()

    try:
        writer = StdoutLineWriter(write_end)
        working = asyncio.ensure_future(writer.await_until_reader_gone(work()))
        await begun.wait()
        os.close(read_end)
        assert await asyncio.wait_for(working, 20) is None
        assert writer.is_broken
    finally:
        os.close(write_end)
