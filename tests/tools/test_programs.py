"""bayou's own programs: output, input and end; also when the loop closes during a start."""

import asyncio
import re
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.architecture.sources import files, name
from tools.running.child_programs import ChildProgram

LOUD = (
    sys.executable,
    "-c",
    "import sys; sys.stdout.write(sys.stdin.read()[::-1]); sys.stderr.write('hm'); sys.exit(3)",
)
SLEEPS = ("sh", "-c", "sleep 7423 & sleep 7423")


async def test_it_is_fed_heard_and_waited_for() -> None:
    async with await ChildProgram.start(LOUD, is_fed=True, keeps_errors=True) as program:
        _, out, errors = await asyncio.gather(
            program.write_stdin(b"tide"), program.stdout.read(), program.stderr.read()
        )
        assert (out, errors, await program.wait()) == (b"edit", b"hm", 3)


async def test_leaving_the_block_ends_the_group() -> None:
    async with await ChildProgram.start(SLEEPS) as program:
        assert program.exit_code is None
    assert program.exit_code == -9
    assert await asyncio.wait_for(program.stdout.read(), 5) == b""


async def test_a_program_that_is_not_there_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await ChildProgram.start((str(tmp_path / "nothing"),))


@pytest.mark.parametrize("rounds", range(6))
def test_closing_the_loop_while_it_starts_does_not_hang(rounds: int) -> None:
    """So many turns of the loop behind the wish to start, which is where asyncio's own subprocesses wait for ever."""

    async def leave() -> None:
        starting = asyncio.ensure_future(ChildProgram.start(SLEEPS, is_fed=True, keeps_errors=True))
        for _ in range(rounds):
            await asyncio.sleep(0)
        del starting

    left = threading.Thread(target=lambda: asyncio.run(leave()), daemon=True)
    began = time.monotonic()
    left.start()
    left.join(20)
    assert not left.is_alive()
    assert time.monotonic() - began < 20


def test_no_module_starts_programs_with_asyncio() -> None:
    starts = re.compile(r"create_subprocess_\w+\(|\.subprocess_(exec|shell)\(")
    found = [name(path) for path in files("app", "widgets", "tools") if starts.search(path.read_text())]
    # What other programs import needs nothing but Python, and its loop is theirs.
    assert found == ["app/package/bayou/batch.py", "app/package/bayou/connection.py"]
