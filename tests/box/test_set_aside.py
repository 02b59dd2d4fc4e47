"""Files that run later which a command makes are moved out of the workspace, unless the person allows the place."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from app.engine.permissions.permission_gate import ApprovalReply
from app.providers.scripted import call, say
from app.values.events import Notice
from tests.box.conftest import skip_below
from tests.permits.test_gate import gated_session, questions_asked, results


def made_by(path: str) -> str:
    """A command whose created files are unknown before it runs."""
    made = f"import pathlib; p = pathlib.Path('{path}')"
    return f"python3 -c \"{made}; p.parent.mkdir(parents=True, exist_ok=True); p.write_text('x')\""


def boxed_session(folder: Path, **arguments: Any) -> Any:
    skip_below("namespaces")
    return gated_session(folder, call("bash", **arguments), say("ok"), mode="auto-edit")


@pytest.mark.parametrize(
    "path", [".envrc", ".vscode/tasks.json", ".bayou/settings.json", "sub/.envrc", "a/.vscode/x"]
)
async def test_a_file_that_runs_later_is_moved_away_and_told(tmp_path: Path, path: str) -> None:
    harness = boxed_session(tmp_path, command=made_by(path))
    assert await questions_asked(harness) == []
    assert not (harness.session.cwd / path).exists()
    text = results(harness)[0]
    assert "runs later outside of the sandbox, so it was moved to" in text and 'allow: ["write ' in text


async def test_a_person_can_let_a_command_make_it(tmp_path: Path) -> None:
    harness = boxed_session(
        tmp_path, command=made_by(".envrc"), allow=["write .envrc"], reason="the project wants it"
    )
    (question,) = await questions_asked(harness, ApprovalReply(is_allowed=True))
    assert question.approval is not None and question.approval.confirmation_word == ".envrc"
    assert (harness.session.cwd / ".envrc").read_text() == "x"
    assert "moved to" not in results(harness)[0]


async def test_without_a_yes_it_is_not_made(tmp_path: Path) -> None:
    harness = boxed_session(
        tmp_path, command=made_by(".envrc"), allow=["write .envrc"], reason="the project wants it"
    )
    await questions_asked(harness, ApprovalReply(is_allowed=False))
    assert not (harness.session.cwd / ".envrc").exists()


async def test_what_was_there_repositories_and_ordinary_files_stay(tmp_path: Path) -> None:
    init = "import subprocess; subprocess.run(['git', 'init', '-q', 'lib'])"
    harness = boxed_session(
        tmp_path, command=f'python3 -c "{init}"; mkdir -p src; echo 1 > src/a.py; echo 2 > lib/b'
    )
    folder = harness.session.cwd
    (folder / ".envrc").write_text("mine")
    await questions_asked(harness)
    assert (folder / ".envrc").read_text() == "mine"
    assert (folder / "lib/.git").is_dir() and (folder / "src/a.py").exists()
    assert "moved to" not in results(harness)[0]


async def test_what_a_job_that_goes_on_made_is_moved_away_at_the_end_of_the_prompt(tmp_path: Path) -> None:
    command = f"{made_by('.envrc')}; mkfifo made gate; echo >made; read -r <gate"
    harness = boxed_session(tmp_path, command=command, background=True)
    await questions_asked(harness)
    await asyncio.to_thread(read_when_there, harness.session.cwd / "made")
    harness.script.responses.append(say("again"))
    await questions_asked(harness)
    assert not (harness.session.cwd / ".envrc").exists()
    assert any("so it was moved to" in notice.text for notice in harness.all(Notice))
    (harness.session.cwd / "gate").write_text("\n")
    ended = (await harness.session.jobs.wait("job1")).result
    assert ended is not None and "so it was moved to" in ended.text


def read_when_there(fifo: Path) -> None:
    while not fifo.exists():
        time.sleep(0.02)
    fifo.read_text()
