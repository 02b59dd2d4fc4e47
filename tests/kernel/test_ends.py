"""How cells end that do not end by themselves, and what is left of their kernel."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from tests.kernel.conftest import Say
from tests.tools.conftest import ToolCaller, until
from tools.box.sandbox_policy import SandboxPolicy
from tools.tool_result_values import ToolResult

HELD = "import threading, queue, socket, asyncio, subprocess, time, re, select\na, b = socket.socketpair()\nkept = 1\n"
INTERRUPTIBLE = {
    "loop": "while True: pass",
    "sleep": "time.sleep(99)",
    "subprocess": "subprocess.run(['sleep', '99'])",
    "lock": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "socket": "a.recv(1)",
    "regex": "re.match(r'(a+)+b', 'a' * 60)",
    "await": "await asyncio.sleep(99)",
    "queue": "queue.Queue().get()",
    "thread": "threading.Thread(target=time.sleep, args=(3,), daemon=True).start(); threading.Event().wait()",
}


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return stat.rsplit(b")", 1)[1].split()[0] != b"Z"


async def stopped(hands: ToolCaller, code: str) -> tuple[ToolResult, float]:
    """What comes of a cell that is stopped once it runs, and how long that took."""
    flag = hands.cwd / "runs"
    running = asyncio.ensure_future(hands("eval", code=f"open({str(flag)!r}, 'w').close()\n{code}"))
    await until(flag.exists)
    flag.unlink()
    await asyncio.sleep(0.05)
    started = time.monotonic()
    running.cancel()
    result = await running
    return result, time.monotonic() - started


@pytest.mark.parametrize("name", INTERRUPTIBLE)
async def test_an_interrupt_keeps_the_state(hands: ToolCaller, name: str) -> None:
    await hands("eval", code=HELD)
    result, _ = await stopped(hands, INTERRUPTIBLE[name])
    assert result.is_error and result.text.endswith("Interrupted; state kept.")
    assert (await hands("eval", code="kept")).text == "Out: 1"


@pytest.mark.parametrize(
    "code",
    ["sum(range(10 ** 11))", "while True:\n    try:\n        time.sleep(1)\n    except BaseException: pass"],
)
async def test_what_cannot_be_interrupted_is_killed_and_it_is_said(hands: ToolCaller, code: str) -> None:
    await hands("eval", code="import time\nkept = 1")
    result, _ = await stopped(hands, code)
    assert result.is_error and result.text.endswith("Killed; state lost.")
    after = await hands("eval", code="'kept' in dir()")
    assert after.text == "[The kernel was restarted; its state is gone.]\nOut: False"


async def test_a_time_limit_is_an_interrupt(hands: ToolCaller) -> None:
    result = await hands("eval", code="kept = 2\nprint('so far')\nimport time; time.sleep(99)", timeout=0.3)
    assert result.is_error
    assert result.text == "so far\nCommand timed out after 0.3 seconds\nInterrupted; state kept."
    assert (await hands("eval", code="kept", timeout=0)).text == "Out: 2"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import os; print('last words'); os._exit(7)", "exit code 7"),
        ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL, perhaps for want of memory"),
        ("import os; os.abort()", "SIGABRT"),
    ],
)
async def test_a_crash_is_an_error_and_the_next_cell_has_a_new_kernel(
    hands: ToolCaller, code: str, told: str
) -> None:
    result = await hands("eval", code=code)
    assert result.is_error and f"The kernel ended by itself ({told}); its state is lost." in result.text
    assert ("last words" in code) == ("last words" in result.text)
    assert (await hands("eval", code="1")).text.endswith("its state is gone.]\nOut: 1")
    assert (await hands("eval", code="2")).text == "Out: 2"


async def test_a_kernel_without_memory_goes_on(say: Say) -> None:
    await say("kept = 3\nimport resource\nold = resource.getrlimit(resource.RLIMIT_AS)")
    await say("resource.setrlimit(resource.RLIMIT_AS, (600 << 20, old[1]))")
    assert "MemoryError" in await say("bytearray(2 << 30)")
    assert await say("kept") == "Out: 3"


async def test_output_after_a_cells_end_is_in_the_next_result(hands: ToolCaller) -> None:
    await hands(
        "eval",
        code="import threading, time\ngo = threading.Event()\n"
        "def later():\n    go.wait()\n    print('late')\n    done.set()\n"
        "done = threading.Event()\nthreading.Thread(target=later, daemon=True).start()",
    )
    # Set by a timer, so that it prints while no cell runs.
    await hands("eval", code="threading.Timer(0.2, go.set).start()")
    await asyncio.sleep(0.6)
    result = await hands("eval", code="done.wait(); print('now')")
    assert result.text == "[printed since the last cell]\nlate\n[this cell]\nnow"


async def test_children_that_hold_the_pipe_hold_nothing_up(hands: ToolCaller) -> None:
    result = await hands(
        "eval", code="import subprocess\nchild = subprocess.Popen(['sleep', '77'])\nchild.pid"
    )
    child = int(result.text.removeprefix("Out: "))
    assert is_alive(child)
    hands.workspace.close()
    await until(lambda: not is_alive(child))


async def test_a_fork_that_comes_back_is_not_a_second_kernel(hands: ToolCaller) -> None:
    code = (
        "import os\npid = os.fork()\nif pid == 0: print('child')\nelse: os.waitpid(pid, 0); print('parent')"
    )
    assert (await hands("eval", code=code)).text == "child\nparent"
    assert (await hands("eval", code="pid > 0")).text == "Out: True"


FORGED = """
import os, json
word = json.dumps({"op": "done", "id": 2, "number": 1, "value": "forged", "notes": [], "seconds": 0}).encode()
os.write(1, len(word).to_bytes(4, "big") + word + b"\\n" + word + b"\\n")
open("/dev/stdin", "rb").read() if os.path.exists("/dev/stdin") else b""
print("still here")
"""


async def test_a_forged_word_on_stdout_is_output(hands: ToolCaller) -> None:
    await hands("eval", code="1")
    result = await hands("eval", code=FORGED)
    assert not result.is_error
    assert result.text.count('"value": "forged"') == 2 and result.text.endswith("still here")


async def test_ten_megabytes_of_code(say: Say) -> None:
    assert await say("text = '" + "x" * 10_000_000 + "'\nlen(text)") == "Out: 10000000"


async def test_cells_wait_for_each_other_in_the_order_in_which_they_came(hands: ToolCaller) -> None:
    first = asyncio.ensure_future(hands("eval", code="import time; time.sleep(0.2); seen = ['first']"))
    second = asyncio.ensure_future(hands("eval", code="seen.append('second'); seen"))
    assert (await second).text == "Out: ['first', 'second']"
    await first


async def test_the_kernel_ends_with_its_session(hands: ToolCaller) -> None:
    pid = int((await hands("eval", code="import os; os.getpid()")).text.removeprefix("Out: "))
    hands.workspace.close()
    await until(lambda: not is_alive(pid))


async def test_keys_are_not_in_its_environment(hands: ToolCaller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-the-person")
    monkeypatch.setenv("PLAIN_WORD", "seen")
    code = "import os; [os.environ.get(name) for name in ('ANTHROPIC_API_KEY', 'PLAIN_WORD', 'PAGER')]"
    assert (await hands("eval", code=code)).text == "Out: [None, 'seen', 'cat']"
    assert os.environ["ANTHROPIC_API_KEY"]


async def test_the_kernel_runs_in_the_box_that_its_calls_are_to_be_in(hands: ToolCaller) -> None:
    if hands.workspace.abilities().step == "none":
        pytest.skip("no sandbox can be made here")
    assert (await hands("eval", code="kept = 1\nopen('../outside', 'w').close()")).text == "(no output)"
    box: list[SandboxPolicy | None] = [SandboxPolicy(kind="work", writable=(os.path.realpath(hands.cwd),))]

    async def confine(call_id: str, *, lasts: bool = False) -> SandboxPolicy | None:
        return box[0]

    hands.workspace.box_for_call = confine
    code = (
        "open('inside', 'w').close()\ntry:\n    open('../outside', 'w')\nexcept OSError:\n    print('held')"
    )
    assert (await hands("eval", code=code)).text == (
        "[Cells run in the sandbox now. The kernel was restarted; its state is gone.]\nheld"
    )
    result, _ = await stopped(hands, "import time; time.sleep(99)")
    assert result.text.endswith("Interrupted; state kept.")
    box[0] = None
    assert "This kernel runs in the sandbox" in (await hands("eval", code=code)).text
    assert "held" not in (await hands("eval", code=code, reset=True)).text


WRITES_TO_SOCKETS = """
import os, stat
for descriptor in range(3, 64):
    try:
        if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            os.write(descriptor, {data!r})
    except OSError:
        pass
"""


@pytest.mark.parametrize(
    "data", [b"hello, are you there?", b"\0\x10\0\0begun", b"\0\0\0\2{x", b'\0\0\0\3"\xff"']
)
async def test_a_cell_that_writes_to_the_kernels_socket_ends_its_kernel(
    hands: ToolCaller, data: bytes
) -> None:
    """It counted as the length of a word that never came, and the cell hung for ten minutes."""
    code = WRITES_TO_SOCKETS.format(data=data)
    async with asyncio.timeout(60):
        result = await hands("eval", code=code)
        assert "kernel" in result.text.lower()
        assert "2" in (await hands("eval", code="1 + 1")).text
