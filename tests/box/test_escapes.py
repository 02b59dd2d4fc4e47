"""Getting out of the box: each attempt on each step, and the page that says which come to something.

`python -m tests.box.test_escapes` writes the table of docs/sandbox.md as it is on this machine, for an ordinary user.
`python -m tests.box.test_escapes STEP` makes all attempts on one step and prints what came of them.
"""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.cli.process_protection import forbid_process_inspection
from app.engine.core.session_options import SessionOptions
from app.engine.sandbox.command_context import CommandPlaceFacts
from app.engine.sandbox.sandboxes import ToolCallSandboxes
from app.resources.settings.effective_settings import EffectiveSettings
from tests.box.conftest import skip_below, skip_without_user_namespaces
from tests.box.ordinary import run_ordinary
from tests.box.shared_objects import shared_objects
from tools.box.sandbox_features import system_sandbox_features
from tools.box.sandbox_instructions import CONFINEMENT_METHODS, ConfinementMethod, limit_features_to_method
from tools.file_and_process_operations import CommandLine
from tools.running.local_processes import LocalProcesses, create_large_pipe
from tools.session_workspace import SessionWorkspace

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import tests.box.escapes.run"
PAGE = ROOT / "docs" / "sandbox.md"
BEGIN, END = "<!-- attempts: begin -->", "<!-- attempts: end -->"
BOXED: tuple[ConfinementMethod, ...] = ("namespaces", "namespaces without landlock", "landlock")
SCOPED = {
    "a signal to bayou",
    "a signal to bayou by a descriptor of it",
    "a socket without a file (abstract)",
}
"""What Landlock has to know scopes for, as it does since Linux 6.12."""
Results = dict[tuple[str, str], bool]


@contextmanager
def outside_world() -> Iterator[dict[str, Any]]:
    """A home with keys and daemons, in a folder that is no place for temporary files."""
    with ExitStack() as kept:
        root = Path(tempfile.mkdtemp(prefix="bayou-escapes-"))
        kept.callback(shutil.rmtree, root, ignore_errors=True)
        home, shared = root / "home", Path("/dev/shm", f"bayou-{os.getpid()}")
        project = home / "project"
        for folder in (
            ".ssh",
            ".bayou/agent",
            "project/.git/hooks",
            "project/.vscode",
            "project/.bayou",
            "outside",
        ):
            (home / folder).mkdir(parents=True)
        for name in (".ssh/id_ed25519", ".bayou/agent/auth.json"):
            (home / name).write_text("a key")
        for name in (
            ".bashrc",
            *(f"outside/{name}" for name in ("file", "removed", "moved", "hard", "modes")),
        ):
            (home / name).write_text("old")
        for folder in ("objects", "refs"):
            (project / ".git" / folder).mkdir()
        (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (project / ".git" / "config").write_text("[core]\n")
        (project / ".git" / "hooks" / "kept").write_text("")
        shared.write_text("a key")
        kept.callback(shared.unlink, missing_ok=True)
        sockets = [kept.enter_context(socket.socket(family, kind)) for family, kind in (
            (socket.AF_UNIX, socket.SOCK_STREAM),
            (socket.AF_UNIX, socket.SOCK_STREAM),
            (socket.AF_INET, socket.SOCK_STREAM),
            (socket.AF_INET, socket.SOCK_DGRAM),
        )]  # fmt: skip
        receiver = kept.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        receiver.bind(str(home / "receiver.sock"))
        temporary = Path(
            kept.enter_context(tempfile.TemporaryDirectory(prefix="bayou-late-", dir="/var/tmp"))
        )
        abstract = f"bayou-escapes-{os.getpid()}"
        for one, address in zip(
            sockets,
            (str(home / "daemon.sock"), "\0" + abstract, ("127.0.0.1", 0), ("127.0.0.1", 0)),
            strict=True,
        ):
            one.bind(address)
        for one in sockets[:3]:
            one.listen()
        descriptor = os.open(home / "outside" / "file", os.O_RDWR)
        kept.callback(os.close, descriptor)
        _, terminal = os.openpty()
        shared_with_all = kept.enter_context(shared_objects())
        yield {
            "home": str(home),
            "inside": str(project),
            "outside": str(home / "outside"),
            "key": str(home / ".ssh" / "id_ed25519"),
            "credentials": str(home / ".bayou" / "agent" / "auth.json"),
            "shared": str(shared),
            "socket": str(home / "daemon.sock"),
            "receiver": str(home / "receiver.sock"),
            "late": str(home / "late.sock"),
            "late_temporary": str(temporary / "late.sock"),
            "late_moved": str(temporary / "moved.sock"),
            "abstract": abstract,
            "port": sockets[2].getsockname()[1],
            "datagrams": sockets[3].getsockname()[1],
            "bayou": os.getpid(),
            "descriptor": descriptor,
            "terminal": os.ttyname(terminal),
            **shared_with_all,
        }


async def attempts(step: ConfinementMethod) -> Results:
    """Which came to something in a box on this step, without a network."""
    with outside_world() as told, ExitStack() as kept:
        home, project = Path(told["home"]), Path(told["inside"])
        abilities = limit_features_to_method(system_sandbox_features(), step)
        workspace = SessionWorkspace(project, abilities=lambda: abilities)
        effective_settings = EffectiveSettings()
        effective_settings.set("sandbox.network", "off")
        own = home / ".bayou" / "agent"
        boxes = ToolCallSandboxes(
            SessionOptions(effective_settings),
            workspace,
            CommandPlaceFacts(home, own),
            mode=lambda: "auto-edit",
            home=home,
            own=own,
        )
        processes = LocalProcesses(lambda: abilities)
        reading, writing = create_large_pipe()
        try:
            box = await boxes.box_for_call("attempts")
            assert box is not None
            command = CommandLine(
                argv=(sys.executable, "-I", "-S", "-c", PROGRAM, json.dumps(told)),
                cwd=str(project),
                environment={"PATH": os.environ["PATH"]},
                box=box,
            )
            process = await processes.start(command, writing)
            os.close(writing)
            for name in ("late", "late_temporary", "late_moved"):
                late = socket.socket(socket.AF_UNIX)
                late.bind(told[name])
                late.listen()
                kept.enter_context(late)
            output = await asyncio.to_thread(_all, reading)
            await process.wait()
        finally:
            processes.close()
            workspace.close()
            boxes.close()
    try:
        return {(subject, words): came for subject, words, came in json.loads(output.splitlines()[-1])}
    except (ValueError, IndexError):
        raise AssertionError(output.decode(errors="replace")) from None


def _all(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def table(found: dict[ConfinementMethod, Results]) -> str:
    lines = [
        BEGIN,
        "| Attempt | " + " | ".join(f"`{step}`" for step in BOXED) + " |",
        "|---|" + "---|" * len(BOXED),
    ]
    subject = ""
    for key in found[BOXED[0]]:
        if key[0] != subject:
            subject = key[0]
            lines.append(f"| **{subject}** |" + " |" * len(BOXED))
        said = ("possible" if found[step][key] else "refused" for step in BOXED)
        lines.append(f"| {key[1]} | " + " | ".join(said) + " |")
    counts = ", ".join(f"{sum(found[step].values())} on `{step}`" for step in BOXED)
    lines.append(
        f"\nOf {len(found[BOXED[0]])} attempts came to something: {counts}; on `none` whatever the person may."
    )
    return "\n".join([*lines, END])


def on_page(step: ConfinementMethod) -> dict[str, str]:
    """What the page says of each attempt."""
    text = PAGE.read_text(encoding="utf-8")
    rows = text[text.index(BEGIN) : text.index(END)].splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if row.startswith("| ")]
    at = 1 + BOXED.index(step)
    return {row[0]: row[at] for row in cells[1:] if row[at] in ("possible", "refused")}


def attempts_of(user: str, step: ConfinementMethod) -> Results:
    """Made by a program that forbids looking into it, as bayou does."""
    argv = [sys.executable, "-m", "tests.box.test_escapes", step]
    with tempfile.TemporaryDirectory(prefix="bayou-home-", dir="/var/tmp") as home:
        Path(home).chmod(0o755)
        if user == "ordinary":
            done = run_ordinary(argv, home=Path(home))
        else:
            done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
    if not done.stdout:
        raise AssertionError(done.stderr)
    return {(subject, words): came for subject, words, came in json.loads(done.stdout.splitlines()[-1])}


@pytest.mark.parametrize("user", ["ordinary", "root"])
@pytest.mark.parametrize("step", BOXED)
def test_the_page_says_what_is_possible(step: ConfinementMethod, user: str) -> None:
    if user == "root" and os.geteuid():
        pytest.skip("these tests are not run by root")
    skip_below(step)
    if user == "ordinary" and step.startswith("namespaces"):
        skip_without_user_namespaces()
    if "landlock" in (step, step[:8]) and not system_sandbox_features().supports_landlock:
        pytest.skip("this system has no Landlock")
    said = on_page(step)
    found = attempts_of(user, step)
    assert {words for _, words in found} == set(said)
    unheld = set[str]() if system_sandbox_features().supports_landlock_scopes else SCOPED
    more = [
        words
        for (_, words), came in found.items()
        if came and said[words] == "refused" and words not in unheld
    ]
    assert more == [], "possible here, and the page says that it is refused"


def test_whatever_is_possible_on_the_first_step_is_named() -> None:
    possible = [words for words, said in on_page("namespaces").items() if said == "possible"]
    text = PAGE.read_text(encoding="utf-8").split(BEGIN)[0]
    assert [words for words in possible if words not in text] == []


def _print(step: ConfinementMethod) -> None:
    import app.engine.sandbox.sandbox_places as engine

    engine.temporary_folders = lambda: ("/var/tmp",)
    forbid_process_inspection()
    found = asyncio.run(attempts(step))
    print(json.dumps([(*words, came) for words, came in found.items()]))


def _write() -> None:
    found: dict[ConfinementMethod, Results] = {step: attempts_of("ordinary", step) for step in BOXED}
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    PAGE.write_text(head + table(found) + rest.split(END)[1], encoding="utf-8")


assert set(BOXED) < set(CONFINEMENT_METHODS)
if __name__ == "__main__":
    if len(sys.argv) > 1:
        _print(next(step for step in CONFINEMENT_METHODS if step == sys.argv[1]))
    else:
        _write()
