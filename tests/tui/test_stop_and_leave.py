"""Leaving the page during any activity, by every key, takes at most two seconds and keeps everything.

With `BAYOU_LEAVE_EVERY_WAY` every situation is left in every way; without, in one or two of the five.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.hostile.setups import (
    MODEL,
    answer_body,
    small_disk,
    tool_call_body,
    use_model_at,
    write_user_settings,
)
from tests.providers.loopback import Reply
from tests.support.terminals import Terminal, terminal
from tests.tui.situations import PAGE, SITUATIONS, SLEEPS, Model, Situation, Stage, is_sleeping, sleepers
from tools.files.private_folders import fallback_temporary_folder

EVERY_WAY = "BAYOU_LEAVE_EVERY_WAY" in os.environ
LIMIT = 2.0 if EVERY_WAY else 6.0
"""Seconds; a machine that does much else needs more than two. Without a watchdog it hangs for ever."""
MARK = "STARTED_BY_A_TEST"
"""A variable that everything has which the bayou of a test starts."""


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()
    use_model_at(made.server)
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


# Ways out


class Way(NamedTuple):
    leave: Callable[[Terminal], None]
    code: int
    get_ready: Callable[[Terminal], None] = lambda shown: None
    """What a person presses before the key that leaves."""


def press_once(shown: Terminal) -> None:
    shown.press("\x03")
    shown.until(lambda: "to quit" in shown.screen or shown.process.poll() is not None)
    if "twice to quit" in shown.screen:  # the first press has stopped what was at work
        shown.press("\x03")
        shown.until(lambda: "again to quit" in shown.screen or shown.process.poll() is not None)


def open_palette(shown: Terminal) -> None:
    shown.press("\x0b")
    shown.until("Actions")
    shown.press("quit")
    shown.until("› Quit")


def quit_by_palette(shown: Terminal) -> None:
    shown.press("\r")
    shown.until(lambda: "Quit bayou?" in shown.screen or shown.process.poll() is not None)
    if shown.process.poll() is None:  # something is at work
        shown.press("\r")


def by(number: int) -> Way:
    return Way(lambda shown: shown.process.send_signal(number), 128 + number)


WAYS = {
    "keys": Way(lambda shown: shown.press("\x03"), 0, press_once),
    "palette": Way(quit_by_palette, 0, open_palette),
    "SIGTERM": by(signal.SIGTERM),
    "SIGHUP": by(signal.SIGHUP),
    "closed terminal": Way(lambda shown: shown.close_program_pipes(), 128 + signal.SIGHUP),
}


def leave(shown: Terminal, way: str) -> None:
    """Gone in time, with the exit code and the terminal that belong to it."""
    how = WAYS[way]
    how.get_ready(shown)
    began = time.monotonic()
    how.leave(shown)
    is_answered = False
    while shown.process.poll() is None:
        assert time.monotonic() - began < LIMIT, f"it hangs. The screen:\n{shown.screen}"
        shown.read()
        if "Quit and stop the jobs" in shown.screen and not is_answered:
            is_answered = True
            shown.press("1")
    print(f"{way}: {time.monotonic() - began:.2f} s")
    if way != "closed terminal":
        while shown.read():
            pass
        assert shown.left_behind() == []
    assert shown.process.returncode == how.code


def assert_hint(shown: Terminal, way: str) -> None:
    if way != "closed terminal":
        assert re.search(rb"To resume this session: bayou --session \S+", shown.sent)


def chosen() -> list[tuple[str, str]]:
    """Without the variable one or two ways of each situation, so that each way is taken equally often."""
    ways = list(WAYS)
    if EVERY_WAY:
        return [(situation, way) for situation in SITUATIONS for way in ways]
    return [
        (situation, ways[(at + 2 * number) % len(ways)])
        for at, situation in enumerate(SITUATIONS)
        for number in range(1 + at % 2)
    ]


@pytest.mark.parametrize(("name", "way"), chosen())
def test_the_page_is_left_in_time_and_nothing_is_lost(
    name: str, way: str, project: Path, model: Model
) -> None:
    situation = SITUATIONS[name]
    write_user_settings(permissions={"mode": "full"}, **situation.settings)
    more = situation.prepare(project)
    is_by_page = way in ("keys", "palette")
    mark = str(uuid.uuid4())
    words = (*MODEL, "--permissions", situation.permissions, *situation.words)
    with terminal(project, *words, env={**(more or {}), MARK: mark}) as shown:
        shown.until(situation.begins_at)
        situation.begin(Stage(shown, model, project))
        if is_by_page:
            situation.to_page(shown)
        print(name, end=", ")
        leave(shown, way)
        if situation.said:
            assert_hint(shown, way)
    assert_gone(mark)
    assert_kept(situation, is_by_page=is_by_page)
    export = project / "all.html"
    assert not export.exists() or export.read_text().rstrip().endswith("</html>")


def assert_kept(situation: Situation, *, is_by_page: bool) -> None:
    """What was said is in the session's file, whole, and what was not sent is in the draft or comes back by Up."""
    folder = Path(os.environ["BAYOU_AGENT_DIR"])
    if situation.said:
        file = max(folder.glob("sessions/**/*.jsonl"), key=lambda file: file.stat().st_mtime)
        entries = [json.loads(line) for line in file.read_text().splitlines()]
        messages = [entry["message"] for entry in entries if entry["type"] == "message"]
        assert situation.said in json.dumps([one for one in messages if one["role"] == "user"])
        if situation.answer:
            assert messages[-1]["stopReason"] == "aborted"
            assert situation.answer in json.dumps(messages[-1])
    place = "history/*" if is_by_page and situation.is_cleared else "sessions/**/*.draft"
    kept = "".join(file.read_text() for file in folder.glob(place))
    for text in situation.unsent:
        assert text in kept


def assert_gone(mark: str) -> None:
    """Nothing that was started goes on; a killed process may need a moment."""
    end = time.monotonic() + LIMIT
    while left := [*sleepers(), *marked(f"{MARK}={mark}")]:
        assert time.monotonic() < end, left
        time.sleep(0.05)


def marked(mark: str) -> list[str]:
    """Processes that have the variable, where the system tells of it."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_text())
        except OSError:
            continue  # it is another user's, or has gone
    return found


@pytest.mark.parametrize("way", list(WAYS) if EVERY_WAY else ["palette", "SIGTERM"])
def test_a_session_on_a_full_disk_is_left_with_a_copy_elsewhere(
    way: str, project: Path, model: Model, tmp_path: Path
) -> None:
    words = (*MODEL, "--session-dir", str(tmp_path / "disk"))
    with small_disk(tmp_path / "disk") as disk, terminal(project, *words) as shown:
        shown.until(PAGE)
        model.server.reply(Reply(body=answer_body("First.")))
        shown.press("go\r")
        shown.until("First.")
        (written,) = (tmp_path / "disk").glob("**/*.jsonl")
        disk.fill()
        model.server.reply(Reply(body=answer_body("The tide is rising. " * 500)))
        shown.press("on\r")
        shown.until("is full")
        leave(shown, way)
        if way != "closed terminal":
            assert shown.sent.count(b"The whole session was saved to") == 1
    (file,) = fallback_temporary_folder().glob(f"*/{written.name}")
    kept = [json.loads(line) for line in file.read_text().splitlines()]
    assert "The tide is rising. " * 500 in json.dumps(kept[-1])
    shutil.rmtree(file.parent)


def test_a_very_large_answer_is_left_by_its_end(project: Path, model: Model) -> None:
    """To lay out all of it took seconds in which the terminal seemed to hang."""
    model.server.reply(Reply(body=answer_body("**bold** words.\n\n" * 30_000 + "afloat at last")))
    with terminal(project, *MODEL) as shown:
        shown.until(PAGE)
        shown.press("go\r")
        shown.until("afloat at last")
        before = len(shown.sent)
        leave(shown, "SIGTERM")
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
    model.server.reply(Reply(body=answer_body("All done.")))
    with terminal(project, *MODEL, "-e", str(extension)) as shown:
        shown.until(PAGE)
        shown.press("go\r")
        shown.until("All done.")
        leave(shown, way)
        assert (tmp_path / "begun").exists(), "the handler was never asked: nothing hung"
        assert_hint(shown, way)


@pytest.mark.parametrize("way", ["SIGTERM", "SIGHUP", "closed terminal"])
def test_a_signal_ends_it_also_while_the_event_loop_hangs(
    way: str, project: Path, model: Model, tmp_path: Path
) -> None:
    mark = str(uuid.uuid4())
    extension = tmp_path / "hangs.py"
    extension.write_text(
        "import asyncio, pathlib, time\n\ndef extension(api):\n    @api.on('tool_call')\n"
        "    async def gate(event, context):\n"
        f"        asyncio.ensure_future(api.exec('sh', ['-c', {SLEEPS!r}]))\n        await asyncio.sleep(0)\n"
        f"        pathlib.Path({str(tmp_path / 'begun')!r}).touch()\n        time.sleep(74231)\n"
    )
    model.server.reply(Reply(body=tool_call_body("bash", command="true")))
    with terminal(project, *MODEL, "-e", str(extension), env={MARK: mark}) as shown:
        shown.until(PAGE)
        shown.press("go\r")
        shown.until((tmp_path / "begun").exists)
        shown.until(is_sleeping)
        leave(shown, way)
        assert_hint(shown, way)
    assert_gone(mark)
