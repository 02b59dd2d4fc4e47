"""What calls do and say in whole processes: files go back whole, no edit is lost, results tell what is doubtful."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bayou.client import RpcClient
from bayou.values import text_of
from tests.hostile.setups import MODEL, answer_body, ending, run, use_model_at, write_user_settings
from tests.kernel.test_ends import WRITES_TO_SOCKETS
from tests.modes.processes import CALLS, results_of
from tests.providers.loopback import Reply, loopback, sse
from tests.support.warm_bayou import BAYOU
from tests.tools.test_edit_anchors import BLOCK, at
from tests.undo.test_in_sessions import as_tree

EDITS_EACH = 30
NOTE = "[Showing lines 1-2 of 900. Use offset=3 to continue.]"


@asynccontextmanager
async def calling(folder: Path) -> AsyncIterator[RpcClient]:
    async with RpcClient(cwd=folder, arguments=["-e", CALLS, "--permissions", "full"]) as client:
        yield client


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """With files in folders, one that git does not know, and a repository that only the index names."""
    folder = tmp_path / "project"
    for name in ("sub/deep/a.txt", "sub/b.txt", "new/c.txt", "library/d.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name}\n")
    for place in ("library", "."):
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
            own = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "advice.addEmbeddedRepo=false"]
            subprocess.run(["git", *own, *words], cwd=folder / place, check=True, capture_output=True)
    (folder / "sub" / "untracked.txt").write_text("untracked\n")
    assert "160000" in subprocess.run(
        ["git", "ls-files", "-s", "library"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout  # fmt: skip
    return folder


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf sub && ln -s new sub",
        "mv sub moved",
        "mkdir made",
        "rm -rf sub/deep",
        "echo more >> library/d.txt",
    ],
)
async def test_what_a_command_did_to_folders_is_taken_back(repository: Path, command: str) -> None:
    before = as_tree(repository)
    async with calling(repository) as client:
        await results_of(client, ("bash", {"command": command}))
        assert as_tree(repository) != before
        preview = await client.preview_undo()
        assert preview["files"]
        await client.undo_files()
    assert as_tree(repository) == before


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        (
            "apply_patch",
            {"input": "*** Begin Patch\n*** Update File: a.sh\n@@\n+last\n*** End Patch"},
            "names no place",
        ),
        (
            "edit",
            {"path": "a.sh", "edits": [{"oldText": "x=1", "newText": f"x=1\n{NOTE}"}]},
            "which is a note of a tool result",
        ),
        (
            "edit",
            {"path": "a.sh", "edits": [{"oldText": 'printf "old"', "newText": 'printf "a\nb"'}]},
            'if "\\n" was meant',
        ),
        ("bash", {"command": "echo ran", "pty": True}, "This ran without a terminal"),
        ("resolve", {"action": "apply", "reason": "x"}, "Nothing to apply or discard."),
        ("eval", {"code": WRITES_TO_SOCKETS.format(data=b"hello, are you there?")}, "kernel"),
    ],
)
async def test_a_result_says_what_is_doubtful_or_not_so(
    tmp_path: Path, name: str, arguments: dict[str, Any], told: str
) -> None:
    (tmp_path / "a.sh").write_text('x=1\nf() {\n  printf "old"\n}\n')
    async with calling(tmp_path) as client:
        await results_of(client, ("read", {"path": "a.sh"}))
        (result,) = await results_of(client, (name, arguments))
        assert told in text_of(result.content)


async def test_an_anchor_of_a_block_that_was_doubled_since_is_refused(tmp_path: Path) -> None:
    write_user_settings(edit={"mode": "anchored"})
    text = f"import os\n\n\n{BLOCK}print(os)\n"
    (tmp_path / "a.py").write_text(text)
    async with calling(tmp_path) as client:
        await results_of(client, ("read", {"path": "a.py"}))
        now = text.replace(BLOCK, BLOCK * 2)
        (tmp_path / "a.py").write_text(now)
        change = {"path": "a.py", "from": at(5, text), "lines": ["other"]}
        (result,) = await results_of(client, ("edit", {"changes": [change]}))
    assert result.is_error and "Nothing was changed." in text_of(result.content)
    assert (tmp_path / "a.py").read_text() == now


async def test_two_processes_that_edit_one_file_lose_no_edit(tmp_path: Path) -> None:
    names = [f"{letter} {number:02}" for letter in "ab" for number in range(EDITS_EACH)]
    file = tmp_path / "log.txt"
    file.write_text("".join(f"{name}\n" for name in names))

    async def edit(client: RpcClient, letter: str) -> list[Any]:
        await results_of(client, ("read", {"path": "log.txt"}))
        calls = [
            ("edit", {"path": "log.txt", "edits": [{"oldText": name, "newText": f"{name} done"}]})
            for name in names
            if name.startswith(letter)
        ]
        return await results_of(client, *calls)

    async with calling(tmp_path) as first, calling(tmp_path) as second:
        results = await asyncio.gather(edit(first, "a"), edit(second, "b"))
    assert [result.is_error for one in results for result in one] == [False] * len(names)
    assert file.read_text().splitlines() == [f"{name} done" for name in names]


async def test_a_stream_of_only_its_end_is_an_error(tmp_path: Path) -> None:
    async with loopback() as server:
        use_model_at(server)
        write_user_settings(retry={"enabled": False})
        server.reply(Reply(body=b"data: [DONE]\n\n"))
        code, out, err = await run(*BAYOU, *MODEL, "-p", "go", cwd=tmp_path)
    assert (code, out) == (6, "") and err


async def test_calls_with_one_id_and_different_indexes_all_run(tmp_path: Path) -> None:
    calls = [
        {"index": at, "id": "one", "type": "function", "function": {"name": "bash", "arguments": arguments}}
        for at, arguments in enumerate(('{"command": "touch first"}', '{"command": "touch second"}'))
    ]
    delta = {"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": calls}}]}
    async with loopback() as server:
        use_model_at(server)
        server.reply(
            Reply(body=sse(delta, ending("tool_calls"), done=True)), Reply(body=answer_body("Done."))
        )
        code, out, _ = await run(*BAYOU, *MODEL, "--permissions", "full", "-p", "go", cwd=tmp_path)
    assert (code, out.strip()) == (0, "Done.")
    assert (tmp_path / "first").exists() and (tmp_path / "second").exists()
