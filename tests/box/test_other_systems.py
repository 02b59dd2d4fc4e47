"""The sandbox on unusual systems: an overlay, a hidden /proc, a killed supervisor."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.providers.scripted import call, say
from tests.box.conftest import skip_below
from tests.box.test_proxy import LOOK
from tests.permits.test_gate import gated_session, questions_asked, results

TRIES = "echo in > in.txt; echo out > ~/out.txt; cat ~/.ssh/id_ed25519; echo evil > .git/hooks/pre-commit"
ROOT = Path(__file__).parents[2]


def elsewhere_in(place: Path, *mounts: str, flags: str = "-m") -> dict[str, Any]:
    """Returns the result of a sandboxed command behind these mounts, in separate user and mount namespaces."""
    python = f"{sys.executable} -m tests.box.tried"
    told = [str(place / "home"), str(place / "home" / "project"), str(place / "temporary")]
    script = " && ".join([*mounts, f'exec {python} "$@"'])
    run = subprocess.run(
        ["unshare", "-Ur", *flags.split(), "sh", "-c", script, "sh", *told, TRIES],
        env={**os.environ, "HOME": told[0], "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if run.returncode:
        pytest.skip(f"this system does not let it be tried: {run.stderr.strip()[-200:]}")
    return json.loads(run.stdout)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare here")
    skip_below("namespaces")
    for folder in ("home/.ssh", "home/project", "lower", "upper", "work", "temporary"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "home/.ssh/id_ed25519").write_text("a key")
    return tmp_path


def repository(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)


def test_a_workspace_on_an_overlay(place: Path) -> None:
    repository(place / "lower")
    layers = f"lowerdir={place}/lower,upperdir={place}/upper,workdir={place}/work,userxattr"
    told = elsewhere_in(place, f"mount -t overlay overlay -o {layers} {place}/home/project")
    assert told["step"] == "namespaces", told
    assert (place / "upper/in.txt").read_text() == "in\n"
    assert not (place / "upper/.git/hooks/pre-commit").exists()
    assert not (place / "home/out.txt").exists() and "a key" not in told["text"], told


def test_a_proc_that_shows_only_one_s_own_programs(place: Path) -> None:
    repository(place / "home/project")
    told = elsewhere_in(place, "mount -t proc -o hidepid=2 proc /proc", flags="-mpf")
    assert told["step"] == "namespaces", told
    assert (place / "home/project/in.txt").exists()
    assert not (place / "home/out.txt").exists() and "a key" not in told["text"], told


def test_without_a_proc_the_next_step_is_taken_and_holds(place: Path) -> None:
    repository(place / "home/project")
    told = elsewhere_in(place, "mount -t tmpfs none /proc")
    assert told["step"] == "landlock" and told["why"], told
    assert (place / "home/project/in.txt").exists()
    assert not (place / "home/out.txt").exists() and "a key" not in told["text"], told


async def test_a_killed_supervisor_is_replaced_and_the_proxy_works_again(
    tmp_path: Path,
) -> None:
    skip_below("namespaces")
    looks = [call("bash", command=LOOK) for _ in range(3)]
    harness: Any = gated_session(tmp_path, *looks, say("ok"), mode="auto-edit")
    harness.effective_settings.set("sandbox.network", "listed")
    harness.session.permissions.rules.add_allow_rule("net: unknown.example.invalid:80")
    supervisors: list[int] = []

    def kill(event: Any) -> None:
        if type(event).__name__ == "ToolExecutionEnd" and not supervisors:
            supervisors.extend(children())
            for pid in supervisors:
                os.kill(pid, signal.SIGKILL)

    harness.session.subscribe(kill)
    await asyncio.wait_for(questions_asked(harness), 60)
    before, killed, after = results(harness)
    assert supervisors and "502" in before and "502" in after, (before, after)
    assert "502" in killed or "watcher was killed" in killed, killed


def children() -> list[int]:
    told = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return [int(pid) for pid in told.split()]
