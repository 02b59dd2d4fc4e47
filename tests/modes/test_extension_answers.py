"""What extensions answer and ask for, in whole processes: an orderly end, dicts, answers that cannot be read."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bayou.client import RpcClient, RpcError
from bayou.values import CustomMessage, text_of
from tests.hostile.setups import MODEL, answer_body, use_model_at, write_user_settings
from tests.modes.processes import CALLS, results_of, start
from tests.providers.loopback import Reply, loopback
from tests.support.warm_bayou import BAYOU

ENDS = """
def extension(api):
    @api.on("agent_start")
    async def begin(event, context):
        context.shutdown()

    @api.command("quit")
    async def quit(arguments, context):
        context.shutdown()
"""
SPAWN = """
from pathlib import Path

def extension(api):
    @api.on("spawn")
    async def spawn(event, context):
        {answer}
"""
MESSAGE = """
def extension(api):
    @api.on("before_agent_start")
    async def begin(event, context):
        return {"message": {"custom_type": "note", "content": "for the model", "details": {"my_key": 1}}}
"""


def extension(folder: Path, text: str) -> str:
    file = folder / "own.py"
    file.write_text(text)
    return str(file)


async def ran(folder: Path, *arguments: str) -> tuple[int | None, str, str]:
    process = await start(folder, *arguments, command=BAYOU)
    out, said = await asyncio.wait_for(process.communicate(b""), 60)
    return process.returncode, out.decode(), said.decode()


def printed(folder: Path, *prompts: str) -> tuple[str, ...]:
    calls = [json.dumps([["bash", {"command": f"touch {name}"}]]) for name in prompts]
    return ("-p", "-e", CALLS, "-e", extension(folder, ENDS), "--no-session", *calls)


async def test_an_extension_that_ends_print_mode_does_not_lose_the_answer(tmp_path: Path) -> None:
    assert await ran(tmp_path, *printed(tmp_path, "one")) == (0, "Done.\n", "")
    assert (tmp_path / "one").exists()


async def test_prompts_behind_the_end_are_not_sent_and_that_is_reported(tmp_path: Path) -> None:
    code, out, said = await ran(tmp_path, *printed(tmp_path, "one", "two"))
    assert (code, out) == (0, "Done.\n")
    assert "An extension ended bayou. Prompts that were not sent: 1." in said
    assert (tmp_path / "one").exists() and not (tmp_path / "two").exists()


async def test_json_mode_tells_the_run_to_its_end(tmp_path: Path) -> None:
    code, out, _ = await ran(tmp_path, *printed(tmp_path, "one"), "--mode", "json")
    kinds = [json.loads(line)["type"] for line in out.splitlines()]
    assert code == 0 and "agent_settled" in kinds


async def test_over_rpc_the_run_settles_before_the_process_ends(tmp_path: Path) -> None:
    flags = ("-e", CALLS, "-e", extension(tmp_path, ENDS), "--no-session")
    process = await start(tmp_path, *flags)
    assert process.stdin is not None and process.stdout is not None
    prompt = json.dumps([["bash", {"command": "touch one"}]])
    process.stdin.write(json.dumps({"id": "1", "type": "prompt", "message": prompt}).encode() + b"\n")
    lines = [json.loads(line) async for line in process.stdout]
    assert await asyncio.wait_for(process.wait(), 30) == 0
    assert "agent_settled" in [line["type"] for line in lines] and (tmp_path / "one").exists()


async def test_a_command_that_ends_bayou_is_answered_first(tmp_path: Path) -> None:
    async with RpcClient(cwd=tmp_path, arguments=["-e", extension(tmp_path, ENDS), "--no-session"]) as client:
        assert await client.prompt("/quit") == "handled"
        assert await asyncio.wait_for(client.stop(), 30) == 0


async def commanded(folder: Path, answer: str) -> Any:
    flags = ["-e", CALLS, "-e", extension(folder, SPAWN.format(answer=answer)), "--permissions", "full"]
    async with RpcClient(cwd=folder, arguments=[*flags, "--no-session"]) as client:
        (result,) = await results_of(client, ("bash", {"command": "touch there; pwd"}))
    return result


async def test_a_text_stands_for_a_path_in_an_answer(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    result = await commanded(tmp_path, f"return {{'cwd': {str(tmp_path / 'sub')!r}}}")
    assert text_of(result.content).strip() == str(tmp_path / "sub") and (tmp_path / "sub" / "there").exists()


@pytest.mark.parametrize(
    "answer",
    ["return {'commnd': 'ls'}", "return {'cwd': 7}", "return 'ls'", "raise KeyError('x')"],
)
async def test_a_command_whose_change_cannot_be_read_does_not_run(tmp_path: Path, answer: str) -> None:
    result = await commanded(tmp_path, answer)
    assert result.is_error and "could not check this" in text_of(result.content)
    assert not (tmp_path / "there").exists()


async def test_a_message_in_pythons_spelling_is_a_message(tmp_path: Path) -> None:
    flags = ["-e", CALLS, "-e", extension(tmp_path, MESSAGE), "--no-session", "--permissions", "full"]
    async with RpcClient(cwd=tmp_path, arguments=flags) as client:
        await results_of(client, ("ls", {}))
        messages = await client.get_messages()
    (noted,) = [one for one in messages if isinstance(one, CustomMessage)]
    assert noted.custom_type == "note" and noted.details == {"my_key": 1}


UNREAD = """
def extension(api):
    @api.on({hook!r})
    async def answer(event, context):
        return {answer}
"""


@pytest.mark.parametrize(
    "answer", ["'redacted'", "{'txt': 'redacted'}", "{'text': 7, 'action': 'transform'}"]
)
async def test_a_prompt_whose_change_cannot_be_read_is_not_sent(tmp_path: Path, answer: str) -> None:
    flags = [
        "-e",
        CALLS,
        "-e",
        extension(tmp_path, UNREAD.format(hook="input", answer=answer)),
        "--no-session",
    ]
    async with RpcClient(cwd=tmp_path, arguments=flags) as client:
        with pytest.raises(RpcError, match=r"own gave an answer that cannot be read: .* Nothing was sent\."):
            await client.prompt(json.dumps([["ls", {}]]))
        assert await client.get_messages() == []


@pytest.mark.parametrize("hook", ["context", "context_with_system", "before_provider_request"])
async def test_a_request_whose_change_cannot_be_read_is_not_sent(tmp_path: Path, hook: str) -> None:
    flags = (*MODEL, "-e", extension(tmp_path, UNREAD.format(hook=hook, answer="'redacted'")), "--no-session")
    write_user_settings(retry={"enabled": False})
    async with loopback() as server:
        use_model_at(server)
        server.reply(Reply(body=answer_body("never said")))
        code, out, said = await ran(tmp_path, "-p", "a secret", *flags)
    assert (code, out) == (6, "") and "gave an answer that cannot be read" in said
    assert "Nothing was sent." in said
    assert not server.requests


async def test_an_invalid_yes_or_no_answer_cancels(tmp_path: Path) -> None:
    text = "".join(
        f"    @api.on({hook!r})\n    async def on_{hook}(event, context):\n        return 'no'\n"
        for hook in ("session_before_switch", "session_before_fork", "session_before_tree")
    )
    flags = ["-e", CALLS, "-e", extension(tmp_path, f"def extension(api):\n{text}"), "--permissions", "full"]
    async with RpcClient(cwd=tmp_path, arguments=flags) as client:
        await results_of(client, ("ls", {}))
        before = (await client.get_state()).get("sessionFile")
        (first,) = await client.get_fork_messages()
        assert (await client.new_session())["cancelled"]
        assert (await client.fork(first["entryId"]))["cancelled"]
        assert (await client.navigate_tree(first["entryId"]))["cancelled"]
        assert (await client.get_state()).get("sessionFile") == before
