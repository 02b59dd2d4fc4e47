"""`bayou map FOLDER` shows no name of a file that the person's rules keep back."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_subcommands import bayou


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "plans").mkdir(parents=True)
    (folder / "plans" / "secret_plan.py").write_text("def hidden_harbour():\n    return 1\n")
    (folder / "boats.py").write_text("def harbour_master():\n    return 2\n")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def settings(**permissions: object) -> None:
    file = Path(os.environ["BAYOU_AGENT_DIR"]) / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"permissions": permissions}))


def test_what_a_rule_keeps_back_is_not_in_the_map(project: Path) -> None:
    words = ("map", ".", "--about", "harbour")
    assert "secret_plan" in bayou(*words, cwd=project).stdout
    settings(deny=["read: plans/**"])
    told = bayou(*words, cwd=project).stdout
    assert "harbour_master" in told
    assert "hidden_harbour" not in told and "secret_plan" not in told


def test_a_rule_counts_from_where_one_stands_too(project: Path) -> None:
    settings(deny=["read: plans/**"])
    for words in (("map", "plans"), ("map", "plans", "--about", "harbour")):
        told = bayou(*words, cwd=project).stdout
        assert "hidden_harbour" not in told and "secret_plan" not in told
