"""`bayou COMMAND …` through the real process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.subcommands import SUBCOMMANDS
from tests.support.warm_bayou import run as bayou


def test_help_names_flags_and_commands(tmp_path: Path) -> None:
    done = bayou("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "--continue" in done.stdout
    assert "import-pi" in done.stdout


@pytest.mark.parametrize("command", SUBCOMMANDS)
def test_each_command_explains_itself(command: str, tmp_path: Path) -> None:
    done = bayou(command, "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"bayou {command}" in done.stdout


def test_a_map_for_people_and_for_programs(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class Boat:\n    def row(self):\n        return 1\n")
    shown = bayou("map", "a.py", cwd=tmp_path)
    assert "Boat" in shown.stdout and "row" in shown.stdout
    data = json.loads(bayou("map", "--json", "a.py", cwd=tmp_path).stdout)
    names = [(symbol["name"], symbol["startLine"], symbol["parent"]) for symbol in data["symbols"]]
    assert names == [("Boat", 1, None), ("row", 2, 0)]
    assert (data["language"], data["totalLines"]) == ("Python", 3)


def test_a_map_of_nothing_says_so(tmp_path: Path) -> None:
    done = bayou("map", "nope.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "nope.py: No such file or directory" in done.stderr


def test_keys_are_checked_without_showing_them(tmp_path: Path) -> None:
    done = bayou("auth", "check", "--provider", "anthropic", cwd=tmp_path)
    assert done.returncode == 1
    assert "not_ready" in done.stdout


def test_taking_over_from_pi_shows_first_and_copies_when_agreed(tmp_path: Path) -> None:
    pi = tmp_path / "pi"
    (pi / "prompts").mkdir(parents=True)
    (pi / "prompts" / "review.md").write_text("Review $1.\n")
    provider = {"baseUrl": "https://far.example", "apiKey": "!pass show far"}
    (pi / "models.json").write_text(json.dumps({"providers": {"far": provider}}))
    (pi / "settings.json").write_text('{"steeringMode": "all", "theme": "odd"}')
    shown = bayou("import-pi", "--from", str(pi), cwd=tmp_path)
    assert "take   prompt" in shown.stdout
    assert 'steeringMode: "all"' in shown.stdout
    assert "models.json: !pass show far; https://far.example" in shown.stdout
    assert "Nothing was copied" in shown.stdout
    done = bayou("import-pi", "--from", str(pi), "--yes", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    agent = Path(os.environ["BAYOU_AGENT_DIR"])
    assert (agent / "prompts" / "review.md").read_text() == "Review $1.\n"
    assert json.loads((agent / "settings.json").read_text())["steeringMode"] == "all"


def test_the_models_that_can_be_used_are_listed(tmp_path: Path) -> None:
    done = bayou("--list-models", cwd=tmp_path)
    assert done.returncode == 0
    assert "guide" in done.stdout
    assert "claude" in bayou("--list-models", "claude", cwd=tmp_path).stdout


@pytest.mark.parametrize("suffix", ["html", "md", "jsonl"])
def test_a_session_is_exported_by_its_files_ending(suffix: str, tmp_path: Path) -> None:
    assert bayou("-p", "help", cwd=tmp_path).returncode == 0
    session = next(Path(os.environ["BAYOU_AGENT_DIR"]).rglob("*.jsonl"))
    done = bayou("--export", str(session), f"out.{suffix}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "help" in (tmp_path / f"out.{suffix}").read_text()


def test_packages_need_an_agreement(tmp_path: Path) -> None:
    package = tmp_path / "boats"
    (package / "prompts").mkdir(parents=True)
    (package / "prompts" / "launch.md").write_text("Launch $1.\n")
    (package / "bayou.json").write_text('{"name": "boats", "prompts": ["prompts"]}')
    refused = bayou("install", str(package), cwd=tmp_path)
    assert refused.returncode == 1
    assert "--yes" in refused.stderr
    assert bayou("install", str(package), "--yes", cwd=tmp_path).returncode == 0
    assert "boats" in bayou("list", cwd=tmp_path).stdout
    assert bayou("remove", "boats", cwd=tmp_path).returncode == 0
    assert "No packages" in bayou("list", cwd=tmp_path).stdout


@pytest.mark.parametrize("words", [("--version",), ("--help",), ("--list-models",)])
def test_a_reader_that_has_gone_is_no_reason_for_words(words: tuple[str, ...], tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    assert _into(writing, *words, cwd=tmp_path) == (1, "")


def test_output_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    assert _into(full, "--help", cwd=tmp_path) == (
        1,
        "bayou: the output could not be written: No space left on device\n",
    )


def _into(output: int, *words: str, cwd: Path) -> tuple[int, str]:
    command = [sys.executable, "-P", "-m", "app", *words]
    done = subprocess.run(command, cwd=cwd, stdout=output, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(output)
    return done.returncode, done.stderr


def test_a_map_of_a_folder_for_a_task(tmp_path: Path) -> None:
    folder = tmp_path / "boats"
    folder.mkdir()
    (folder / "fleet.py").write_text("class Harbour:\n    def launch_boat(self):\n        return 1\n")
    (folder / "other.py").write_text("def unrelated():\n    pass\n")
    data = json.loads(
        bayou("map", "boats", "--about", "launch of a boat", "--tokens", "300", "--json", cwd=tmp_path).stdout
    )
    assert [file["path"] for file in data["files"]] == ["fleet.py"]
    assert data["files"][0]["symbols"] == [
        {"name": "Harbour", "kind": "class", "startLine": 1, "endLine": 3},
        {"name": "launch_boat", "kind": "method", "startLine": 2, "endLine": 3},
    ]
    assert (data["indexed"], data["missing"]) == (2, 0)
    assert 0 < data["tokens"] <= 300
    shown = bayou("map", "boats", cwd=tmp_path).stdout
    assert "class Harbour [1-3]" in shown and "def unrelated" not in shown and "unrelated" in shown
    assert "2 files" in bayou("map", "boats", "--index", cwd=tmp_path).stdout
    assert bayou("map", "boats", "--forget", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["a.py", "--about", "x"], "is not a folder"),
        ([".", "--level", "full"], "--level is only for files"),
        ([".", "--tokens", "many"], "--tokens takes a number"),
        ([".", "--about"], "--about needs a value"),
    ],
)
def test_a_map_that_cannot_be_is_reported(words: list[str], told: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    done = bayou("map", *words, cwd=tmp_path)
    assert (done.returncode != 0, told in done.stderr) == (True, True)
