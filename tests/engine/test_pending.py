"""Staged changes: the tool is declared meanwhile, applying is judged, and undo works."""

from pathlib import Path
from typing import Any

import pytest

from app.engine.context.branch_summary import NavigationOptions
from app.engine.core.user_questions import ApprovalReply
from app.engine.files.pending_changes import (
    LOST_PENDING_CHANGES_MESSAGE_TYPE,
    PENDING_REMINDER_MESSAGE_TYPE,
    RequestedFileChange,
)
from app.providers.scripted import call, say
from app.sessions.session_log import SessionLog
from app.values.content import text_of
from app.values.entries import CustomEntry
from app.values.messages import CustomMessage
from app.values.pending import PendingChanged
from app.values.user_errors import UserError
from tests.engine.scripted_session import ScriptedSession
from tests.permits.test_gate import gated_session, questions_asked, results

REWRITE: dict[str, Any] = {"rewrites": [{"pattern": "old($A)", "replacement": "new($A)"}]}


def begun(folder: Path, *responses: Any, **more: Any) -> ScriptedSession:
    harness = gated_session(folder, *responses, **more)
    harness.session.tools.set_active_tools([*harness.session.tools.active_tools(), "resolve", "ast_edit"])
    (harness.session.cwd / "a.js").write_text("old(1);\n")
    return harness


async def test_resolve_is_declared_only_while_something_waits(tmp_path: Path) -> None:
    harness = begun(
        tmp_path,
        call("ast_edit", **REWRITE),
        call("resolve", action="apply", reason="wanted"),
        say("done"),
        asks="none",
        mode="full",
    )
    assert "resolve" not in harness.session.tools.active_tools()
    seen: list[bool] = []
    harness.session.subscribe(lambda event: seen.append("resolve" in harness.session.tools.active_tools()))
    await harness.prompt("go")
    assert True in seen and not seen[-1]
    assert "Nothing was written yet" in results(harness)[0] and results(harness)[1].startswith(
        "Applied: AST Edit"
    )
    assert (harness.session.cwd / "a.js").read_text() == "new(1);\n"
    told = harness.all(PendingChanged)
    assert [len(event.waiting) for event in told] == [1, 0]
    assert told[1].resolved is not None and told[1].resolved.by == "model" and told[1].resolved.is_done
    entries = [one.data for one in harness.session.log.entries if isinstance(one, CustomEntry)]
    assert any(data.get("action") == "apply" and data["files"] == ["a.js"] for data in entries if data)


async def test_resolve_with_nothing_pending_answers_in_its_own_words(tmp_path: Path) -> None:
    harness = begun(
        tmp_path, call("resolve", action="apply", reason="x"), say("ok"), asks="none", mode="full"
    )
    await harness.prompt("go")
    assert "resolve" not in harness.session.tools.active_tools()
    assert results(harness)[0] == "No pending action to resolve. Nothing to apply or discard."


async def test_what_is_staged_is_judged_when_it_is_applied(tmp_path: Path) -> None:
    harness = begun(
        tmp_path,
        call("ast_edit", **REWRITE),
        call("resolve", action="apply", reason="x"),
        call("resolve", action="discard", reason="x"),
        say("ok"),
        mode="ask",
    )
    asked = await questions_asked(harness, ApprovalReply(is_allowed=False))
    assert [event.approval.parts[0].text for event in asked if event.approval] == ["edit a.js"]
    assert (harness.session.cwd / "a.js").read_text() == "old(1);\n"
    assert results(harness)[2].startswith("Discarded: ")


async def test_the_floor_holds_for_what_an_extension_stages(tmp_path: Path) -> None:
    harness = begun(
        tmp_path, call("resolve", action="apply", reason="x"), say("ok"), asks="none", mode="full"
    )
    await harness.session.pending.stage_changes(
        "hook", "custom_tool", [RequestedFileChange(path=".git/hooks/pre-commit", text="x")]
    )
    await harness.prompt("go")
    assert "no user can give it" in results(harness)[0]
    assert not (harness.session.cwd / ".git").exists()


async def test_a_person_answers_first_and_the_model_hears_of_it(tmp_path: Path) -> None:
    harness = begun(
        tmp_path, call("ast_edit", **REWRITE), say("Shall I?"), say("fine"), asks="none", mode="full"
    )
    await harness.prompt("go")
    [waiting] = harness.session.pending.waiting_actions
    resolved = await harness.session.pending.apply_or_discard(None, "apply", "")
    assert resolved.is_done and resolved.staged is waiting
    assert (harness.session.cwd / "a.js").read_text() == "new(1);\n"
    await harness.prompt("and?")
    told = [text_of(one.content) for one in harness.session.messages if isinstance(one, CustomMessage)]
    assert any("The user applied the staged changes. Applied: AST Edit" in text for text in told)
    with pytest.raises(UserError, match="No pending action to resolve"):
        await harness.session.pending.apply_or_discard(None, "discard", "")


async def test_the_words_of_an_answer_have_their_secrets_masked(tmp_path: Path) -> None:
    key = "ghp_" + "Ab3d" * 9
    harness = begun(tmp_path, asks="none", mode="full")
    await harness.session.pending.stage_changes("a file", "mine", [RequestedFileChange(path="b", text="b\n")])
    resolved = await harness.session.pending.apply_or_discard(None, "discard", f"not with {key}")
    assert "not with [secret:github-token:" in resolved.text
    assert key not in str([*harness.all(PendingChanged), *harness.session.log.entries])


async def test_going_elsewhere_in_the_tree_ends_what_waits(tmp_path: Path) -> None:
    harness = begun(tmp_path, say("first"), call("ast_edit", **REWRITE), say("ok?"), asks="none", mode="full")
    await harness.prompt("one")
    place = harness.session.log.entries[-1].id
    await harness.prompt("go")
    assert len(harness.session.pending.waiting_actions) == 1
    await harness.session.branches.go_to_entry(place, NavigationOptions())
    assert harness.session.pending.waiting_actions == ()
    outcome = harness.all(PendingChanged)[-1].resolved
    assert outcome is not None and outcome.action == "discard"
    assert (harness.session.cwd / "a.js").read_text() == "old(1);\n"


def told_lost(harness: ScriptedSession) -> list[str]:
    return [
        text_of(one.content)
        for one in harness.session.messages
        if isinstance(one, CustomMessage) and one.custom_type == LOST_PENDING_CHANGES_MESSAGE_TYPE
    ]


async def test_lost_staged_changes_are_reported_once(tmp_path: Path) -> None:
    harness = begun(tmp_path, call("ast_edit", **REWRITE), say("Shall I?"), asks="none", mode="full")
    await harness.prompt("go")
    file = harness.session.log.path
    assert file is not None and len(harness.session.pending.waiting_actions) == 1
    await harness.session.close()
    again = begun(tmp_path, say("I see."), say("ok"), asks="none", mode="full", log=SessionLog.open(file))
    assert again.session.pending.waiting_actions == ()
    again.session.branches.restore_session(restores_model=False)
    await again.prompt("yes, apply it")
    await again.prompt("well?")
    await again.session.close()
    [text] = told_lost(again)
    assert "AST Edit: 1 replacement in 1 file" in text and "Nothing of it was written" in text
    once_more = begun(tmp_path, say("ok"), asks="none", mode="full", log=SessionLog.open(file))
    once_more.session.branches.restore_session(restores_model=False)
    await once_more.prompt("and now?")
    assert len(told_lost(once_more)) == 1


async def test_what_was_answered_is_not_told_to_be_gone(tmp_path: Path) -> None:
    both = call("ast_edit", **REWRITE) + call("edit", path="a.js", edits=[{"oldText": "(", "newText": " ("}])
    apply = call("resolve", action="apply", reason="so")
    harness = begun(tmp_path, both, apply, say("done"), asks="none", mode="full")
    await harness.prompt("go")
    file = harness.session.log.path
    assert file is not None and harness.session.pending.waiting_actions == ()
    await harness.session.close()
    again = begun(tmp_path, say("ok"), asks="none", mode="full", log=SessionLog.open(file))
    again.session.branches.restore_session(restores_model=False)
    await again.prompt("and?")
    assert told_lost(again) == []


async def test_what_others_stage_is_bytes_or_a_deed(tmp_path: Path) -> None:
    harness = begun(tmp_path, asks="none", mode="full")
    done: list[str] = []

    async def apply(reason: str) -> str:
        done.append(reason)
        return "Sent."

    await harness.session.pending.stage_changes(
        "two files",
        "mine",
        [RequestedFileChange(path="a.js", text=None), RequestedFileChange(path="b", text="b\n")],
    )
    await harness.session.pending.stage_changes("a deed", "mine", apply=apply)
    with pytest.raises(UserError, match="Several actions wait"):
        await harness.session.pending.apply_or_discard(None, "apply", "")
    first, second = harness.session.pending.waiting_actions
    await harness.session.pending.apply_or_discard(first.id, "apply", "yes")
    assert not (harness.session.cwd / "a.js").exists() and (harness.session.cwd / "b").read_text() == "b\n"
    resolved = await harness.session.pending.apply_or_discard(second.id, "apply", "please", by="extension")
    assert (resolved.text, done) == ("Sent.", ["please"])
    with pytest.raises(UserError, match="nothing to stage"):
        await harness.session.pending.stage_changes("empty", "mine")


def reminded(harness: ScriptedSession) -> list[str]:
    messages = [one for one in harness.session.messages if isinstance(one, CustomMessage)]
    assert not any(one.display for one in messages if one.custom_type == PENDING_REMINDER_MESSAGE_TYPE)
    return [text_of(one.content) for one in messages if one.custom_type == PENDING_REMINDER_MESSAGE_TYPE]


async def test_an_agent_with_staged_changes_is_reminded_once(tmp_path: Path) -> None:
    harness = begun(
        tmp_path,
        call("ast_edit", **REWRITE),
        say("All is renamed."),
        say("It waits for you."),
        say("Still there."),
        asks="none",
        mode="full",
    )
    await harness.prompt("go")
    [said] = reminded(harness)
    assert "p1: AST Edit: 1 replacement in 1 file" in said and "Call resolve" in said
    assert len(harness.session.pending.waiting_actions) == 1
    await harness.prompt("and?")
    assert len(reminded(harness)) == 1


async def test_a_reminder_is_answered_with_the_tool(tmp_path: Path) -> None:
    harness = begun(
        tmp_path,
        call("ast_edit", **REWRITE),
        say("Done."),
        call("resolve", action="apply", reason="forgotten"),
        say("Now it is."),
        asks="none",
        mode="full",
    )
    await harness.prompt("go")
    assert len(reminded(harness)) == 1 and not harness.session.pending.waiting_actions
    assert (harness.session.cwd / "a.js").read_text() == "new(1);\n"


async def test_who_asks_the_person_or_has_no_tool_to_answer_with_is_not_reminded(tmp_path: Path) -> None:
    harness = begun(tmp_path, call("ast_edit", **REWRITE), say("Shall I apply it?"), asks="none", mode="full")
    await harness.prompt("go")
    assert reminded(harness) == [] and len(harness.session.pending.waiting_actions) == 1
    other = begun(tmp_path / "other", call("ast_edit", **REWRITE), say("Done."), asks="none", mode="full")
    other.session.tools.set_active_tools(
        [name for name in other.session.tools.active_tools() if name != "resolve"]
    )
    await other.prompt("go")
    assert reminded(other) == [] and len(other.session.pending.waiting_actions) == 1
