"""Which commands an allow rule answers: in the workspace, without assignments and writing redirections; and rules that
are broken or contradict each other, which allow nothing."""

from typing import Literal

import pytest
from msgspec import structs

from app.permits.permission_decisions import PermissionPolicy, decide_tool_call
from app.permits.permit_rules import (
    PermitRule,
    UnparsedPermitRules,
    merge_permit_rules,
    parse_permit_rule,
    permit_rule_matches,
    suggested_allow_rules,
)
from app.permits.risk_classes import ToolCallPart
from app.permits.shell.command_line import judge_command_line
from tests.permits.lists import PLACE


def _outcome(
    command: str, *, allow: tuple[str, ...] = (), ask: tuple[str, ...] = (), deny: tuple[str, ...] = ()
) -> str:
    rules = merge_permit_rules(
        [UnparsedPermitRules(origin="user", allow_rules=allow, ask_rules=ask, deny_rules=deny)]
    )
    policy = PermissionPolicy(mode="ask", rules=rules.rules, has_sandbox=False)
    return decide_tool_call(judge_command_line(command, PLACE), "bash", policy, PLACE).outcome


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
        "runner=./evil make all",
        "env runner=./evil make all",
        "export runner=./evil; make all",
        "yarn_yarn_path=./evil.cjs npm test",
        "echo x > f",
        "make all >> f",
        "echo x &> ~/.profile",
        "make all <> f",
        "npm() { :; }; npm test",
    ],
)
def test_a_rule_answers_no_other_folder_assignment_or_writing_redirection(command: str) -> None:
    assert _outcome(command, allow=ALLOW) == "ask"


@pytest.mark.parametrize(
    ("word", "outcome"), [("main", "run"), ("--exec=./x", "ask"), ("--receive-pack=./x", "ask")]
)
def test_one_word_of_a_rule_for_git_is_no_option(word: str, outcome: str) -> None:
    assert _outcome(f"git push origin {word}", allow=("bash: git push origin *",)) == outcome


def test_a_variable_that_the_shell_keeps_for_itself_changes_nothing_for_a_rule() -> None:
    assert _outcome("f=x; for f in a b; do make $f; done", allow=ALLOW) == "run"


UNBOXED = structs.replace(PLACE, has_sandbox=False, hides_secrets=False)
WRITES_LATER = (
    *(
        "git log --output=.envrc",
        "git -C . diff --output .git/hooks/pre-commit",
        "git archive -o .envrc HEAD",
    ),
    *("git bundle create .envrc HEAD", "git format-patch -o .git/hooks HEAD~1", "git mv README.md .envrc"),
    *("git apply --directory=.git/hooks p", "git worktree add .git/x", "sort -o .envrc README.md"),
    *("sort -uo.envrc README.md", "sort -o ../.bashrc README.md", "sort --outp .envrc x", "uniq x .envrc"),
    *("find . -fprint .envrc", "find . -fprintf .envrc x", "sed 'w .envrc' x", "sed -n 's/a/b/w .envrc' x"),
    *("tree -o .envrc", "tar cf .envrc x", "tar xf x -C .git/hooks", "unzip x -d .git/hooks", "zip .envrc x"),
    *("rsync -a x/ .git/hooks/", "patch -o .envrc x", "split x .git/hooks/a", "cat x 1<> .envrc"),
    *("xargs -a f sort -o .envrc", "git checkout HEAD -- .envrc", "timeout 9 sort -o .envrc README.md"),
)


@pytest.mark.parametrize("command", WRITES_LATER)
def test_a_word_that_names_a_file_of_output_that_runs_later_needs_a_typed_word(command: str) -> None:
    rules = merge_permit_rules(
        [
            UnparsedPermitRules(
                origin="user",
                allow_rules=[f"bash: {one} **" for one in ("git", "sort", "find", "uniq", "sed")],
            )
        ]
    ).rules
    for mode in ("full", "auto-edit"):
        policy = PermissionPolicy(mode=mode, rules=rules)
        assert decide_tool_call(
            judge_command_line(command, UNBOXED), "bash", policy, UNBOXED
        ).needs_typed_word


@pytest.mark.parametrize(
    "command",
    [
        *("git add .envrc", "git -C sub add .envrc", "git commit .envrc -m x", "git rebase origin/HEAD"),
        *("git reset --soft HEAD", "git --git-dir=.git log", "source .envrc", "bash .husky/pre-commit"),
        *(
            "uv sync --python .venv/bin/python",
            "pylint --rcfile=.pylintrc src",
            "rsync -a --exclude=.git a/ b/",
        ),
        *(
            "tar --exclude=.git -czf x.tgz .",
            "tar --exclude .git -czf x.tgz .",
            "zip -qr s.zip . -x '.git/*'",
        ),
    ],
)
def test_a_command_that_only_uses_a_file_that_runs_later_needs_none(command: str) -> None:
    policy = PermissionPolicy(mode="full")
    assert decide_tool_call(judge_command_line(command, UNBOXED), "bash", policy, UNBOXED).outcome == "run"


def test_a_rule_for_a_server_does_not_cover_one_with_a_longer_name() -> None:
    rule = parse_permit_rule("tool: mcp__e__*", "allow", "user")
    assert isinstance(rule, PermitRule)
    part = ToolCallPart(text="x", risk="contained", why="", command_words=(), kind="tool")
    fits = {
        tool: permit_rule_matches(rule, part, tool, PLACE)
        for tool in ("mcp__e__read", "mcp__e__evil__read", "mcp__evil__read")
    }
    assert fits == {"mcp__e__read": True, "mcp__e__evil__read": False, "mcp__evil__read": False}


@pytest.mark.parametrize(
    "command",
    [
        *("python3 x.py", "python3.12 -m http", "/usr/bin/node x", "bash x.sh", "env ls2", "ssh host uptime"),
        *("npx foo bar", "xargs rm", "find . -delete", "sudo -u me x", "git frob x", "npm run x", "uv run x"),
        *("uniq a b", "watch x", "make -f x", "docker run x", "cargo run x"),
    ],
)
def test_no_interpreter_shell_or_wrapper_is_offered_with_any_words(command: str) -> None:
    for part in judge_command_line(command, PLACE).parts:
        for rule in suggested_allow_rules(part, "bash", PLACE):
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
    rules = merge_permit_rules([UnparsedPermitRules(origin="user", allow_rules=("bash: make all", broken))])
    assert rules.ignored_origins == ("user",)
    assert [problem.rule_text for problem in rules.problems] == [broken]
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


@pytest.mark.parametrize(("deed", "is_met"), [("deny", True), ("ask", True), ("allow", False)])
def test_only_an_allow_rule_tells_upper_from_lower_case(
    deed: Literal["deny", "ask", "allow"], is_met: bool
) -> None:
    part = ToolCallPart(text="read", risk="safe", why="", kind="file", path="/home/me/proj/Secrets/a.txt")
    rule = PermitRule(kind="read", pattern="secrets/**", action=deed, origin="user")
    assert permit_rule_matches(rule, part, "read", PLACE) is is_met
