"""Trusting a project: what is asked, in which order it is decided, and when the question comes back."""

import json

import pytest

from app.resources.paths import BayouPaths
from app.resources.trust.project_trust import (
    decide_project_trust,
    forget_trust_answer,
    new_trust_items,
    store_trust_answer,
    trust_question_for,
)


@pytest.fixture
def risky(paths: BayouPaths, put) -> BayouPaths:
    """A project that would run something."""
    put(paths.project_dir / "extensions" / "gate.py", "def extension(api): ...")
    return paths


def test_a_project_without_anything_that_runs_needs_no_answer(paths: BayouPaths):
    decision = decide_project_trust(paths, can_ask=True)
    assert not decision.needs_answer
    assert decision.reason == "nothing-to-trust"


def test_the_question_lists_exactly_what_would_run(risky: BayouPaths, put):
    put(
        risky.project_settings_file,
        '{"shellCommandPrefix": "source evil.sh;", "extensions": ["~/x.py"], "theme": "x"}',
    )
    put(risky.project_dir / "models.json", '{"providers": {"p": {"apiKey": "!pass show key"}}} // mine')
    put(risky.project_dir / "mcp.json", '{"mcpServers": {"s": {"command": "npx", "args": ["-y", "thing"]}}}')
    put(risky.project_dir / "APPEND_SYSTEM.md", "be kind")
    found = trust_question_for(risky).items
    items = {(item.kind, item.path): item.detail for item in reversed(found)}
    assert 'extensions = ["~/x.py"]' in [item.detail for item in found]
    assert items["extension", ".bayou/extensions/gate.py"] == "Python code"
    assert items["command", ".bayou/settings.json"] == 'shellCommandPrefix = "source evil.sh;"'
    assert items["models", ".bayou/models.json"] == "!pass show key"
    assert items["server", ".bayou/mcp.json"] == "s: npx -y thing"
    assert ("prompt", ".bayou/APPEND_SYSTEM.md") in items


def test_without_a_user_the_folder_is_not_trusted(risky: BayouPaths):
    decision = decide_project_trust(risky)
    assert not decision.is_trusted
    assert not decision.needs_answer
    assert decide_project_trust(risky, can_ask=True).needs_answer


def test_flag_counts_before_saved_before_setting(risky: BayouPaths):
    store_trust_answer(risky, trust_question_for(risky), is_trusted=True)
    assert decide_project_trust(risky, flag=False).reason == "flag"
    assert decide_project_trust(risky, default="never").reason == "saved"
    forget_trust_answer(risky, risky.cwd)
    assert decide_project_trust(risky, default="always").reason == "setting"
    assert not decide_project_trust(risky, default="never", can_ask=True).needs_answer


def test_the_question_comes_back_when_what_runs_has_changed(risky: BayouPaths):
    store_trust_answer(risky, trust_question_for(risky), is_trusted=True)
    assert decide_project_trust(risky).is_trusted
    (risky.project_dir / "extensions" / "gate.py").write_text("def extension(api): import os")
    decision = decide_project_trust(risky, can_ask=True)
    assert not decision.is_trusted
    assert decision.needs_answer


def test_a_no_stays_a_no(risky: BayouPaths):
    store_trust_answer(risky, trust_question_for(risky), is_trusted=False)
    (risky.project_dir / "extensions" / "more.py").write_text("x = 1")
    decision = decide_project_trust(risky, can_ask=True, default="always")
    assert not decision.is_trusted
    assert not decision.needs_answer


def test_an_answer_for_a_folder_above_covers_those_below(risky: BayouPaths, put):
    put(risky.trust_file, f'{{"{risky.cwd.parent}": true}}')
    assert decide_project_trust(risky).reason == "saved"
    assert decide_project_trust(risky).is_trusted


def test_a_broken_trust_file_trusts_no_folder(risky: BayouPaths, put):
    put(risky.trust_file, "{")
    assert not decide_project_trust(risky).is_trusted


def test_the_answers_are_for_their_owner_only(risky: BayouPaths):
    store_trust_answer(risky, trust_question_for(risky), is_trusted=True)
    assert risky.trust_file.stat().st_mode & 0o777 == 0o600


def test_each_server_is_asked_about_by_what_it_starts_and_the_names_of_its_variables(paths: BayouPaths, put):
    put(
        paths.cwd / ".mcp.json",
        """{"mcpServers": {
            "docs": {"url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer ${DOCS_TOKEN}"}},
            "files": {"command": "npx", "args": ["a b"], "env": {"KEY": "hunter2", "B": "!pass show b"}}}}""",
    )
    put(paths.cwd / "mcp.json", '{"mcpServers": {"docs": {"enabled": false}}}')
    question = trust_question_for(paths)
    assert [item.display_line for item in question.items] == [
        'server mcp.json docs: changes {"enabled": false}',
        "server .mcp.json docs: https://docs.example/mcp; sends Authorization; reads $DOCS_TOKEN",
        "server .mcp.json files: npx 'a b'; sets KEY, B; runs !pass show b",
    ]
    store_trust_answer(paths, question, is_trusted=True)
    assert decide_project_trust(paths).is_trusted
    text = (paths.cwd / ".mcp.json").read_text(encoding="utf-8")
    put(paths.cwd / ".mcp.json", text.replace("hunter2", "hunter3"))
    again = decide_project_trust(paths, can_ask=True)
    assert again.needs_answer
    assert [item.detail.split(":")[0] for item in new_trust_items(again.question, question)] == ["files"]


def test_more_servers_than_anybody_reads_cannot_be_vouched_for(paths: BayouPaths, put):
    put(
        paths.cwd / ".mcp.json",
        json.dumps({"mcpServers": {f"s{n}": {"command": "x"} for n in range(10_000)}}),
    )
    assert [item.exceeded_limit for item in trust_question_for(paths).exceeded_limit] == ["10,000 servers"]


def test_a_file_that_says_nothing_of_servers_is_not_asked_about(paths: BayouPaths, put):
    put(paths.cwd / "mcp.json", '{"name": "a server that is developed here"}')
    assert trust_question_for(paths).is_empty


def test_each_hook_of_a_project_and_the_scripts_that_it_names_are_listed(paths: BayouPaths, put):
    table = {
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [
                    {"type": "command", "command": '"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh --strict'}
                ],
            }
        ]
    }
    put(paths.cwd / ".claude" / "settings.json", json.dumps({"permissions": {}, "hooks": table}))
    put(paths.cwd / ".claude" / "hooks" / "guard.sh", "exit 2")
    stop = {"Stop": [{"hooks": [{"type": "command", "command": "make check"}]}]}
    put(paths.project_settings_file, json.dumps({"hooks": stop}))
    before = trust_question_for(paths)
    found = {(item.kind, item.path, item.detail) for item in before.items}
    command = '"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh --strict'
    assert found >= {
        ("hook", ".claude/settings.json", f"PreToolUse Bash: {command}"),
        ("hook", ".claude/hooks/guard.sh", "named by a hook"),
        ("hook", ".bayou/settings.json", "Stop: make check"),
    }
    put(paths.cwd / ".claude" / "hooks" / "guard.sh", "exit 0")
    assert ".claude/hooks/guard.sh" in [
        item.path for item in new_trust_items(trust_question_for(paths), before)
    ]


def test_settings_of_claude_code_without_hooks_need_no_trust(paths: BayouPaths, put):
    put(paths.cwd / ".claude" / "settings.json", '{"permissions": {"allow": ["Bash(ls)"]}}')
    assert trust_question_for(paths).is_empty
