"""Hooks in settings files: what is read, from where, and what is said of entries that cannot be used."""

import json

import pytest

from app.resources.hook_files import HookMatcher, find_hooks, read_hook_file
from app.resources.paths import BayouPaths
from app.resources.trust.project_trust import trust_question_for


def hooks_of(*commands: str, event: str = "Stop") -> str:
    entries = [{"type": "command", "command": command} for command in commands]
    return json.dumps({"hooks": {event: [{"hooks": entries}]}})


def test_hooks_of_all_files_apply_together_but_a_projects_only_when_trusted(paths: BayouPaths, put):
    put(paths.home / ".claude" / "settings.json", hooks_of("one"))
    put(paths.settings_file, hooks_of("two"))
    put(paths.cwd / ".claude" / "settings.json", hooks_of("three"))
    put(paths.cwd / ".claude" / "settings.local.json", hooks_of("four"))
    put(paths.project_settings_file, hooks_of("five"))
    trusted = find_hooks(paths, is_trusted=True).hooks
    assert [hook.command for hook in trusted] == ["one", "two", "three", "four", "five"]
    assert [hook.command for hook in find_hooks(paths, is_trusted=False).hooks] == ["one", "two"]


def test_a_project_can_switch_off_its_own_hooks_only(paths: BayouPaths, put):
    put(paths.home / ".claude" / "settings.json", hooks_of("mine"))
    put(paths.cwd / ".claude" / "settings.json", hooks_of("theirs"))
    put(paths.cwd / ".claude" / "settings.local.json", '{"disableAllHooks": true}')
    assert [hook.command for hook in find_hooks(paths, is_trusted=True).hooks] == ["mine"]
    put(paths.settings_file, '{"disableAllHooks": true}')
    assert not find_hooks(paths, is_trusted=True).hooks


def test_comments_and_unknown_keys_are_no_problem(paths: BayouPaths, put):
    text = '{ // mine\n "hooks": {"Stop": [{"hooks": [{"command": "a", "async": true, "timeout": 5,}], "x": 1}]}}'
    put(paths.settings_file, text)
    (hook,) = find_hooks(paths, is_trusted=False).hooks
    assert (hook.command, hook.timeout_seconds) == ("a", 5)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"hooks": {', "None of its hooks run"),
        ('{"hooks": []}', "must be an object"),
        ("[]", "must be an object"),
        ('{"hooks": {"Sometimes": []}}', "Sometimes: bayou has no such event"),
        ('{"hooks": {"Stop": {}}}', "Stop: must be a list"),
        ('{"hooks": {"Stop": [{"command": "a"}]}}', "Stop, group 1: needs a list `hooks`"),
        ('{"hooks": {"Stop": [{"hooks": ["a"]}]}}', "Stop, group 1, hook 1: must be an object"),
        ('{"hooks": {"Stop": [{"hooks": [{"type": "prompt", "prompt": "a"}]}]}}', "type `command` only"),
        ('{"hooks": {"Stop": [{"hooks": [{"command": " "}]}]}}', "needs a `command`"),
        ('{"hooks": {"Stop": [{"hooks": [{"command": "a", "args": "b"}]}]}}', "list of texts"),
    ],
)
def test_invalid_hooks_are_named(paths: BayouPaths, put, text: str, problem: str):
    put(paths.settings_file, text)
    read = read_hook_file(paths.settings_file)
    assert not read.hooks
    assert problem in read.problems[0]


def test_an_unusable_timeout_and_matcher_keep_the_hook(paths: BayouPaths, put):
    entry = {"matcher": "(", "hooks": [{"command": "a", "timeout": "soon"}]}
    put(paths.settings_file, json.dumps({"hooks": {"PreToolUse": [entry]}}))
    read = read_hook_file(paths.settings_file)
    assert read.hooks[0].matcher.matches(("Bash",))
    assert read.hooks[0].timeout_seconds == 60
    assert len(read.problems) == 2


@pytest.mark.parametrize(
    ("matcher", "name", "matches"),
    [
        ("", "Bash", True),
        ("*", "Bash", True),
        ("Edit|Write", "Write", True),
        ("Edit | Write", "Write", True),
        ("Edit", "MultiEdit", False),
        ("mcp__memory__.*", "mcp__memory__read", True),
        ("mcp__memory__.*", "mcp__other__read", False),
        ("^(Edit|Write)$", "MultiEdit", False),
    ],
)
def test_matchers(matcher: str, name: str, matches: bool):
    assert HookMatcher(text=matcher).matches((name,)) is matches


def test_a_projects_status_line_is_in_the_trust_question_and_counts_after_it(paths: BayouPaths, put):
    put(paths.home / ".claude" / "settings.json", '{"statusLine": {"type": "command", "command": "mine"}}')
    put(paths.cwd / ".claude" / "settings.json", '{"statusLine": {"command": "bash .claude/line.sh"}}')
    put(paths.cwd / ".claude" / "line.sh", "echo x")
    lines = [item.display_line for item in trust_question_for(paths).items]
    assert lines == [
        "hook .claude/settings.json statusLine: bash .claude/line.sh",
        "hook .claude/line.sh named by a hook",
    ]
    before, after = (find_hooks(paths, is_trusted=is_trusted).status_line for is_trusted in (False, True))
    assert before is not None and before.command == "mine"
    assert after is not None and after.command == "bash .claude/line.sh"
    put(paths.cwd / ".claude" / "settings.local.json", '{"statusLine": "oops"}')
    found = find_hooks(paths, is_trusted=True)
    assert "needs a command" in found.problems[0]
