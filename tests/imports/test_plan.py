"""A plan shows everything and writes nothing; what is applied is complete, never twice and never over something."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.imports.import_plan import IMPORT_KINDS, ImportPlan, ImportPlanner, PlannedImportItem
from app.imports.imported_permission_rules import (
    convert_claude_permission_rules,
    convert_codex_permission_rules,
    convert_opencode_permission_rules,
)
from app.permits.permit_rules import PermitRule, parse_permit_rule
from app.resources.paths import BayouPaths
from tests.imports import foreign_homes as homes


def importer(home: Path, program: Any, *, with_secrets: bool = False) -> ImportPlanner:
    work = home / "work"
    work.mkdir(exist_ok=True)
    paths = BayouPaths.from_env({"HOME": str(home)}, work)
    return ImportPlanner(program, paths, {}, with_secrets=with_secrets)


def planned(home: Path, program: Any) -> ImportPlan:
    return importer(home, program).plan(IMPORT_KINDS)


def apply(plan: ImportPlan) -> None:
    for item in plan.items:
        if not item.refused and item.apply is not None:
            item.apply()


def states(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".lock" not in path.suffixes and ".bayou" not in path.parts
    }


def refused(items: list[PlannedImportItem]) -> dict[str, str]:
    return {item.name: item.refused for item in items if item.refused}


def test_a_plan_writes_nothing_and_an_import_changes_nothing_of_the_other_agent(tmp_path: Path) -> None:
    homes.claude_home(tmp_path)
    before = states(tmp_path)
    plan = planned(tmp_path, "claude")
    assert not (tmp_path / ".bayou").exists()
    apply(plan)
    assert states(tmp_path) == before
    agent = tmp_path / ".bayou" / "agent"
    assert (agent / "AGENTS.md").read_text() == "Row in time.\n"
    rules = json.loads((agent / "settings.json").read_text())["permissions"]
    assert rules == {"deny": ["read: **/.env", "read: **/.env/**"], "allow": ["bash: npm run test **"]}
    assert refused(plan.of_kind("sessions")) == {"broken": "has no messages"}
    assert refused(plan.of_kind("permissions")) == {"allow Skill(x)": "bayou has no tool like Skill"}
    assert "where they are" in next(iter(refused(plan.of_kind("skills")).values()))


@pytest.mark.parametrize("program", ["claude", "codex", "opencode"])
def test_a_second_import_takes_nothing(tmp_path: Path, program: str) -> None:
    {"claude": homes.claude_home, "codex": homes.codex_home, "opencode": homes.opencode_home}[program](
        tmp_path
    )
    apply(planned(tmp_path, program))
    again = planned(tmp_path, program)
    assert [item.name for item in again.items if not item.refused] == []
    assert any(item.refused == "is here already" for item in again.of_kind("sessions"))


def test_files_of_codex_and_opencode_are_copied_and_never_over_others(tmp_path: Path) -> None:
    homes.codex_home(tmp_path)
    homes.opencode_home(tmp_path)
    agent = tmp_path / ".bayou" / "agent"
    homes.write(agent / "prompts" / "knot.md", "mine")
    plan = planned(tmp_path, "codex")
    assert "there already" in next(iter(refused(plan.of_kind("commands")).values()))
    apply(plan)
    assert (agent / "prompts" / "knot.md").read_text() == "mine"
    assert (agent / "skills" / "knots" / "SKILL.md").is_file()
    plan = planned(tmp_path, "opencode")
    (left,) = refused(plan.of_kind("instructions")).values()
    assert "add the line @~/.config/opencode/AGENTS.md" in left
    apply(plan)
    assert (agent / "prompts" / "scrub.md").is_file() and not (agent / "prompts" / "shell.md").exists()


def test_secrets_of_servers_are_copied_only_when_asked_for(tmp_path: Path) -> None:
    homes.claude_home(tmp_path)
    servers = {item.name: item for item in planned(tmp_path, "claude").of_kind("servers")}
    assert servers["charts"].notes == ("set the variable CHARTS_TOKEN: its value is not copied",)
    apply(planned(tmp_path, "claude"))
    file = tmp_path / ".bayou" / "agent" / "mcp.json"
    assert "ghp_" not in file.read_text() and "${CHARTS_TOKEN}" in file.read_text()
    file.unlink()
    apply(importer(tmp_path, "claude", with_secrets=True).plan(("servers",)))
    assert "ghp_" in file.read_text()


def test_a_server_with_a_secret_in_its_command_is_left(tmp_path: Path) -> None:
    server = {"command": "charts", "args": ["--api-key", "sk-ant-REDACTED"]}
    homes.write(tmp_path / ".claude.json", {"mcpServers": {"charts": server}})
    plan = importer(tmp_path, "claude").plan(("servers",))
    assert "--with-secrets" in plan.items[0].refused
    assert "sk-ant" not in json.dumps(plan.items[0].as_json())


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    secret = homes.write(tmp_path / "secret.jsonl", (homes.FIXTURES / "codex.jsonl").read_text())
    folder = tmp_path / ".codex"
    (folder / "sessions").mkdir(parents=True)
    (folder / "sessions" / "x.jsonl").symlink_to(secret)
    skill = homes.write(folder / "skills" / "knots" / "SKILL.md", "---\nname: knots\n---\n").parent
    (skill / "key").symlink_to(secret)
    (folder / "AGENTS.md").symlink_to(secret)
    plan = planned(tmp_path, "codex")
    assert all("link" in item.refused for item in plan.items) and len(plan.items) == 3


def test_broken_files_are_named_and_the_rest_is_taken(tmp_path: Path) -> None:
    homes.claude_home(tmp_path)
    (tmp_path / ".claude" / "settings.json").write_text("{ no")
    (tmp_path / ".claude.json").write_text("[")
    plan = planned(tmp_path, "claude")
    assert len(plan.problems) == 2
    assert [item.kind for item in plan.items if not item.refused] == ["sessions", "instructions"]
    homes.opencode_database(tmp_path).write_bytes(b"no database")
    plan = planned(tmp_path, "opencode")
    assert any("opencode.db cannot be read" in problem for problem in plan.problems)


def test_a_project_s_rules_apply_to_its_folder_only(tmp_path: Path) -> None:
    rules = {"allow": ["Bash(make)"], "deny": ["Bash(make clean)"]}
    homes.write(tmp_path / "work" / ".claude" / "settings.local.json", {"permissions": rules})
    plan = planned(tmp_path, "claude")
    apply(plan)
    settings = json.loads((tmp_path / ".bayou" / "agent" / "settings.json").read_text())
    assert settings == {"permissions": {"allowIn": {str(tmp_path / "work"): ["bash: make"]}}}
    assert 'add "bash: make clean" to permissions.deny' in refused(list(plan.items))["deny Bash(make clean)"]


CLAUDE = [
    ("allow", "Bash(git * main)", ["bash: git * main"]),
    ("allow", "Bash", []),
    ("deny", "Bash", ["tool: bash"]),
    ("deny", "Bash(git * --force)", []),
    ("deny", "Bash(rm -rf*)", ["bash: rm -rf* **"]),
    ("allow", "Bash(git diff*)", ["bash: git diff* **"]),
    ("allow", "Bash(bash scripts/*.sh *)", ["bash: bash scripts/*.sh **"]),
    ("allow", "Bash(ls | wc)", []),
    ("allow", "Bash(cat [ab])", []),
    ("deny", "Read(./secrets/**)", ["read: secrets/**"]),
    ("deny", "Read(~/.ssh)", ["read: ~/.ssh", "read: ~/.ssh/**"]),
    ("allow", "Edit(/src/**)", []),
    ("allow", "Edit(//etc/x)", ["edit: /etc/x"]),
    ("deny", "Read(*.{pem,key})", []),
    ("allow", "WebFetch(domain:example.com)", ["net: example.com"]),
    ("ask", "mcp__gh", ["tool: mcp__gh__*"]),
    ("allow", "Task(scout)", []),
    ("deny", "Task", ["tool: task"]),
    ("deny", "Write", ["tool: write", "tool: apply_patch"]),
    ("deny", "Glob", ["tool: find", "tool: ls"]),
    ("allow", "NotebookEdit", ["edit: **/*.ipynb"]),
    ("allow", "NotebookEdit(a.ipynb)", []),
    ("allow", "Bash(\n)", []),
]


@pytest.mark.parametrize(("action", "theirs", "rules"), CLAUDE)
def test_permissions_of_claude_become_rules_that_allow_no_more(
    action: Any, theirs: str, rules: list[str]
) -> None:
    found = list(convert_claude_permission_rules({action: [theirs]}))
    assert [one.rule for one in found if one.rule] == rules
    assert bool(rules) or all(one.refused for one in found)
    assert all(
        isinstance(parse_permit_rule(one.rule, one.action, "user"), PermitRule) for one in found if one.rule
    )


def test_permissions_of_codex_and_opencode_become_rules() -> None:
    source = (
        'prefix_rule(pattern=["git", ["push", "fetch"]], decision="forbidden")\nprefix_rule(["ls"])\nf()\n'
    )
    assert [(one.action, one.rule) for one in convert_codex_permission_rules(source)] == [
        ("deny", "bash: git push **"),
        ("deny", "bash: git fetch **"),
        ("allow", "bash: ls **"),
        ("ask", ""),
    ]
    told = convert_opencode_permission_rules(
        {"edit": "deny", "bash": {"*": "allow", "rm *": "ask"}, "doom_loop": "ask", "x": 3}
    )
    assert [one.rule for one in told] == ["tool: edit", "tool: apply_patch", "", "bash: rm **", "", ""]
    for broken in ("(" * 5000, "prefix_rule(pattern=[" + "['a','b']," * 60 + "])", "prefix_rule(pattern=x)"):
        try:
            assert not any(one.rule for one in convert_codex_permission_rules(broken))
        except ValueError:
            pass
