"""Runs random trees of helpers whose models misbehave and which are stopped or killed at random, and checks what is
left: `python -m bench.helpers COUNT [SEED]`. As a benchmark it runs a few trees.

Each tree has a server of its own, which counts what it has answered."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from app.providers.model_stream import AssistantStream, RequestContext, StreamOptions
from app.providers.scripted import SCRIPTED_API_NAME, ScriptedAnswer, call, say
from app.values.content import ToolCall, text_of
from app.values.messages import ToolResultMessage, UserMessage
from app.values.models import Model
from app.values.usage import Usage
from bench.table import Row
from tests.compaction.project_session import ProjectSession
from tools.files.path_existence import is_file

MOST_TOKENS = 900
"""Of one request."""
BUDGET = 4_000
"""Tokens of one helper."""
_FEW = 26
MARK = "bayou-bench-helper"
_HANDS = ("end", "spawn", "forever", "die", "exceed", "write", "process", "silent")
"""What a helper's model does."""


hands: Counter[str] = Counter()
"""How many helpers did each."""


class Server:
    """Answers requests as a tree's random numbers say, and counts the tokens of its answers."""

    def __init__(self, seed: int, home: Path, *, is_isolated: bool, helpers: int, background: bool) -> None:
        self.random = random.Random(seed)
        self.served = self.requests = 0
        self.by_helper: Counter[str] = Counter()
        self.left_after_stop = 0
        self.is_stopped = False
        self.never = asyncio.Event()
        self._home = home
        self._is_isolated, self._helpers, self._background = is_isolated, helpers, background
        self._hands: dict[str, str] = {}

    async def answer(
        self, model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
    ) -> None:
        self.requests += 1
        self.left_after_stop += self.is_stopped
        if options.hooks.on_response_headers is not None:
            await options.hooks.on_response_headers(200, {})
        is_helper = "You are the helper" in context.system_prompt
        who = _text(context) if is_helper else ""
        said = self._of_helper(who, context) if is_helper else self._of_parent(context)
        for block in said.blocks:
            await asyncio.sleep(0)
            made = (
                msgspec.structs.replace(block, id=f"c{self.requests}_{len(stream.draft.content)}")
                if isinstance(block, ToolCall)
                else block
            )
            stream.draft.content.append(made)
        if said.gate is not None:
            await said.gate.wait()
        if said.error is not None:
            stream.draft.stop_reason, stream.draft.error_message = "error", said.error
        elif any(isinstance(block, ToolCall) for block in said.blocks):
            stream.draft.stop_reason = "toolUse"
        tokens = self.random.randint(50, MOST_TOKENS)
        stream.draft.usage = Usage(input=tokens - 10, output=10, total_tokens=tokens)
        self.served += tokens
        self.by_helper[who] += tokens

    def _of_parent(self, context: RequestContext) -> ScriptedAnswer:
        if any(isinstance(message, ToolResultMessage) for message in context.messages):
            return say("Noted.")
        made = ScriptedAnswer()
        for number in range(self._helpers):
            more: dict[str, Any] = {"isolated": True} if self._is_isolated else {}
            made += call("task", prompt=f"part {number}", wait=not self._background, **more)
        return made

    def _of_helper(self, who: str, context: RequestContext) -> ScriptedAnswer:
        if who not in self._hands:
            self._hands[who] = self.random.choice(_HANDS)
            hands[self._hands[who]] += 1
        hand = self._hands[who]
        results = [message for message in context.messages if isinstance(message, ToolResultMessage)]
        turns = len(results)
        name = f"{who.replace(' ', '-')}-{turns}.txt"
        if turns and hand == "write" and not results[-1].is_error:
            self._note_written(f"{who.replace(' ', '-')}-{turns - 1}.txt")
        if hand == "end" or (hand in ("write", "process") and turns >= 2) or not context.tools:
            return say("Done.")
        match hand:
            case "spawn":
                return call("task", prompt="more") + call("task", prompt="still more")
            case "die":
                return say("", error="The connection was closed.") if turns else call("ls")
            case "write":
                return call("write", path=name, content=f"{who} {turns}\n")
            case "process":
                return call("bash", command=f"exec -a {MARK}-{os.getpid()} sleep 30", background=True)
            case "silent":
                return say("…", gate=self.never)
            case _:
                return call("ls")

    def _note_written(self, name: str) -> None:
        """Notes a file whose writing the helper has been told of."""
        with (self._home / "written").open("a") as file:
            file.write(f"{name}\n")


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    """What was found after one tree."""

    seed: int
    kind: str
    problems: tuple[str, ...]


async def opened(home: Path, server: Server, **options: Any) -> ProjectSession:
    scene = ProjectSession(home)
    scene.settings(
        {
            "task": {"maxTokens": BUDGET, "maxTurns": 12, "maxMinutes": 0.02, "width": 4},
            "todo": {"reminders": False},
            "retry": {"enabled": False},
        }
    )
    await scene.open(permissions="full", **options)
    scene.assembled.registry.register_adapter(SCRIPTED_API_NAME, server.answer, owner=SCRIPTED_API_NAME)
    return scene


def shape(seed: int) -> tuple[bool, int, bool]:
    """Returns whether helpers have copies of their own, how many there are, and whether nobody waits for them."""
    numbers = random.Random(seed)
    return numbers.random() < 0.12, numbers.randint(1, 5), numbers.random() < 0.3


async def grow(seed: int, home: Path) -> tuple[ProjectSession, Server]:
    is_isolated, helpers, background = shape(seed)
    if is_isolated:
        make_repository(home / "project")
    server = Server(seed, home, is_isolated=is_isolated, helpers=helpers, background=background)
    return await opened(home, server), server


async def tree(seed: int, home: Path) -> Tree:
    """One tree in this process, stopped at a random moment in half of all cases."""
    scene, server = await grow(seed, home)
    session, numbers = scene.session, random.Random(seed * 7)
    problems: list[str] = []
    kind = numbers.choice(("to its end", "stopped", "one helper stopped", "closed"))
    await session.prompt("go")
    if kind != "to its end":
        await asyncio.sleep(numbers.random() * 0.5)
    if kind == "stopped":
        await session.abort()
        server.is_stopped = True
    elif kind == "one helper stopped" and session.helpers.known_helpers():
        await session.helpers.stop_helper(numbers.choice(session.helpers.known_helpers()).id)
    if kind != "closed":
        await session.wait_until_idle()
        await session.jobs.wait_until_all_reported()
        await session.wait_until_idle()
        if session.helpers.active_helpers():
            problems.append(f"{len(session.helpers.active_helpers())} helpers still work")
    helpers = session.helpers.known_helpers()
    await session.close()
    if server.left_after_stop:
        problems.append(f"{server.left_after_stop} requests after the stop")
    total = session.stats.usage.total_tokens
    if total != server.served:
        problems.append(f"counted {total}, the server {server.served}")
    over = [helper.budget.usage_so_far.total_tokens for helper in helpers]
    problems += [f"a helper spent {tokens}" for tokens in over if tokens >= BUDGET + MOST_TOKENS]
    problems += await check_left(scene, session.log.path, home)
    return Tree(seed=seed, kind=kind, problems=tuple(problems))


async def killed(seed: int, home: Path) -> Tree:
    """One tree in a process of its own, which is killed at a random moment."""
    pid = await asyncio.to_thread(_kill_one, seed, home)
    scene = ProjectSession(home)
    problems = await check_left(scene, newest_session(scene), home, of=pid)
    return Tree(seed=seed, kind="killed", problems=tuple(problems))


def _kill_one(seed: int, home: Path) -> int:
    process = subprocess.Popen([sys.executable, "-m", "bench.helpers", "child", str(seed), str(home)])
    while not (home / "begun").exists() and process.poll() is None:
        time.sleep(0.02)
    time.sleep(random.Random(seed).random() * 1.5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return process.pid


def newest_session(scene: ProjectSession) -> Path | None:
    files = sorted(scene.paths.sessions_dir.rglob("*.jsonl"))
    own = [file for file in files if '"parentSession"' not in file.open().readline()]
    return own[0] if own else None


async def check_left(
    scene: ProjectSession, file: Path | None, home: Path, of: int | None = None
) -> list[str]:
    """Checks processes, copies and written files after the end; opens the session again for that."""
    problems: list[str] = []
    running = await asyncio.to_thread(_still_running, of or os.getpid())
    problems += [f"{running} processes are left"] if running else []
    left = len(copies_below(home))
    if file is None or not is_file(file):
        return [*problems, *([f"{left} copies whose session is nowhere"] if left else [])]
    server = Server(0, home, is_isolated=False, helpers=0, background=False)
    again = await opened(home, server, session=str(file))
    for _ in range(20):
        for waiting in again.session.pending.waiting_actions:
            await again.session.pending.apply_or_discard(waiting.id, "apply", "")
        if not copies_below(home):
            break
        await again.session.helpers.offer_leftover_helper_changes()
    remaining = copies_below(home)
    problems += [f"{len(remaining)} of {left} copies are neither delivered nor offered"] if remaining else []
    names = (home / "written").read_text().split() if (home / "written").exists() else []
    lost = [name for name in names if not (scene.project / name).exists()]
    problems += [f"lost: {', '.join(lost)}"] if lost else []
    await again.session.close()
    return problems


def copies_below(home: Path) -> list[Path]:
    return list(home.glob(".local/state/bayou/copies/*/copy.json"))


def _still_running(of: int) -> int:
    """How many processes are left, ten seconds after the end."""
    deadline = time.monotonic() + 10
    while (running := processes(of)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return running


def processes(of: int) -> int:
    """How many processes run that helpers of this process have started."""
    found = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found += f"{MARK}-{of}".encode() in (folder / "cmdline").read_bytes()
    return found


def make_repository(place: Path) -> None:
    place.mkdir(parents=True)
    identity = ("-c", "user.name=n", "-c", "user.email=n@example.com")
    (place / "a.txt").write_text("a\n")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "one")):
        subprocess.run(("git", *words), cwd=place, check=True)


def _text(context: RequestContext) -> str:
    first = context.messages[0]
    return text_of(first.content) if isinstance(first, UserMessage) else ""


async def child(seed: int, home: Path) -> None:
    scene, _ = await grow(seed, home)
    (home / "begun").touch()
    await scene.session.prompt("go")
    await scene.session.wait_until_idle()
    await scene.session.jobs.wait_until_all_reported()
    await asyncio.sleep(60)


async def trees(count: int, first: int = 0) -> Counter[str]:
    """Runs trees, one in 25 of them to be killed, and returns how many of each kind there were; tells what is wrong."""
    kinds: Counter[str] = Counter()
    hands.clear()
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory(prefix="bayou-helpers-") as folder:
            try:
                made = await (killed if seed % 25 == 0 else tree)(seed, Path(folder))
            except Exception as problem:
                made = Tree(seed=seed, kind="failed", problems=(f"{type(problem).__name__}: {problem}",))
        kinds[made.kind] += 1
        kinds["with a problem"] += bool(made.problems)
        if made.problems:
            sys.stderr.write(f"tree {made.seed} ({made.kind}): {'; '.join(made.problems)}\n")
    return kinds


def rows() -> Iterator[Row]:
    found = asyncio.run(trees(_FEW))
    yield Row(
        name=f"{_FEW} trees of helpers: with a problem",
        figure=found["with a problem"],
        unit="trees",
        limit="0",
    )


if __name__ == "__main__":
    if sys.argv[1] == "child":
        asyncio.run(child(int(sys.argv[2]), Path(sys.argv[3])))
    else:
        began = time.monotonic()
        found = asyncio.run(trees(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
        print(json.dumps(found), json.dumps(hands), f"{time.monotonic() - began:.0f} s")
