"""Cells of Python in a whole process: run by a program, by an extension's tool, and ended with the process."""

import asyncio
import os
import signal
from pathlib import Path

from bayou.client import RpcClient
from tests.hostile.setups import COLD_BAYOU
from tests.modes.processes import scripted_client

COMPUTING = """
def extension(api):
    @api.tool("compute", "Computes.")
    async def compute(arguments, context):
        made = await context.execute_tool("eval", {"code": "kept = 6 * 7\\nkept"})
        return made.text
"""


async def gone(pid: int) -> None:
    """Waits until there is no such process; one that only its parent has not buried is none."""
    async with asyncio.timeout(10):
        while Path(f"/proc/{pid}/stat").exists():
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return
            await asyncio.sleep(0.01)


async def test_a_program_runs_cells_looks_at_the_kernel_and_begins_anew(tmp_path: Path) -> None:
    async with scripted_client(tmp_path) as bayou:
        assert (await bayou.get_kernel())["state"] == "none"
        done = await bayou.eval("import os\nn = 41\nn + 1")
        assert done["output"] == "Out: 42" and not done["isError"]
        kernel = await bayou.get_kernel()
        assert kernel["state"] == "idle" and {"n"} <= {name["name"] for name in kernel["names"]}
        failed = await bayou.eval("n / 0")
        assert failed["isError"] and failed["output"].endswith("ZeroDivisionError: division by zero")
        assert await bayou.restart_kernel()
        assert "NameError" in (await bayou.eval("n"))["output"]


async def test_a_cell_that_does_not_end_is_stopped_and_the_rest_goes_on(tmp_path: Path) -> None:
    async with scripted_client(tmp_path) as bayou:
        await bayou.eval("kept = 1")
        endless = asyncio.ensure_future(bayou.eval("while True: print('x' * 100)"))
        async with asyncio.timeout(20):
            while (await bayou.get_kernel())["state"] != "busy":
                continue
        for _ in range(20):
            assert (await bayou.get_state())["isStreaming"] is False  # it answers while the cell floods
        await bayou.abort_eval()
        assert (await endless)["output"].endswith("Interrupted; state kept.")
        assert (await bayou.eval("kept"))["output"] == "Out: 1"


async def test_names_stay_in_the_tree_in_forks_and_clones_and_go_with_another_session(tmp_path: Path) -> None:
    """What `docs/eval.md` says of each."""
    async with scripted_client(tmp_path) as bayou:
        await bayou.prompt_and_wait("one")
        await bayou.eval("kept = 41")
        await bayou.prompt_and_wait("two")
        first = (await bayou.get_fork_messages())[0]["entryId"]
        here = (await bayou.get_state()).get("sessionFile")
        pid = (await bayou.get_kernel()).get("pid")
        await bayou.navigate_tree(first)
        assert (await bayou.eval("kept"))["output"] == "Out: 41", "though it was defined behind that place"
        await bayou.clone()
        assert (await bayou.eval("kept"))["output"] == "Out: 41"
        await bayou.prompt_and_wait("three")
        await bayou.fork((await bayou.get_fork_messages())[0]["entryId"])
        assert (await bayou.eval("kept"))["output"] == "Out: 41"
        assert (await bayou.get_kernel()).get("pid") == pid
        await bayou.switch_session(str(here))
        said = (await bayou.eval("kept"))["output"]
        assert said.startswith("[Another session is open. The kernel was restarted; its state is gone.]")
        assert "NameError" in said
        await bayou.eval("kept = 42")
        await bayou.new_session()
        assert "NameError" in (await bayou.eval("kept"))["output"]


async def test_an_extension_runs_a_cell_in_the_kernel_that_everybody_has(tmp_path: Path) -> None:
    extension = tmp_path / "computing.py"
    extension.write_text(COMPUTING)
    async with scripted_client(tmp_path, "-e", str(extension)) as bayou:
        await bayou.prompt_and_wait("call compute")
        assert "Out: 42" in str(await bayou.get_messages())
        assert (await bayou.eval("kept"))["output"] == "Out: 42"


async def test_nothing_of_it_is_left_when_the_process_is_killed(tmp_path: Path) -> None:
    async with RpcClient(cwd=tmp_path, env={**os.environ}, command=COLD_BAYOU) as bayou:
        pid = int((await bayou.eval("import os\nos.getpid()"))["output"].split()[1])
        busy = asyncio.ensure_future(bayou.eval("while True: pass"))
        await bayou.get_state()
        os.kill(bayou.connection.pid, signal.SIGKILL)
        await asyncio.gather(busy, return_exceptions=True)
    await gone(pid)
