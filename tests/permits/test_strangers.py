"""Programs that nobody here knows: what they are told as, what the modes make of them, and what lets them run."""

import msgspec
import pytest

from app.permits.decide import Mode, Policy, decide, would_answer
from app.permits.letters import CallPart
from app.permits.rules import PermitRule, offered, parse
from app.permits.shell import judge_command
from tests.permits.lists import PLACE

OWN = msgspec.structs.replace(
    PLACE, has_program=lambda name, folders: name in ("frobnicate", "curl", "rm", "sudo")
)


def outcome(
    command: str, mode: Mode = "auto-edit", *, rules: tuple[str, ...] = (), has_box: bool = True
) -> str:
    allowed = [rule for text in rules if isinstance(rule := parse(text, "allow", "session"), PermitRule)]
    policy = Policy(mode=mode, has_box=has_box, rules=allowed)
    return decide(judge_command(command, PLACE), "bash", policy, PLACE).outcome


def stranger(command: str) -> CallPart:
    return next(part for part in judge_command(command, PLACE).parts if part.stranger)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("frobnicate", "frobnicate"),
        ("frobnicate --version", "frobnicate"),
        ("ls | frobnicate -x", "frobnicate"),
        ("env A=1 timeout 5 frobnicate", "frobnicate"),
        ("for f in a b; do frobnicate $f; done", "frobnicate"),
        ("xargs frobnicate < list", "frobnicate"),
        ("/opt/x/bin/frobnicate", "/opt/x/bin/frobnicate"),
        ("~/.local/bin/frobnicate", "/home/me/.local/bin/frobnicate"),
        ("../other/run", "../other/run"),
        ("cargo frobnicate", "cargo frobnicate"),
        ("ghcup frobnicate now", "ghcup frobnicate"),
    ],
)
def test_what_nobody_knows_only_the_run_will_tell(command: str, name: str) -> None:
    verdict = judge_command(command, PLACE)
    assert (verdict.letter, stranger(command).stranger) == ("U", name)
    assert "nobody here knows" in verdict.why


@pytest.mark.parametrize("command", ["$CMD --version", '"$(cat name)" x', "сurl x", "l''s$x", "frob*"])
def test_a_program_without_a_name_is_asked_about_and_no_rule_names_it(command: str) -> None:
    part = stranger(command)
    assert (outcome(command), offered(part, "bash", PLACE)) == ("ask", ())
    assert outcome(command, rules=("bash: … **", "bash: * x", "bash: сurl **")) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "./frobnicate",
        "bin/frobnicate",
        "/home/me/proj/x/frobnicate",
        "/tmp/try.sh",
        "uv run frobnicate",
        "poetry run frobnicate",
        "bundle exec frobnicate",
        "pnpm exec frobnicate",
        "npm run frobnicate",
        "make frobnicate",
        "cargo build",
    ],
)
def test_what_is_of_the_project_runs_other_code(command: str) -> None:
    assert judge_command(command, PLACE).letter == "X"


def test_a_program_that_the_project_has_is_its_own() -> None:
    assert judge_command("frobnicate all", OWN).letter == "X"
    assert outcome("frobnicate all") == "ask"
    policy = Policy(mode="auto-edit", has_box=True)
    assert decide(judge_command("frobnicate all", OWN), "bash", policy, OWN).outcome == "run"


@pytest.mark.parametrize(
    ("command", "letter"),
    [
        ("curl https://example.org", "N"),
        ("rm -rf ~", "F"),
        ("sudo frobnicate", "F"),
        ("frobnicate publish", "F"),
        ("frobnicate login", "N"),
        ("frobnicate --out /etc/x", "F"),
        ("frobnicate rm -rf ~", "F"),
        ("frobnicate > ~/.bashrc", "F"),
    ],
)
def test_what_a_project_declares_makes_nothing_weaker(command: str, letter: str) -> None:
    assert judge_command(command, OWN).letter == judge_command(command, PLACE).letter == letter


@pytest.mark.parametrize(
    ("mode", "has_box", "expected"),
    [
        ("read-only", True, "refuse"),
        ("ask", True, "ask"),
        ("auto-edit", True, "ask"),
        ("auto-edit", False, "ask"),
        ("full", False, "run"),
    ],
)
def test_the_modes(mode: Mode, has_box: bool, expected: str) -> None:
    assert outcome("frobnicate", mode, has_box=has_box) == expected


def test_what_only_the_run_will_tell_runs_in_a_box_as_before() -> None:
    assert outcome('rm "$f"') == "run"


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("frobnicate all", ("bash: frobnicate all", "bash: frobnicate **")),
        ("frobnicate", ("bash: frobnicate", "bash: frobnicate **")),
        ('frobnicate "$x"', ("bash: frobnicate **",)),
        ("frobnicate 'a b'", ("bash: frobnicate **",)),
        ("cargo frobnicate x", ("bash: cargo frobnicate x", "bash: cargo frobnicate **", "bash: cargo **")),
    ],
)
def test_the_rules_that_are_offered_answer_the_question(command: str, rules: tuple[str, ...]) -> None:
    part = stranger(command)
    assert offered(part, "bash", PLACE) == rules
    for rule in rules:
        assert outcome(command, rules=(rule,)) == "run"
        assert would_answer(rule, [("bash", part)], PLACE) == 1


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("frobnicate; blobnicate", "bash: frobnicate **"),
        ("frobnicate2", "bash: frobnicate **"),
        ("x/../../frobnicate", "bash: frobnicate **"),
        ('frobnicate "$x"', "bash: frobnicate all"),
        ('frobnicate "$x"', "bash: frobnicate all **"),
        ("frobnicate publish", "bash: frobnicate **"),
        ("frobnicate rm -rf ~", "bash: frobnicate **"),
    ],
)
def test_a_rule_for_one_program_lets_nothing_else_run(command: str, rule: str) -> None:
    assert outcome(command, rules=(rule,)) == "ask"


def test_no_rule_lets_run_what_else_cannot_be_told() -> None:
    """The program may; where it writes, or what else runs, is judged as ever."""
    command = 'frobnicate > "$OUT"'
    assert [part.stranger for part in judge_command(command, PLACE).parts] == ["frobnicate", ""]
    assert outcome(command, "ask", rules=("bash: frobnicate **",)) == "ask"
    assert outcome('eval "$x"', "ask", rules=("bash: eval **",)) == "ask"


def test_the_network_asks_also_where_something_cannot_be_told() -> None:
    assert judge_command('git push "$remote" main', PLACE).letter == "U"
    assert outcome('git push "$remote" main') == "ask"
