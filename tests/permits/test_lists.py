"""Verdicts on lists of commands: examples, evasions, an ordinary day, and attacks that are run to see what they do."""

import subprocess
from pathlib import Path

import pytest

from app.permits.permission_decisions import PermissionPolicy, decide_tool_call
from app.permits.shell.command_line import judge_command_line
from tests.permits.lists import PLACE, commands, examples


def test_each_example_gets_its_class() -> None:
    wrong = []
    for kind, command in examples():
        verdict = judge_command_line(command, PLACE)
        found = "network" if verdict.risk == "contained" and verdict.uses_network else verdict.risk
        if found != kind:
            wrong.append(f"{command!r}: {found} for {kind} ({verdict.why})")
    assert not wrong, "\n".join(wrong)


def test_no_evasion_is_safe() -> None:
    lines = commands("evasions.txt")
    assert len(lines) >= 850
    assert [line for line in lines if judge_command_line(line, PLACE).risk == "safe"] == []


def test_no_attack_is_safe_and_each_does_what_it_is_there_for(tmp_path: Path) -> None:
    """Each makes the file `canary` when bash runs it: by code that it hides, or by a way of writing. What stands before
    `¦` prepares the folder, and is not judged."""
    lines = [line.rpartition("¦")[::2] for line in commands("attacks.txt")]
    idle = []
    for number, (preparation, line) in enumerate(lines):
        folder = tmp_path / str(number)
        folder.mkdir()
        for text in (preparation, line):
            subprocess.run(
                ["bash", "-c", text],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=20,
                check=False,
            )
        if not list(folder.rglob("canary")):
            idle.append(line)
    assert idle == []
    assert [line for _, line in lines if judge_command_line(line, PLACE).risk == "safe"] == []


def test_nothing_that_is_safe_on_an_ordinary_day_writes_a_file(tmp_path: Path) -> None:
    """Run for real in a small repository: what is judged to read leaves every file as it was."""
    (tmp_path / "src" / "app").mkdir(parents=True)
    (tmp_path / "src" / "app" / "main.py").write_text("import os\n\ndef main():\n    return 1\n")
    (tmp_path / "package.json").write_text('{"scripts": {}}\n')
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"],
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
    safe = [line for line in commands("day.txt") if judge_command_line(line, PLACE).risk == "safe"]
    assert len(safe) > 250
    before = _files(tmp_path)
    each = [line for line in dict.fromkeys(safe) if "tail -f" not in line]
    script = "".join(f"({line}\n) </dev/null >/dev/null 2>&1\n" for line in each)
    subprocess.run(["bash", "-c", script], cwd=tmp_path, timeout=120, check=False)
    assert _files(tmp_path) == before


def _files(folder: Path) -> dict[str, bytes]:
    found = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {path: data for path, data in found.items() if not path.endswith(".git/index")}


REWRITTEN = {
    "quotes in the name": lambda text: text[0] + "''" + text[1:],
    "a backslash": lambda text: "\\" + text,
    "env": lambda text: f"env {text}",
    "nohup": lambda text: f"nohup {text}",
    "a subshell": lambda text: f"({text})",
    "a group": lambda text: f"{{ {text}; }}",
    "a substitution": lambda text: f"echo $({text})",
    "a quoted substitution": lambda text: f'echo "$({text})"',
    "a here-document": lambda text: f"bash <<'END'\n{text}\nEND",
    "a substitution in a here-document": lambda text: f"cat <<END\n$({text})\nEND",
    "a function": lambda text: f"f() {{ {text}; }}; f",
    "a line continuation": lambda text: text.replace(" ", " \\\n", 1) if "<<" not in text else text,
    "a comment behind": lambda text: f"{text} # harmless",
    "in the background": lambda text: f"{text} & ls",
    "behind another": lambda text: f"ls; {text}",
    "behind a pipe": lambda text: f"ls | {text}",
    "a condition": lambda text: f"if {text}; then ls; fi",
    "a loop": lambda text: f"for i in 1 2; do {text}; done",
    "time": lambda text: f"time {text}",
    "process substitution": lambda text: f"cat <({text})",
    "a shell": lambda text: "bash -c '" + text.replace("'", "'\\''") + "'",
    "eval": lambda text: "eval '" + text.replace("'", "'\\''") + "'",
}


@pytest.mark.parametrize("way", REWRITTEN)
def test_forbidden_commands_are_never_safe_in_any_spelling(way: str) -> None:
    floor = [command for kind, command in examples() if kind == "forbidden"]
    assert len(floor) > 100
    changed = [REWRITTEN[way](command) for command in floor if not command.startswith(":()")]
    assert [text for text in changed if judge_command_line(text, PLACE).risk == "safe"] == []


def test_an_ordinary_day_asks_for_three_commands_in_a_hundred_at_most() -> None:
    """With a sandbox, in `auto-edit`: known network commands ask, and what is forbidden."""
    day = commands("day.txt")
    assert len(day) >= 500
    policy = PermissionPolicy(mode="auto-edit", has_sandbox=True)
    asked = [
        line
        for line in day
        if decide_tool_call(judge_command_line(line, PLACE), "bash", policy, PLACE).outcome != "run"
    ]
    assert len(asked) <= len(day) * 0.03, asked


def test_without_a_sandbox_every_contained_command_asks() -> None:
    policy = PermissionPolicy(mode="auto-edit", has_sandbox=False)
    for line in [*commands("day.txt"), *commands("evasions.txt")]:
        verdict = judge_command_line(line, PLACE)
        if verdict.risk == "contained":
            assert decide_tool_call(verdict, "bash", policy, PLACE).outcome == "ask", line
