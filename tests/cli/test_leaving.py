"""A run that answers once ends at once and loses nothing by that: compared with one that ends as programs do."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bayou.client import RpcClient

AT_ONCE = ("-m", "app")
SLOWLY = ("-c", "import sys; from app.cli.main import main; sys.exit(main(sys.argv[1:]))")
"""Arguments given by a caller in the same process, which continues afterwards."""

ENDS = """
import atexit, gc, sys, threading, time
from pathlib import Path

def extension(api):
    atexit.register(lambda: Path("atexit").write_text("told"))

    @api.on("session_shutdown")
    async def ended(event, context):
        Path("shutdown").write_text("told")
        sys.stderr.write("last words")

    @api.on("turn_start")
    async def asked(event, context):
        with Path("collector").open("a") as file:
            file.write(f"{gc.isenabled()} ")
        if Path("late").exists():
            threading.Thread(target=lambda: (time.sleep(0.3), Path("late").write_text("done"))).start()
"""


def _plain(content: Any) -> str:
    return re.sub(r"call_\w+|/tmp/\S+|fast|slow", "…", json.dumps(content))


def _kinds(lines: str) -> list[str]:
    """Of JSON mode's lines, but for deltas, which are joined by time."""
    kinds = [json.loads(line)["type"] for line in lines.splitlines()]
    return [kind for kind in kinds if "update" not in kind]


class Ran(msgspec.Struct):
    code: int
    out: str
    err: str
    folder: Path

    @property
    def entries(self) -> list[tuple[str, str]]:
        """What the session file holds, without what differs from run to run."""
        files = list((self.folder / "sessions").rglob("*.jsonl"))
        assert len(files) == 1
        raw = files[0].read_bytes()
        assert raw.endswith(b"\n")
        lines = [json.loads(line) for line in raw.splitlines()]
        return [(line["type"], _plain(line.get("message", {}).get("content", ""))) for line in lines[1:]]

    @property
    def left_behind(self) -> dict[str, int]:
        """The other files, by their sizes."""
        found = (
            path for path in self.folder.rglob("*") if path.is_file() and path.suffix not in (".jsonl", ".py")
        )
        kept = [path for path in found if "cache" not in path.parts]
        return {"ledger" if path.suffix == ".files" else path.name: path.stat().st_size for path in kept}


def run(how: tuple[str, ...], folder: Path, *words: str) -> Ran:
    folder.mkdir(exist_ok=True)
    (folder / "ends.py").write_text(ENDS)
    env = {**os.environ, "BAYOU_SESSION_DIR": str(folder / "sessions"), "BAYOU_OFFLINE_PACE": "0"}
    done = subprocess.run(
        [sys.executable, "-P", *how, "--model", "offline/guide", "-e", "ends.py", *words],
        cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return Ran(done.returncode, done.stdout, done.stderr, folder)


@pytest.mark.parametrize("face", ["print", "json"])
def test_nothing_is_lost_by_leaving_at_once(face: str, tmp_path: Path):
    words = ("-p",) if face == "print" else ("--mode", "json")
    prompts = ("run `seq 1 60000`", "help")
    fast = run(AT_ONCE, tmp_path / "fast", *words, *prompts)
    slow = run(SLOWLY, tmp_path / "slow", *words, *prompts)
    assert (fast.code, fast.err) == (slow.code, slow.err) == (0, "last words")
    assert fast.entries == slow.entries and len(fast.entries) > 4
    assert fast.left_behind == slow.left_behind
    assert {"atexit", "shutdown"} <= set(fast.left_behind)
    assert any(size > 300_000 for size in fast.left_behind.values()), "the command's whole output is kept"
    if face == "print":
        assert fast.out == slow.out
    else:
        kinds = [_kinds(ran.out) for ran in (fast, slow)]
        assert kinds[0] == kinds[1]
        assert kinds[0][-1] == "agent_settled"


def test_a_failure_is_reported_and_its_code_too(tmp_path: Path):
    done = run(AT_ONCE, tmp_path / "run", "-p")
    assert done.code == 2 and "No prompt was given" in done.err


def test_a_thread_of_an_extension_is_waited_for(tmp_path: Path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "late").touch()
    done = run(AT_ONCE, tmp_path / "run", "-p", "help")
    assert done.code == 0 and (tmp_path / "run" / "late").read_text() == "done"


def test_garbage_is_looked_for_once_a_run_has_used_a_tool(tmp_path: Path):
    done = run(AT_ONCE, tmp_path / "run", "-p", "run `true`", "help")
    assert done.code == 0
    first, *others = (tmp_path / "run" / "collector").read_text().split()
    assert (first, set(others)) == ("False", {"True"})


async def test_a_program_that_is_driven_collects_from_the_start(tmp_path: Path):
    (tmp_path / "ends.py").write_text(ENDS)
    async with RpcClient(cwd=tmp_path, arguments=["--model", "offline/guide", "-e", "ends.py"]) as client:
        await client.prompt("help")
        await client.wait_for_idle()
    assert set((tmp_path / "collector").read_text().split()) == {"True"}
