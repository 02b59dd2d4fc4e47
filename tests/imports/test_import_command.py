"""`bayou import PROGRAM` through the real process."""

import json
import os
from pathlib import Path

from app.sessions.session_library import find_session
from tests.imports import foreign_homes as homes
from tests.support.warm_bayou import run as bayou


def test_a_session_of_another_agent_is_imported_and_opens(tmp_path: Path) -> None:
    home = tmp_path / "home"
    homes.codex_home(home)
    env = {**os.environ, "HOME": str(home), "CODEX_HOME": str(home / ".codex")}
    shown = bayou("import", "codex", cwd=tmp_path, env=env)
    assert "take   The mast" in shown.stdout and "Nothing was imported" in shown.stdout
    assert shown.returncode == 1
    plan = json.loads(bayou("import", "codex", "--json", cwd=tmp_path, env=env).stdout)
    assert {item["kind"] for item in plan["items"] if item["taken"]} == {
        "sessions",
        "instructions",
        "skills",
        "commands",
        "permissions",
        "servers",
    }
    done = bayou("import", "codex", "--only", "sessions", "--yes", cwd=tmp_path, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    agent = Path(os.environ["BAYOU_AGENT_DIR"])
    assert [path.name for path in agent.iterdir()] == ["sessions"]
    file = find_session(homes.CODEX_ID[:13], agent / "sessions", tmp_path)
    page = bayou("export", str(file), str(tmp_path / "x.md"), cwd=tmp_path, env=env)
    assert page.returncode == 0 and "Paint it green" in (tmp_path / "x.md").read_text()
    again = bayou("import", "codex", "--only=sessions", "--yes", cwd=tmp_path, env=env)
    assert "is here already" in again.stdout and again.returncode == 0


def test_wrong_arguments_say_what_is_right(tmp_path: Path) -> None:
    for words, told in (
        (["nano"], 'Unknown program "nano"'),
        (["claude", "--only", "keys"], "--only takes sessions, instructions"),
        (["claude", "--form"], "Unknown argument: --form"),
    ):
        done = bayou("import", *words, cwd=tmp_path)
        assert done.returncode == 2 and told in done.stderr
