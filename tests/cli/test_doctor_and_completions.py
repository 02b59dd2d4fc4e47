"""`bayou doctor`, `bayou completions` and `bayou man`: what the program says of itself, in real shells."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.commands.man_command import manual_page
from app.cli.flags import COMMAND_LINE_FLAGS
from app.cli.flags_docs import MAN_PAGE_FILE
from app.cli.subcommands import SUBCOMMAND_HELP
from tests.architecture.sources import ROOT
from tests.support.warm_bayou import run as bayou

KEY = "sk-ant-secret-of-a-person-1234567890"


def findings(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, str]]:
    return {one["subject"]: one for one in json.loads(done.stdout)["findings"]}


def test_the_doctor_finds_nothing_broken_and_tells_no_secret(tmp_path: Path) -> None:
    own = Path(os.environ["BAYOU_AGENT_DIR"])
    own.mkdir(parents=True, exist_ok=True)
    (own / "settings.json").write_text('{"offline": true}')
    done = bayou("doctor", "--json", cwd=tmp_path, env={**os.environ, "ANTHROPIC_API_KEY": KEY})
    found = findings(done)
    assert done.returncode == 0, done.stdout
    subjects = "terminal keys git rg sandbox network credentials models servers settings"
    assert set(subjects.split()) <= set(found)
    assert "anthropic (environment)" in found["credentials"]["text"]
    assert "offline is on" in found["network"]["text"]
    assert KEY not in done.stdout + done.stderr
    assert "ok      rg" in bayou("doctor", cwd=tmp_path).stdout


def test_the_doctor_names_what_is_broken_and_the_next_step(tmp_path: Path) -> None:
    own = Path(os.environ["BAYOU_AGENT_DIR"])
    own.mkdir(parents=True, exist_ok=True)
    (own / "settings.json").write_text('{"theme": 3}')
    (own / "keybindings.json").write_text("{")
    done = bayou("doctor", "--json", "--", cwd=tmp_path)
    assert done.returncode == 2
    done = bayou("doctor", "--json", cwd=tmp_path)
    found = findings(done)
    assert done.returncode == 1
    assert found["settings"]["state"] == found["keys"]["state"] == "broken"
    assert "theme" in found["settings"]["text"] and found["settings"]["next_step"]


def complete(line: list[str], cwd: Path) -> list[str]:
    """What bash offers for the last word."""
    quoted = " ".join(f"'{word}'" for word in line)
    script = (
        f'bayou() {{ "{sys.executable}" -P -m app "$@"; }}\neval "$(bayou completions bash)"\n'
        f'COMP_WORDS=({quoted}); COMP_CWORD={len(line) - 1}; _bayou; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", script], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        (["bayou", "--max-t"], ["--max-turns", "--max-tokens"]),
        (["bayou", "do"], ["doctor"]),
        (["bayou", "--thinking", "m"], ["minimal", "medium", "max"]),
        (["bayou", "--model", "offline"], ["offline/guide"]),
    ],
)
def test_bash_completes(line: list[str], offered: list[str], tmp_path: Path) -> None:
    assert complete(line, tmp_path) == offered


def test_bash_completes_sessions_of_the_folder(tmp_path: Path) -> None:
    assert bayou("-p", "list", cwd=tmp_path).returncode == 0
    (session,) = complete(["bayou", "--session", ""], tmp_path)
    assert bayou("--session", session, "-p", "list", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_script(shell: str, tmp_path: Path) -> None:
    script = bayou("completions", shell, cwd=tmp_path).stdout
    names = [f"-l {flag.name} " if shell == "fish" else f"--{flag.name}[" for flag in COMMAND_LINE_FLAGS]
    assert [name for name in names if name not in script] == []
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(script)
    subprocess.run([shell, "-n", tmp_path / "script"], check=True)


def test_the_manual_names_every_command_and_flag_and_is_up_to_date() -> None:
    page = manual_page()
    assert (ROOT / MAN_PAGE_FILE).read_text(encoding="utf-8") == page, "run: python -m app.cli.flags_docs"
    plain = page.replace(r"\-", "-")
    assert all(f"--{flag.name}" in plain for flag in COMMAND_LINE_FLAGS)
    assert all(f".B {name}\n" in plain for name in SUBCOMMAND_HELP)
