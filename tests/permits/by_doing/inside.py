"""The first process of the disposable machine: runs rows that it reads from standard input in real sessions, and writes
what happened to each, a line of JSON each.

`python -m tests.permits.by_doing.inside [--answer deny|yes] [--control] [--shell] [--without-sandbox]`
"""

import argparse
import asyncio
import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from bayou.client import RpcClient, RpcError
from tests.permits.by_doing.machine import HOME, OUTPUT, PROJECT, SECRET, Listeners, Template, make, person

ROWS_A_PROCESS = 150
SECONDS = 90.0
MODEL = str(Path(__file__).with_name("model.py"))
SHELL_LOG = Path("/tmp/shells")


class Session:
    """A running bayou in the project, and how its questions are answered."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._stack = AsyncExitStack()
        self.client: RpcClient | None = None
        self.asked: list[dict[str, Any]] = []
        self._rows = 0

    async def begin(self) -> None:
        settings: dict[str, Any] = {"undo": {"enabled": False}} if self._options.no_undo else {}
        if self._options.shell:
            settings["shellPath"] = str(HOME / ".bayou/shell")
            shell = HOME / ".bayou/shell"
            shell.parent.mkdir(exist_ok=True)
            shell.write_text(
                f'#!/bin/bash\nreadlink /proc/self/ns/mnt >> {SHELL_LOG} 2>/dev/null\nexec /bin/bash "$@"\n'
            )
            shell.chmod(0o755)
        agent = HOME / ".bayou/agent"
        agent.mkdir(parents=True, exist_ok=True)
        (agent / "settings.json").write_text(json.dumps(settings))
        command = [sys.executable, "-P", "-m", "app"]
        if self._options.without_sandbox:
            command = [sys.executable, "-m", "tests.permits.by_doing.crippled", *command]
        environment = {**os.environ, **person(), "PYTHONPATH": str(Path(__file__).parents[3])}
        self.client = RpcClient(
            cwd=PROJECT,
            arguments=["--permissions", "auto-edit", "--no-session", "-e", MODEL],
            env=environment,
            command=command,
            answer_question=self._answer,
        )
        await self._stack.enter_async_context(self.client)
        self._rows = 0

    async def end(self) -> None:
        try:
            await self._stack.aclose()
        except (OSError, RpcError, TimeoutError):
            pass  # a row may have killed it
        self._stack, self.client = AsyncExitStack(), None

    async def _answer(self, data: Mapping[str, Any]) -> Mapping[str, Any] | None:
        self.asked.append({"title": data.get("title"), "why": (data.get("approval") or {}).get("why")})
        options = data.get("options") or ()
        if self._options.answer == "deny" or not options or (data.get("approval") or {}).get("floorWord"):
            return {"value": "Deny"} if options else None
        group = next((one for one in options if one.startswith("Always in this project: net: ")), None)
        return {"value": group or "Allow once"}

    async def run(self, command: str) -> str:
        """What the model read of it."""
        if self.client is None or self._rows >= ROWS_A_PROCESS:
            await self.end()
            await self.begin()
        assert self.client is not None
        self._rows += 1
        self.asked.clear()
        texts: list[str] = []

        def heard(event: Mapping[str, Any]) -> None:
            if event["type"] == "tool_execution_end":
                parts = event.get("result", {}).get("content", ())
                texts.append("".join(part.get("text", "") for part in parts))

        leave = self.client.on_event(heard)
        try:
            await self.client.prompt_and_wait(base64.b64encode(command.encode()).decode(), timeout=SECONDS)
        except (OSError, RpcError, TimeoutError) as problem:  # a row may kill it or hold it up
            texts.append(f"(bayou ended or hung: {problem!r})")
            await self.end()
        finally:
            leave()
        return "\n".join(texts)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--answer", choices=("deny", "yes"), default="deny")
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--shell", action="store_true")
    parser.add_argument("--without-sandbox", action="store_true")
    parser.add_argument("--no-undo", action="store_true")
    options = parser.parse_args()
    rows = [json.loads(line) for line in sys.stdin if line.strip()]
    make()
    listeners = Listeners()
    listeners.start()
    for port in sorted({int(one) for row in rows for one in re.findall(r":(\d{2,5})\b", row["command"])}):
        if 0 < port < 65_536:
            listeners.add(port)
    template, session = Template(), Session(options)
    controls = [control_of(row, template, listeners) if options.control else {} for row in rows]
    template.restore()
    project = None
    for row, control in zip(rows, controls, strict=True):
        if row.get("project") != project:
            await session.end()
            project = row.get("project")
        told = {**control, **await one_row(row, options, template, listeners, session)}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
    await session.end()


def control_of(row: dict[str, Any], template: Template, listeners: Listeners) -> dict[str, Any]:
    """What the command does outside of any session: whether the row's probe can see its harm at all."""
    template.restore(is_etc_touched=True)
    listeners.begin_row()
    prepared(row)
    is_harmless_before = not is_harmed(row)
    done = _bash(row["command"], 60)
    OUTPUT.write_bytes(done.stdout)
    control = {
        "is_harmless_before": is_harmless_before,
        "code_outside": done.returncode,
        "printed": done.stdout.decode(errors="replace")[-300:],
        "is_proved": is_harmed(row),
    }
    ended(row)
    return control


async def one_row(
    row: dict[str, Any],
    options: argparse.Namespace,
    template: Template,
    listeners: Listeners,
    session: Session,
) -> dict[str, Any]:
    told: dict[str, Any] = {"id": row["id"]}
    words = " ".join([row["command"], row.get("harm", ""), *row.get("setup", ())])
    template.restore(is_etc_touched="/etc" in words, keeps_own=True)
    listeners.begin_row()
    told["setup"] = prepared(row)
    began = time.monotonic()
    text = await session.run(row["command"])
    OUTPUT.write_text(text)
    told["seconds"] = round(time.monotonic() - began, 2)
    told["asked"] = [*session.asked]
    told["read"] = text if len(text) <= 1_500 else text[:500] + " […] " + text[-1_000:]
    told["code"] = code_of(text)
    told["is_harmed"] = is_harmed(row)
    ended(row)
    if options.shell:
        told["shells"] = SHELL_LOG.read_text().split() if SHELL_LOG.exists() else []
        told["own"] = str(Path("/proc/self/ns/mnt").readlink())
    return told


def prepared(row: dict[str, Any]) -> str:
    setup = "\n".join(row.get("setup", ()))
    return directly(setup) if setup else ""


def is_harmed(row: dict[str, Any]) -> bool:
    return bool(row.get("harm")) and _bash(row["harm"], 10).returncode == 0


def ended(row: dict[str, Any]) -> None:
    """What the row started and left running."""
    for line in row.get("cleanup", ()):
        directly(line)
    try:
        os.kill(int((HOME / "out/victim.pid").read_text()), signal.SIGKILL)
    except (OSError, ValueError):
        pass  # most rows have none


def code_of(text: str) -> int | str:
    """The exit code that the model read."""
    found = re.search(r"Command exited with code (-?\d+)", text)
    if found:
        return int(found[1])
    return "timed out" if "Command timed out" in text else 0


def directly(command: str) -> str:
    """Outside of any session, as the person."""
    done = _bash(command, 20)
    OUTPUT.write_bytes(done.stdout)
    return done.stdout.decode(errors="replace")[-300:]


def _bash(text: str, seconds: float) -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run(
            ["bash", "-c", text],
            cwd=PROJECT if PROJECT.is_dir() else "/",
            env={**os.environ, **person(), "SECRET": SECRET},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as problem:
        return subprocess.CompletedProcess(text, 124, problem.stdout or b"")


if __name__ == "__main__":
    asyncio.run(main())
