"""Rules of the project in a real session over a scripted model: in the prompt, by name, and while an answer streams."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.extensions.builtin import rules as rules_extension
from app.providers.scripted import call, say
from app.values.content import text_of
from app.values.events import AgentEnd, AgentSettled, AnswerInterrupted
from app.values.messages import AssistantMessage, ToolResultMessage
from bayou import ExtensionApi
from tests.compaction.project_session import ProjectSession
from tests.engine.scripted_session import ScriptedSession
from tests.extensions.conftest import source
from tests.extensions.extension_session import ExtensionSession


def answers(harness: ScriptedSession) -> list[str]:
    return [message.text for message in harness.session.messages if isinstance(message, AssistantMessage)]


@pytest.fixture
def rules(tmp_path: Path, monkeypatch) -> Path:
    """The person's own rules."""
    folder = tmp_path / "agent" / "rules"
    folder.mkdir(parents=True)
    (folder / "always.md").write_text("---\nalwaysApply: true\n---\nUse tabs.")
    (folder / "api.md").write_text("---\ndescription: How APIs look\n---\nUse nouns.")
    (folder / "no-todo.md").write_text("---\ncondition: FIX[M]E\n---\nLeave no notes behind.")
    (folder / "sql.md").write_text("---\ncondition: '*.sql'\ninterruptMode: never\n---\nUpper case.")
    monkeypatch.setenv("BAYOU_AGENT_DIR", str(tmp_path / "agent"))
    return folder


async def test_rules_are_in_the_prompt_and_read_by_name(tmp_path: Path, rules: Path) -> None:
    reads = call("read", "1", path="rule://api") + call("read", "2", path="rule://nope")
    ext_session = ExtensionSession(tmp_path, reads, say("ok"))
    await ext_session.load(rules_extension.extension)
    await ext_session.extensions.start()
    await ext_session.prompt("go")
    assert "Use tabs." in ext_session.asked[0].system_prompt
    assert "- api: How APIs look" in ext_session.asked[0].system_prompt
    results = [message for message in ext_session.asked[1].messages if isinstance(message, ToolResultMessage)]
    assert (text_of(results[0].content), results[0].is_error) == ("Use nouns.", False)
    assert text_of(results[1].content) == "Unknown rule: nope\nAvailable: always, api, no-todo, sql"
    assert results[1].is_error


async def test_rules_wait_for_answers_and_results_only_while_there_are_any(
    tmp_path: Path, rules: Path
) -> None:
    waited = {"turn_end", "tool_result", "message_start", "message_update", "message_end"}
    ext_session = ExtensionSession(tmp_path, say("ok"), say("ok"))
    await ext_session.load(rules_extension.extension)
    await ext_session.extensions.start()
    assert waited <= ext_session.extensions.hooks.handlers.keys()
    for file in rules.iterdir():
        file.unlink()
    await ext_session.extensions.start()
    assert not waited & ext_session.extensions.hooks.handlers.keys()
    await ext_session.prompt("go")
    assert "Use tabs." not in ext_session.asked[0].system_prompt
    (rules / "always.md").write_text("---\nalwaysApply: true\n---\nUse tabs.")
    await ext_session.extensions.start()
    assert waited & ext_session.extensions.hooks.handlers.keys() == {"turn_end", "tool_result"}
    assert "before_agent_start" not in ext_session.extensions.hooks.handlers


async def test_an_answer_that_breaks_a_rule_is_stopped_dropped_and_begun_again(
    tmp_path: Path, rules: Path
) -> None:
    gate = asyncio.Event()
    ext_session = ExtensionSession(
        tmp_path, say("Here: FIX" + "ME later, and much more", gate=gate), say("Done properly.")
    )
    await ext_session.load(rules_extension.extension, mode="tui")
    await ext_session.extensions.start()
    await ext_session.harness.session.prompt("go")
    await ext_session.harness.until(lambda: "Done properly." in answers(ext_session.harness))
    await ext_session.harness.session.wait_until_idle()
    lines = ext_session.read()
    assert lines[-1].startswith("rule-violation: Your answer was stopped because it break")
    assert "assistant" not in lines
    kept = [
        m
        for m in ext_session.harness.lines()
        if m["type"] == "message" and m["message"]["role"] == "assistant"
    ]
    assert len(kept) == 2  # the file keeps what the context does not


@pytest.mark.parametrize("mode", ["print", "json", "rpc", "tui"])
async def test_a_rule_comes_before_the_calls_of_an_answer_and_the_run_settles_once(
    tmp_path: Path, rules: Path, mode: str
) -> None:
    """However fast the answer was: it is looked at whole before anything of it runs."""
    breaks = call("write", "1", path="a.txt", content="FIX" + "ME later")
    ext_session = ExtensionSession(tmp_path, breaks, say("Done properly."))
    await ext_session.load(rules_extension.extension, mode=mode)
    await ext_session.extensions.start()
    await ext_session.prompt("go")
    assert not (tmp_path / "a.txt").exists()
    assert answers(ext_session.harness) == ["Done properly."]
    told = [
        event for event in ext_session.harness.events if isinstance(event, AgentSettled | AnswerInterrupted)
    ]
    assert [type(event).__name__ for event in told] == ["AnswerInterrupted", "AgentSettled"]
    interrupted = ext_session.harness.all(AnswerInterrupted)[0]
    assert (interrupted.custom_type, interrupted.details["rule"]) == ("rule-violation", "no-todo")
    assert [end.will_retry for end in ext_session.harness.all(AgentEnd)] == [True, False]
    assert ext_session.read()[-1].startswith("rule-violation: Your answer was stopped")
    assert "assistant" not in ext_session.read()


async def test_an_abort_is_stronger_than_a_rule(tmp_path: Path, rules: Path) -> None:
    gate = asyncio.Event()
    ext_session = ExtensionSession(tmp_path, say("Here: FIX" + "ME later", gate=gate), say("never said"))
    await ext_session.load(rules_extension.extension)
    session = ext_session.harness.session

    def stop(event: Any) -> None:
        if isinstance(event, AnswerInterrupted):
            assert session.abort_signal is not None
            session.abort_signal.set()

    session.subscribe(stop)
    await ext_session.extensions.start()
    await ext_session.prompt("go")
    assert answers(ext_session.harness) == []
    assert [settled.aborted for settled in ext_session.harness.all(AgentSettled)] == [True]


async def test_a_rule_that_does_not_interrupt_is_reported_with_the_result(
    tmp_path: Path, rules: Path
) -> None:
    ext_session = ExtensionSession(tmp_path, call("write", "1", path="a.sql", content="select"), say("ok"))
    await ext_session.load(rules_extension.extension, mode="tui")
    await ext_session.extensions.start()
    await ext_session.prompt("go")
    result = next(
        message for message in ext_session.asked[1].messages if isinstance(message, ToolResultMessage)
    )
    assert text_of(result.content).startswith('<reminder rule="sql">')
    assert (tmp_path / "a.sql").exists()


async def test_a_rule_with_globs_comes_once_when_a_file_is_touched(tmp_path: Path, rules: Path) -> None:
    (rules / "tests.md").write_text("---\nglobs: 'tests/**/*.py'\n---\nOne assert a test.")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("a = 1\n")
    (tmp_path / "b.py").write_text("b = 1\n")
    both = call("read", "1", path="tests/test_a.py") + call("read", "2", path="tests/test_a.py")
    ext_session = ExtensionSession(
        tmp_path, call("read", "0", path="b.py"), both, call("read", "3", path="tests/test_a.py"), say("ok")
    )
    await ext_session.load(rules_extension.extension)
    await ext_session.extensions.start()
    await ext_session.prompt("go")
    told = [line for line in ext_session.read() if line.startswith("project-rule: ")]
    assert len(told) == 1
    assert told[0].startswith("project-rule: For tests/test_a.py this rule counts:")
    assert "One assert a test." in str(ext_session.asked[2].messages)
    assert "One assert a test." not in str(ext_session.asked[1].messages)
    assert "tests" not in ext_session.asked[0].system_prompt


async def test_changed_settings_reload_only_builtin_extensions(
    tmp_path: Path,
) -> None:
    ext_session, begun = ExtensionSession(tmp_path, say("ok"), say("ok")), list[tuple[str, str]]()

    def named(name: str) -> Any:
        def extension(api: ExtensionApi) -> None:
            api.on("session_start", lambda event, context: begun.append((name, event.reason)))

        return extension

    theirs = source(named("theirs"), "theirs")
    own = msgspec.structs.replace(source(named("own"), "own"), origin="builtin")
    await ext_session.extensions.load([theirs, own])
    await ext_session.load()
    ext_session.hooks.settings_changed()
    assert begun == []
    await ext_session.prompt("go")
    await ext_session.prompt("go on")
    assert begun == [("own", "reload")]


async def test_a_settings_file_that_changes_counts_for_the_very_next_prompt(
    tmp_path: Path, rules: Path
) -> None:
    """Extensions too are asked about a run by the settings as they are when it begins."""
    scene = ProjectSession(tmp_path, [say("ok")] * 3)
    scene.paths.agent_dir = tmp_path / "agent"
    on = await scene.open()
    for is_enabled in (True, False, True):
        scene.settings({"rules": {"enabled": is_enabled}})
        await on.prompt("go")
        assert ("Use tabs." in on.asked[-1].system_prompt) is is_enabled
    await on.session.close()
