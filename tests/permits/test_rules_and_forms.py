"""Which commands an allow rule answers: in the workspace, without assignments and writing redirections; and rules that
are broken or contradict each other, which allow nothing."""

import pytest

from app.permits.permission_decisions import PermissionPolicy, decide_call
from app.permits.rules import (
    PermitRule,
    WrittenRules,
    merged_rules,
    parse_rule,
    rule_matches,
    suggested_rules,
)
from app.permits.shell.command_line import judge_command
from app.permits.verdicts import CallPart
from tests.permits.lists import PLACE


def _outcome(
    command: str, *, allow: tuple[str, ...] = (), ask: tuple[str, ...] = (), deny: tuple[str, ...] = ()
) -> str:
    rules = merged_rules([WrittenRules(origin="user", allow=allow, ask=ask, deny=deny)])
    policy = PermissionPolicy(mode="ask", rules=rules.rules, has_box=False)
    return decide_call(judge_command(command, PLACE), "bash", policy, PLACE).outcome


ALLOW = ("bash: ./run.sh", "bash: npm test", "bash: make **", "bash: git commit **", "bash: echo **")


@pytest.mark.parametrize(
    "command", ["./run.sh", "npm test", "make all", "cd sub && npm test", "git commit -m x"]
)
def test_a_rule_answers_its_command_in_the_workspace(command: str) -> None:
    assert _outcome(command) == "ask"
    assert _outcome(command, allow=ALLOW) == "run"


@pytest.mark.parametrize(
    "command",
    [
        "cd /tmp && ./run.sh",
        "cd sub; ./run.sh",
        "pushd /tmp; npm test",
        "cd .. && make all",
        'cd "$X" && make all',
        "LD_PRELOAD=./evil.so git commit -m x",
        "env PATH=. npm test",
        "export GIT_SSH=./evil; git commit -m x",
        "echo x > f",
        "make all >> f",
        "echo x &> ~/.profile",
        "make all <> f",
        "npm() { :; }; npm test",
    ],
)
def test_a_rule_answers_no_other_folder_assignment_or_writing_redirection(command: str) -> None:
    assert _outcome(command, allow=ALLOW) == "ask"


def test_a_rule_for_a_server_does_not_cover_one_with_a_longer_name() -> None:
    rule = parse_rule("tool: mcp__e__*", "allow", "user")
    assert isinstance(rule, PermitRule)
    part = CallPart(text="x", risk="contained", why="", words=(), kind="tool")
    fits = {
        tool: rule_matches(rule, part, tool, PLACE)
        for tool in ("mcp__e__read", "mcp__e__evil__read", "mcp__evil__read")
    }
    assert fits == {"mcp__e__read": True, "mcp__e__evil__read": False, "mcp__evil__read": False}


@pytest.mark.parametrize(
    "command",
    [
        *("python3 x.py", "python3.12 -m http", "/usr/bin/node x", "bash x.sh", "env ls2", "ssh host uptime"),
        *("npx foo bar", "xargs rm", "find . -delete", "sudo -u me x", "git frob x", "npm run x", "uv run x"),
        *("watch x", "make -f x", "docker run x", "cargo run x"),
    ],
)
def test_no_interpreter_shell_or_wrapper_is_offered_with_any_words(command: str) -> None:
    for part in judge_command(command, PLACE).parts:
        for rule in suggested_rules(part, "bash", PLACE):
            words = rule.removeprefix("bash: ").split()
            assert words[-1] != "**" or (
                words[0] in ("git", "npm", "uv", "docker", "cargo") and len(words) > 2
            ), rule
            assert (
                words[:2] not in (["npm", "run"], ["uv", "run"], ["docker", "run"], ["cargo", "run"])
                or words[-1] != "**"
            )


@pytest.mark.parametrize(
    "broken", ["nonsense", "bash:", "bash: **", "frob: x", "net: a b", "bash: a\nb", "sandbox.write: x"]
)
def test_a_broken_rule_is_reported_and_nothing_of_its_file_is_allowed(broken: str) -> None:
    rules = merged_rules([WrittenRules(origin="user", allow=("bash: make all", broken))])
    assert rules.left_out == ("user",)
    assert [problem.text for problem in rules.problems] == [broken]
    assert _outcome("make all", allow=("bash: make all", broken)) == "ask"


def test_of_contradicting_rules_the_stricter_one_answers() -> None:
    both = ("bash: make all",)
    assert _outcome("make all", allow=both, ask=both) == "ask"
    assert _outcome("make all", allow=both, deny=both) == "refuse"
    assert _outcome("make all", allow=both, ask=both, deny=both) == "refuse"


def test_no_rule_makes_a_forbidden_command_run() -> None:
    every = ("bash: rm **", "bash: git **", "bash: sudo **")
    for command in ("rm -rf ~", "git push --force", "sudo rm x"):
        assert _outcome(command, allow=every) == "ask"
