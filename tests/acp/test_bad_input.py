"""What a client may get wrong: every line gets an answer, and the session goes on."""

import base64
import io
import json
import random
from pathlib import Path

import pytest
from PIL import Image as Picture

from tests.acp.peers import AcpError, bayou, scripted_client

BAD = (
    b"no json",
    b"[]",
    b"1",
    b'"text"',
    b"null",
    b"{}",
    b"\xff\xfe",
    b'{"jsonrpc":"2.0","method":1,"id":1}',
    b'{"jsonrpc":"2.0","method":"x","id":{}}',
    b'{"jsonrpc":"2.0","id":[1],"result":{}}',
    b'{"jsonrpc":"2.0","id":7,"error":"no object"}',
)

ODD = {"unknown": {"x": 1}, "elicitation": True, "auth": [], "fs": None, "_meta": 3}
"""Capabilities that the protocol wants read as absent ones."""


async def test_requests_out_of_order_are_refused_and_the_next_ones_work(tmp_path: Path) -> None:
    async with bayou() as client:
        with pytest.raises(AcpError, match="called before initialize"):
            await client.new(tmp_path)
        answer = await client.call("initialize", protocolVersion=7, clientCapabilities=ODD)
        assert answer["protocolVersion"] == 1
        with pytest.raises(AcpError, match="called twice"):
            await client.initialize()
        with pytest.raises(AcpError, match="Invalid parameters of session/new"):
            await client.call("session/new", cwd=1)
        for method, code in (("session/none", -32601), ("fs/read_text_file", -32601), ("_x/y", -32601)):
            with pytest.raises(AcpError) as refused:
                await client.call(method)
            assert refused.value.code == code
        for cwd in ("relative", str(tmp_path / "gone"), "", "/\0"):
            with pytest.raises(AcpError, match="cwd"):
                await client.call("session/new", cwd=cwd, mcpServers=[])
        for session in ("none", "../../etc/passwd", "", "0"):
            with pytest.raises(AcpError, match="there is no session"):
                await client.call("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        session = await client.new(tmp_path)
        for prompt in (
            [],
            [{"type": "none"}],
            [{"type": "image", "data": "no base64!", "mimeType": "image/png"}],
        ):
            with pytest.raises(AcpError) as refused:
                await client.call("session/prompt", sessionId=session, prompt=prompt)
            assert refused.value.code == -32602
        client.notify("session/cancel", sessionId="none")
        client.notify("$/cancel_request", requestId=12345)
        client.notify("session/none")
        assert await client.prompt(session, "help") == "end_turn"
        prompt = [{"type": "text", "text": "help"}]
        for _ in range(2):  # an id that is used again is answered again
            answer = await client.call_with_id("again", "session/prompt", sessionId=session, prompt=prompt)
            assert answer["stopReason"] == "end_turn"


async def test_ten_thousand_bad_lines_are_each_answered(tmp_path: Path) -> None:
    chosen = random.Random(7)
    async with bayou() as client:
        await client.initialize()
        for _ in range(100):
            for _ in range(100):
                client.write_line(chosen.choice(BAD))
            assert client.process.stdin is not None
            await client.process.stdin.drain()
        await client.until(lambda: len(client.unasked) == 10_000)
        assert {one["error"]["code"] for one in client.unasked} == {-32700, -32600}
        assert await client.prompt(await client.new(tmp_path), "help") == "end_turn"


async def test_a_prompt_of_fifty_megabytes_arrives_and_a_line_beyond_the_limit_is_refused(
    tmp_path: Path,
) -> None:
    async with scripted_client() as client:
        session = await client.new(tmp_path)
        out = io.BytesIO()
        Picture.new("RGB", (3600, 3500)).save(out, "PNG", compress_level=0)
        large = {
            "type": "image", "data": base64.b64encode(out.getvalue()).decode(), "mimeType": "image/png"
        }  # fmt: skip
        assert len(large["data"]) > 50_000_000
        assert await client.prompt(session, "words 3", large) == "end_turn"
        client.write_line(json.dumps({"x": "y" * 70_000_000}).encode())
        await client.until(lambda: client.unasked)
        assert "64 MB" in client.unasked[0]["error"]["data"]["reason"]
        assert await client.prompt(session, "words 2") == "end_turn"
