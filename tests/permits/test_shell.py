"""How a command line is read: what decides, what is bounded, what is never taken for known."""

import ast
import time
from pathlib import Path

import pytest
from msgspec import structs

import app.permits
from app.permits.risk_classes import RISK_SEVERITY
from app.permits.shell.command_line import judge_command_line
from tests.permits.lists import PLACE


def _risk(command: str, **changes: object) -> str:
    return judge_command_line(command, structs.replace(PLACE, **changes)).risk


def test_each_part_is_named_with_its_own_letter_and_reason() -> None:
    verdict = judge_command_line("cd web && npm ci && rm -rf ~", PLACE)
    assert [(part.text, part.risk) for part in verdict.parts] == [
        ("cd web", "safe"),
        ("npm ci", "contained"),
        ("rm -rf ~", "forbidden"),
    ]
    assert verdict.risk == "forbidden"
    assert "removes ~" in verdict.why


def test_wrappers_are_taken_off_for_rules() -> None:
    verdict = judge_command_line("timeout 5 nice -n 2 git push origin topic 2>&1", PLACE)
    assert [part.command_words for part in verdict.parts] == [("git", "push", "origin", "topic")]


def test_a_part_with_a_piece_that_only_the_run_will_tell_has_no_words_for_rules() -> None:
    parts = judge_command_line('git push origin "$BRANCH"', PLACE).parts
    assert {part.risk: part.command_words for part in parts} == {"contained": None}


def test_nothing_at_all_reads() -> None:
    assert judge_command_line("", PLACE).risk == "safe"
    assert judge_command_line("# rm -rf /", PLACE).risk == "safe"


@pytest.mark.parametrize(
    "command",
    [
        "echo " + "$(" * 500 + "rm -rf ~" + ")" * 500,
        "(" * 500 + "rm -rf ~" + ")" * 500,
        "a=" + "${a:-" * 500 + "x" + "}" * 500,
        "true && " * 5000 + "rm -rf ~",
        "ls; " * 300_000,
        "cat <<'EOF'\n" + "x" * 1_000_000 + "\nEOF",
        "echo " + "a" * 1_000_000,
        "echo " + "{a,b}" * 400,
        "echo " + '"' * 999_999,
        "[" * 5000,
        "$((" * 2000,
        "if " * 3000,
    ],
    ids=lambda command: f"{command[:12]!r}, {len(command)}",
)
def test_a_huge_or_deep_command_is_judged_in_bounded_time_and_never_reads(command: str) -> None:
    judge_command_line("ls", PLACE)
    started = time.process_time()
    verdict = judge_command_line(command, PLACE)
    assert time.process_time() - started < 5
    if "{a,b}" not in command:
        assert RISK_SEVERITY[verdict.risk] >= RISK_SEVERITY["contained"]


@pytest.mark.parametrize(
    "command",
    [
        "if test -f x; cat x; end",
        "set -x PATH ./bin $PATH; and ls",
        "ls **/*(.om[1])",
        "Get-ChildItem -Recurse | Remove-Item -Force",
        "foreach ($f in ls) { rm $f }",
        "begin; rm -rf x; end",
        "ls (pwd)",
        "rm -rf (pwd)",
        "echo =(ls)",
    ],
)
def test_the_syntax_of_other_shells_is_not_taken_for_reading(command: str) -> None:
    assert _risk(command) != "safe"


@pytest.mark.parametrize(
    "text", ["ls\x00", "l\u200bs", "rm\xa0-rf ~", "ls\r\nrm x", "\ud800", "ls \ue000", "ｒｍ -rf ~"]
)
def test_characters_that_a_shell_reads_otherwise_make_it_unknown(text: str) -> None:
    assert RISK_SEVERITY[_risk(text)] >= RISK_SEVERITY["contained"]  # type: ignore[index]


def test_where_secrets_are_not_hidden_commands_that_may_show_them_ask() -> None:
    assert _risk("grep -rn TODO src") == "safe"
    assert _risk("grep -rn TODO src", hides_secrets=False) == "contained"
    assert _risk("grep -rn TODO src", hides_secrets=False, has_secrets_below=lambda path: False) == "safe"
    assert _risk('cat "$f"', hides_secrets=False) == "contained"
    assert _risk("printenv", hides_secrets=False, has_secret_variables=True) == "contained"
    assert _risk("printenv", hides_secrets=False, has_secret_variables=False) == "safe"
    for line in ("export", "declare", "typeset", "readonly", "LC_ALL=C export"):
        assert _risk(line, hides_secrets=False) == "contained", line


@pytest.mark.parametrize("target", ["/dev/stdin", "/dev/fd/0", "/dev/fd/3", "/dev/stdout", "/proc/self/fd/0"])
def test_writing_to_a_descriptor_may_write_the_file_behind_it(target: str) -> None:
    """Whatever the descriptor of the same number is in bayou itself."""
    assert _risk(f"echo x <f >{target}", resolve_links=lambda path: "/dev/null") == "contained"


def test_links_are_followed_to_what_they_lead_to() -> None:
    def resolve(path: str) -> str:
        for link, target in (("/home/me/proj/key", "/home/me/.ssh/id_rsa"), ("/home/me/proj/out", "/etc")):
            if path == link or path.startswith(link + "/"):
                return target + path[len(link) :]
        return path

    assert _risk("cat key", resolve_links=resolve) == "forbidden"
    assert (
        "outside" in judge_command_line("echo x > out/x", structs.replace(PLACE, resolve_links=resolve)).why
    )
    assert _risk("rm -rf out/x", resolve_links=resolve) == "forbidden"
    assert _risk("rm key", resolve_links=resolve) == "contained"  # the link itself


def test_another_name_of_a_protected_file_is_that_file() -> None:
    def others(path: str) -> tuple[str, ...]:
        return ("/home/me/.bashrc",) if path == "/home/me/proj/notes" else ()

    assert _risk("echo x >> notes", hard_links_of=others) == "forbidden"
    assert _risk("echo x >> other", hard_links_of=others) == "contained"


def test_a_loop_is_judged_again_with_what_its_first_turn_left() -> None:
    assert _risk('x=build; while ls; do rm -rf "$x"; x=~; done') == "forbidden"
    assert _risk('x=build; for i in 1 2; do rm -rf "$x"; x=~; done') == "forbidden"


def test_a_branch_leaves_a_variable_unknown() -> None:
    assert _risk('x=build; if ls; then x=~; fi; rm -rf "$x"') == "forbidden"
    assert _risk('x=build; ls && x=dist; rm -rf "$x"') == "forbidden"
    assert _risk('x=build; rm -rf "$x"') == "contained"


def test_a_folder_that_may_not_have_been_entered_counts_as_not_entered() -> None:
    assert _risk("cd build && rm -rf *") == "contained"
    assert _risk("cd build; rm -rf *") == "forbidden"
    assert _risk("cd build || exit 1; rm -rf *") == "contained"


def test_judging_looks_at_nothing() -> None:
    """No module of the verdicts opens files or starts anything; paths are followed by what they are handed."""
    for path in Path(app.permits.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            for name in names:
                assert name.split(".")[0] not in {
                    "os",
                    "io",
                    "pathlib",
                    "subprocess",
                    "socket",
                    "asyncio",
                    "shutil",
                }, path


@pytest.mark.parametrize(
    "line",
    [
        "sh -c '[[ a || ./m ]]'",
        "dash -c '[[ a > f ]]'",
        "sh -c '((./m))'",
        "for _ in ls; do echo ./m; $_; done",
    ],
)
def test_what_another_shell_or_the_last_argument_may_run_is_not_safe(line: str) -> None:
    assert _risk(line) != "safe"


@pytest.mark.parametrize("line", ["dd if=~/.aws/config", "dd of=~/.bashrc", "tool --config=~/.aws/config"])
def test_a_tilde_behind_an_equals_sign_is_the_home(line: str) -> None:
    assert _risk(line) == "forbidden"
