"""What stays in force behind a compaction: context files, active skills, an extension's plan. Looked for in the very
request that goes to the model after it.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from app.compaction.summary_requests import SUMMARY_SYSTEM_PROMPT
from app.engine.context_breakdown import break_down_context
from app.engine.core.active_skills import ACTIVE_SKILLS_SECTION
from app.engine.core.conversation import Conversation
from app.providers.model_stream import RequestContext
from app.providers.scripted import ScriptedAnswer, call, say
from app.sessions.session_log import SessionLog
from app.values.content import text_of
from app.values.entries import CompactionEntry, Entry
from tests.compaction.project_session import ProjectSession
from tests.support.sessions import parts_of

SKILL = """\
---
name: changelog
description: Writes the changelog. Use when asked for one.
---
Group entries by what people notice. Never mention commit ids.
"""
RULE = "Never mention commit ids."
LONG = "many words " * 300


def answer(context: RequestContext, count: int) -> ScriptedAnswer:
    return say("## Goal\nA changelog" if context.system_prompt == SUMMARY_SYSTEM_PROMPT else LONG)


def scene(home: Path, *first: ScriptedAnswer) -> ProjectSession:
    made = ProjectSession(home, (*first, *([answer] * 20)))
    made.settings({"compaction": {"keepRecentTokens": 300}})
    made.write("AGENTS.md", "Answer in the project's own words.")
    made.write("~/.bayou/agent/skills/changelog/SKILL.md", SKILL)
    return made


def in_messages(context: RequestContext) -> str:
    return "\n".join(text_of(getattr(message, "content", "") or "") for message in context.messages)


async def test_context_files_and_a_called_skill_are_in_the_request_after_a_compaction(tmp_path: Path) -> None:
    on = await scene(tmp_path).open()
    await on.prompt("/skill:changelog for 1.2")
    await on.prompt("go on")
    before = on.asked[-1]
    assert RULE in in_messages(before) and RULE not in before.system_prompt
    await on.session.compaction.compact()
    await on.prompt("and on")
    after = on.asked[-1]
    assert RULE not in in_messages(after), "the prompt with the skill was summarised"
    assert RULE in after.system_prompt and '<skill name="changelog"' in after.system_prompt
    assert "Answer in the project's own words." in after.system_prompt
    assert [tool.name for tool in after.tools] == [tool.name for tool in before.tools]
    # The compaction itself carries the whole prompt: nothing has to be declared anew.
    entry = next(one for one in on.session.log.path_to() if isinstance(one, CompactionEntry))
    assert entry.system_message is not None and ACTIVE_SKILLS_SECTION in (entry.system_message.sections or {})
    assert on.prompt_now() == after.system_prompt


async def test_a_skill_that_the_model_read_by_itself_stays_too(tmp_path: Path) -> None:
    path = tmp_path / ".bayou/agent/skills/changelog/SKILL.md"
    on = await scene(tmp_path, call("read", path=str(path)), say(LONG)).open()
    await on.prompt("write the changelog")
    await on.prompt("go on")
    await on.session.compaction.compact()
    await on.prompt("and on")
    assert RULE not in in_messages(on.asked[-1])
    assert f'<skill name="changelog" location="{path}">' in on.asked[-1].system_prompt


async def test_it_stays_through_five_compactions_and_a_resume(tmp_path: Path) -> None:
    on = await scene(tmp_path).open()
    await on.prompt("/skill:changelog for 1.2")
    for number in range(5):
        await on.prompt(f"prompt {number}")
        await on.session.compaction.compact()
    await on.prompt("and on")
    assert on.asked[-1].system_prompt.count(RULE) == 1
    path = on.session.log.path
    assert path is not None
    declared = on.prompt_now()
    await on.session.close()
    again = await scene(tmp_path).open(session=str(path))
    await again.prompt("after resuming")
    assert again.asked[-1].system_prompt == declared
    await again.session.close()


async def test_the_prompt_of_a_resumed_session_is_that_of_the_place_where_it_was_left(tmp_path: Path) -> None:
    """The prompt stays the same, because the provider has it already."""
    on = await scene(tmp_path).open()
    for text in ("/skill:changelog for 1.2", "go on"):
        await on.prompt(text)
    await on.session.compaction.compact()
    path, declared = on.session.log.path, on.prompt_now()
    assert path is not None and RULE in declared
    await on.session.close()
    again = await scene(tmp_path).open(session=str(path))
    await again.prompt("/skill:changelog for 1.3")
    assert again.asked[-1].system_prompt == declared
    await again.session.close()


async def test_a_skill_that_is_called_again_is_in_the_request_once(tmp_path: Path) -> None:
    on = await scene(tmp_path).open()
    for text in ("/skill:changelog for 1.2", "go on"):
        await on.prompt(text)
    await on.session.compaction.compact()
    await on.prompt("/skill:changelog for 1.3")
    await on.prompt("go on")
    await on.session.compaction.compact()
    await on.prompt("and on")
    assert on.asked[-1].system_prompt.count(RULE) == 1


async def test_back_in_the_full_history_it_is_where_it_was(tmp_path: Path) -> None:
    on = await scene(tmp_path).open()
    await on.prompt("/skill:changelog for 1.2")
    await on.prompt("go on")
    before = on.prompt_now()
    await on.session.compaction.compact()
    assert RULE in on.prompt_now()
    await on.session.compaction.undo_compaction()
    await on.prompt("and on")
    assert on.prompt_now() == before and RULE in in_messages(on.asked[-1])


async def test_very_long_skills_are_named_to_be_read_again(tmp_path: Path) -> None:
    made = scene(tmp_path)
    for name in ("one", "two"):
        made.write(
            f"~/.bayou/agent/skills/{name}/SKILL.md",
            f"---\nname: {name}\ndescription: Long.\n---\n" + f"{name} " * 8_000,
        )
    on = await made.open()
    for text in ("/skill:one", "/skill:two", "go on"):
        await on.prompt(text)
    await on.session.compaction.compact()
    section = parts_of(on.session).core.conversation.active_skill_sections[ACTIVE_SKILLS_SECTION]
    assert '<skill name="two"' in section and '<skill name="one"' not in section
    assert "- one: " in section and len(section) < 45_000


async def test_skills_of_the_old_place_are_dropped_when_the_place_changes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked for beside the event loop at the start, and a person may go elsewhere meanwhile."""
    on = await scene(tmp_path).open()
    await on.prompt("/skill:changelog for 1.2")
    await on.prompt("go on")
    before = on.session.log.leaf_id
    await on.session.compaction.compact()
    there = Conversation(SessionLog.open(on.session.log.path or tmp_path, read_only=True))
    whole_path = there.log.path_to

    def path_after_a_move(entry_id: str | None = None) -> Sequence[Entry]:
        found = whole_path(entry_id)
        there.log.move_leaf(before)
        there.reload_context()
        return found

    monkeypatch.setattr(there.log, "path_to", path_after_a_move)
    assert ACTIVE_SKILLS_SECTION in there.active_skill_sections
    assert there.active_skill_sections == {}
    there.log.close()


@pytest.mark.parametrize("is_taken_out", [True, False])
async def test_a_skill_that_was_taken_out_of_the_context_does_not_come_back(
    tmp_path: Path, is_taken_out: bool
) -> None:
    on = await scene(tmp_path).open()
    await on.prompt("/skill:changelog for 1.2")
    given = next(
        message for message in on.session.messages if RULE in text_of(getattr(message, "content", ""))
    )
    if is_taken_out:
        parts_of(on.session).core.conversation.remove_entry_from_context(given.id)
    await on.prompt("go on")
    await on.session.compaction.compact()
    assert (RULE in on.prompt_now()) is not is_taken_out


async def test_the_plan_of_the_todo_extension_is_in_the_request_after_a_compaction(tmp_path: Path) -> None:
    items = [{"text": "write the parser", "state": "done"}, {"text": "test the parser", "state": "doing"}]
    shorter = [{"text": "test the parser", "state": "done"}]
    made = scene(tmp_path, call("todo", items=items), say(LONG))
    made.example("todo")
    on = await made.open()
    await on.prompt("plan it")
    await on.prompt("go on")
    assert "▶ test the parser" not in on.asked[-1].system_prompt
    await on.session.compaction.compact()
    await on.prompt("and on")
    assert "<todo-list>\n☑ write the parser\n▶ test the parser\n</todo-list>" in on.asked[-1].system_prompt
    assert "test the parser" not in in_messages(on.asked[-1])
    await on.session.compaction.compact()
    await on.prompt("still there")
    assert "▶ test the parser" in on.asked[-1].system_prompt
    # Said anew, it is in the conversation again.
    on.script.responses[:0] = [call("todo", items=shorter), say(LONG)]
    await on.prompt("mark it done")
    assert "test the parser" not in on.asked[-1].system_prompt
    path = on.session.log.path
    await on.session.compaction.compact()
    await on.session.close()
    made.script.responses[:] = [answer] * 3
    again = await made.open(session=str(path))
    await again.prompt("after resuming")
    assert "☑ test the parser" in again.asked[-1].system_prompt
    await again.session.close()


async def test_what_fills_the_window_tells_of_skills_in_use(tmp_path: Path) -> None:
    on = await scene(tmp_path).open()
    for text in ("/skill:changelog for 1.2", "go on"):
        await on.prompt(text)
    await on.session.compaction.compact()
    titles = {part.title: part.group for part in break_down_context(on.session).parts}
    assert titles["active skills"] == "skills" and titles["context files"] == "files"
