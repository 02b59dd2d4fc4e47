"""Running commands can go to the background, be shown in a terminal, share one shell, or be the person's own."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.tools.conftest import ToolCaller, until
from tests.tools.test_bash import alive, until_gone
from tools.running.pty.pty_host import PtyProgram
from tools.running.shell_settings import ShellSettings
from tools.running.user_shell.user_commands import run_user_command
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolError
from tools.tool_result_values import ToolResult


class Jobs:
    """A job table that accepts all work."""

    is_waited_for = False

    def __init__(self) -> None:
        self.titles: list[str] = []
        self.work: list[asyncio.Task[ToolResult]] = []
        self.tail: Callable[[], str] = lambda: ""
        self.kill: Callable[[], None] = lambda: None

    def adopt(
        self,
        *,
        call_id: str,
        title: str,
        work: Awaitable[ToolResult],
        tail: Callable[[], str],
        kill: Callable[[], None],
        look: Callable[[], Awaitable[list[str]]] | None = None,
    ) -> str:
        async def run() -> ToolResult:
            return await work

        self.titles.append(title)
        self.work.append(asyncio.create_task(run()))
        self.tail, self.kill = tail, kill
        return f"bg_{len(self.titles)}"


async def test_background_returns_at_once_and_delivers_later(hands: ToolCaller, project: Path) -> None:
    jobs = Jobs()
    os.mkfifo(project / "gate")
    result = await hands(
        "bash", command="echo one; cat gate", background=True, within=hands.context(jobs=jobs)
    )
    assert result.text.startswith("Background job bg_1 started: echo one; cat gate\n")
    assert result.details == {"jobId": "bg_1", "background": True}
    await until(lambda: jobs.tail() == "one\n")
    (project / "gate").write_text("two\n")
    assert (await jobs.work[0]).text == "one\ntwo"


async def test_a_job_can_be_killed(hands: ToolCaller) -> None:
    jobs = Jobs()
    await hands(
        "bash", command="sleep 600.333 & sleep 600.333", background=True, within=hands.context(jobs=jobs)
    )
    await until(lambda: bool(alive("600.333")))
    await asyncio.to_thread(jobs.kill)
    assert (await jobs.work[0]).is_error
    await until_gone("600.333")


async def test_cancelling_a_job_ends_its_command(hands: ToolCaller) -> None:
    jobs = Jobs()
    await hands("bash", command="sleep 600.334", background=True, within=hands.context(jobs=jobs))
    await until(lambda: bool(alive("600.334")))
    jobs.work[0].cancel()
    assert (await jobs.work[0]).text.endswith("Command aborted")
    assert not alive("600.334")


async def test_a_slow_command_is_promoted_after_the_threshold(
    hands: ToolCaller, workspace: SessionWorkspace, project: Path
) -> None:
    workspace.shell_settings = lambda: ShellSettings(background_after_seconds=0.05)
    jobs = Jobs()
    os.mkfifo(project / "gate")
    result = await hands("bash", command="echo early; cat gate", within=hands.context(jobs=jobs))
    assert "Background job bg_1 started" in result.text
    assert "do not start it again" in result.text and result.text.endswith("said so far:\nearly")
    (project / "gate").write_text("late\n")
    assert (await jobs.work[0]).text == "early\nlate"


async def test_the_person_can_send_a_command_to_the_background(hands: ToolCaller, project: Path) -> None:
    jobs = Jobs()
    os.mkfifo(project / "gate")
    context = hands.context(jobs=jobs, background_requested=lambda: True)
    assert "Background job" in (await hands("bash", command="cat gate", within=context)).text
    (project / "gate").write_text("x")
    await jobs.work[0]


async def test_without_a_job_table_background_is_refused(hands: ToolCaller) -> None:
    with pytest.raises(ToolError, match="not available here"):
        await hands("bash", command="sleep 600.335", background=True)
    assert not alive("600.335")


class Screen:
    """A view that types an answer when it sees a question."""

    def __init__(self, question: bytes, answer: bytes) -> None:
        self.size = (100, 30)
        self.seen = b""
        self.is_closed = False
        self._question, self._answer = question, answer
        self.program: PtyProgram | None = None

    def open(self, program: PtyProgram) -> "Screen":
        self.program = program
        return self

    def feed(self, data: bytes) -> None:
        self.seen += data
        if self._question and self._question in self.seen and self.program:
            self._question = b""
            self.program.resize_terminal(60, 20)
            self.program.send_keys(self._answer)

    def close(self) -> str:
        self.is_closed = True
        return self.seen.decode().replace("\r\n", "\n").rstrip("\n")


async def test_a_terminal_takes_keys_and_sizes(hands: ToolCaller, workspace: SessionWorkspace) -> None:
    screen = Screen(b"name? ", b"Ann\r")
    workspace.pty_host = screen
    command = "stty size; read -p 'name? ' n </dev/tty; echo hello $n; stty size; test -t 1 && echo tty"
    result = await hands("bash", command=command, pty=True)
    assert result.text == "30 100\nname? Ann\nhello Ann\n20 60\ntty"
    assert screen.is_closed and b"hello Ann\r\n" in screen.seen


async def test_a_terminal_can_be_killed_by_the_person(hands: ToolCaller, workspace: SessionWorkspace) -> None:
    screen = Screen(b"", b"")
    workspace.pty_host = screen
    call = asyncio.create_task(hands("bash", command="echo up; sleep 600.444", pty=True))
    await until(lambda: b"up" in screen.seen and bool(alive("600.444")))
    assert screen.program is not None
    screen.program.kill()
    assert (await call).is_error
    assert not alive("600.444")


async def test_a_terminal_in_the_background_is_refused(
    hands: ToolCaller, workspace: SessionWorkspace
) -> None:
    workspace.pty_host = Screen(b"", b"")
    assert "Leave out pty or background" in await hands.error("bash", command="vi", pty=True, background=True)


async def test_a_command_that_wants_a_terminal_runs_without_one_and_says_so(hands: ToolCaller) -> None:
    text = await hands.text("bash", command="test -t 0 || echo none; cat", pty=True)
    assert text == "none\n\n[This ran without a terminal: only the full screen can show one.]"


async def test_a_persistent_shell_remembers(
    hands: ToolCaller, workspace: SessionWorkspace, project: Path
) -> None:
    workspace.shell_settings = lambda: ShellSettings(is_persistent=True)
    (project / "sub").mkdir()
    await hands("bash", command="cd sub && export A=1; f() { echo f-$A; }")
    assert await hands.text("bash", command="pwd; f") == f"{project}/sub\nf-1"
    assert await hands.text("bash", command="B=\n(exit 4)") == "(no output)\n\nCommand exited with code 4"
    assert await hands.text("bash", command="cat; echo no input") == "no input"
    texts = await asyncio.gather(*(hands.text("bash", command=f"echo {n}") for n in range(5)))
    assert texts == ["0", "1", "2", "3", "4"]


async def test_a_persistent_shell_starts_anew_after_exit_abort_and_timeout(
    hands: ToolCaller, workspace: SessionWorkspace
) -> None:
    workspace.shell_settings = lambda: ShellSettings(is_persistent=True)
    assert (await hands.text("bash", command="X=1; echo bye; exit 7")) == "bye\n\nCommand exited with code 7"
    assert await hands.text("bash", command="echo [$X]; X=2") == "[]"
    assert "timed out" in await hands.text("bash", command="echo a; sleep 600.555", timeout=1)
    assert not alive("600.555")
    assert await hands.text("bash", command="echo [$X]") == "[]"
    call = asyncio.create_task(hands("bash", command="sleep 600.556"))
    await until(lambda: bool(alive("600.556")))
    call.cancel()
    assert (await call).is_error
    assert await hands.text("bash", command="echo again") == "again"


async def test_a_command_gone_to_the_background_takes_its_shell_along(
    hands: ToolCaller, workspace: SessionWorkspace, project: Path
) -> None:
    workspace.shell_settings = lambda: ShellSettings(is_persistent=True)
    jobs = Jobs()
    os.mkfifo(project / "gate")
    context = hands.context(jobs=jobs, background_requested=lambda: True)
    await hands("bash", command="echo $$; cat gate", within=context)
    assert await hands.text("bash", command="echo free") == "free"
    (project / "gate").write_text("done\n")
    shell, said = (await jobs.work[0]).text.split("\n")
    assert said == "done"
    await until(lambda: not Path(f"/proc/{shell}").exists())


async def test_a_persistent_shell_waits_for_no_background_child(
    hands: ToolCaller, workspace: SessionWorkspace
) -> None:
    workspace.shell_settings = lambda: ShellSettings(is_persistent=True)
    text = await hands.text("bash", command="sleep 600.999 & echo started")
    assert text.startswith("started\n\n[Processes started by this command still run")
    assert await hands.text("bash", command="jobs -p | wc -l") == "1"
    workspace.close()
    await until_gone("600.999")


async def test_persistent_shells_are_not_shared_by_sessions(project: Path) -> None:
    settings = ShellSettings(is_persistent=True)
    one, other = (
        SessionWorkspace(project, shell=lambda: settings),
        SessionWorkspace(project, shell=lambda: settings),
    )
    await ToolCaller(one)("bash", command="export A=1")
    assert await ToolCaller(other).text("bash", command="echo [$A]") == "[]"
    one.close()
    other.close()


async def test_a_persons_command_has_a_result_to_record(workspace: SessionWorkspace) -> None:
    pieces: list[str] = []
    result = await run_user_command("echo out; echo é; exit 2", workspace, pieces.append)
    assert (result.output, result.exit_code, result.cancelled) == ("out\né\n", 2, False)
    assert "".join(pieces) == "out\né\n"
    result = await run_user_command("seq 5000", workspace)
    assert result.truncated and result.full_output_path is not None


async def test_a_persons_command_can_be_cancelled_and_keeps_its_output(workspace: SessionWorkspace) -> None:
    pieces: list[str] = []
    running = asyncio.create_task(run_user_command("echo begun; sleep 600.666", workspace, pieces.append))
    await until(lambda: bool(pieces) and bool(alive("600.666")))
    running.cancel()
    result = await running
    assert (result.output, result.exit_code, result.cancelled) == ("begun\n", None, True)
    assert not alive("600.666")
