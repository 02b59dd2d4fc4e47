"""Which sockets with a path a command reaches, and which programs go on working by sockets of their own."""

import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.box.boxed_commands import BoxedCommands
from tests.box.conftest import skip_below
from tools.box.sandbox_instructions import ConfinementMethod
from tools.box.sandbox_policy import SandboxPolicy

Boxed = Callable[..., BoxedCommands]
CONNECT = (
    "python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print(\"reached\")' "
)
MANAGER = """\
import concurrent.futures, multiprocessing
if __name__ == "__main__":
    with multiprocessing.Manager() as manager:
        print("managed", manager.list([1, 2]))
    multiprocessing.set_start_method("forkserver", force=True)
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        print("squared", *pool.map(abs, [-3]))
"""
BETWEEN_COMMANDS = """\
import socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.bind(sys.argv[1])
    server.listen()
    print("listens", flush=True)
    server.accept()
"""
NODE = """\
const net = require("net"), child = require("child_process");
const server = net.createServer(link => link.end("answered")).listen("node.sock", () =>
  net.connect("node.sock").on("data", data => {
    console.log("" + data);
    const forked = child.spawn(process.execPath, ["-e", "process.send('sent')"], {stdio: [0, 1, 2, "ipc"]});
    forked.on("message", text => { console.log(text); process.exit(); });
  }));
"""


@pytest.fixture
def daemon(elsewhere: Path) -> Iterator[Path]:
    """Listens among temporary files, where commands write."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(elsewhere / "daemon.sock"))
        listening.listen()
        yield elsewhere / "daemon.sock"


@pytest.mark.parametrize("step", ["namespaces", "namespaces without landlock", "landlock"])
async def test_programs_outside_are_not_reached_with_the_network_open(
    step: ConfinementMethod, boxed: Boxed, daemon: Path
) -> None:
    hands = boxed(step)
    hands.effective_settings.set("sandbox.network", "open")
    await hands.outcome("true")
    text = await hands.text(f"echo ran; {CONNECT} {daemon}; cd {daemon.parent} && {CONNECT} {daemon.name}")
    assert "ran" in text and "reached" not in text


async def test_any_socket_in_the_workspace_can_be_reached(boxed: Boxed, project: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(project / "own.sock"))
        listening.listen()
        assert "reached" in await boxed().text(f"{CONNECT} own.sock")


async def test_commands_of_a_session_reach_each_other_among_their_temporary_files(boxed: Boxed) -> None:
    hands = boxed()
    await hands.outcome(f"cat > server.py <<'E'\n{BETWEEN_COMMANDS}E\n")
    await hands.started('exec python3 server.py "$TMPDIR/s" > out.txt 2>&1')
    await hands.outcome("until grep -q listens out.txt; do :; done")
    assert "reached" in await hands.text(CONNECT + '"$TMPDIR/s"')


async def test_temporary_files_of_a_session_go_with_it(boxed: Boxed) -> None:
    hands = boxed()
    folder = Path((await hands.text('echo x > "$TMPDIR/x"; echo "$TMPDIR"')).strip())
    assert (folder / "x").exists()
    hands.close()
    assert not folder.exists()


async def test_processes_of_python_find_each_other(boxed: Boxed) -> None:
    hands = boxed()
    text = await hands.text(f"cat > program.py <<'E'\n{MANAGER}E\npython3 program.py")
    assert "managed [1, 2]" in text and "squared 3" in text


async def test_processes_of_node_find_each_other(boxed: Boxed) -> None:
    if shutil.which("node") is None:
        pytest.skip("there is no node here")
    text = await boxed().text(f"cat > program.js <<'E'\n{NODE}E\nnode program.js")
    assert "answered" in text and "sent" in text


async def test_connections_of_the_network_are_made_as_they_were_asked_for(boxed: Boxed) -> None:
    hands = boxed()
    hands.effective_settings.set("sandbox.network", "open")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        text = await hands.text(
            "python3 - <<'E'\nimport asyncio, socket\n"
            f"socket.create_connection(('127.0.0.1', {port}))\n"
            f"asyncio.run(asyncio.open_connection('127.0.0.1', {port}))\n"
            "with socket.socket() as closed: closed.bind(('127.0.0.1', 0)); nobody = closed.getsockname()\n"
            "try: socket.create_connection(nobody)\nexcept ConnectionRefusedError: print('refused')\nE"
        )
    assert text.strip() == "refused"


async def test_a_workspace_that_is_the_home_does_not_reach_the_sockets_in_it(
    home: Path, elsewhere: Path
) -> None:
    skip_below("namespaces")
    hands = BoxedCommands(home, home, "namespaces")
    try:
        await hands.outcome("true")
        with tempfile.TemporaryDirectory(dir=home) as folder, socket.socket(socket.AF_UNIX) as listening:
            listening.bind(f"{folder}/s")
            listening.listen()
            assert "reached" not in await hands.text(f"{CONNECT} {folder}/s")
    finally:
        hands.close()


async def test_the_agent_for_keys_is_reached_by_a_network_command_that_was_let_run(
    boxed: Boxed, daemon: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(daemon))
    hands = boxed()
    hands.let_run("push", uses_network=True, bypasses_sandbox_proxy=True, programs=frozenset({"git"}))
    assert "reached" in await hands.text(f"{CONNECT} {daemon}", "push")
    assert "reached" not in await hands.text(f"{CONNECT} {daemon}")


async def test_a_socket_that_goes_while_a_command_starts_does_not_stop_it(
    boxed: Boxed, tmp_path: Path
) -> None:
    hands = boxed()
    confine = hands.workspace.box_for_call
    assert confine is not None

    async def outdated(call_id: str, *, lasts: bool = False) -> SandboxPolicy | None:
        box = await confine(call_id, lasts=lasts)
        gone = str(tmp_path / "gone.sock")
        return None if box is None else msgspec.structs.replace(box, hidden_files=(*box.hidden_files, gone))

    hands.workspace.box_for_call = outdated
    assert "started" in await hands.text("echo started")
