"""Helper agents: what they may and cost, and that models that misbehave are held by the engine."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.assembly.assembled_session import AssembledSession
from app.engine.core.user_questions import ApprovalReply
from app.engine.files.file_restorer import UndoFilesOfLastPrompts
from app.engine.helpers.helper_commands import list_helpers
from app.engine.tree.session_paths import SessionPaths
from app.providers.model_stream import RequestContext
from app.providers.scripted import ScriptedAnswer, call, say
from app.sessions.index.token_usage import sum_usage_parts
from app.sessions.session_library import latest_session, read_token_usage
from app.sessions.session_log import SessionLog
from app.sessions.session_stats import SessionCounts
from app.values.content import text_of
from app.values.entries import Entry, UsageEntry
from app.values.events import Event, HelperChanged, QuestionAsked
from app.values.messages import CustomMessage, ToolResultMessage, UserMessage
from app.values.usage import Usage
from app.values.user_errors import UserError
from tests.compaction.project_session import ProjectSession

Answer = Callable[[RequestContext], ScriptedAnswer]
OFTEN = 400


def is_helper(context: RequestContext) -> bool:
    return "You are the helper" in context.system_prompt


def turns_of(context: RequestContext) -> int:
    """How many results the model has got."""
    return sum(isinstance(message, ToolResultMessage) for message in context.messages)


@asynccontextmanager
async def helped(
    folder: Path,
    tasks: Sequence[dict[str, Any]],
    helper: Answer,
    *,
    settings: dict[str, Any] | None = None,
    files: dict[str, str] | None = None,
    **options: Any,
) -> AsyncIterator[ProjectSession]:
    """A session whose model starts these tasks in its first answer; `helper` answers for its helpers."""

    def answer(context: RequestContext, count: int) -> ScriptedAnswer:
        if is_helper(context):
            return helper(context)
        if any(isinstance(message, ToolResultMessage | CustomMessage) for message in context.messages):
            return say("Noted.")
        made = ScriptedAnswer()
        for task in tasks:
            made += call("task", **task)
        return made

    scene = ProjectSession(folder, [answer] * OFTEN)
    for name, text in (files or {}).items():
        scene.write(name, text)
    scene.settings(settings or {})
    await scene.open(**options)
    try:
        yield scene
    finally:
        await scene.session.close()


def results(scene: ProjectSession) -> list[str]:
    return [text_of(one.content) for one in scene.session.messages if isinstance(one, ToolResultMessage)]


def helper_logs(scene: ProjectSession) -> list[SessionLog]:
    here: SessionPaths = scene.assembled.session_paths
    own = scene.session.log.path
    return [
        here.open_file(path, read_only=True)
        for path in sorted(here.project_folder.glob("*.jsonl"))
        if path != own
    ]


def counts(entries: Sequence[Entry]) -> Usage:
    stats = SessionCounts()
    stats.add_all(entries)
    return stats.usage


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():  # noqa: ASYNC110  (several things at once)
            await asyncio.sleep(0.01)


async def test_its_last_message_is_the_result_and_its_cost_counts_in_the_parent(tmp_path: Path) -> None:
    def helper(context: RequestContext) -> ScriptedAnswer:
        return call("read", path="a.txt") if turns_of(context) == 0 else say("It says: oars.")

    task = {"prompt": "What does a.txt say?", "agent": "scout"}
    async with helped(tmp_path, [task], helper, files={"a.txt": "oars\n"}) as scene:
        await scene.prompt("go")
        [result] = results(scene)
        assert result.startswith("It says: oars.\n[scout · scripted/script · 2 turns · ")
        [log] = helper_logs(scene)
        assert log.header.parent_session == str(scene.session.log.path)
        assert log.name == "scout: What does a.txt say?"
        counted = [one for one in scene.session.log.entries if isinstance(one, UsageEntry)]
        spent = counts(log.entries)
        assert counts(counted).total_tokens == spent.total_tokens > 0
        own = [one for one in scene.session.log.entries if not isinstance(one, UsageEntry)]
        assert scene.session.stats.usage.total_tokens == counts(own).total_tokens + spent.total_tokens
        assert scene.session.helpers.active_helpers() == ()
        soon = time.time() + 30
        os.utime(str(log.path), (soon, soon))
        assert latest_session(scene.assembled.session_paths.project_folder) == scene.session.log.path, (
            "--continue goes on with the person's session"
        )


async def test_a_scout_gets_no_tool_that_changes_anything_and_no_helper_starts_helpers(
    tmp_path: Path,
) -> None:
    seen: list[set[str]] = []

    def helper(context: RequestContext) -> ScriptedAnswer:
        seen.append({tool.name for tool in context.tools})
        if turns_of(context) == 0:
            return call("task", prompt="more") + call("write", path="new.txt", content="x")
        return say(
            " / ".join(text_of(one.content) for one in context.messages if isinstance(one, ToolResultMessage))
        )

    async with helped(tmp_path, [{"prompt": "look", "agent": "scout"}], helper) as scene:
        await scene.prompt("go")
        assert "read" in seen[0] and not {"task", "ask", "write", "edit", "bash", "eval"} & seen[0]
        assert "task" in results(scene)[0] and not (scene.project / "new.txt").exists()
        assert len(helper_logs(scene)) == 1


@pytest.mark.parametrize(
    ("settings", "most", "words"),
    [({"maxTurns": 3}, 3, "limit of 3 turns"), ({"maxTokens": 1}, 1, "limit of 1 token")],
)
async def test_a_helper_that_never_ends_is_stopped_before_the_request_beyond_its_limit(
    tmp_path: Path, settings: dict[str, Any], most: int, words: str
) -> None:
    asked: list[RequestContext] = []

    def helper(context: RequestContext) -> ScriptedAnswer:
        asked.append(context)
        return say("On and on.") + call("ls")

    async with helped(tmp_path, [{"prompt": "go"}], helper, settings={"task": settings}) as scene:
        await scene.prompt("go")
        assert len(asked) == most
        assert words in results(scene)[0] and results(scene)[0].startswith("On and on.")


async def test_the_limits_of_the_session_count_for_its_helpers(tmp_path: Path) -> None:
    def helper(context: RequestContext) -> ScriptedAnswer:
        return call("ls")

    async with helped(tmp_path, [{"prompt": "go"}], helper, max_tokens=20_000) as scene:
        await scene.prompt("go")
        used = scene.session.budget.usage_so_far.total_tokens
        assert scene.session.budget.has_refused_request and used < 20_000 + 10_000


async def test_no_more_work_at_once_than_the_width_allows(tmp_path: Path) -> None:
    running = most = 0

    async def slow(context: RequestContext, count: int) -> ScriptedAnswer:
        nonlocal running, most
        if not is_helper(context):
            done = any(isinstance(message, ToolResultMessage) for message in context.messages)
            made = ScriptedAnswer()
            for number in range(0 if done else 7):
                made += call("task", prompt=f"part {number}")
            return say("Noted.") if done else made
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1
        return say("Done.")

    scene = ProjectSession(tmp_path, [slow] * OFTEN)
    scene.settings({"task": {"width": 2}})
    await scene.open()
    await scene.prompt("go")
    assert len(results(scene)) == 7 and all(text.startswith("Done.") for text in results(scene))
    assert most == 2
    await scene.session.close()


async def test_a_model_that_starts_too_many_is_refused_until_the_next_prompt(tmp_path: Path) -> None:
    tasks = [{"prompt": f"part {number}"} for number in range(5)]
    settings = {"task": {"maxPerPrompt": 3}}
    async with helped(tmp_path, tasks, lambda context: say("Done."), settings=settings) as scene:
        await scene.prompt("go")
        refused = [
            text for text in results(scene) if "3 helpers were started for this prompt already" in text
        ]
        assert len(refused) == 2 and len(helper_logs(scene)) == 3
        await scene.session.branches.start_new_session()  # whose first prompt is another one
        await scene.prompt("go")
        assert sum("3 helpers were started" in text for text in results(scene)) == 2


async def test_in_the_background_its_result_arrives_as_a_message(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async with helped(
        tmp_path, [{"prompt": "go", "wait": False}], lambda context: say("Found it.", gate=gate)
    ) as scene:
        await scene.prompt("go")
        assert "Its result is delivered when it ends" in results(scene)[0]
        [job] = scene.session.jobs.running_jobs()
        gate.set()
        await scene.session.jobs.wait_until_all_reported()
        await scene.session.wait_until_idle()
        told = [one for one in scene.session.messages if isinstance(one, CustomMessage)]
        assert "Found it.\n[general" in text_of(told[0].content)
        assert scene.session.jobs.get(job.id).state == "delivered"


async def test_stopping_the_parent_stops_every_helper_and_nothing_is_sent_afterwards(tmp_path: Path) -> None:
    asked: list[RequestContext] = []
    never = asyncio.Event()

    def helper(context: RequestContext) -> ScriptedAnswer:
        asked.append(context)
        return say("…", gate=never)

    tasks = [{"prompt": "behind", "wait": False}, {"prompt": "one"}, {"prompt": "two"}]
    async with helped(tmp_path, tasks, helper) as scene:
        await scene.session.prompt("go")
        await until(lambda: len(asked) == 3)
        await scene.session.abort()
        await until(lambda: not scene.session.helpers.active_helpers())
        assert not scene.session.jobs.running_jobs()
        count = scene.script.request_count
        await asyncio.sleep(0.2)
        assert scene.script.request_count == count
        assert not scene.session.is_running, "a stopped job starts no run"


@pytest.mark.parametrize("waits", [True, False])
async def test_a_stop_at_the_moment_of_the_call_leaves_no_helper(tmp_path: Path, waits: bool) -> None:
    tasks = [{"prompt": f"part {number}", "wait": waits} for number in range(3)]
    async with helped(tmp_path, tasks, lambda context: say("Done.")) as scene:
        stopping: list[asyncio.Future[None]] = []

        def stop(event: Event) -> None:
            if isinstance(event, HelperChanged) and not stopping:
                stopping.append(asyncio.ensure_future(scene.session.abort()))

        scene.session.subscribe(stop)
        await scene.session.prompt("go")
        await until(lambda: bool(stopping))
        await stopping[0]
        await until(
            lambda: not scene.session.helpers.active_helpers() and not scene.session.jobs.running_jobs()
        )
        assert all(helper.has_ended for helper in scene.session.helpers.known_helpers())


async def test_closing_the_session_ends_its_helpers(tmp_path: Path) -> None:
    never = asyncio.Event()
    async with helped(
        tmp_path, [{"prompt": "go", "wait": False}], lambda context: say("…", gate=never)
    ) as scene:
        await scene.prompt("go")
        await until(lambda: scene.script.request_count == 3)
        await scene.session.close()
        assert scene.session.helpers.active_helpers() == ()


async def test_a_question_of_a_helper_is_asked_in_the_parent_with_its_name(tmp_path: Path) -> None:
    asked: list[QuestionAsked] = []

    def helper(context: RequestContext) -> ScriptedAnswer:
        return call("write", path="new.txt", content="x") if turns_of(context) == 0 else say("Done.")

    async with helped(tmp_path, [{"prompt": "go"}], helper, permissions="ask") as scene:

        def answer(event: Event) -> None:
            if isinstance(event, QuestionAsked):
                asked.append(event)
                event.answer.set_result(ApprovalReply(is_allowed=True))

        scene.session.subscribe(answer)
        await scene.prompt("go")
        assert (scene.project / "new.txt").read_text() == "x"
        [question] = asked
        assert question.title is not None and question.title.startswith("general: write:")
        assert question.approval is not None and question.approval.helper == "general"


async def test_rules_given_to_the_session_hold_for_its_helpers(tmp_path: Path) -> None:
    def helper(context: RequestContext) -> ScriptedAnswer:
        return call("write", path="new.txt", content="x") if turns_of(context) == 0 else say("Done.")

    async with helped(tmp_path, [{"prompt": "go"}], helper, permissions="full") as scene:
        scene.session.permissions.rules.add_deny_rule("write: **")
        await scene.prompt("go")
        assert not (scene.project / "new.txt").exists()
    async with helped(tmp_path / "plan", [{"prompt": "go"}], helper, permissions="full") as scene:
        scene.session.plan.set_active(True)
        await scene.prompt("go")
        assert not (scene.project / "new.txt").exists()


@pytest.mark.parametrize("change", ["rule", "no answers"])
async def test_what_the_session_refuses_takes_back_the_question_of_a_helper(
    tmp_path: Path, change: str
) -> None:
    def helper(context: RequestContext) -> ScriptedAnswer:
        return call("write", path="new.txt", content="x") if turns_of(context) == 0 else say("Done.")

    async with helped(tmp_path, [{"prompt": "go"}], helper, permissions="ask") as scene:
        asked: list[QuestionAsked] = []

        def refuse(event: Event) -> None:
            if isinstance(event, QuestionAsked):
                asked.append(event)
                if change == "rule":
                    scene.session.permissions.rules.add_deny_rule("write: **")
                else:
                    scene.session.permissions.permission_context.shared_permissions.set_client_policy("deny")

        scene.session.subscribe(refuse)
        await scene.prompt("go")
        [question] = asked
        assert question.answer.cancelled() and not (scene.project / "new.txt").exists()


async def test_the_parents_undo_reverses_helper_changes(tmp_path: Path) -> None:
    def helper(context: RequestContext) -> ScriptedAnswer:
        return call("write", path="a.txt", content="new") if turns_of(context) == 0 else say("Done.")

    async with helped(
        tmp_path, [{"prompt": "go"}], helper, files={"a.txt": "old"}, permissions="full"
    ) as scene:
        await scene.prompt("go")
        assert (scene.project / "a.txt").read_text() == "new"
        restoring = scene.session.file_restorer
        await restoring.carry_out_restore(await restoring.plan_restore(UndoFilesOfLastPrompts(count=1)))
        assert (scene.project / "a.txt").read_text() == "old"


async def test_kinds_come_from_files_and_broken_ones_are_named(tmp_path: Path) -> None:
    seen: list[RequestContext] = []

    def helper(context: RequestContext) -> ScriptedAnswer:
        seen.append(context)
        return say("Sailed.")

    files = {
        ".bayou/agents/pilot.md": "---\nname: pilot\ndescription: steers\ntools: Read, Glob\nmodel: nowhere/x\n"
        "turns: 0\n---\nSteer by the stars.",
        ".claude/agents/cook.md": "---\nname: cook\ndescription: cooks\n---\nCook.",
        "~/.bayou/agent/agents/bad.md": "---\nname: ../bad\n---\nx",
    }
    tasks = [{"prompt": "go", "subagent_type": "pilot"}, {"prompt": "go", "agent": "nobody"}]
    async with helped(tmp_path, tasks, helper, files=files) as scene:
        declared = {tool.name: tool for tool in scene.session.tools.all_tools()}["task"].description
        assert "- pilot: steers" in declared and "- cook: cooks" in declared
        await scene.prompt("go")
        sailed, unknown = results(scene)
        assert "its model nowhere/x is not available; it used scripted/script" in sailed
        assert {tool.name for tool in seen[0].tools} == {"read", "find"}
        assert "Steer by the stars." in seen[0].system_prompt
        assert "There is no helper “nobody”. Kinds: scout, reviewer, general, cook, pilot." in unknown
        assert "“../bad”" in unknown and "turns must be a number above 0" in unknown


async def test_an_empty_task_is_refused(tmp_path: Path) -> None:
    async with helped(tmp_path, [{"prompt": " "}], lambda context: say("x")) as scene:
        await scene.prompt("go")
        assert "The task is empty" in results(scene)[0]


async def test_a_helper_leaves_nothing_behind_in_the_settings(tmp_path: Path) -> None:
    async with helped(
        tmp_path, [{"prompt": str(number)} for number in range(3)], lambda context: say("x")
    ) as scene:
        assembled: AssembledSession = scene.assembled
        await scene.prompt("go")
        followers = assembled.effective_settings._followers
        count = len(followers)
        scene.script.responses[:] = [call("task", prompt="one more"), say("x"), say("Noted.")]
        await scene.prompt("again")
        assert len(assembled.effective_settings._followers) == count


async def test_a_helper_takes_messages_while_it_works_and_after_its_end(tmp_path: Path) -> None:
    gate = asyncio.Event()
    asked: list[RequestContext] = []

    def helper(context: RequestContext) -> ScriptedAnswer:
        asked.append(context)
        said = [text_of(one.content) for one in context.messages if isinstance(one, UserMessage)]
        if said[-1] == "look":
            return call("ls") + say("…", gate=gate)
        return say(f"You said: {said[-1]}")

    async with helped(tmp_path, [{"prompt": "look"}], helper) as scene:
        helpers = scene.session.helpers
        await scene.session.prompt("go")
        await until(lambda: bool(asked))
        await helpers.send_message("h1", "only in docs")
        gate.set()
        await scene.session.wait_until_idle()
        assert results(scene)[0].startswith("You said: only in docs")
        await helpers.send_message("h1", "and in tests")
        [job] = scene.session.jobs.running_jobs()
        await scene.session.jobs.wait_until_all_reported()
        await scene.session.wait_until_idle()
        assert scene.session.jobs.get(job.id).state == "delivered"
        told = [one for one in scene.session.messages if isinstance(one, CustomMessage)]
        assert "You said: and in tests" in text_of(told[0].content)
        assert len(helper_logs(scene)) == 1, "it went on in its own session"
        with pytest.raises(UserError, match="no helper h9"):
            await helpers.send_message("h9", "x")


async def test_one_helper_is_stopped_and_the_agent_gets_what_it_has(tmp_path: Path) -> None:
    never = asyncio.Event()
    waits: list[RequestContext] = []

    def helper(context: RequestContext) -> ScriptedAnswer:
        if turns_of(context) == 0:
            return say("I look.") + call("ls")
        waits.append(context)
        return say("…", gate=never)

    tasks = [{"prompt": "one"}, {"prompt": "two"}]
    async with helped(tmp_path, tasks, helper, settings={"task": {"width": 1}}) as scene:
        await scene.session.prompt("go")
        await until(lambda: bool(waits))
        await scene.session.helpers.stop_helper("h2")
        await scene.session.helpers.stop_helper("h1")
        await scene.session.wait_until_idle()
        one, two = results(scene)
        assert one.startswith(
            "…\n[The helper did not finish: The helper was stopped before it had an answer.]"
        )
        assert "The user stopped the helper before it started" in two
        assert [helper.state for helper in scene.session.helpers.known_helpers()] == ["stopped", "stopped"]
        assert scene.session.last_answer_text == "Noted."


async def test_a_helper_near_its_limits_gets_a_notice_and_reports(tmp_path: Path) -> None:
    told: list[list[str]] = []

    def helper(context: RequestContext) -> ScriptedAnswer:
        told.append([text_of(one.content) for one in context.messages if isinstance(one, CustomMessage)])
        return call("ls") if context.tools else say("This much I have.")

    async with helped(tmp_path, [{"prompt": "go"}], helper, settings={"task": {"maxTurns": 10}}) as scene:
        await scene.prompt("go")
        assert len(told) == 10 and told[7] == [] and "80% of your turns" in told[8][0]
        assert "This is your last answer, without tools" in told[9][1]
        assert results(scene)[0].startswith("This much I have.\n[general")


async def test_programs_hear_of_helpers_and_reports_of_usage_count_each_once(tmp_path: Path) -> None:
    heard: list[tuple[str, str]] = []

    async with helped(tmp_path, [{"prompt": "go", "agent": "scout"}], lambda _: say("Done.")) as scene:

        def hear(event: Event) -> None:
            if isinstance(event, HelperChanged):
                heard.append((event.helper_id, event.state))

        scene.session.subscribe(hear)
        await scene.prompt("go")
        [info] = await list_helpers(scene.session)
        assert info["state"] == "done" and info["tokens"] > 0 and "sessionFile" in info
        total = scene.session.stats.usage.total_tokens
    assert heard == [("h1", "waiting"), ("h1", "running"), ("h1", "done")]
    report = read_token_usage(scene.assembled.session_paths.sessions_root, scene.paths.cache_dir)
    used = sum_usage_parts(report.parts)
    assert used.tokens == total
