"""Leaving the sandbox is a question in every mode, with a reason; what it refused is told, with narrow places."""

from pathlib import Path
from typing import Any

import pytest

from app.engine.permits import ApprovalReply
from app.providers.scripted import call, say
from tests.box.conftest import skip_below
from tests.permits.test_gate import answered, results, stage

WRITES = "python3 -c \"import os; open(os.path.expanduser('~/notes/b.txt'), 'w')\""
"""Which nobody can tell before it runs."""


def boxed_stage(folder: Path, monkeypatch: pytest.MonkeyPatch, *responses: Any, **more: Any) -> Any:
    skip_below("namespaces")
    monkeypatch.setattr("app.engine.box_places.temporary_folders", lambda: ("/var/tmp",))
    play = stage(folder, *responses, mode="auto-edit", **more)
    notes = play.session.cwd.parent / "notes"
    notes.mkdir()
    monkeypatch.setenv("HOME", str(notes.parent))
    return play, notes


async def test_a_refusal_is_told_and_a_narrow_place_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = {"command": WRITES}
    play, notes = boxed_stage(
        tmp_path,
        monkeypatch,
        call("bash", **script),
        call("bash", **script, outside=True, reason="a note"),
        say("ok"),
    )
    asked = await answered(play, ApprovalReply(allows=True, rule="sandbox.write: ~/notes"))
    first = results(play)[0]
    assert "[Sandbox: writing ~/notes/b.txt was refused." in first
    (question,) = asked
    assert question.approval is not None
    assert question.approval.why == "outside the sandbox: a note"
    assert [rule.text for rule in question.approval.rules] == ["sandbox.write: ~/notes"]
    assert (notes / "b.txt").exists()
    assert play.in_force.settings.sandbox.write == ("~/notes",)


async def test_a_yes_runs_it_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asking = call("bash", command=WRITES, outside=True, reason="a note")
    play, notes = boxed_stage(
        tmp_path, monkeypatch, asking, call("bash", command="rm -f x; " + WRITES), say("ok")
    )
    await answered(play, ApprovalReply(allows=True))
    assert (notes / "b.txt").exists()
    assert "was refused" in results(play)[1], "the next one is boxed again"


async def test_without_a_reason_nobody_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play, _ = boxed_stage(tmp_path, monkeypatch, call("bash", command="make", outside=True), say("ok"))
    assert await answered(play) == []
    assert "needs a reason" in results(play)[0]


@pytest.mark.parametrize("mode", ["ask", "auto-edit", "full"])
async def test_where_nobody_can_be_asked_it_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: Any
) -> None:
    play, _ = boxed_stage(
        tmp_path,
        monkeypatch,
        call("bash", command="make x", outside=True, reason="why"),
        say("ok"),
        asks="nobody",
    )
    play.in_force.set("sandbox.mode", "required")
    play.session.permissions.set_mode(mode)
    await answered(play)
    assert "Needs approval and nobody can give it" in results(play)[0]
    assert "outside the sandbox: why" in results(play)[0]


async def test_rules_do_not_let_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play, _ = boxed_stage(
        tmp_path, monkeypatch, call("bash", command="make x", outside=True, reason="why"), say("ok")
    )
    play.session.permissions.allow("bash: make **")
    asked = await answered(play, ApprovalReply(allows=False))
    assert len(asked) == 1


async def test_hooks_that_were_not_there_are_told_when_they_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play, _ = boxed_stage(
        tmp_path,
        monkeypatch,
        call("bash", command="python3 -c 'import os; os.mkdir(\".vscode\")'"),
        say("ok"),
    )
    await answered(play)
    assert "made or changed" in results(play)[0] and ".vscode" in results(play)[0]
