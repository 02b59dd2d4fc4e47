"""A pi user's things are listed first and copied then; nothing of theirs is changed."""

import json
import shutil
from pathlib import Path
from typing import Any

from app.imports.pi_import import PiImportItem, plan_pi_import, run_pi_import
from app.sessions.session_library import list_sessions, session_folder_of_project

FIXTURES = Path(__file__).parents[1] / "sessions" / "fixtures"


def pi_folder(root: Path) -> Path:
    pi = root / "pi"
    folder = session_folder_of_project(pi / "sessions", Path("/home/user/proj"))
    folder.mkdir(parents=True)
    shutil.copy(FIXTURES / "01-plain-fa.jsonl", folder / "t_01a1fc0a.jsonl")
    (folder / "broken.jsonl").write_text("broken")
    (pi / "models.json").write_text("{} // mine")
    (pi / "prompts").mkdir()
    (pi / "prompts" / "fix.md").write_text("Fix $1")
    (pi / "skills" / "pdf").mkdir(parents=True)
    (pi / "skills" / "pdf" / "SKILL.md").write_text("---\nname: pdf\n---\n")
    (pi / "auth.json").write_text("{}")
    settings = {
        "defaultModel": "m",
        "steeringMode": "all",
        "theme": "mine",
        "compaction": {"enabled": False, "reserveTokens": 5},
        "modelThinkingLevels": {"a/b": "low"},
        "editorPaddingX": 99,
    }
    (pi / "settings.json").write_text(json.dumps(settings))
    return pi


def states(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_the_plan_writes_nothing_and_tells_what_is_not_taken(tmp_path: Path) -> None:
    pi = pi_folder(tmp_path)
    before = states(tmp_path)
    plan = plan_pi_import(pi, tmp_path / "bayou", tmp_path / "bayou" / "sessions")
    assert states(tmp_path) == before
    refused = {item.name: item.refused for item in plan if not item.is_taken}
    assert set(refused) == {"broken.jsonl", "theme", "auth.json"}
    assert "sign in again" in (refused["auth.json"] or "")


def test_what_is_taken_is_there_and_pis_folder_unchanged(tmp_path: Path) -> None:
    pi = pi_folder(tmp_path)
    before = states(pi)
    settings: dict[str, Any] = {}

    def set_setting(name: str, value: Any) -> None:
        if name == "editorPaddingX":
            raise ValueError("editorPaddingX: at most 3")
        settings[name] = value

    bayou = tmp_path / "bayou"
    done = run_pi_import(plan_pi_import(pi, bayou, bayou / "sessions"), set_setting)
    assert states(pi) == before
    assert settings == {
        "defaultModel": "m",
        "steeringMode": "all",
        "compaction.mode": "off",
        "compaction.reserveTokens": 5,
        "modelThinkingLevels": {"a/b": "low"},
    }
    assert [item.refused for item in done if item.name == "editorPaddingX"] == ["editorPaddingX: at most 3"]
    assert (bayou / "models.json").read_text() == "{} // mine"
    assert (bayou / "prompts" / "fix.md").exists() and (bayou / "skills" / "pdf" / "SKILL.md").exists()
    assert [one.cwd for one in list_sessions(bayou / "sessions")] == ["/home/user/proj"]


def test_a_second_import_takes_nothing_twice_and_overwrites_nothing(tmp_path: Path) -> None:
    pi, bayou = pi_folder(tmp_path), tmp_path / "bayou"
    bayou.mkdir()
    (bayou / "settings.json").write_text('{"defaultModel": "own"}')
    run_pi_import(plan_pi_import(pi, bayou, bayou / "sessions"), lambda name, value: None)
    before = states(bayou)
    again = plan_pi_import(pi, bayou, bayou / "sessions")
    assert {item.kind for item in again if item.is_taken} == {"setting"}
    assert "defaultModel" not in {item.name for item in again if item.is_taken}
    run_pi_import(again, lambda name, value: None)
    assert states(bayou) == before


def test_no_pi_at_all_is_an_empty_plan(tmp_path: Path) -> None:
    assert plan_pi_import(tmp_path / "none", tmp_path, tmp_path / "sessions") == []


def test_a_copy_that_fails_is_reported_and_leaves_no_half(tmp_path: Path) -> None:
    gone = PiImportItem(
        kind="models", name="models.json", source=tmp_path / "gone", target=tmp_path / "to" / "models.json"
    )
    done = run_pi_import([gone], lambda name, value: None)
    assert "could not be copied" in (done[0].refused or "")
    assert list((tmp_path / "to").iterdir()) == []


def test_a_link_out_of_pis_folder_is_left_with_its_target(tmp_path: Path) -> None:
    pi = pi_folder(tmp_path)
    (tmp_path / "key").write_text("a key")
    (pi / "prompts" / "leak.md").symlink_to(tmp_path / "key")
    (pi / "prompts" / "same.md").symlink_to("fix.md")
    taken = {
        item.name: item.refused for item in plan_pi_import(pi, tmp_path / "b", tmp_path / "b" / "sessions")
    }
    assert str(tmp_path / "key") in (taken["leak.md"] or "") and taken["same.md"] is None
