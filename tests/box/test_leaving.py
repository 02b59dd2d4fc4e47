"""Leaving the sandbox is asked about in every mode, with a reason; refusals are reported with narrow places."""

from pathlib import Path
from typing import Any

import pytest

from app.engine.permissions.permission_gate import ApprovalReply
from app.permits.permit_rules import PermitRule
from app.providers.scripted import call, say
from app.values.events import QuestionAsked
from tests.box.conftest import skip_below
from tests.permits.test_gate import gated_session, questions_asked, results

WRITES = "python3 -c \"import os; open(os.path.expanduser('~/notes/b.txt'), 'w')\""
"""A command whose effects are unknown before it runs."""


def boxed_session(folder: Path, monkeypatch: pytest.MonkeyPatch, *responses: Any, **more: Any) -> Any:
    skip_below("namespaces")
    monkeypatch.setattr("app.engine.sandbox.sandbox_places.temporary_folders", lambda: ("/var/tmp",))
    harness = gated_session(folder, *responses, mode="auto-edit", **more)
    notes = harness.session.cwd.parent / "notes"
    notes.mkdir()
    monkeypatch.setenv("HOME", str(notes.parent))
    return harness, notes


async def test_a_refusal_is_reported_and_a_narrow_place_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = {"command": WRITES}
    harness, notes = boxed_session(
        tmp_path,
        monkeypatch,
        call("bash", **script),
        call("bash", **script, outside=True, reason="a note"),
        say("ok"),
    )
    asked = await questions_asked(harness, ApprovalReply(is_allowed=True, rule="sandbox.write: ~/notes"))
    first = results(harness)[0]
    assert "[Sandbox: writing ~/notes/b.txt was refused." in first
    (question,) = asked
    assert question.approval is not None
    assert question.approval.why == "outside the sandbox: a note"
    assert [rule.text for rule in question.approval.rules] == ["sandbox.write: ~/notes"]
    assert (notes / "b.txt").exists()
    assert harness.effective_settings.settings.sandbox.write == ("~/notes",)


async def asked_for(harness: Any, *replies: Any) -> list[Any]:
    return [one.approval for one in await questions_asked(harness, *replies) if one.approval]


async def test_the_result_says_what_to_ask_for_and_exactly_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = WRITES.replace("~/notes", "~/other")
    ask = {"allow": ["write ~/notes"], "reason": "the note"}
    harness, notes = boxed_session(
        tmp_path,
        monkeypatch,
        call("bash", command=WRITES),
        call("bash", command=f"{WRITES}; {other}", **ask),
        call("bash", command=WRITES.replace("b.txt", "c.txt")),
        say("ok"),
    )
    (notes.parent / "other").mkdir()
    (question,) = await asked_for(harness, ApprovalReply(is_allowed=True))
    first, second, third = results(harness)
    assert 'the same call with allow: ["write ~/notes"] and a reason' in first
    assert not (notes / "c.txt").exists() and "was refused" in third, "it counted for its call alone"
    assert (question.parts[0].text, question.why) == ("allow writing ~/notes", "the note")
    assert question.confirmation_word is None
    assert (notes / "b.txt").exists() and "writing ~/other/b.txt was refused" in second


async def test_always_for_this_project_keeps_the_place_for_this_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = call("bash", command=WRITES, allow=["write ~/notes/b.txt"], reason="the note")
    harness, notes = boxed_session(tmp_path, monkeypatch, ask, call("bash", command=WRITES), ask, say("ok"))
    reply = ApprovalReply(is_allowed=True, rule="sandbox.write: ~/notes", rule_scope="project")
    (question,) = await asked_for(harness, reply)
    assert [rule.text for rule in question.rules] == ["sandbox.write: ~/notes"]
    assert (notes / "b.txt").exists() and not any("refused" in text for text in results(harness))
    assert list(harness.effective_settings.settings.permissions.allow_in.values()) == [
        ("sandbox.write: ~/notes",)
    ]
    assert harness.effective_settings.settings.sandbox.write == ()


@pytest.mark.parametrize(
    ("wanted", "word"),
    [("read ~/.ssh/id_rsa", ".ssh"), ("write ~/.bashrc", ".bashrc"), ("write .envrc", ".envrc")],
)
async def test_what_is_hidden_or_runs_later_wants_a_typed_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, word: str
) -> None:
    harness, notes = boxed_session(
        tmp_path, monkeypatch, call("bash", command="make x", allow=[wanted], reason="it has to"), say("ok")
    )
    (notes.parent / ".ssh").mkdir()
    (notes.parent / ".ssh/id_rsa").write_text("x")
    (notes.parent / ".bashrc").write_text("x")
    (harness.session.cwd / ".envrc").write_text("")
    (question,) = await asked_for(harness, ApprovalReply(is_allowed=False))
    assert question.confirmation_word == word and question.rules == ()


async def test_a_typed_word_shows_what_was_hidden_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = "os.listdir(os.path.expanduser('~/{}'))"
    read = f'python3 -c "import os; print({names.format(".ssh")}, {names.format(".aws")})"'
    ask = call("bash", command=read, allow=["read ~/.ssh/config"], reason="it has to")
    harness, notes = boxed_session(tmp_path, monkeypatch, ask, say("ok"))
    for name in (".ssh", ".aws"):
        (notes.parent / name).mkdir()
        (notes.parent / name / "config").write_text("x")
    await asked_for(harness, ApprovalReply(is_allowed=True))
    assert "['config'] []" in results(harness)[0]


async def test_a_host_is_asked_for_by_name_and_rules_answer_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = call("bash", command="make x", allow=["reach one.example.invalid:443"], reason="it has to")
    harness, _ = boxed_session(tmp_path, monkeypatch, ask, ask, say("ok"))
    reply = ApprovalReply(is_allowed=True, rule="net: one.example.invalid:443")
    (question,) = await asked_for(harness, reply)
    assert question.parts[0].text == "allow reaching one.example.invalid:443"
    assert [rule.text for rule in question.rules] == ["net: one.example.invalid:443"]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("write ~/not-there", "only your whole home folder"),
        ("write /", "only your whole home folder"),
        ("delete ~/notes", "allow takes forms such as"),
        ("reach nowhere:x", "allow takes forms such as"),
    ],
)
async def test_what_cannot_be_asked_for_is_reported_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, told: str
) -> None:
    ask = call("bash", command="touch ran", allow=[wanted], reason="it has to")
    harness, _ = boxed_session(tmp_path, monkeypatch, ask, say("ok"))
    assert await asked_for(harness) == []
    assert told in results(harness)[0] and not (harness.session.cwd / "ran").exists()


async def test_what_every_command_may_do_is_not_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = call("bash", command="touch ran", allow=["write src", "read README.md"], reason="it has to")
    harness, _ = boxed_session(tmp_path, monkeypatch, ask, say("ok"))
    assert await asked_for(harness) == []
    assert (harness.session.cwd / "ran").exists()


async def test_a_yes_runs_it_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asking = call("bash", command=WRITES, outside=True, reason="a note")
    harness, notes = boxed_session(
        tmp_path, monkeypatch, asking, call("bash", command="rm -f x; " + WRITES), say("ok")
    )
    await questions_asked(harness, ApprovalReply(is_allowed=True))
    assert (notes / "b.txt").exists()
    assert "was refused" in results(harness)[1], "the next one is boxed again"


async def test_a_request_without_a_reason_is_not_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness, _ = boxed_session(
        tmp_path,
        monkeypatch,
        call("bash", command="make", outside=True),
        call("bash", command="make", allow=["reach one.example.invalid:443"]),
        say("ok"),
    )
    assert await questions_asked(harness) == []
    assert all("need a reason" in text for text in results(harness))


@pytest.mark.parametrize("mode", ["ask", "auto-edit", "full"])
async def test_without_a_user_the_request_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: Any
) -> None:
    harness, _ = boxed_session(
        tmp_path,
        monkeypatch,
        call("bash", command="make x", outside=True, reason="why"),
        call("bash", command="make x", allow=["write ~/notes"], reason="why"),
        say("ok"),
        asks="none",
    )
    harness.effective_settings.set("sandbox.mode", "required")
    harness.session.permissions.rules.set_mode(mode)
    await questions_asked(harness)
    assert "Needs approval, and no user can give it" in results(harness)[0]
    assert "outside the sandbox: why" in results(harness)[0]
    assert "Needs approval, and no user can give it" in results(harness)[1]
    assert "allow writing ~/notes" in results(harness)[1]


async def test_rules_do_not_let_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    harness, _ = boxed_session(
        tmp_path, monkeypatch, call("bash", command="make x", outside=True, reason="why"), say("ok")
    )
    harness.session.permissions.rules.add_allow_rule("bash: make **")
    asked = await questions_asked(harness, ApprovalReply(is_allowed=False))
    assert len(asked) == 1


async def test_a_folder_that_runs_later_is_moved_away_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness, _ = boxed_session(
        tmp_path,
        monkeypatch,
        call("bash", command="python3 -c 'import os; os.mkdir(\".vscode\")'"),
        say("ok"),
    )
    await questions_asked(harness)
    assert "it was moved to" in results(harness)[0] and ".vscode" in results(harness)[0]


async def test_a_yes_after_a_change_of_mode_runs_the_command_as_the_new_mode_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness, notes = boxed_session(tmp_path, monkeypatch, call("bash", command=WRITES), say("ok"))
    rules = harness.session.permissions.rules
    rules.set_mode("full")
    rules.add_rule(PermitRule(action="ask", kind="bash", pattern="python3 **", origin="session"))

    def answer(event: Any) -> None:
        if isinstance(event, QuestionAsked) and event.approval is not None:
            rules.set_mode("auto-edit")
            event.answer.set_result(ApprovalReply(is_allowed=True))

    harness.session.subscribe(answer)
    await harness.prompt("go")
    assert "writing ~/notes/b.txt was refused" in results(harness)[0]
    assert not (notes / "b.txt").exists()
