"""Each flag does what its help says: through the real process, seen in the request's events or what is said."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from app.cli.flags import COMMAND_LINE_FLAGS
from app.sessions.session_log import SessionLog
from tests.support.warm_bayou import run as bayou

EXTENSION = """
import json
def extension(api):
    @api.on("session_start")
    def tell(event, context):
        state = {
            "prompt": context.system_prompt(),
            "tools": list(api.active_tools()),
            "settings": context.settings,
            "trusted": context.is_project_trusted(),
            "thinking": api.thinking_level(),
        }
        open("state.json", "w").write(json.dumps(state, default=str))
"""


def begun(*words: str, cwd: Path) -> dict[str, str]:
    """What `--verbose` says of a session that begins like this."""
    done = bayou("--verbose", "-p", "help", *words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    lines = (line.partition(": ") for line in done.stderr.splitlines())
    return {name: value for name, _, value in lines}


def seen(*words: str, cwd: Path) -> dict[str, Any]:
    """What an extension sees of it."""
    (cwd / "tells.py").write_text(EXTENSION)
    done = bayou("-p", "help", "-e", "tells.py", *words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads((cwd / "state.json").read_text())


def files() -> list[Path]:
    return sorted(Path(os.environ["BAYOU_AGENT_DIR"]).rglob("*.jsonl"))


def skill(folder: Path, name: str) -> Path:
    place = folder / name
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(f"---\nname: {name}\ndescription: About {name}\n---\nDo it.\n")
    return place


@pytest.mark.parametrize(
    ("words", "there", "missing"),
    [
        (["--tools", "read,ls"], {"read", "ls"}, {"bash", "edit"}),
        (["-t", "-bash"], {"read"}, {"bash"}),
        (["--exclude-tools", "b*,edit"], {"read"}, {"bash", "edit"}),
        (["--no-tools"], {"none"}, {"read", "bash"}),
        (["--no-builtin-tools"], set(), {"read", "bash"}),
    ],
)
def test_tools(words: list[str], there: set[str], missing: set[str], tmp_path: Path) -> None:
    tools = set(begun(*words, cwd=tmp_path)["tools"].split(", "))
    assert there <= tools
    assert not missing & tools


def test_no_tools_holds_for_those_of_extensions(tmp_path: Path) -> None:
    (tmp_path / "e.py").write_text(
        "def extension(api):\n    api.tool('shout', 'Shouts')(lambda arguments, context: 'HEY')\n"
    )
    assert "shout" in begun("-e", "e.py", cwd=tmp_path)["tools"]
    assert begun("-e", "e.py", "--no-tools", cwd=tmp_path)["tools"] == "none"
    assert "shout" not in begun("-e", "e.py", "-xt", "shout", cwd=tmp_path)["tools"]


def test_the_system_prompt_is_replaced_and_added_to(tmp_path: Path) -> None:
    (tmp_path / "more.md").write_text("From a file.")
    words = ["--system-prompt", "You are a boat.", "--append-system-prompt", "Float."]
    prompt = seen(*words, "--append-system-prompt", str(tmp_path / "more.md"), cwd=tmp_path)["prompt"]
    assert "You are a boat." in prompt and "Float." in prompt and "From a file." in prompt


def test_context_files_are_read_unless_told(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.")
    assert str(tmp_path / "AGENTS.md") in begun(cwd=tmp_path)["context files"]
    assert begun("--no-context-files", cwd=tmp_path)["context files"] == "none"


def test_skills_by_place_and_by_name(tmp_path: Path) -> None:
    skill(Path(os.environ["BAYOU_AGENT_DIR"]) / "skills", "mine")
    named = skill(tmp_path / "else", "named")
    assert set(begun("--skill", str(named), cwd=tmp_path)["skills"].split(", ")) == {
        "mine",
        "named",
        "extending-bayou",
    }
    assert begun("--no-skills", "--skill", str(named), cwd=tmp_path)["skills"] == "named"


def test_prompt_templates_by_place_and_by_name(tmp_path: Path) -> None:
    mine = Path(os.environ["BAYOU_AGENT_DIR"]) / "prompts"
    mine.mkdir(parents=True)
    (mine / "go.md").write_text("Mine goes.")
    (tmp_path / "other.md").write_text("Other goes.")

    def sent(text: str, *words: str) -> str:
        done = bayou("--mode", "json", text, *words, cwd=tmp_path)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        ends = [line["message"] for line in lines if line["type"] == "message_end"]
        return next(message["content"][0]["text"] for message in ends if message["role"] == "user")

    assert sent("/go") == "Mine goes."
    assert sent("/other", "--prompt-template", "other.md") == "Other goes."
    assert sent("/go", "--no-prompt-templates", "--prompt-template", "other.md") == "/go"
    assert sent("/other", "-np", "--prompt-template", "other.md") == "Other goes."


def test_extensions_by_place_and_by_name(tmp_path: Path) -> None:
    mine = Path(os.environ["BAYOU_AGENT_DIR"]) / "extensions"
    mine.mkdir(parents=True)
    (mine / "mine.py").write_text("def extension(api): pass\n")
    (tmp_path / "named.py").write_text("def extension(api): pass\n")
    assert {"mine", "named"} <= set(begun("-e", "named.py", cwd=tmp_path)["extensions"].split(", "))
    assert begun("-ne", "-e", "named.py", cwd=tmp_path)["extensions"] == "named"
    assert begun("--safe", cwd=tmp_path)["extensions"] == "none"


def test_trust_for_one_run(tmp_path: Path) -> None:
    (tmp_path / ".bayou" / "extensions").mkdir(parents=True)
    (tmp_path / ".bayou" / "extensions" / "its.py").write_text("def extension(api): pass\n")
    assert "its" in begun("--approve", cwd=tmp_path)["extensions"]
    assert "its" not in begun("--no-approve", cwd=tmp_path)["extensions"]
    assert "its" not in begun(cwd=tmp_path)["extensions"]


def test_thinking_offline_and_models(tmp_path: Path) -> None:
    assert seen("--offline", cwd=tmp_path)["settings"]["offline"] is True
    assert seen(cwd=tmp_path)["settings"]["offline"] is False
    assert begun("--models", "guide", cwd=tmp_path)["model"].startswith("offline/")
    assert begun("--provider", "offline", "--model", "guide", cwd=tmp_path)["model"].startswith("offline/")


def test_where_sessions_are_kept_and_called(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    begun("--session-dir", str(kept), "--name", "My boat", "--session-id", "boat-1", cwd=tmp_path)
    (path,) = kept.glob("*.jsonl")
    log = SessionLog.open(path, read_only=True)
    assert (log.session_id, log.name) == ("boat-1", "My boat")
    begun("--session-dir", str(kept), "--session-id", "boat-1", cwd=tmp_path)
    begun("--session-dir", str(kept), "--session", "boa", cwd=tmp_path)
    assert list(kept.glob("*.jsonl")) == [path]
    begun("--session-dir", str(kept), "--fork", "boat-1", cwd=tmp_path)
    assert len(list(kept.glob("*.jsonl"))) == 2
    assert not files()


def test_another_folder(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    begun("--cwd", str(tmp_path / "there"), cwd=tmp_path)
    assert SessionLog.open(files()[0], read_only=True).cwd == tmp_path / "there"


def test_a_list_to_choose_from_needs_a_terminal(tmp_path: Path) -> None:
    done = bayou("--resume", cwd=tmp_path)
    assert done.returncode == 2
    assert "--continue" in done.stderr and "--session" in done.stderr


# Sessions that cannot be opened


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    begun(cwd=tmp_path)
    return files()[0]


@pytest.mark.parametrize("face", [["-p"], ["--mode", "json"], ["--mode", "rpc"]])
def test_one_that_another_process_writes_is_not_opened(face: list[str], kept: Path, tmp_path: Path) -> None:
    log = SessionLog.open(kept)
    try:
        done = bayou(*face, "--continue", *(["x"] if "rpc" not in face else []), cwd=tmp_path)
    finally:
        log.close()
    assert (done.returncode, done.stdout) == (2, "")
    assert "is writing to this session" in done.stderr and "--fork" in done.stderr
    if sys.platform == "linux":
        assert f"process {os.getpid()}" in done.stderr
    assert files() == [kept]


def test_one_whose_folder_is_gone_names_both_remedies(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    begun(cwd=gone)
    (kept,) = files()
    gone.rmdir()
    done = bayou("--session", str(kept), "-p", "help", cwd=tmp_path)
    assert done.returncode == 2
    assert "Create that folder again" in done.stderr and "--fork" in done.stderr
    assert bayou("--fork", str(kept), "-p", "help", cwd=tmp_path).returncode == 0


def test_a_damaged_one_is_not_replaced_by_an_empty_one(kept: Path, tmp_path: Path) -> None:
    kept.write_text("no session at all\n")
    done = bayou("--continue", "-p", "help", cwd=tmp_path)
    assert done.returncode == 2
    assert str(kept) in done.stderr
    assert files() == [kept] and kept.read_text() == "no session at all\n"


# What extensions decide of a start


def test_an_extension_decides_about_trust_names_places_and_hears_of_the_end(tmp_path: Path) -> None:
    (tmp_path / ".bayou" / "extensions").mkdir(parents=True)
    (tmp_path / ".bayou" / "extensions" / "its.py").write_text("def extension(api): pass\n")
    skill(tmp_path / "more", "found")
    (tmp_path / "decides.py").write_text(
        "def extension(api):\n"
        "    api.on('project_trust', lambda event, context: {'trusted': 'yes'} if event.items else None)\n"
        "    api.on('resources_discover', lambda event, context: {'skill_paths': ['more']})\n"
        "    api.on('session_shutdown', lambda event, context: print(event.reason, file=open('end', 'a')))\n"
    )
    said = begun("-e", "decides.py", cwd=tmp_path)
    assert said["trusted"] == "yes" and "its" in said["extensions"].split(", ")
    assert said["skills"] == "found, extending-bayou"
    assert (tmp_path / "end").read_text() == "quit\n"
    assert "its" not in begun("-e", "decides.py", "--no-approve", cwd=tmp_path)["extensions"].split(", ")


@pytest.mark.parametrize("face", ["json", "rpc"])
def test_every_face_tells_extensions_of_the_end(face: str, tmp_path: Path) -> None:
    (tmp_path / "e.py").write_text(
        "def extension(api):\n"
        "    api.on('session_shutdown', lambda event, context: print(event.reason, file=open('end', 'a')))\n"
    )
    words = ["help"] if face == "json" else []
    assert bayou("--mode", face, "-e", "e.py", *words, cwd=tmp_path).returncode == 0
    assert (tmp_path / "end").read_text() == "quit\n"


# What a program can ask of a start


def state(*words: str, cwd: Path) -> dict[str, Any]:
    done = bayou("--mode", "rpc", *words, cwd=cwd, input='{"type":"get_state","id":"1"}')
    assert done.returncode == 0, done.stderr
    [answer] = [line for line in map(json.loads, done.stdout.splitlines()) if line.get("id") == "1"]
    return answer["data"]


def test_thinking_goes_before_a_models_suffix_and_is_clamped(tmp_path: Path) -> None:
    assert state("--thinking", "high", cwd=tmp_path)["thinkingLevel"] == "high"
    assert state("--model", "guide:low", cwd=tmp_path)["thinkingLevel"] == "low"
    assert state("--model", "guide:low", "--thinking=off", cwd=tmp_path)["thinkingLevel"] == "off"


def test_a_key_for_one_run_is_not_kept(tmp_path: Path) -> None:
    words = ["--model", "anthropic/claude-sonnet-4-5"]
    bare = bayou("-p", "x", *words, cwd=tmp_path)
    assert bare.returncode == 6 and "No API key found for anthropic" in bare.stderr
    assert state(*words, "--api-key", "sk-secret-1", cwd=tmp_path)["model"]["provider"] == "anthropic"
    kept = [path for path in Path(os.environ["HOME"]).rglob("*") if path.is_file()]
    assert not [path for path in kept if b"sk-secret-1" in path.read_bytes()]
    alone = bayou("-p", "x", "--api-key", "k", cwd=tmp_path)
    assert alone.returncode == 2 and "--api-key needs --model" in alone.stderr


def test_no_session_keeps_nothing(tmp_path: Path) -> None:
    assert "sessionFile" not in state("--no-session", cwd=tmp_path)
    assert "sessionFile" in state(cwd=tmp_path)
    assert begun("--no-session", cwd=tmp_path)["session"] == "not saved"
    assert not files()


def test_themes_by_place_and_by_name(tmp_path: Path) -> None:
    mine = Path(os.environ["BAYOU_AGENT_DIR"]) / "themes"
    mine.mkdir(parents=True)
    (mine / "mine.json").write_text("{}")
    (tmp_path / "named.json").write_text("{}")

    def opens(*words: str) -> bool:
        done = bayou("-p", "help", *words, cwd=tmp_path)
        assert done.returncode == 0 or "there is no theme" in done.stderr
        return done.returncode == 0

    assert opens("--use-theme", "mine") and opens("--use-theme", "system")
    assert not opens("--use-theme", "mine", "--no-themes")
    assert not opens("--use-theme", "named")
    assert opens("--use-theme", "named", "--theme", "named.json")
    assert opens("--use-theme", "named/mine", "--theme", "named.json")
    assert opens("--use-theme", "named", "--no-themes", "--theme", "named.json")


def test_every_flag_is_tried_by_name() -> None:
    """Here or, where a flag makes a face, in the tests of that face."""
    tests = Path(__file__).parents[1]
    told = "".join(path.read_text(encoding="utf-8") for path in tests.rglob("test_*.py"))
    assert [
        flag.name
        for flag in COMMAND_LINE_FLAGS
        if f'"--{flag.name}' not in told and f'"-{flag.short}"' not in told
    ] == []
