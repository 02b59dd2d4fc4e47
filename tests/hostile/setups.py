"""Setups for hostile tests: a model on a local server, bayou as a process, a disk that can be filled."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.providers.loopback import Loopback, sse

COLD_BAYOU = (sys.executable, "-P", "-m", "app")
"""For what is set in the process that becomes bayou: limits, closed streams."""
MODEL = ("--model", "mine/m")
LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Starts a program whose files may not grow beyond so many bytes."""


def use_model_at(server: Loopback, api: str = "openai-completions", **more: Any) -> None:
    """`mine/m` is what this server answers."""
    folder = Path(os.environ["BAYOU_AGENT_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    entry = {"baseUrl": server.url, "api": api, "apiKey": "planted-key-of-the-model", "models": [{"id": "m"}]}
    (folder / "models.json").write_text(json.dumps({"providers": {"mine": {**entry, **more}}}))


def write_user_settings(**values: Any) -> None:
    folder = Path(os.environ["BAYOU_AGENT_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(values))


def piece(text: str) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": {"content": text}}]}


def ending(reason: str = "stop") -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def answer_body(*texts: str) -> bytes:
    """An answer, as a body."""
    return sse(*map(piece, texts), ending(), done=True)


def tool_call_body(name: str, **arguments: Any) -> bytes:
    """A call of a tool, as a body."""
    call = {
        "index": 0,
        "id": "call_0",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }
    delta = {"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
    return sse(delta, ending("tool_calls"), done=True)


async def run(*command: str, cwd: Path, timeout: float = 60, **options: Any) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=cwd, stdin=asyncio.subprocess.DEVNULL,
        **{"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.PIPE, **options},
    )  # fmt: skip
    try:
        out, err = await asyncio.wait_for(process.communicate(), timeout)
    except BaseException:
        process.kill()
        raise
    assert process.returncode is not None
    return process.returncode, (out or b"").decode(), (err or b"").decode()


class SmallDisk:
    """A separate disk of a quarter of a megabyte."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._filler = place / "filler"

    def fill(self) -> None:
        with self._filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass

    def make_room(self) -> None:
        self._filler.unlink()


@contextmanager
def small_disk(place: Path) -> Iterator[SmallDisk]:
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("only the superuser may mount a disk of its own; the limit on files stands for it")
    try:
        yield SmallDisk(place)
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)
