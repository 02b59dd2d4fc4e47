"""Names of files, models, sessions, servers and packages come from elsewhere: nothing that a command prints drives a
terminal or turns the direction of writing.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.subcommands import SUBCOMMANDS
from tests.support.warm_bayou import run as bayou

ODD = "a\x1b]0;b\x07\x1b[31m\u202ec\x9b2J\u2066\x7fd"
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz12345678"

RUN_ALL = """\
import json, os, sys
from app.cli.main import main
for number, words in enumerate(json.loads(sys.argv[1])):
    os.write(1, b"\\n==%d\\n" % number)
    os.write(2, b"\\n==%d\\n" % number)
    main(words)
"""
"""One process carries out many commands, each as the program would."""


@pytest.fixture
def odd_folder(tmp_path: Path) -> Path:
    """A project, bayou's own folder, pi's folder and a package, in which everything has the odd name."""
    project = tmp_path / ODD
    for folder in (project / f"{ODD}.d", project / "pi" / "prompts", project / "package" / "prompts"):
        folder.mkdir(parents=True)
    source = f'def boat():\n    """{ODD}"""\n    return "{ODD}"\n'
    (project / f"{ODD}.py").write_text(source)
    (project / f"{ODD}.d" / f"{ODD}.py").write_text(source)
    (project / f"{ODD}.md").write_text(
        f"# {ODD}\n\nAWS_SECRET_ACCESS_KEY={'wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz12345678'}\n"
    )
    (project / "pi" / "prompts" / f"{ODD}.md").write_text("Review.\n")
    (project / "package" / "prompts" / f"{ODD}.md").write_text("Launch.\n")
    (project / "package" / "bayou.json").write_text(json.dumps({"name": "boats", "prompts": ["prompts"]}))
    own = Path(os.environ["BAYOU_AGENT_DIR"])
    own.mkdir(parents=True)
    model = {"id": ODD, "name": ODD}
    provider = {
        "baseUrl": "http://127.0.0.1:9/v1",
        "apiKey": "k",
        "api": "openai-completions",
        "models": [model],
    }
    (own / "models.json").write_text(json.dumps({"providers": {ODD: provider, "local": provider}}))
    (own / "mcp.json").write_text(
        json.dumps({"mcpServers": {"boats": {"command": ODD, "args": [ODD]}, ODD: {"command": "x"}}})
    )
    settings = {ODD: 1, "retry": {"enabled": False}}
    rules = {"allow": [ODD], "deny": [f"bash: {ODD}"]}
    (own / "settings.json").write_text(json.dumps({**settings, "permissions": rules}))
    session = own / "sessions" / "odd" / "2026-01-01T00-00-00-000Z_0199.jsonl"
    session.parent.mkdir(parents=True)
    session.write_text("".join(json.dumps(line) + "\n" for line in _session(project)))
    return project


def _session(project: Path) -> list[dict[str, object]]:
    """With an answer of the odd model and a name."""
    stamp = "2026-01-01T00:00:00.000Z"
    user = {"role": "user", "content": ODD, "timestamp": 1}
    usage = {"input": 5, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 10,
             "cost": {"input": 0.1, "output": 0.1, "cacheRead": 0, "cacheWrite": 0, "total": 0.2}}  # fmt: skip
    answer = {
        "role": "assistant", "content": [{"type": "text", "text": ODD}], "api": "x", "provider": ODD, "model": ODD,
        "usage": usage, "stopReason": "stop", "timestamp": 2,
    }  # fmt: skip
    return [
        {"type": "session", "version": 3, "id": "0199aaaa", "timestamp": stamp, "cwd": str(project)},
        {"type": "session_info", "id": "00000001", "parentId": None, "timestamp": stamp, "name": ODD},
        {"type": "message", "id": "00000002", "parentId": "00000001", "timestamp": stamp, "message": user},
        {"type": "message", "id": "00000003", "parentId": "00000002", "timestamp": stamp, "message": answer},
    ]


COMMANDS: dict[str, list[list[str]]] = {
    "acp": [[ODD]],
    "auth": [["check", "--provider", ODD], ["check", "--model", ODD], ["logout", ODD], [ODD], ["check", f"--{ODD}"]],
    "batch": [[f"{ODD}.jsonl", "--out", "out"], ["report", ODD], [ODD], [f"--{ODD}"]],
    "completions": [["models"], ["bash"], [ODD]],
    "doctor": [[], ["--json"], [ODD]],
    "export": [["0199aaaa", f"{ODD}.html"], [ODD], ["0199aaaa", f"{ODD}/no/x.md"], [f"--{ODD}"]],
    "import": [["claude"], ["claude", "--json"], ["codex", "--only", ODD], ["opencode", ODD], [ODD], ["pi", ODD]],
    "import-pi": [["--from", "pi"], ["--from", ODD], [ODD], ["--from", "pi", "--yes"]],
    "plugin": [[ODD], ["add", ODD], ["remove", ODD], ["list"], ["--help"], ["marketplace", "add", ODD],
               ["marketplace", "list", ODD], ["marketplace", ODD], ["add", f"x@{ODD}"]],
    "install": [["package"], [ODD], [f"--{ODD}"], ["package", "--yes"]],
    "list": [[]],
    "man": [[], [ODD]],
    "map": [[f"{ODD}.py"], [f"{ODD}.py", "--json"], [ODD], ["."], [".", "--json"], [".", "--index"],
            [f"{ODD}.d", "--about", ODD], ["--level", ODD], [f"--{ODD}"], [f"{ODD}.py", "--about", "x"]],
    "mcp": [["list"], ["list", "--json"], ["get", "boats"], ["get", ODD], ["logs", ODD], ["remove", ODD], ["add", ODD],
            ["import", ODD], ["test", ODD], [ODD], ["disable", "boats"]],
    "permissions": [["check", f"echo {ODD}"], ["check", "--json", f"echo {ODD}"], [ODD], ["check", f"--{ODD}"]],
    "remove": [[ODD], [f"--{ODD}"]],
    "sandbox": [[], ["--json"], ["explain", f"{ODD}.py"], ["try", f"printf '{ODD}'"], [ODD]],
    "secrets": [["list", f"{ODD}.md"], ["list", "--json", f"{ODD}.md"], ["list", ODD], ["mask", ODD], [ODD]],
    "undo": [["0199aaaa"], ["0199aaaa", "--json"], [ODD], ["0199aaaa", "--to", ODD], [f"--{ODD}"], ["--last", ODD]],
    "update": [[ODD], [f"--{ODD}"]],
    "usage": [[], ["--json"], ["--by", "session"], ["--by", "model"], ["--by", ODD], [f"--{ODD}"]],
}  # fmt: skip
FLAGS = [
    ["--list-models"], ["--list-models", ODD], ["--list-models", "local"], ["--cwd", ODD], ["--mode", ODD],
    ["--thinking", ODD], ["--export", ODD], ["--session-id", ODD], ["-Z" + ODD],
]  # fmt: skip


def test_every_text_command_prints_foreign_names_harmlessly(odd_folder: Path) -> None:
    assert COMMANDS.keys() == SUBCOMMANDS.keys()
    words = [*FLAGS, *([command, *rest] for command, ways in COMMANDS.items() for rest in ways)]
    done = _run("-c", RUN_ALL, json.dumps(words), cwd=odd_folder)
    printed = [_parts(stream) for stream in (done.stdout, done.stderr)]
    assert len(printed[0]) == len(words), done.stderr[-2000:]
    for number, said in enumerate(words):
        for parts in printed:
            assert not UNSAFE.search(parts[number]), (said, parts[number])
    silent = [
        said for number, said in enumerate(words) if not any(parts[number].strip() for parts in printed)
    ]
    assert silent == []
    assert "internal error" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [["--verbose", "-p", "-e", ODD, "--model", f"local/{ODD}", "hi"], [f"--{ODD}", "-p", "x"], ["-p", f"@{ODD}", "x"]],
)  # fmt: skip
def test_a_run_that_fails_prints_foreign_names_harmlessly(words: list[str], odd_folder: Path) -> None:
    done = bayou(*words, cwd=odd_folder)
    assert done.stderr and not UNSAFE.search(done.stdout + done.stderr)


def _run(*words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


def _parts(stream: str) -> list[str]:
    return re.split(r"\n==\d+\n", stream)[1:]
