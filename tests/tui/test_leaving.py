"""The page is left whatever is under way, in whichever way: within two seconds, and everything is as it should be.

With `BAYOU_LEAVE_EVERY_WAY` every situation is left in every way; without, in three of the five.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hostile.staging import MODEL, called, model_at, piece, settings, spoken
from tests.providers.loopback import Loopback, Reply, loopback, sse
from tests.support.terminals import Terminal, terminal

LIMIT = 6.0
"""Seconds; on a machine that does nothing else it is gone in less than two. Without a watchdog it hangs for ever."""
ENDLESS = "while :; do echo afloat; sleep 0.02; done"
SLEEPS = "sleep 74231"
"""What no other process of this machine does."""
PAGE = "Ask anything"
STALLING_SERVER = """
import json, sys, time

for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "initialize":
            about = {"name": "stalls", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            schema = {"type": "object", "properties": {}}
            result = {"tools": [{"name": "stall", "description": "Takes long", "inputSchema": schema}]}
        case "tools/call":
            open("is-called", "w").close()
            time.sleep(74231)
        case _:
            continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


class Model:
    """A server of this machine in a thread, which answers what it is told to."""

    def __init__(self) -> None:
        self.server = Loopback()
        self._is_up = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._is_up.wait(20)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(20)

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        async with loopback() as self.server:
            self._is_up.set()
            await self._over.wait()


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()
    model_at(made.server)
    yield made
    made.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository, as nearly every folder is in which bayou is used."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "harbour.txt").write_text("boats\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "all")):
        own = ("-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *own, *words], cwd=folder, check=True)
    return folder


# What is under way


def streams(shown: Terminal, model: Model, folder: Path) -> None:
    model.server.reply(Reply(body=(sse(piece("The tide is rising.")),), then_hang=True))
    shown.press("go\r")
    shown.until("The tide is rising.")


def runs_a_command(shown: Terminal, model: Model, folder: Path) -> None:
    model.server.reply(
        Reply(body=called("bash", command=f"({SLEEPS} & ); {ENDLESS}")), Reply(body=spoken("x"))
    )
    shown.press("go\r")
    shown.until("afloat")


def runs_a_cell(shown: Terminal, model: Model, folder: Path) -> None:
    code = f"import subprocess\nprint('afloat', flush=True)\nsubprocess.run({SLEEPS.split()!r})"
    model.server.reply(Reply(body=called("eval", code=code)), Reply(body=spoken("x")))
    shown.press("go\r")
    shown.until(lambda: bool(sleepers()))


def asks(shown: Terminal, model: Model, folder: Path) -> None:
    model.server.reply(Reply(body=called("bash", command="touch ../outside")), Reply(body=spoken("x")))
    shown.press("go\r")
    shown.until("alt+a")


def compacts(shown: Terminal, model: Model, folder: Path) -> None:
    model.server.reply(Reply(body=spoken("Long words. " * 4000)), Reply(hang_before_headers=True))
    for _ in range(2):
        model.server.answering.clear()
        shown.press("go\r")
        shown.until("Long words.")
        shown.until(PAGE)
        model.server.reply(Reply(body=spoken("Long words. " * 4000)))
    model.server.answering.clear()
    model.server.reply(Reply(hang_before_headers=True))
    shown.press("/compact\r")
    shown.until(model.server.answering.is_set)


def has_a_job(shown: Terminal, model: Model, folder: Path) -> None:
    runs_a_command(shown, model, folder)
    shown.press("\x02")
    shown.until("1 job")


def calls_a_server(shown: Terminal, model: Model, folder: Path) -> None:
    model.server.reply(Reply(body=called("mcp_call", server="stalls", tool="stall")), Reply(body=spoken("x")))
    shown.press("go\r")
    shown.until((folder / "is-called").exists)


def exports(shown: Terminal, model: Model, folder: Path) -> None:
    model.server.reply(Reply(body=spoken("**bold** `code` words.\n\n" * 20_000)))
    shown.press("go\r")
    shown.until(lambda: model.server.body_sent.is_set() and PAGE in shown.screen)
    shown.press(f"/export {folder / 'all.html'}\r")
    shown.until(lambda: PAGE in shown.screen)


def undoes(shown: Terminal, model: Model, folder: Path) -> None:
    command = "for n in $(seq 400); do echo $n > file$n; done; echo written"
    model.server.reply(Reply(body=called("bash", command=command)), Reply(body=spoken("All done.")))
    shown.press("go\r")
    shown.until("All done.")
    shown.press("\x1bz")
    shown.until("is removed")
    shown.press("\r")


def indexes(shown: Terminal, model: Model, folder: Path) -> None:
    shown.until(PAGE)


SITUATIONS: dict[str, Callable[[Terminal, Model, Path], None]] = {
    "an answer streams": streams,
    "a command runs": runs_a_command,
    "a cell runs": runs_a_cell,
    "a question waits": asks,
    "a compaction": compacts,
    "a job": has_a_job,
    "a call of a server": calls_a_server,
    "an export": exports,
    "an undo": undoes,
    "the index is built": indexes,
}


# Ways out


def by_keys(shown: Terminal) -> None:
    shown.press("\x03")
    shown.until("again leaves")
    shown.press("\x03")


def by_palette(shown: Terminal) -> None:
    shown.press("\x0b")
    shown.until("Actions")
    shown.press("quit")
    shown.until("› Quit")
    shown.press("\r")


def by(number: int) -> Callable[[Terminal], None]:
    return lambda shown: shown.process.send_signal(number)


WAYS: dict[str, tuple[Callable[[Terminal], None], int]] = {
    "keys": (by_keys, 0),
    "palette": (by_palette, 0),
    "SIGTERM": (by(signal.SIGTERM), 128 + signal.SIGTERM),
    "SIGHUP": (by(signal.SIGHUP), 128 + signal.SIGHUP),
    "closed terminal": (lambda shown: shown.hang_up(), 128 + signal.SIGHUP),
}


def chosen() -> list[tuple[str, str]]:
    ways = list(WAYS)
    count = len(ways) if "BAYOU_LEAVE_EVERY_WAY" in os.environ else 3
    return [
        (situation, ways[(at + number) % len(ways)])
        for at, situation in enumerate(SITUATIONS)
        for number in range(count)
    ]


@pytest.mark.parametrize(("situation", "way"), chosen())
def test_the_page_is_left_in_time_and_nothing_is_lost(
    situation: str, way: str, project: Path, model: Model
) -> None:
    prepare(situation, project)
    leave, code = WAYS[way]
    with terminal(
        project, *MODEL, "--permissions", "ask" if situation == "a question waits" else "full"
    ) as shown:
        shown.until(PAGE)
        SITUATIONS[situation](shown, model, project)
        began = time.monotonic()
        leave(shown)
        while shown.process.poll() is None:
            assert time.monotonic() - began < LIMIT, f"it hangs. The screen:\n{shown.screen}"
            shown.read()
        print(f"{situation}, {way}: {time.monotonic() - began:.2f} s")
        if way != "closed terminal":
            while shown.read():
                pass
            assert shown.left_behind() == []
            if situation != "the index is built":
                assert re.search(rb"To resume this session: bayou --session \S+", shown.sent)
        assert shown.process.returncode == code
    assert_gone()
    if situation != "the index is built":
        assert_kept(situation)


def prepare(situation: str, folder: Path) -> None:
    settings(permissions={"mode": "full"}, compaction={"keepRecentTokens": 100})
    if situation == "a call of a server":
        program = folder / "stalls.py"
        program.write_text(STALLING_SERVER)
        entry = {"command": sys.executable, "args": [str(program)], "cwd": str(folder), "exposure": "direct"}
        file = Path(os.environ["BAYOU_AGENT_DIR"], "mcp.json")
        file.write_text(json.dumps({"mcpServers": {"stalls": entry}}))
    elif situation == "the index is built":
        for number in range(1500):
            (folder / f"module_{number}.py").write_text(
                f"def f{number}(a):\n    return f{number - 1}(a)\n" * 40
            )


def assert_kept(situation: str) -> None:
    """What was said is in the session's file, whole."""
    (file,) = Path(os.environ["BAYOU_AGENT_DIR"]).glob("sessions/**/*.jsonl")
    entries = [json.loads(line) for line in file.read_text().splitlines()]
    messages = [entry["message"] for entry in entries if entry["type"] == "message"]
    assert '"go"' in json.dumps([message for message in messages if message["role"] == "user"])
    if situation == "an answer streams":
        assert messages[-1]["stopReason"] == "aborted"
        assert "The tide is rising." in json.dumps(messages[-1])


def assert_gone() -> None:
    """Nothing that was started goes on; a killed process may need a moment."""
    end = time.monotonic() + LIMIT
    while sleepers():
        assert time.monotonic() < end, sleepers()
        time.sleep(0.05)


def sleepers() -> list[str]:
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "stat=,args="], capture_output=True, text=True, check=True
    )
    rows = (line.split(None, 1) for line in listed.stdout.splitlines())
    return [row[1] for row in rows if row[0][0] != "Z" and row[1].startswith(SLEEPS)]


def test_a_very_large_answer_is_left_by_its_end(project: Path, model: Model) -> None:
    """To lay out all of it took seconds in which the terminal seemed to hang."""
    model.server.reply(Reply(body=spoken("**bold** words.\n\n" * 30_000 + "afloat at last")))
    with terminal(project, *MODEL) as shown:
        shown.until(PAGE)
        shown.press("go\r")
        shown.until("afloat at last")
        before = len(shown.sent)
        by(signal.SIGTERM)(shown)
        while shown.process.poll() is None:
            shown.read()
        while shown.read():
            pass
        left = shown.sent[before:]
        assert b"The beginning of this answer is in the session." in left and b"afloat at last" in left
        assert len(left) < 200_000


HANGS = {
    "on the event loop": "time.sleep(74231)",
    "in a wait": "await asyncio.sleep(74231)",
    "in a wait that cannot be cancelled": """
        while True:
            try:
                await asyncio.sleep(74231)
            except asyncio.CancelledError:
                pass""",
    "in a thread that is waited for": "await asyncio.to_thread(time.sleep, 74231)",
}


@pytest.mark.parametrize("way", ["keys", "SIGTERM"])
@pytest.mark.parametrize("hang", HANGS)
def test_an_extension_that_never_ends_does_not_keep_the_page(
    hang: str, way: str, project: Path, model: Model, tmp_path: Path
) -> None:
    """The process is gone within its bound, with the terminal given back and the hint how to come back."""
    extension = tmp_path / "hangs.py"
    extension.write_text(
        "import asyncio, pathlib, time\n\ndef extension(api):\n    @api.on('session_shutdown')\n"
        "    async def end(payload, context):\n"
        f"        pathlib.Path({str(tmp_path / 'begun')!r}).touch()\n        {HANGS[hang].lstrip()}\n"
    )
    model.server.reply(Reply(body=spoken("All done.")))
    leave, code = WAYS[way]
    with terminal(project, *MODEL, "-e", str(extension)) as shown:
        shown.until(PAGE)
        shown.press("go\r")
        shown.until("All done.")
        began = time.monotonic()
        leave(shown)
        while shown.process.poll() is None:
            assert time.monotonic() - began < LIMIT, f"it hangs. The screen:\n{shown.screen}"
            shown.read()
        print(f"{hang}, {way}: {time.monotonic() - began:.2f} s")
        while shown.read():
            pass
        assert (tmp_path / "begun").exists(), "the handler was never asked: nothing hung"
        assert shown.left_behind() == []
        assert re.search(rb"To resume this session: bayou --session \S+", shown.sent)
        assert shown.process.returncode == code
