"""Background jobs: they wake the agent when they end, can be looked at, waited for and ended, and leave nothing."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.engine.commands.command_table import COMMANDS
from app.engine.jobs.jobs_tool import jobs_tool
from app.providers.scripted import call, say
from app.values.content import ToolCall
from app.values.entries import MessageEntry
from app.values.events import AgentSettled, JobChanged, Notice, QueueUpdate
from app.values.messages import CustomMessage
from app.values.user_errors import UserError
from tests.agent.scripted_loop import BlockingTool, plain, tool
from tests.engine.scripted_session import ScriptedSession
from tests.support.sessions import parts_of, waiting_texts
from tools.tool_definition import Tool, ToolContext
from tools.tool_result_values import ToolResult, text_result


def test_a_job_that_is_not_there_is_explained_and_known_as_a_missing_key(tmp_path: Path):
    table = ScriptedSession(tmp_path).session.jobs
    for expected in (KeyError, UserError):
        with pytest.raises(expected) as problem:
            table.get("job9")
        assert str(problem.value) == "There is no job job9: this session has started none. /jobs lists jobs."


class Slow:
    """A tool that hands its work over at once; the test ends the work."""

    def __init__(self) -> None:
        self.done = asyncio.Event()
        self.was_killed = False
        self.tool: Tool = tool("slow", self._run)

    async def _run(self, arguments: Any, context: ToolContext) -> ToolResult:
        async def work() -> ToolResult:
            await self.done.wait()
            return text_result("killed" if self.was_killed else "42 files", is_error=self.was_killed)

        assert context.jobs is not None
        job_id = context.jobs.adopt(
            call_id=context.call_id,
            title="a slow one",
            work=work(),
            tail=lambda: "so far\n",
            kill=self._kill,
        )
        started = f"Background job {job_id} started: a slow one"
        return text_result(started, details={"jobId": job_id, "background": True})

    def _kill(self) -> None:
        self.was_killed = True
        self.done.set()


def background_messages(harness: ScriptedSession) -> list[CustomMessage]:
    return [m for m in harness.session.messages if isinstance(m, CustomMessage)]


@pytest.mark.parametrize("how", ["steer", "followUp"])
async def test_the_end_of_a_job_wakes_an_idle_agent(tmp_path: Path, how: str) -> None:
    slow = Slow()
    harness = ScriptedSession(tmp_path, call("slow"), say("I go on."), say("Done."), tools=[slow.tool])
    harness.effective_settings.set("background.resultDelivery", how)
    await harness.prompt("go")
    assert len(harness.all(AgentSettled)) == 1
    slow.done.set()
    await harness.until(lambda: len(harness.all(AgentSettled)) == 2)
    message = background_messages(harness)[0]
    assert message.custom_type == "background-result"
    assert plain(message) == "Background job1 (a slow one) has ended: done.\n\n42 files"
    assert plain(harness.session.messages[-1]) == "Done."
    await harness.until(lambda: harness.session.jobs.get("job1").state == "delivered")


@pytest.mark.parametrize(("how", "calls"), [("steer", 3), ("followUp", 3)])
async def test_the_end_of_a_job_is_queued_while_the_agent_works(tmp_path: Path, how: str, calls: int) -> None:
    slow, gate = Slow(), BlockingTool("gate")
    harness = ScriptedSession(
        tmp_path, call("slow") + call("gate"), say("a"), say("b"), tools=[slow.tool, gate.tool]
    )
    harness.effective_settings.set("background.resultDelivery", how)
    await harness.session.prompt("go")
    await gate.started.wait()
    slow.done.set()
    await harness.until(lambda: any(e.steering or e.follow_up for e in harness.all(QueueUpdate)))
    queued = waiting_texts(harness.session, "steering" if how == "steer" else "follow_up")
    assert len(queued) == 1
    gate.go_on.set()
    await harness.session.wait_until_idle()
    second = [plain(message) for message in harness.script.received_contexts[1].messages]
    assert ("42 files" in second[-1]) == (how == "steer")
    assert len(harness.all(AgentSettled)) == 1
    assert harness.script.request_count == calls - (how == "steer")


def who_waits(tmp_path: Path, slow: Slow, *answers: Any) -> ScriptedSession:
    """A session whose agent begins a job and then waits for its end."""
    harness = ScriptedSession(
        tmp_path, call("slow"), call("jobs", action="wait", job="job1"), *answers, tools=[slow.tool]
    )
    harness.session.tools.register_tool(jobs_tool(harness.session.jobs), owner="test")
    harness.session.tools.set_active_tools(["slow", "jobs"])
    return harness


async def until_waiting(harness: ScriptedSession) -> None:
    await harness.until(lambda: harness.script.request_count == 2)
    async with asyncio.timeout(10):
        while not harness.session.jobs.get("job1").waiting_calls:  # noqa: ASYNC110  (no event tells of it)
            await asyncio.sleep(0)


async def test_a_job_that_the_agent_waits_for_is_reported_once_by_that_call(tmp_path: Path) -> None:
    slow = Slow()
    harness = who_waits(tmp_path, slow, say("ok"))
    await harness.session.prompt("go")
    await until_waiting(harness)
    slow.done.set()
    async with asyncio.timeout(10):
        await harness.session.wait_until_idle()
    results = [plain(m) for m in harness.session.messages if getattr(m, "tool_name", "") == "jobs"]
    assert "42 files" in results[0]
    await asyncio.sleep(0)  # a message would have been queued by now
    assert not background_messages(harness)
    assert plain(harness.session.messages[-1]) == "ok"


async def test_stopping_a_wait_still_reports_the_jobs_end(tmp_path: Path) -> None:
    slow = Slow()
    harness = who_waits(tmp_path, slow, say("so it is"))
    await harness.session.prompt("go")
    await until_waiting(harness)
    await harness.session.abort()
    slow.done.set()
    await harness.until(lambda: bool(background_messages(harness)))
    await harness.until(lambda: harness.script.request_count == 3)
    await harness.session.wait_until_idle()
    assert plain(harness.session.messages[-1]) == "so it is"


async def test_a_wait_with_a_time_limit_tells_how_far_the_job_is(tmp_path: Path) -> None:
    slow = Slow()
    harness = ScriptedSession(tmp_path, call("slow"), say("ok"), tools=[slow.tool])
    await harness.prompt("go")
    jobs = jobs_tool(harness.session.jobs)
    context = parts_of(harness.session).tools.nested.tool_context(
        ToolCall(id="c", name="jobs", arguments={}), lambda result: None
    )
    for arguments, expected in [
        ({}, "job1  running"),
        ({"action": "tail", "job": "job1"}, "so far"),
        ({"action": "wait", "job": "job1", "timeout": 0}, "job1  running"),
        ({"action": "pin", "job": "job1"}, "running, pinned"),
        ({"action": "kill", "job": "job1"}, "job1  killed"),
    ]:
        assert jobs.arguments is not None
        result = await jobs.run(jobs.arguments(**arguments), context)
        assert expected in result.text.replace("killed, pinned", "killed")
    await harness.session.close()


async def test_a_job_killed_by_the_user_is_reported_with_the_next_prompt(
    tmp_path: Path,
) -> None:
    slow = Slow()
    harness = ScriptedSession(tmp_path, call("slow"), say("ok"), say("I see"), tools=[slow.tool])
    await harness.prompt("go")
    harness.session.jobs.kill("job1", tell=True)
    async with asyncio.timeout(3):
        await harness.session.jobs.wait("job1")
    await harness.until(lambda: bool(background_messages(harness)))
    assert len(harness.all(AgentSettled)) == 1, "the agent was not woken"
    await harness.prompt("and?")
    assert "has ended: killed" in plain(harness.script.received_contexts[-1].messages[-2])


async def test_a_job_whose_end_cannot_be_sent_is_reported_with_the_next_prompt(tmp_path: Path) -> None:
    slow = Slow()
    harness = ScriptedSession(tmp_path, call("slow"), say("ok"), say("I see"), tools=[slow.tool])
    await harness.prompt("go")
    model = harness.choice.model
    harness.choice.clear_model()
    slow.done.set()
    await harness.until(
        lambda: any("will be delivered with your next prompt" in e.text for e in harness.all(Notice))
    )
    assert model is not None
    harness.choice.set_model(model)
    await harness.prompt("and?")
    assert "42 files" in plain(background_messages(harness)[0])


async def test_a_job_that_ends_while_a_summary_is_written_wakes_the_agent_behind_it(tmp_path: Path) -> None:
    slow, gate = Slow(), asyncio.Event()
    harness = ScriptedSession(
        tmp_path,
        call("slow"),
        say("long " * 500),
        say("the summary", gate=gate),
        say("Done."),
        tools=[slow.tool],
    )
    await harness.prompt("go " * 400)

    harness.effective_settings.set("compaction.keepRecentTokens", 1)
    compacting = asyncio.ensure_future(harness.session.compaction.compact())
    await harness.until(lambda: harness.script.request_count == 3)
    slow.done.set()
    await harness.until(lambda: bool(harness.all(QueueUpdate)))
    assert harness.session.state.queued_count == 1
    assert not harness.session.is_running
    gate.set()
    await compacting
    await harness.until(lambda: len(harness.all(AgentSettled)) == 2)
    assert plain(harness.session.messages[-1]) == "Done."
    assert harness.session.state.queued_count == 0


async def test_jobs_end_with_their_session_unless_they_are_pinned(tmp_path: Path) -> None:
    one, two = Slow(), Slow()
    two.tool = tool("other", two._run)
    harness = ScriptedSession(tmp_path, call("slow") + call("other"), say("ok"), tools=[one.tool, two.tool])
    await harness.prompt("go")
    harness.session.jobs.set_job_pinned("job2")
    await harness.session.branches.open_session(harness.places.create_session(), "new")
    assert [job.state for job in harness.session.jobs.all()] == ["killed", "running"]
    await harness.session.close()
    assert two.was_killed
    assert [job.state for job in harness.session.jobs.all()] == ["killed", "killed"]


async def test_leaving_a_session_waits_for_no_job_report(tmp_path: Path) -> None:
    """The end of the loop cancels the task behind a job once, and the job does not take that for its own end."""
    slow = Slow()
    harness = ScriptedSession(tmp_path, call("slow"), say("it goes on"), tools=[slow.tool])
    await harness.prompt("go")
    (job,) = harness.session.jobs.all()
    harness.session.jobs.kill(job.id, tell=True)
    assert job.task is not None
    job.task.cancel()
    async with asyncio.timeout(10):
        await asyncio.wait({job.task})
    assert job.task.cancelled() and job.has_ended.is_set() and job.is_delivered.is_set()


async def test_a_job_that_fails_says_so(tmp_path: Path) -> None:
    async def broken() -> ToolResult:
        raise RuntimeError("disk full")

    harness = ScriptedSession(tmp_path, say("I see"))
    harness.session.jobs.adopt(call_id="c", title="broken", work=broken(), tail=lambda: "", kill=lambda: None)
    await harness.until(lambda: any(event.state == "failed" for event in harness.all(JobChanged)))
    await harness.until(lambda: bool(harness.all(AgentSettled)))
    assert "has ended: failed.\n\ndisk full" in plain(background_messages(harness)[0])


async def test_there_are_commands_for_all_of_it() -> None:
    names = set(COMMANDS)
    assert names >= {"list_jobs", "get_job", "wait_for_job", "kill_job", "pin_job"}


def one_earlier(harness: ScriptedSession) -> str | None:
    """Returns the entry before the first prompt: going there leaves the branch of the job."""
    path = harness.session.log.path_to()
    return next(entry.parent_id for entry in path if isinstance(entry, MessageEntry))


async def test_a_job_that_ends_on_another_branch_waits_with_a_notice(
    tmp_path: Path,
) -> None:
    slow = Slow()
    harness = ScriptedSession(
        tmp_path, call("slow"), say("I go on."), say("Other work."), say("I see."), tools=[slow.tool]
    )
    await harness.prompt("go")
    session, leaf = harness.session, harness.session.log.leaf_id
    await session.branches.go_to_entry(one_earlier(harness))
    await harness.prompt("something else")
    slow.done.set()
    await harness.until(lambda: any("another branch" in event.text for event in harness.all(Notice)))
    assert not background_messages(harness) and not session.is_running and harness.script.request_count == 3
    await session.branches.go_to_entry(leaf)
    await harness.until(lambda: bool(background_messages(harness)))
    await harness.until(lambda: session.jobs.get("job1").state == "delivered")
    assert "42 files" in plain(background_messages(harness)[0])
    await session.wait_until_idle()
    await session.close()


async def test_a_kept_job_of_another_session_reports_only_there(tmp_path: Path) -> None:
    slow = Slow()
    harness = ScriptedSession(tmp_path, call("slow"), say("I go on."), say("I see."), tools=[slow.tool])
    await harness.prompt("go")
    session, file = harness.session, harness.session.state.file
    session.jobs.set_job_pinned("job1")
    await session.branches.start_new_session()
    slow.done.set()
    await harness.until(lambda: any("in another session" in event.text for event in harness.all(Notice)))
    assert not session.messages and harness.script.request_count == 2
    assert file is not None
    model = harness.choice.model
    await session.branches.open_session(harness.places.open_file(file), "resume")
    assert model is not None
    await harness.until(lambda: any("with your next prompt" in event.text for event in harness.all(Notice)))
    harness.choice.set_model(model)  # these sessions find no model by its name
    await harness.prompt("and?")
    assert "42 files" in plain(background_messages(harness)[0])
    await session.wait_until_idle()
    await session.close()


async def test_resuming_after_a_crash_reports_lost_jobs(tmp_path: Path) -> None:
    slow = Slow()
    killed = ScriptedSession(tmp_path / "killed", call("slow"), say("I wait."), tools=[slow.tool])
    await killed.prompt("go")
    file = killed.session.state.file
    assert file is not None
    harness = ScriptedSession(tmp_path / "resumed", say("ok"))
    copy = harness.places.create_session().path
    assert copy is not None
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(file.read_bytes())  # what a killed bayou leaves
    await killed.session.close()
    session, model = harness.session, harness.choice.model
    await session.branches.open_session(harness.places.open_file(copy), "resume", stays=True)
    (told,) = background_messages(harness)
    assert "job1 (a slow one) was stopped when the session was closed" in plain(told)
    assert model is not None
    harness.choice.set_model(model)
    await harness.prompt("and?")
    assert "so it has no result" in plain(harness.script.received_contexts[-1].messages[-2])
    await session.branches.go_to_entry(session.log.leaf_id)
    assert len(background_messages(harness)) == 1, "told once"
    await session.close()
