"""Every command of the lists gets the letter that somebody gave it before there was a judge."""

import pytest

from app.permits.decide import Policy, decide
from app.permits.shell import judge_command
from tests.permits.lists import HERE, PLACE, listed


@pytest.mark.parametrize("name", ["commands.tsv", "second.tsv"])
def test_each_command_gets_its_letter(name: str) -> None:
    wrong = []
    for letter, command in listed(name):
        verdict = judge_command(command, PLACE)
        if verdict.risk != letter:
            wrong.append(f"{command!r}: {verdict.risk} for {letter} ({verdict.why})")
    assert not wrong, "\n".join(wrong)


def test_no_evasion_is_safe_unless_it_does_no_harm() -> None:
    rows = listed("evasions.tsv")
    assert len(rows) > 500
    weak = []
    for letter, command in rows:
        verdict = judge_command(command, PLACE)
        if verdict.risk == "safe" and letter != "safe":
            weak.append(f"{command!r}: safe, and it is {letter} ({verdict.why})")
    assert not weak, "\n".join(weak)


REWRITTEN = {
    "quotes in the name": lambda text: text[0] + "''" + text[1:],
    "a backslash": lambda text: "\\" + text,
    "env": lambda text: f"env {text}",
    "nohup": lambda text: f"nohup {text}",
    "a subshell": lambda text: f"({text})",
    "a group": lambda text: f"{{ {text}; }}",
    "a substitution": lambda text: f"echo $({text})",
    "a quoted substitution": lambda text: f'echo "$({text})"',
    "a here-document": lambda text: f"bash <<'END'\n{text}\nEND",
    "a substitution in a here-document": lambda text: f"cat <<END\n$({text})\nEND",
    "a function": lambda text: f"f() {{ {text}; }}; f",
    "a line continuation": lambda text: text.replace(" ", " \\\n", 1) if "<<" not in text else text,
    "a comment behind": lambda text: f"{text} # harmless",
    "in the background": lambda text: f"{text} & ls",
    "behind another": lambda text: f"ls; {text}",
    "behind a pipe": lambda text: f"ls | {text}",
    "a condition": lambda text: f"if {text}; then ls; fi",
    "a loop": lambda text: f"for i in 1 2; do {text}; done",
    "time": lambda text: f"time {text}",
    "process substitution": lambda text: f"cat <({text})",
    "a shell": lambda text: "bash -c '" + text.replace("'", "'\\''") + "'",
    "eval": lambda text: "eval '" + text.replace("'", "'\\''") + "'",
}


@pytest.mark.parametrize("way", REWRITTEN)
def test_what_is_the_floor_stays_at_least_unknown_however_it_is_written(way: str) -> None:
    weak = []
    floor = [command for letter, command in listed("commands.tsv") if letter == "forbidden"]
    assert len(floor) > 40
    for command in floor:
        if "cd " in command and way in ("env", "behind a pipe"):
            continue  # a folder that is changed elsewhere is not changed here
        if ":()" in command and way == "a backslash":
            continue  # then it is the function that has another name
        changed = REWRITTEN[way](command)
        verdict = judge_command(changed, PLACE)
        if verdict.risk == "safe":
            weak.append(f"{changed!r}: {verdict.risk} ({verdict.why})")
    assert not weak, "\n".join(weak)


def test_an_ordinary_day_asks_for_one_command_in_twenty_at_most() -> None:
    """With a box, in `auto-edit`: what uses the network asks, what is the floor, and what nobody knows."""
    day = [line.replace("¶", "\n") for line in (HERE / "day.tsv").read_text().splitlines()]
    assert len(day) >= 500
    policy = Policy(mode="auto-edit", has_box=True)
    asked = [
        command
        for command in day
        if decide(judge_command(command, PLACE), "bash", policy, PLACE).outcome != "run"
    ]
    assert len(asked) <= len(day) / 20, asked
