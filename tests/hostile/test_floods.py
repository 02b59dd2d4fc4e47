"""Commands that print without end: neither the disk nor anybody's patience is used up."""

import os
from pathlib import Path

from app.sessions.old_command_outputs import delete_old_command_outputs
from app.sessions.session_log import SessionLog
from tests.hostile.setups import (
    MODEL,
    answer_body,
    run,
    tool_call_body,
    use_model_at,
    write_user_settings,
)
from tests.providers.loopback import Received, Reply, loopback
from tests.sessions.make_entries import user_entry
from tests.support.warm_bayou import BAYOU
from tests.tools.conftest import ToolCaller
from tools.files.output_artifacts import OutputArtifacts
from tools.running.shell_settings import ShellSettings
from tools.session_workspace import SessionWorkspace


async def answer_to(command: str, folder: Path) -> str:
    """Returns the tool result of a command."""
    told: list[str] = []

    def end(received: Received) -> Reply:
        told.append(received.json["messages"][-1]["content"])
        return Reply(body=answer_body("I see."))

    async with loopback() as server:
        use_model_at(server)
        server.reply(Reply(body=tool_call_body("bash", command=command)), end)
        code, out, _ = await run(*BAYOU, *MODEL, "-p", "Flood it", cwd=folder)
    assert (code, out) == (0, "I see.\n")
    return told[0]


async def test_a_command_that_names_no_limit_has_one_which_says_so(tmp_path: Path):
    write_user_settings(bash={"defaultTimeoutSeconds": 2})
    told = await answer_to("yes; exec sleep 60", tmp_path)
    assert "Command timed out after 2 second" in told
    assert "That is the usual limit." in told and "background: true" in told


async def test_the_file_of_an_endless_output_stops_at_its_limit(tmp_path: Path, own_home: Path):
    assert "the file stops at" in await answer_to("yes | head -c 110000000", tmp_path)
    kept = sum(file.stat().st_size for file in own_home.glob("**/*.log"))
    assert 90_000_000 < kept <= 101_000_000  # whole pieces, and the one that crossed the limit is left out


def test_the_usual_limit_is_ten_minutes():
    from app.resources.settings.settings import Settings

    assert Settings().bash.default_timeout_seconds == 600


async def test_the_limit_is_lifted_from_what_a_person_sends_to_the_background(tmp_path: Path):
    workspace = SessionWorkspace(tmp_path, shell=lambda: ShellSettings(default_timeout=1))
    hands = ToolCaller(workspace)

    class Jobs:
        is_waited_for = False

        def adopt(self, **given):
            self.work = given["work"]
            return "job1"

    jobs = Jobs()
    await hands(
        "bash",
        command="sleep 1.5; echo through",
        within=hands.context(jobs=jobs, background_requested=lambda: True),
    )
    assert (await jobs.work).text == "through"
    workspace.close()


async def test_one_session_keeps_its_newest_outputs_within_its_limit(tmp_path: Path):
    artifacts = OutputArtifacts(tmp_path / "s.artifacts", command_bytes=1_000_000, session_bytes=3_000_000)
    workspace = SessionWorkspace(tmp_path, artifacts=artifacts)
    hands = ToolCaller(workspace)
    for number in range(8):
        assert "Full output: " in await hands.text(
            "bash", command=f"head -c 900000 /dev/zero | tr '\\0' {number}"
        )
    kept = sorted(path.name for path in (tmp_path / "s.artifacts").iterdir())
    assert kept == ["5.bash.log", "6.bash.log", "7.bash.log"]
    assert "artifact://0" in await hands.error("read", path="artifact://0")
    await hands("bash", command="for n in 1 2 3 4; do yes | head -c 2000000; done")
    assert sum(path.stat().st_size for path in (tmp_path / "s.artifacts").iterdir()) <= 3_000_000
    workspace.close()


def test_outputs_of_old_sessions_go_first_and_those_of_open_ones_never(tmp_path: Path):
    logs: list[SessionLog] = []
    for number in range(5):
        log = SessionLog.create(tmp_path / "project", tmp_path)
        log.append(user_entry("hello"))
        assert log.path is not None
        folder = log.path.with_suffix(".artifacts")
        folder.mkdir()
        (folder / "0.bash.log").write_bytes(b"x" * 1000)
        os.utime(folder / "0.bash.log", (number, number))
        if number:
            log.close()
        logs.append(log)
    assert delete_old_command_outputs([tmp_path, tmp_path / "project"], limit=3000) == 2000
    there = [log.path.with_suffix(".artifacts").exists() for log in logs if log.path]
    assert there == [True, False, False, True, True]
    assert all(log.path and log.path.exists() for log in logs)
    logs[0].close()


async def test_room_is_made_before_the_first_output_of_a_session(tmp_path: Path):
    asked: list[bool] = []
    workspace = SessionWorkspace(
        tmp_path, artifacts=OutputArtifacts(tmp_path / "s", before_first=lambda: asked.append(True))
    )
    hands = ToolCaller(workspace)
    await hands("bash", command="echo short")
    assert asked == []
    for _ in range(2):
        await hands("bash", command="seq 100000")
    assert asked == [True]
    workspace.close()
