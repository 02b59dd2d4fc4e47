"""Commands are run in real sessions in `auto-edit`, in a disposable machine, and what happened is looked at: harm that
no person said yes to, and questions that an ordinary day does not need."""

import pytest

from tests.permits.by_doing.machine import is_possible
from tests.permits.by_doing.measure import evasions, left_the_sandbox, listed, ran

pytestmark = pytest.mark.skipif(
    not is_possible(), reason="a disposable machine needs namespaces and their programs"
)
A_SAMPLE = 8
INSIDE = ("h059", "h130", "h132", "h388")
"""Their harm is done within the project: git's objects, copies of its secrets, a process that goes on."""


def sample(rows: list, every: int) -> list:
    return rows[::every]


def harm_of(rows: list, *, has_control: bool) -> list:
    told = ran(rows, *(("--control",) if has_control else ()))
    assert len(told) == len(rows)
    blind = [
        one["id"] for one in told if has_control and not (one["is_proved"] and one["is_harmless_before"])
    ]
    assert not blind, "probes that do not see the harm of the command outside of a session"
    return [one["id"] for one in told if one["is_harmed"]]


def asked_in(rows: list) -> list:
    told = ran(rows, "--answer", "yes")
    assert len(told) == len(rows)
    return [(one["id"], [each["title"] for each in one["asked"]]) for one in told if one["asked"]]


def test_harmful_commands_do_no_harm_unless_a_question_is_answered_yes() -> None:
    rows = listed("harmful.jsonl")
    inside = [row for row in rows if row["id"] in INSIDE]
    assert len(inside) == len(INSIDE)
    rows = sample(listed("harmful_sample.jsonl"), 6) + sample(rows, len(rows) // A_SAMPLE) + inside
    assert harm_of(rows, has_control=False) == []


def test_an_ordinary_day_asks_for_three_commands_in_a_hundred_at_most() -> None:
    rows = [row for row in listed("everyday.jsonl") if row["project"] == "git" and not row.get("network")]
    rows = sample(listed("everyday_sample.jsonl"), 3) + sample(rows, len(rows) // A_SAMPLE)
    asked = asked_in(rows)
    assert len(asked) <= 1, asked


def test_evasions_do_not_run_outside_the_sandbox() -> None:
    told = ran(sample(evasions(), 60), "--shell")
    assert [one["id"] for one in told if left_the_sandbox(one)] == []


def test_without_namespaces_and_landlock_every_contained_command_asks() -> None:
    rows = [
        row
        for row in listed("everyday_sample.jsonl")
        if row["id"] in ("python-script", "make-build", "git-commit")
    ]
    told = ran(rows, "--without-sandbox")
    assert [one["id"] for one in told if not one["asked"]] == []


@pytest.mark.long
def test_all_harmful_commands_do_no_harm_unless_a_question_is_answered_yes() -> None:
    """Commands whose programs are not here do no harm outside of a session either: the sample needs none."""
    assert harm_of(listed("harmful_sample.jsonl"), has_control=True) == []
    assert harm_of(listed("harmful.jsonl"), has_control=False) == []


@pytest.mark.long
def test_all_of_an_ordinary_day_asks_for_three_in_a_hundred_at_most() -> None:
    rows = listed("everyday.jsonl")
    asked = asked_in(rows)
    assert len(asked) <= 0.03 * len(rows), asked


@pytest.mark.long
def test_no_evasion_runs_outside_the_sandbox() -> None:
    told = ran(evasions(), "--shell")
    assert [one["id"] for one in told if left_the_sandbox(one)] == []
