"""Situations in which the page is left: how each is created, and what must be kept."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.sessions.session_library import session_folder_of_project
from app.values.codec import encode
from app.values.entries import MessageEntry, SessionHeader
from app.values.messages import user_message
from tests.hostile.setups import answer_body, piece, tool_call_body
from tests.mcp.test_servers import FAULTY
from tests.providers.loopback import Loopback, Reply, loopback, sse
from tests.support.terminals import Terminal
from tools.box.sandbox_features import system_sandbox_features
from tools.box.sandbox_instructions import CONFINEMENT_METHODS

ENDLESS = "while :; do echo afloat; sleep 0.02; done"
SLEEPS = f"sleep 7{os.getpid()}"
"""What no other process of this machine does, of other tests neither."""
PAGE = "Ask anything"
MANY_SESSIONS = 2_000
LONG_SESSION = 4_000
"""Messages."""


class Model:
    """A local server in a thread, with scripted answers."""

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

    def reply(self, *bodies: bytes, then: Reply | None = None) -> None:
        """`then` is the last answer, and every one behind it."""
        self.server.answering.clear()
        self.server.reply(
            *(Reply(body=body) for body in bodies), then or Reply(body=answer_body("All done."))
        )

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        async with loopback() as self.server:
            self._is_up.set()
            await self._over.wait()


class Stage(msgspec.Struct, frozen=True):
    """What a situation is made of."""

    shown: Terminal
    model: Model
    folder: Path

    def go(self, *bodies: bytes, then: Reply | None = None, until: str | Callable[[], bool]) -> None:
        """Sends a prompt with scripted answers, and waits until the situation is reached."""
        self.model.reply(*bodies, then=then)
        self.shown.press("go\r")
        self.shown.until(until)


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    begin: Callable[[Stage], None]
    prepare: Callable[[Path], Mapping[str, str] | None] = lambda _: None
    """Called with the project's folder before bayou starts; returns variables of the environment for it."""
    settings: Mapping[str, Any] = {}
    permissions: str = "full"
    words: tuple[str, ...] = ()
    """More of the command line."""
    to_page: Callable[[Terminal], None] = lambda _: None
    """What a person presses to get back to the page, where a screen above it has the keys."""
    begins_at: str = PAGE
    """What is on the screen once bayou has started."""
    said: str = '"go"'
    """Has to be in the session's file; nothing: there is no session yet."""
    answer: str = ""
    """Has to be in the last message of the session, which was stopped."""
    unsent: tuple[str, ...] = ()
    """Has to be in the draft."""
    is_cleared: bool = False
    """The ways out by the page clear the editor first: then it has to be among the prompts that Up brings back."""


HANGS = Reply(hang_before_headers=True)


def streaming(*events: object) -> Reply:
    return Reply(body=(sse(*events),), then_hang=True)


def delta(**more: object) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": more}]}


def escape(text: str) -> Callable[[Terminal], None]:
    """Escape, as long as a screen with this text has the keys."""

    def close(shown: Terminal) -> None:
        shown.until(text)
        shown.press("\x1b")
        shown.until(lambda: text not in shown.screen)
        for _ in range(10):  # a key within the same frame still goes to the screen that closes
            shown.read()

    return close


def clear_editor(shown: Terminal) -> None:
    shown.press("\x03")
    shown.until(PAGE)


# The model


def streams(stage: Stage) -> None:
    stage.go(then=streaming(piece("The tide is rising.")), until="The tide is rising.")


def thinks(stage: Stage) -> None:
    stage.go(then=streaming(delta(reasoning_content="The tide is rising.")), until="Thinking…")


def streams_a_call(stage: Stage) -> None:
    function = {"name": "write", "arguments": '{"path": "log.txt", "content": "The tide is rising.\\n'}
    call = {"index": 0, "id": "call_0", "type": "function", "function": function}
    stage.go(then=streaming(delta(tool_calls=[call])), until="write log.txt")


def waits_to_retry(stage: Stage) -> None:
    stage.go(then=Reply(status=429, headers={"Retry-After": "50"}), until="Retrying 1 of 3")


def compacts(stage: Stage) -> None:
    long = answer_body("Long words. " * 4000)
    for _ in range(2):
        stage.go(then=Reply(body=long), until="Long words.")
        stage.shown.until(PAGE)
    stage.model.reply(then=HANGS)
    stage.shown.press("/compact\r")
    stage.shown.until(stage.model.server.answering.is_set)


def summarises_a_branch(stage: Stage) -> None:
    shown = stage.shown
    for number in range(2):
        stage.go(answer_body(f"Answer {number}."), until=f"Answer {number}.")
        shown.until(PAGE)
    stage.model.reply(then=HANGS)
    shown.press("/tree\r")
    shown.until("Answer 0.")
    shown.press("\x1b[H\r")
    shown.until("With a summary")
    shown.press("2")
    shown.until(stage.model.server.answering.is_set)


def asks_beside(stage: Stage) -> None:
    stage.go(answer_body("First."), until="First.")
    stage.shown.until(PAGE)
    stage.model.reply(then=streaming(piece("The tide is rising.")))
    stage.shown.press("/btw how is the tide?\r")
    stage.shown.until("The tide is rising.")


def has_follow_ups(stage: Stage) -> None:
    streams(stage)
    for keys in ("soon\r", "afterwards\x1b\r"):
        stage.shown.press(keys)
    stage.shown.until("soon")
    stage.shown.until("afterwards")


# Commands and cells


def runs(command: str, until: str | Callable[[], bool] = "afloat", **more: object) -> Callable[[Stage], None]:
    return lambda stage: stage.go(tool_call_body("bash", command=command, **more), until=until)


def is_sleeping() -> bool:
    return bool(sleepers())


def has_a_job(stage: Stage) -> None:
    runs(f"({SLEEPS} & ); {ENDLESS}")(stage)
    stage.shown.press("\x02")
    stage.shown.until("1 job")


def has_jobs(stage: Stage) -> None:
    has_a_job(stage)
    stage.shown.until("All done.")
    runs(f"trap '' TERM INT HUP; echo again; {SLEEPS}; {SLEEPS}", until="again")(stage)
    stage.shown.press("\x02")
    stage.shown.until("2 jobs")


def runs_a_cell(code: str) -> Callable[[Stage], None]:
    return lambda stage: stage.go(tool_call_body("eval", code=code), until=is_sleeping)


CELL = f"import subprocess\nprint('afloat', flush=True)\nsubprocess.run({SLEEPS.split()!r})"
STUBBORN_CELL = f"""
import signal, subprocess
signal.signal(signal.SIGINT, signal.SIG_IGN)
child = subprocess.Popen({SLEEPS.split()!r})
while True:
    try:
        print('afloat', flush=True)
    except BaseException:
        pass
"""


def typed(keys: str, until: str | Callable[[], bool]) -> Callable[[Stage], None]:
    def begin(stage: Stage) -> None:
        stage.go(answer_body("First."), until="First.")
        stage.shown.until(PAGE)
        stage.shown.press(keys)
        stage.shown.until(until)

    return begin


# Servers of tools

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
HANGING_SERVER = "import time; open('is-called', 'w').close(); time.sleep(74231)"


def has_server(*words: str) -> Callable[[Path], None]:
    """A server that is this Python with these words."""

    def prepare(folder: Path) -> None:
        entry = {"command": sys.executable, "args": list(words), "cwd": str(folder), "exposure": "direct"}
        agent_file("mcp.json").write_text(json.dumps({"mcpServers": {"harbour": entry}}))

    return prepare


def calls_server(tool: str, until: str = "") -> Callable[[Stage], None]:
    return lambda stage: stage.go(
        tool_call_body("mcp_call", server="harbour", tool=tool),
        until=until or (stage.folder / "is-called").exists,
    )


def starts_server(stage: Stage) -> None:
    stage.go(until=(stage.folder / "is-called").exists)


# Questions

ASKING = """
def extension(api):
    @api.on("tool_call")
    async def gate(event, context):
        await context.ui.select("Which way out?", ["by sea", "by land"])
"""
STAYS_IN_HOOK = f"""
import asyncio

def extension(api):
    @api.on("tool_call")
    async def gate(event, context):
        await api.exec("sh", ["-c", "{SLEEPS}"])
"""


def has_extension(text: str) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        agent_file("extensions/harbour.py").write_text(text)

    return prepare


def wants_trust(folder: Path) -> None:
    (folder / ".bayou").mkdir()
    (folder / ".bayou" / "settings.json").write_text('{"theme": "bayou-light"}')


def stages_a_change(stage: Stage) -> None:
    (stage.folder / "a.py").write_text("old(1)\n")
    rewrite = tool_call_body("ast_edit", rewrites=[{"pattern": "old($A)", "replacement": "new($A)"}])
    stage.go(rewrite, until="Apply the changes staged")
    stage.shown.until("All done.")


# Pages and files


def exports(stage: Stage) -> None:
    stage.shown.press(f"/export {stage.folder / 'all.html'}\r")
    stage.shown.until(lambda: "/export" not in stage.shown.screen)


def undoes(stage: Stage) -> None:
    runs("for n in $(seq 400); do echo $n > file$n; done; echo written", until="All done.")(stage)
    stage.shown.press("\x1bz")
    stage.shown.until("is deleted")
    stage.shown.press("\r")


def has_many_modules(folder: Path) -> None:
    for number in range(1500):
        (folder / f"module_{number}.py").write_text(f"def f{number}(a):\n    return f{number - 1}(a)\n" * 40)


def has_a_draft(stage: Stage) -> None:
    pasted = "\n".join(f"row {number} of the log" for number in range(60))
    typed(f"half a thought \x1b[200~{pasted}\x1b[201~", until="half a thought")(stage)


# Sessions, models, programs, disks


def has_sessions(folder: Path, count: int = MANY_SESSIONS, messages: int = 1) -> None:
    place = session_folder_of_project(agent_file("sessions"), folder)
    place.mkdir(parents=True)
    for number in range(count):
        lines: list[SessionHeader | MessageEntry] = [SessionHeader(id=f"session-{number}", cwd=str(folder))]
        for at in range(messages):
            parent = None if at == 0 else f"{at - 1:08x}"
            message = user_message(f"go {number}, {at} " + "and on " * 20)
            lines.append(MessageEntry(id=f"{at:08x}", parent_id=parent, message=message))
        text = b"".join(encode(line) + b"\n" for line in lines)
        (place / f"2026_session-{number}.jsonl").write_bytes(text)


def has_silent_provider(folder: Path) -> None:
    """It is at the model's address, and its list of models never comes."""
    file = agent_file("models.json")
    providers = json.loads(file.read_text())["providers"]
    address = {key: providers["mine"][key] for key in ("baseUrl", "api", "apiKey")}
    file.write_text(json.dumps({"providers": {**providers, "silent": address}}))


def asks_for_models(stage: Stage) -> None:
    stage.go(answer_body("First."), until="First.")
    stage.model.reply(then=HANGS)
    stage.shown.until(PAGE)
    stage.shown.press("/model\r")
    stage.shown.until("type to filter")
    stage.shown.press("silent\r")
    stage.shown.until(stage.model.server.answering.is_set)


def has_browser(folder: Path) -> Mapping[str, str]:
    """A browser that stays open; that it goes on is right, what opened it has to go."""
    program = folder.parent / "browser"
    program.write_text("#!/bin/sh\ntouch $0.opened\nexec env -i sleep 20\n")
    program.chmod(0o755)
    return {"BROWSER": str(program), "BAYOU_ANTHROPIC_CLIENT_ID": "harbour"}


def signs_in(stage: Stage) -> None:
    typed("/login anthropic\r", until="leave the field empty")(stage)
    stage.shown.press("\r")
    stage.shown.until((stage.folder.parent / "browser.opened").exists)
    stage.shown.until("Sign in there.")


def has_program(name: str, text: str) -> Callable[[Path], Mapping[str, str]]:
    """A program that comes before all others of this name."""

    def prepare(folder: Path) -> Mapping[str, str]:
        place = folder.parent / "programs"
        place.mkdir()
        (place / name).write_text(f"#!/bin/sh\n{text}\n")
        (place / name).chmod(0o755)
        return {"PATH": f"{place}{os.pathsep}{os.environ['PATH']}"}

    return prepare


SLOW_GIT = f"""
case " $* " in *" status "*) exec {SLEEPS};; esac
exec {shutil.which("git")} "$@"
"""


def needs_sandbox(folder: Path) -> None:
    has = system_sandbox_features()
    if CONFINEMENT_METHODS.index(has.step) > CONFINEMENT_METHODS.index("namespaces"):
        pytest.skip(f"this system has no more than the step '{has.step}': {has.why}")


SITUATIONS: dict[str, Situation] = {
    "an answer streams": Situation(begin=streams, answer="The tide is rising."),
    "thinking streams": Situation(begin=thinks, answer="The tide is rising."),
    "a tool call streams": Situation(begin=streams_a_call, answer="The tide is rising."),
    "a retry waits": Situation(begin=waits_to_retry),
    "a compaction": Situation(begin=compacts, settings={"compaction": {"keepRecentTokens": 100}}),
    "a summary of a branch": Situation(begin=summarises_a_branch),
    "a question beside": Situation(begin=asks_beside, to_page=escape("The tide is rising.")),
    "follow-ups wait": Situation(begin=has_follow_ups, unsent=("soon", "afterwards")),
    "a command runs": Situation(begin=runs(f"({SLEEPS} & ); {ENDLESS}")),
    "a command in a terminal": Situation(
        begin=runs(f"echo afloat; {SLEEPS}", until=is_sleeping, pty=True),
        to_page=escape("stop program"),
    ),
    "a command ignores signals": Situation(
        begin=runs(f"trap '' TERM INT HUP; echo afloat; {SLEEPS}; {SLEEPS}")
    ),
    "a command floods": Situation(begin=runs("yes afloat")),
    "a command in a shell that stays": Situation(
        begin=runs(f"echo afloat; {SLEEPS}"), settings={"bash": {"persistentShell": True}}
    ),
    "a command in the sandbox": Situation(
        begin=runs(f"echo afloat; {SLEEPS}"), prepare=needs_sandbox, permissions="ask"
    ),
    "a job": Situation(begin=has_a_job),
    "two jobs": Situation(begin=has_jobs),
    "a command of one's own": Situation(begin=typed(f"!echo afloat; {SLEEPS}\r", until=is_sleeping)),
    "a cell runs": Situation(begin=runs_a_cell(CELL)),
    "a cell ignores interrupts": Situation(begin=runs_a_cell(STUBBORN_CELL)),
    "a cell of one's own": Situation(begin=typed(f"$ import os; os.system({SLEEPS!r})\r", until=is_sleeping)),
    "a server starts": Situation(
        begin=starts_server, prepare=has_server("-c", HANGING_SERVER), said="", unsent=('"text":"go"',)
    ),
    "a call of a server": Situation(begin=calls_server("stall"), prepare=has_server("-c", STALLING_SERVER)),
    "a server asks": Situation(
        begin=calls_server("ask", until="Name of the boat"),
        prepare=has_server(FAULTY, "form"),
        to_page=escape("Name of the boat"),
    ),
    "a question waits": Situation(
        begin=runs("touch ../outside", until="Run this command?"), permissions="ask"
    ),
    "an extension asks": Situation(
        begin=runs("true", until="Which way out?"),
        prepare=has_extension(ASKING),
        to_page=escape("Which way out?"),
    ),
    "an extension works in a hook": Situation(
        begin=runs("true", until=is_sleeping), prepare=has_extension(STAYS_IN_HOOK)
    ),
    "trust is asked for": Situation(
        begin=lambda stage: None,
        begins_at="Trust this project?",
        prepare=wants_trust,
        to_page=escape("Trust this project?"),
        said="",
    ),
    "changes are staged": Situation(begin=stages_a_change, words=("--tools", "+ast_edit")),
    "an export": Situation(
        begin=exports,
        prepare=partial(has_sessions, count=1, messages=LONG_SESSION),
        words=("--continue",),
        said="go 0, 17 ",
    ),
    "an undo": Situation(begin=undoes),
    "the index is built": Situation(begin=lambda stage: None, prepare=has_many_modules, said=""),
    "a list is filtered": Situation(begin=typed("/settings\rtheme", until="theme"), to_page=escape("theme")),
    "a search": Situation(begin=typed("\x06First", until="1 of"), to_page=escape("1 of")),
    "a draft with a paste": Situation(
        begin=has_a_draft,
        to_page=clear_editor,
        is_cleared=True,
        unsent=("half a thought", "row 59 of the log"),
    ),
    "models are asked for": Situation(
        begin=asks_for_models, prepare=has_silent_provider, to_page=escape("silent")
    ),
    "a browser is waited for": Situation(begin=signs_in, prepare=has_browser),
    "git is slow": Situation(begin=typed("!true\r", until=is_sleeping), prepare=has_program("git", SLOW_GIT)),
    "2,000 sessions are read": Situation(
        begin=typed("/resume\r", until="go 1"), prepare=has_sessions, to_page=escape("go 1")
    ),
    "a long session opens": Situation(
        begin=lambda stage: None,
        prepare=partial(has_sessions, count=1, messages=LONG_SESSION),
        words=("--continue",),
        said="go 0, 17 ",
    ),
}


def agent_file(name: str) -> Path:
    file = Path(os.environ["BAYOU_AGENT_DIR"], name)
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def sleepers() -> list[str]:
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "stat=,args="], capture_output=True, text=True, check=True
    )
    rows = (line.split(None, 1) for line in listed.stdout.splitlines())
    return [row[1] for row in rows if row[0][0] != "Z" and row[1].startswith(SLEEPS)]
