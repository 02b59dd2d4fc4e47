"""Helper agents in the real program, with a provider that answers over HTTP and counts."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bayou.client import RpcClient
from tests.modes.processes import write_settings
from tests.modes.test_print_and_json import bayou
from tests.providers.loopback import Loopback, Received, Reply, loopback, sse

PROMPT, ANSWER = 110, 25


def answer_with(*calls: dict[str, Any], text: str = "") -> Reply:
    """An answer of the model with these calls of `task`, or a text."""
    delta: dict[str, Any] = {"content": text} if text else {}
    if calls:
        delta["tool_calls"] = [
            {
                "index": at,
                "id": f"call_{at}",
                "type": "function",
                "function": {"name": "task", "arguments": json.dumps(call)},
            }
            for at, call in enumerate(calls)
        ]
    return Reply(
        body=sse(
            {"id": "1", "choices": [{"index": 0, "delta": {"role": "assistant", **delta}}]},
            {
                "id": "1",
                "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}],
            },
            {"id": "1", "choices": [], "usage": {"prompt_tokens": PROMPT, "completion_tokens": ANSWER}},
            done=True,
        )
    )


def is_helper(received: Received) -> bool:
    return "You are the helper" in received.body.decode()


def knows(server: Loopback) -> None:
    """Makes the server the only provider."""
    far = {
        "baseUrl": f"{server.url}/v1",
        "api": "openai-completions",
        "apiKey": "none",
        "models": [{"id": "m", "cost": {"input": 1000, "output": 1000}}],
    }
    file = write_settings({"todo": {"reminders": False}}).parent / "models.json"
    file.write_text(json.dumps({"providers": {"far": far}}))


def answering(*calls: dict[str, Any], helper: Callable[[Received], Reply]) -> Callable[[Received], Reply]:
    def answer(received: Received) -> Reply:
        if is_helper(received):
            return helper(received)
        has_results = '"role": "tool"' in json.dumps(received.json["messages"])
        return answer_with(text="All done.") if has_results else answer_with(*calls)

    return answer


async def test_two_helpers_work_for_a_script_and_their_tokens_are_the_servers(tmp_path: Path) -> None:
    calls = ({"prompt": "Look left.", "agent": "scout"}, {"prompt": "Look right.", "agent": "scout"})
    async with loopback() as server:
        knows(server)
        server.reply(answering(*calls, helper=lambda _: answer_with(text="Nothing there.")))
        result = tmp_path / "result"
        done = await bayou("--model", "far/m", "--result", str(result), "-p", "look", cwd=tmp_path)
        assert (done.code, done.out) == (0, "All done.\n"), done.err
        assert len(server.requests) == 4 and sum(map(is_helper, server.requests)) == 2
        said = json.loads((result / "usage.json").read_text())
        assert said["usage"]["totalTokens"] == 4 * (PROMPT + ANSWER)


async def test_a_helper_may_not_spend_more_than_the_run(tmp_path: Path) -> None:
    async with loopback() as server:
        knows(server)
        server.reply(answering({"prompt": "On and on."}, helper=lambda _: answer_with({"prompt": "more"})))
        done = await bayou("--model", "far/m", "--max-tokens", "500", "-p", "look", cwd=tmp_path)
        assert len(server.requests) == 4, "500 tokens are reached with the fourth request of 135"
        assert done.code == 3, done.err


async def test_an_abort_over_rpc_closes_the_connections_of_all_helpers(tmp_path: Path) -> None:
    async with loopback() as server:
        knows(server)
        silent = Reply(hang_before_headers=True)
        calls = ({"prompt": "behind", "wait": False}, {"prompt": "one"}, {"prompt": "two"})
        server.reply(answering(*calls, helper=lambda _: silent))
        async with RpcClient(cwd=tmp_path, arguments=("--model", "far/m"), env={**os.environ}) as client:
            await client.prompt("go")
            async with asyncio.timeout(30):
                while sum(map(is_helper, server.requests)) < 3:  # noqa: ASYNC110  (of several connections)
                    await asyncio.sleep(0.01)
            await client.abort()
            async with asyncio.timeout(30):
                await server.client_left.wait()
                while (await client.get_state())["isStreaming"]:  # noqa: ASYNC110  (asked of another process)
                    await asyncio.sleep(0.01)
            jobs = await client.list_jobs()
            assert [job["state"] for job in jobs] == ["killed"]
            count = len(server.requests)
            await asyncio.sleep(0.3)
            assert len(server.requests) == count
