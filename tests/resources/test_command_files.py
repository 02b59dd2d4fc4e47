"""Commands in Claude Code's form: how they are found and named, and what their fields and parts mean."""

import subprocess

import pytest

from app.resources.claude_command_files import (
    CommandAllowedTools,
    ShellCommandInBody,
    read_allowed_tools,
    shell_commands_in_body,
)
from app.resources.paths import BayouPaths
from app.resources.prompt_templates import find_prompt_templates
from app.resources.trust.project_trust import trust_question_for


def test_commands_are_found_below_their_folder_once_the_project_is_trusted(paths: BayouPaths, put):
    put(paths.cwd / ".claude" / "commands" / "review.md", "---\nmodel: opus\n---\nReview it.")
    put(paths.cwd / ".claude" / "commands" / "web" / "form.md", "Make a form.")
    put(paths.home / ".claude" / "commands" / "mine.md", "Do it.")
    found = find_prompt_templates(paths, is_trusted=True)
    assert {one.name: one.model for one in found.templates} == {"review": "opus", "web:form": "", "mine": ""}
    form = found.find_template("form")
    assert form is not None
    assert form.name == "web:form"
    assert [one.name for one in find_prompt_templates(paths, is_trusted=False).templates] == ["mine"]


def test_the_trust_question_shows_what_each_command_runs(paths: BayouPaths, put):
    put(paths.cwd / ".claude" / "commands" / "status.md", "Now: !`git status` and !`git diff`")
    put(paths.cwd / ".claude" / "commands" / "plain.md", "Do it.")
    assert [item.display_line for item in trust_question_for(paths).items] == [
        "command .claude/commands/status.md /status runs git status; git diff",
        "prompt .claude/commands/plain.md /plain",
    ]


@pytest.mark.parametrize(
    ("argument", "printed"), [("; echo hacked", "<; echo hacked>"), ("$(id)", "<$(id)>"), ("it's", "<it's>")]
)
def test_arguments_reach_the_shell_as_values(argument: str, printed: str):
    line = ShellCommandInBody(command='printf "<%s>" "$1"').with_arguments((argument,))
    assert subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout == printed


def test_only_inline_commands_are_shell_parts():
    assert shell_commands_in_body("a !`b c` `d` !e ! `f`") == ("b c",)


@pytest.mark.parametrize(
    ("field", "names", "command", "allows"),
    [
        ("Read, Bash(git add:*)", ("bash", "Bash"), "git add a.txt", True),
        ("Read, Bash(git add:*)", ("bash", "Bash"), "git add a.txt; rm b", False),
        ("Read, Bash(git add:*)", ("bash", "Bash"), "git addx", False),
        ("Bash(git add:*)", ("edit", "Edit"), None, False),
        (["Edit", "Bash(npm test)"], ("edit", "Edit"), None, True),
        (["Bash(npm test)"], ("bash", "Bash"), "npm test", True),
        (["Bash(npm test)"], ("bash", "Bash"), "npm test -- -u", False),
        ("Bash", ("bash", "Bash"), "a | b", True),
        ("bash", ("bash", "Bash"), "ls", True),
        ("mcp__docs__*", ("mcp__docs__search",), None, True),
    ],
)
def test_allowed_tools(field: object, names: tuple[str, ...], command: str | None, allows: bool):
    allowed = read_allowed_tools(field)
    assert isinstance(allowed, CommandAllowedTools)
    assert allowed.allows_call(names, command) is allows


def test_a_field_without_tools_limits_nothing():
    assert read_allowed_tools(None) is None
    assert read_allowed_tools("") is None
