"""No job outlives bayou, not even when bayou is killed and cannot clean up."""

import json
from pathlib import Path

from tests.sessions.test_bayou_killed import Bayou
from tests.tools.conftest import until
from tests.tools.test_bash import alive, until_gone


async def test_no_job_survives_a_kill_of_bayou(tmp_path: Path) -> None:
    home, project, mark = tmp_path / "home", tmp_path / "project", "602.174"
    (home / ".bayou" / "agent").mkdir(parents=True)
    settings = {"bash": {"autoBackground": {"thresholdMs": 50}}}
    (home / ".bayou" / "agent" / "settings.json").write_text(json.dumps(settings))
    project.mkdir()
    bayou = Bayou(home, project)
    try:
        bayou.send(type="prompt", message=f"run `setsid sleep {mark} & sleep {mark} & sleep {mark}`")
        states: list[str] = []
        for line in bayou.lines():
            if line.get("type") == "job_changed":
                states.append(line["state"])
            if line.get("type") == "agent_settled":
                break  # the agent waits; the job goes on
        assert states == ["running"]
        await until(lambda: len(alive(mark)) >= 3)
    finally:
        bayou.process.kill()
        bayou.process.wait()
    await until_gone(mark)
