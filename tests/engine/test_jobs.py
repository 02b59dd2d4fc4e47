"""Background jobs: they wake the agent when they end, can be looked at, waited for and ended, and leave nothing."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.engine.commands.command_table import COMMANDS
from app.engine.jobs.jobs_tool import jobs_tool
from app.providers.scripted import call, say
from app.values.content import ToolCall
from app.values.events import AgentSettled, JobChanged, Notice, QueueUpdate
from app.values.messages import CustomMessage
from app.values.user_errors import UserError
from tests.agent.stage import Gate, plain, tool
from tests.engine.stage import Play
from tests.support.sessions import parts_of, waiting_texts
from tools.base import Tool, ToolContext
from tools.results import ToolResult, text_result


def test_a_job_that_is_not_there_is_told_in_words_and_known_as_a_missing_key(tmp_path: Path):
    table = Play(tmp_path).session.jobs
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
        return text_result(f"started {job_id}")

    def _kill(self) -> None:
        self.was_killed = True
        self.done.set()


def background_messages(play: Play) -> list[CustomMessage]:
    return [m for m in play.session.messages if isinstance(m, CustomMessage)]


@pytest.mark.parametrize("how", ["steer", "followUp"])
async def test_the_end_of_a_job_wakes_an_idle_agent(tmp_path: Path, how: str) -> None:
    slow = Slow()
    play = Play(tmp_path, call("slow"), say("I go on."), say("Done."), tools=[slow.tool])
    play.effective_settings.set("background.resultDelivery", how)
    await play.prompt("go")
    assert len(play.all(AgentSettled)) == 1
    slow.done.set()
    await play.until(lambda: len(play.all(AgentSettled)) == 2)
    message = background_messages(play)[0]
    assert message.custom_type == "background-result"
    assert plain(message) == "Background job1 (a slow one) has ended: done.\n\n42 files"
    assert plain(play.session.messages[-1]) == "Done."
    await play.until(lambda: play.session.jobs.get("job1").state == "delivered")


@pytest.mark.parametrize(("how", "calls"), [("steer", 3), ("followUp", 3)])
async def test_the_end_of_a_job_is_queued_while_the_agent_works(tmp_path: Path, how: str, calls: int) -> None:
    slow, gate = Slow(), Gate("gate")
    play = Play(tmp_path, call("slow") + call("gate"), say("a"), say("b"), tools=[slow.tool, gate.tool])
    play.effective_settings.set("background.resultDelivery", how)
    await play.session.prompt("go")
    await gate.started.wait()
    slow.done.set()
    await play.until(lambda: any(e.steering or e.follow_up for e in play.all(QueueUpdate)))
    queued = waiting_texts(play.session, "steering" if how == "steer" else "follow_up")
    assert len(queued) == 1
    gate.go_on.set()
    await play.session.wait_until_idle()
    second = [plain(message) for message in play.script.contexts[1].messages]
    assert ("42 files" in second[-1]) == (how == "steer")
    assert len(play.all(AgentSettled)) == 1
    assert play.script.call_count == calls - (how == "steer")


def who_waits(tmp_path: Path, slow: Slow, *answers: Any) -> Play:
    """A session whose agent begins a job and then waits for its end."""
    play = Play(tmp_path, call("slow"), call("jobs", action="wait", job="job1"), *answers, tools=[slow.tool])
    play.session.tools.register(jobs_tool(play.session.jobs), owner="test")
    play.session.tools.set_active(["slow", "jobs"])
    return play


async def until_waiting(play: Play) -> None:
    await play.until(lambda: play.script.call_count == 2)
    async with asyncio.timeout(10):
        while not play.session.jobs.get("job1").awaited:  # noqa: ASYNC110  (no event tells of it)
            await asyncio.sleep(0)


async def test_a_job_that_the_agent_waits_for_is_told_once_by_that_call(tmp_path: Path) -> None:
    slow = Slow()
    play = who_waits(tmp_path, slow, say("ok"))
    await play.session.prompt("go")
    await until_waiting(play)
    slow.done.set()
    async with asyncio.timeout(10):
        await play.session.wait_until_idle()
    results = [plain(m) for m in play.session.messages if getattr(m, "tool_name", "") == "jobs"]
    assert "42 files" in results[0]
    await asyncio.sleep(0)  # a message would have been queued by now
    assert not background_messages(play)
    assert plain(play.session.messages[-1]) == "ok"


async def test_when_the_wait_is_stopped_the_end_is_told_as_ever(tmp_path: Path) -> None:
    slow = Slow()
    play = who_waits(tmp_path, slow, say("so it is"))
    await play.session.prompt("go")
    await until_waiting(play)
    await play.session.abort()
    slow.done.set()
    await play.until(lambda: bool(background_messages(play)))
    await play.until(lambda: play.script.call_count == 3)
    await play.session.wait_until_idle()
    assert plain(play.session.messages[-1]) == "so it is"


async def test_a_wait_with_a_time_limit_tells_how_far_the_job_is(tmp_path: Path) -> None:
    slow = Slow()
    play = Play(tmp_path, call("slow"), say("ok"), tools=[slow.tool])
    await play.prompt("go")
    jobs = jobs_tool(play.session.jobs)
    context = parts_of(play.session).tools.nested.tool_context(
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
    await play.session.close()


async def test_a_job_that_the_person_ends_is_answered_at_once_and_told_with_the_next_prompt(
    tmp_path: Path,
) -> None:
    slow = Slow()
    play = Play(tmp_path, call("slow"), say("ok"), say("I see"), tools=[slow.tool])
    await play.prompt("go")
    play.session.jobs.kill("job1", tell=True)
    async with asyncio.timeout(3):
        await play.session.jobs.wait("job1")
    await play.until(lambda: bool(background_messages(play)))
    assert len(play.all(AgentSettled)) == 1, "nobody was woken"
    await play.prompt("and?")
    assert "has ended: killed" in plain(play.script.contexts[-1].messages[-2])


async def test_a_job_whose_end_cannot_be_sent_is_told_with_the_next_prompt(tmp_path: Path) -> None:
    slow = Slow()
    play = Play(tmp_path, call("slow"), say("ok"), say("I see"), tools=[slow.tool])
    await play.prompt("go")
    model = play.choice.model
    play.choice.clear()
    slow.done.set()
    await play.until(
        lambda: any("will be delivered with your next prompt" in e.text for e in play.all(Notice))
    )
    assert model is not None
    play.choice.set(model)
    await play.prompt("and?")
    assert "42 files" in plain(background_messages(play)[0])


async def test_a_job_that_ends_while_a_summary_is_written_wakes_the_agent_behind_it(tmp_path: Path) -> None:
    slow, gate = Slow(), asyncio.Event()
    play = Play(
        tmp_path,
        call("slow"),
        say("long " * 500),
        say("the summary", gate=gate),
        say("Done."),
        tools=[slow.tool],
    )
    await play.prompt("go " * 400)

    play.effective_settings.set("compaction.keepRecentTokens", 1)
    compacting = asyncio.ensure_future(play.session.compaction.run())
    await play.until(lambda: play.script.call_count == 3)
    slow.done.set()
    await play.until(lambda: bool(play.all(QueueUpdate)))
    assert play.session.state.waiting_count == 1
    assert not play.session.is_running
    gate.set()
    await compacting
    await play.until(lambda: len(play.all(AgentSettled)) == 2)
    assert plain(play.session.messages[-1]) == "Done."
    assert play.session.state.waiting_count == 0


async def test_jobs_end_with_their_session_unless_they_are_pinned(tmp_path: Path) -> None:
    one, two = Slow(), Slow()
    two.tool = tool("other", two._run)
    play = Play(tmp_path, call("slow") + call("other"), say("ok"), tools=[one.tool, two.tool])
    await play.prompt("go")
    play.session.jobs.pin("job2")
    await play.session.branches.open(play.places.new(), "new")
    assert [job.state for job in play.session.jobs.all()] == ["killed", "running"]
    await play.session.close()
    assert two.was_killed
    assert [job.state for job in play.session.jobs.all()] == ["killed", "killed"]


async def test_a_session_that_is_left_waits_for_nobody_who_would_be_told_of_a_job(tmp_path: Path) -> None:
    """Whoever ends the loop cancels what follows a job once, and a job's own end takes that for its own no more."""
    slow = Slow()
    play = Play(tmp_path, call("slow"), say("it goes on"), tools=[slow.tool])
    await play.prompt("go")
    (job,) = play.session.jobs.all()
    play.session.jobs.kill(job.id, tell=True)
    assert job.task is not None
    job.task.cancel()
    async with asyncio.timeout(10):
        await asyncio.wait({job.task})
    assert job.task.cancelled() and job.has_ended.is_set() and job.is_delivered.is_set()


async def test_a_job_that_fails_says_so(tmp_path: Path) -> None:
    async def broken() -> ToolResult:
        raise RuntimeError("disk full")

    play = Play(tmp_path, say("I see"))
    play.session.jobs.adopt(call_id="c", title="broken", work=broken(), tail=lambda: "", kill=lambda: None)
    await play.until(lambda: any(event.state == "failed" for event in play.all(JobChanged)))
    await play.until(lambda: bool(play.all(AgentSettled)))
    assert "has ended: failed.\n\ndisk full" in plain(background_messages(play)[0])


async def test_there_are_commands_for_all_of_it() -> None:
    names = set(COMMANDS)
    assert names >= {"list_jobs", "get_job", "wait_for_job", "kill_job", "pin_job"}
