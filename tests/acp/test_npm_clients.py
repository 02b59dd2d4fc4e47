"""Clients of the package index for node drive bayou: the official SDK's, and the program acpx."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acp.test_capabilities import MODEL
from tests.architecture.sources import ROOT

pytestmark = [
    pytest.mark.installs,
    pytest.mark.skipif(shutil.which("npm") is None, reason="npm is missing"),
]
PACKAGES = ("@agentclientprotocol/sdk@2.4", "acpx@0.19")
BAYOU = (sys.executable, "-P", "-m", "app", "acp", "-e", MODEL, "--permissions", "ask")


@pytest.fixture
def node(tmp_path: Path, outside: dict[str, str]) -> Path:
    """A folder with the packages."""
    folder = tmp_path / "node"
    folder.mkdir()
    (folder / "package.json").write_text("{}")
    install = ["npm", "install", "--no-audit", "--no-fund", "--silent", *PACKAGES]
    done = subprocess.run(install, cwd=folder, env=outside, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"the packages cannot be installed: {done.stderr.strip()[-200:]}")
    return folder


def test_they_drive_bayou_through_prompts_questions_and_a_sessions_life(
    node: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    shutil.copy(Path(__file__).parent / "node" / "client.mjs", node)
    told = json.loads(run(["node", "client.mjs", str(work), *BAYOU], node))
    assert (work / "a.txt").read_text() == "two\n" and told["asked"] == ["edit"]
    assert "0 images and: Look" in told["text"]
    ends = [told[name] for name in ("edited", "sent", "cancelled", "resumed")]
    assert ends == ["end_turn", "end_turn", "cancelled", "end_turn"]
    assert (told["mode"], told["listed"]) == ("full", 2)
    assert told["replayed"].count("user_message_chunk") == 3 and "tool_call" in told["replayed"]

    acpx = ["node", str(node / "node_modules" / ".bin" / "acpx"), "--agent", " ".join(BAYOU), "--ttl", "60"]
    back = json.dumps([["edit", {"path": "a.txt", "oldText": "two", "newText": "one"}]])
    lines = run([*acpx, "--format", "json", "--approve-all", "exec", back], work).splitlines()
    assert json.loads(lines[-1])["result"] == {"stopReason": "end_turn"}
    assert (work / "a.txt").read_text() == "one\n"
    run([*acpx, "sessions", "new"], work)
    assert "0 images and: hello" in run([*acpx, "hello"], work)
    assert "plan" in run([*acpx, "set-mode", "plan"], work)
    run([*acpx, "sessions", "close"], work)


def run(command: list[str], cwd: Path) -> str:
    done = subprocess.run(
        command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
