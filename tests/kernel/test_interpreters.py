"""Which interpreter runs the cells, and that old and new ones do, in an environment with nothing in it."""

import asyncio
import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernel.conftest import hands_in
from tests.tools.conftest import ToolCaller
from tools.kernel.kernel_interpreter import candidate_kernel_interpreters
from tools.kernel.kernel_settings import KernelSettings
from tools.session_workspace import SessionWorkspace

HOME = Path(pwd.getpwuid(os.getuid()).pw_dir)
"""Folders of interpreters, independent of a test's HOME."""
CODE = """
import asyncio, sys
class Note:
    def _repr_markdown_(self): return '**bold**'
print('printed')
display(Note())
await asyncio.sleep(0)
asyncio.create_task(asyncio.sleep(50))
'%d.%d' % sys.version_info[:2]
"""


def found(version: str) -> str | None:
    """An interpreter of that version that runs; a name on the path may be a stand-in that does not."""
    places = [shutil.which(f"python{version}")]
    places += map(str, HOME.glob(f".pyenv/versions/{version}.*/bin/python"))
    places += map(str, HOME.glob(f".local/share/uv/python/cpython-{version}.*/bin/python"))
    for place in filter(None, places):
        run = subprocess.run(
            [place, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True
        )
        if run.returncode == 0:
            return run.stdout.strip()
    return None


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"])
async def test_it_runs_with(version: str, tmp_path: Path) -> None:
    path = found(version)
    if path is None:
        pytest.skip(f"there is no Python {version} here")
    hands = hands_in(tmp_path, path)
    result = await hands("eval", code=CODE)
    assert result.text.splitlines()[:3] == ["printed", "**bold**", f"Out: '{version}'"], result.text
    assert "A task still ran" in result.text
    failed = await hands("eval", code="def f(): 1 / 0\nf()")
    assert failed.text.startswith('Traceback (most recent call last):\n  File "<cell 2>", line 2')
    assert failed.text.endswith("ZeroDivisionError: division by zero")
    stopped = await hands("eval", code="kept = 1\nawait asyncio.sleep(99)", timeout=0.3)
    assert stopped.text.endswith("Interrupted; state kept.")
    assert (await hands("eval", code="kept")).text == "Out: 1"
    hands.workspace.close()


async def test_an_environment_with_nothing_in_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    make = [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / ".venv")]
    await asyncio.to_thread(subprocess.run, make, check=True)

    async def counting() -> tuple[str | None, bool]:
        return None, True

    hands = ToolCaller(
        SessionWorkspace(tmp_path, kernel_settings=lambda: KernelSettings(interpreter_choice=counting))
    )
    code = "import sys, os; sys.prefix, os.environ['VIRTUAL_ENV'], os.environ['PATH'].split(':')[0]"
    venv = str(tmp_path / ".venv")
    assert (await hands("eval", code=code)).text == f"Out: {(venv, venv, venv + '/bin')!r}"
    view = await hands.workspace.kernel().kernel_info()
    assert view.interpreter_origin == ".venv"
    hands.workspace.close()


def told(
    folder: Path, chosen: str | None = None, *, uses_folder: bool = True, **environment: str
) -> list[str]:
    given = {"PATH": os.environ.get("PATH", ""), **environment}
    return [
        one.origin for one in candidate_kernel_interpreters(chosen, folder, given, uses_folder=uses_folder)
    ]


def test_which_are_tried_in_which_order(tmp_path: Path) -> None:
    for name in (".venv", "venv"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "python").symlink_to(sys.executable)
    assert told(tmp_path, VIRTUAL_ENV="/elsewhere")[:3] == ["VIRTUAL_ENV", ".venv", "venv"]
    assert told(tmp_path)[:2] == [".venv", "venv"]
    assert ".venv" not in told(tmp_path, uses_folder=False)
    assert "VIRTUAL_ENV" not in told(tmp_path, uses_folder=False, VIRTUAL_ENV=str(tmp_path / ".venv"))
    assert told(tmp_path)[-1] == "bayou's own Python"
    assert told(tmp_path, "python9") == ["eval.python"]


async def test_an_environment_whose_interpreter_is_gone_is_passed_over_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to("/nowhere/python3.9")
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    foreign = tmp_path / "venv" / "bin" / "python"
    foreign.write_bytes(
        b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x02\x00\xb7\x00" + b"\0" * 44
    )  # for another machine
    foreign.chmod(0o755)
    hands = ToolCaller(SessionWorkspace(tmp_path, kernel_settings=KernelSettings))
    text = (await hands("eval", code="1")).text
    assert f"{tmp_path}/.venv/bin/python (.venv) does not run: No such file or directory" in text
    assert f"{foreign} (venv) does not run: " in text
    assert text.endswith("Out: 1") and (await hands("eval", code="2")).text == "Out: 2"
    hands.workspace.close()


async def test_one_that_was_chosen_is_not_replaced(tmp_path: Path) -> None:
    hands = hands_in(tmp_path, str(tmp_path / "gone"))
    words = await hands.error("eval", code="1")
    assert "does not run: No such file" in words and "Correct the setting eval.python" in words
    talker = tmp_path / "talker"
    talker.write_text("#!/bin/sh\necho I am no Python >&2\nexit 3\n")
    talker.chmod(0o755)
    assert "I am no Python" in await hands_in(tmp_path, str(talker)).error("eval", code="1")
