"""pi's own published client drives bayou through every method. Its file needs Node alone, none of pi's packages."""

import asyncio
import json
import os
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from tests.support.npm import why_npm_cannot

PACKAGE = "@earendil-works/pi-coding-agent@1.5.2"
FILES = ("package/dist/modes/rpc/rpc-client.js", "package/dist/modes/rpc/jsonl.js")
HERE = Path(__file__).parent

pytestmark = [
    pytest.mark.installs,
    pytest.mark.skipif(
        not (os.environ.get("CI") or os.environ.get("BAYOU_LONG")),
        reason="fetches a package: CI or BAYOU_LONG=1",
    ),
    pytest.mark.skipif(
        shutil.which("node") is None or shutil.which("npm") is None, reason="needs Node and npm"
    ),
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with pi's client."""
    folder = tmp_path_factory.mktemp("pi")
    problem = why_npm_cannot(folder, "pack", PACKAGE, "--silent")
    archives = list(folder.glob("*.tgz"))
    if problem or not archives:
        pytest.skip(f"{PACKAGE} cannot be had here: {problem}")
    with tarfile.open(archives[0]) as archive:
        for name in FILES:
            archive.extract(name, folder, filter="data")
    (folder / "package" / "package.json").write_text('{"type": "module"}')
    return folder / "package" / "dist" / "modes" / "rpc"


async def test_pis_client_can_call_every_method(client: Path, tmp_path: Path) -> None:
    shutil.copy(HERE / "pi_client_run.mjs", client / "run.mjs")
    shutil.copy(HERE / "pi_launcher.cjs", client / "launcher.cjs")
    process = await asyncio.create_subprocess_exec(
        "node", str(client / "run.mjs"), str(client / "launcher.cjs"),
        cwd=tmp_path, env={**os.environ, "BAYOU_PYTHON": sys.executable},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, err.decode()[-3000:]
    told = json.loads(out.splitlines()[-1])
    assert told["uncalled"] == []
    assert told["settled"] == 2
    assert told["disposition"] == "started"
    assert told["after"] == "not streaming"


async def test_pis_client_answers_the_questions_of_the_gate(client: Path, tmp_path: Path) -> None:
    shutil.copy(HERE / "pi_approvals.mjs", client / "approvals.mjs")
    shutil.copy(HERE / "pi_launcher.cjs", client / "launcher.cjs")
    process = await asyncio.create_subprocess_exec(
        "node", str(client / "approvals.mjs"), str(client / "launcher.cjs"),
        cwd=tmp_path, env={**os.environ, "BAYOU_PYTHON": sys.executable},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, err.decode()[-3000:]
    told = json.loads(out.splitlines()[-1])
    assert told["methods"] == ["select", "select", "select", "input"]
    assert (tmp_path / "one").exists() and not (tmp_path / "two").exists()
    assert "not a git repository" in told["last"]
