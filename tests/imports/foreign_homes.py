"""Homes of people who used other agents, with one of everything."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parent / "fixtures"
CLAUDE_ID = "0c1a0de0-0000-4000-8000-000000000001"
CODEX_ID = "019d0000-0000-7000-8000-00000000c0de"
OPENCODE_ID = "ses_5a1l"
PNG = "iVBORw0KGgo="


def write(file: Path, content: str | dict[str, Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def claude_home(home: Path) -> Path:
    """Fills `.claude`, and returns the file of its session."""
    folder = home / ".claude"
    session = write(
        folder / "projects" / "-home-rower-boats" / f"{CLAUDE_ID}.jsonl",
        (FIXTURES / "claude.jsonl").read_text(),
    )
    write(session.with_name("agent-77.jsonl"), (FIXTURES / "claude.jsonl").read_text())
    write(session.with_name("broken.jsonl"), "no JSON\n")
    write(folder / "CLAUDE.md", "Row in time.\n")
    write(folder / "skills" / "rowing" / "SKILL.md", "---\nname: rowing\ndescription: x\n---\nRow\n")
    rules = {"allow": ["Bash(npm run test:*)", "Skill(x)"], "deny": ["Read(.env)"]}
    write(folder / "settings.json", {"permissions": rules, "theme": "dark"})
    servers = {
        "charts": {"command": "charts", "env": {"CHARTS_TOKEN": "ghp_0123456789abcdefghijABCDEFGHIJ012345"}},
        "tides": {"type": "http", "url": "https://tides.example/mcp"},
    }
    write(home / ".claude.json", {"mcpServers": servers})
    return session


def codex_home(home: Path) -> Path:
    folder = home / ".codex"
    name = f"rollout-2026-04-02T08-00-00-{CODEX_ID}.jsonl"
    session = write(folder / "sessions" / "2026" / "04" / "02" / name, (FIXTURES / "codex.jsonl").read_text())
    write(folder / "session_index.jsonl", json.dumps({"id": CODEX_ID, "thread_name": "The mast"}))
    write(folder / "AGENTS.md", "Sail.\n")
    write(folder / "prompts" / "knot.md", "Tie $1.\n")
    write(folder / "skills" / "knots" / "SKILL.md", "---\nname: knots\ndescription: x\n---\nTie\n")
    write(folder / "rules" / "default.rules", 'prefix_rule(pattern=["git", "push"], decision="prompt")\n')
    write(folder / "config.toml", '[mcp_servers.log]\ncommand = "ship-log"\n')
    return session


def opencode_parts() -> tuple[dict[str, Any], list[tuple[dict[str, Any], list[dict[str, Any]]]]]:
    info = {
        "id": OPENCODE_ID,
        "directory": "/home/rower/boats",
        "title": "The keel",
        "time": {"created": 1_775_000_000_000, "updated": 1_775_000_060_000},
    }
    prompt = {"id": "msg_1", "role": "user", "time": {"created": 1_775_000_001_000}}
    image = f"data:image/png;base64,{PNG}"
    asked = [
        {"type": "text", "text": "Clean the keel"},
        {"type": "text", "text": "Called the Read tool", "synthetic": True},
        {"type": "file", "mime": "image/png", "filename": "keel.png", "url": image},
    ]
    answer = {
        "id": "msg_2",
        "role": "assistant",
        "time": {"created": 1_775_000_002_000},
        "modelID": "claude-sonnet-4-5",
        "providerID": "anthropic",
        "cost": 0.25,
        "tokens": {"input": 10, "output": 20, "reasoning": 5, "cache": {"read": 7, "write": 3}},
    }
    state = {"status": "completed", "input": {"filePath": "keel.md"}, "output": "barnacles", "time": {}}
    told = [
        {"type": "step-start"},
        {"type": "reasoning", "text": "Barnacles?"},
        {"type": "tool", "callID": "call_k", "tool": "read", "state": state},
        {"type": "text", "text": "It is clean."},
        {"type": "patch", "hash": "x", "files": []},
    ]
    return info, [(prompt, asked), (answer, told)]


def opencode_files(home: Path) -> Path:
    """Fills the folders of older releases, and returns the session's file."""
    storage = home / ".local" / "share" / "opencode" / "storage"
    info, messages = opencode_parts()
    for message, parts in messages:
        write(storage / "message" / OPENCODE_ID / f"{message['id']}.json", message)
        for number, part in enumerate(parts):
            write(storage / "part" / message["id"] / f"prt_{number}.json", part)
    return write(storage / "session" / "proj" / f"{OPENCODE_ID}.json", info)


def opencode_database(home: Path) -> Path:
    folder = home / ".local" / "share" / "opencode"
    folder.mkdir(parents=True, exist_ok=True)
    info, messages = opencode_parts()
    with closing(sqlite3.connect(folder / "opencode.db")) as database, database:
        database.executescript(
            "create table session (id text, parent_id text, directory text, title text, time_created integer);"
            "create table message (id text, session_id text, time_created integer, data text);"
            "create table part (id text, message_id text, session_id text, data text);"
        )
        row = (OPENCODE_ID, None, info["directory"], info["title"], info["time"]["created"])
        database.execute("insert into session values (?, ?, ?, ?, ?)", row)
        for message, parts in messages:
            data = {key: value for key, value in message.items() if key != "id"}
            row = (message["id"], OPENCODE_ID, message["time"]["created"], json.dumps(data))
            database.execute("insert into message values (?, ?, ?, ?)", row)
            for number, part in enumerate(parts):
                row = (f"{message['id']}_{number}", message["id"], OPENCODE_ID, json.dumps(part))
                database.execute("insert into part values (?, ?, ?, ?)", row)
    return folder / "opencode.db"


def opencode_home(home: Path) -> None:
    opencode_files(home)
    config = home / ".config" / "opencode"
    write(config / "AGENTS.md", "Scrub.\n")
    write(config / "command" / "scrub.md", "Scrub $ARGUMENTS\n")
    write(config / "command" / "shell.md", "Now: !`date`\n")
    permission = {"edit": "ask", "bash": {"*": "ask", "git *": "allow", "rm *": "deny"}}
    servers = {"radar": {"type": "local", "command": ["radar", "--short"]}}
    write(config / "opencode.json", {"permission": permission, "mcp": servers})
