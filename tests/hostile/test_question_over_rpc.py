"""Over RPC the question is sent to the client: all of it, and nothing counts until its yes."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from app.assembly.trust_prompt import DISTRUST_FOLDER_LABEL, TRUST_FOLDER_LABEL, TRUST_LATER_LABEL
from tests.hostile.conftest import Put
from tests.hostile.test_keys_stay_with_bayou import told_by
from tests.hostile.test_later import code
from tests.modes.processes import lines_until, start
from tests.modes.processes import put as queue_line


def prepared(folder: Path, mark: Path, put: Put) -> None:
    put(folder / ".bayou" / "extensions" / "theirs.py", code(mark))
    put(folder / ".bayou" / "settings.json", '{"shellCommandPrefix": "export PREFIXED=yes\\u202e;"}')


async def asked(process: asyncio.subprocess.Process) -> dict[str, Any]:
    return (await lines_until(process, type="extension_ui_request", method="select"))[-1]


async def state(process: asyncio.subprocess.Process) -> None:
    queue_line(process, type="get_state", id="state")
    await lines_until(process, type="response", command="get_state")


async def ended(process: asyncio.subprocess.Process) -> int:
    out, _ = await process.communicate(b"")
    assert b'"error"' not in out
    return process.returncode or 0


@pytest.mark.parametrize(
    "answer", [{"value": TRUST_LATER_LABEL}, {"cancelled": True}, {"value": "yes"}, {"confirmed": True}, None]
)
async def test_a_client_is_asked_and_what_is_no_yes_lets_nothing_count(
    folder: Path, mark: Path, put: Put, answer: dict[str, Any] | None
) -> None:
    prepared(folder, mark, put)
    process = await start(folder, "--offline", "--no-session")
    question = await asked(process)
    assert question["options"] == [TRUST_LATER_LABEL, TRUST_FOLDER_LABEL, DISTRUST_FOLDER_LABEL]
    for words in ("extension .bayou/extensions/theirs.py", "shellCommandPrefix", "<U+202E>"):
        assert words in question["title"]
    if answer is not None:
        queue_line(process, type="extension_ui_response", id=question["id"], **answer)
    assert "yes" not in await told_by(process, "echo $PREFIXED")
    assert await ended(process) == 0
    assert not mark.exists()


async def test_a_yes_of_a_client_counts_at_once_and_at_the_next_start(
    folder: Path, mark: Path, put: Put
) -> None:
    prepared(folder, mark, put)
    process = await start(folder, "--offline", "--no-session")
    question = await asked(process)
    assert not mark.exists()
    queue_line(process, type="extension_ui_response", id=question["id"], value=TRUST_FOLDER_LABEL)
    while not mark.exists():
        await state(process)
    assert "yes" in await told_by(process, "echo $PREFIXED")
    put(folder / ".bayou" / "extensions" / "late.py", "def extension(api): ...")
    queue_line(process, type="bash", command="true", id="2")
    assert "late.py" in (await asked(process))["title"]
    await ended(process)
    (folder / ".bayou" / "extensions" / "late.py").unlink()
    mark.unlink()
    process = await start(folder, "--offline", "--no-session")
    await state(process)
    await ended(process)
    assert mark.exists()


async def test_a_yes_to_what_has_changed_meanwhile_is_none(folder: Path, mark: Path, put: Put) -> None:
    prepared(folder, mark, put)
    process = await start(folder, "--offline", "--no-session")
    question = await asked(process)
    put(folder / ".bayou" / "extensions" / "late.py", code(mark))
    queue_line(process, type="extension_ui_response", id=question["id"], value=TRUST_FOLDER_LABEL)
    assert "late.py" in (await asked(process))["title"]
    await ended(process)
    assert not mark.exists()


async def test_a_no_of_a_client_is_kept(folder: Path, mark: Path, put: Put) -> None:
    prepared(folder, mark, put)
    process = await start(folder, "--offline", "--no-session")
    question = await asked(process)
    queue_line(process, type="extension_ui_response", id=question["id"], value=DISTRUST_FOLDER_LABEL)
    file = Path(os.environ["BAYOU_AGENT_DIR"]) / "trust.json"
    while not file.exists():
        await state(process)
    await ended(process)
    process = await start(folder, "--offline", "--no-session")
    queue_line(process, type="get_state", id="1")
    out, _ = await process.communicate(b"")
    assert b"extension_ui_request" not in out and not mark.exists()
