"""Three large reads at once, over real HTTP: what the provider is sent next holds their pages and their maps."""

import json
from pathlib import Path
from typing import Any

from app.assembly.command_line_options import CommandLineOptions
from app.assembly.extensions.extension_setup import connect_extensions
from app.assembly.session_builder import assemble_session
from app.assembly.shutdown import close_session
from app.extensions.headless_ui import HeadlessUi
from app.resources.paths import BayouPaths
from tests.providers.loopback import Reply, loopback, sse

NAMES = ("a.py", "b/code.py", "c/code.py")
"""Two of them are told apart by their folders alone."""


def asked_for() -> list[dict[str, Any]]:
    calls = [
        {
            "index": index,
            "id": f"call_{index}",
            "type": "function",
            "function": {"name": "read", "arguments": json.dumps({"path": name})},
        }
        for index, name in enumerate(NAMES)
    ]
    return [{"index": 0, "delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}]


async def test_maps_of_three_reads_follow_in_call_order_in_the_next_request(
    tmp_path: Path,
) -> None:
    for name in NAMES:
        text = "".join(f"def {name[0]}_{n}(x):\n    return x\n\n\n" for n in range(900))
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    paths = BayouPaths.from_env({"HOME": str(tmp_path / "home")}, tmp_path)
    paths.agent_dir.mkdir(parents=True)
    async with loopback() as server:
        done = {"id": "c", "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
        reads = {"id": "c", "choices": asked_for()}
        server.reply(Reply(body=sse(reads, done=True)), Reply(body=sse(done, done=True)))
        entry = {"baseUrl": server.url, "api": "openai-completions", "models": [{"id": "m"}]}
        (paths.agent_dir / "models.json").write_text(json.dumps({"providers": {"mine": entry}}))
        options = CommandLineOptions(no_session=True, model="mine/m")
        assembled = assemble_session(options, paths, {})
        session = assembled.session
        await connect_extensions(
            assembled,
            options,
            paths,
            mode="print",
            ui=HeadlessUi(session.events.publish_now),
            shutdown=lambda: None,
        )
        await session.prompt("Look at them")
        await session.wait_until_idle()
        await session.events.wait_until_delivered()
        await close_session(session)
        assert len(server.requests) == 2
        sent = server.requests[1].json["messages"]
    results = [message for message in sent if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in results] == ["call_0", "call_1", "call_2"]
    for message, name in zip(results, NAMES, strict=True):
        page = json.dumps(message["content"])
        assert f"def {name[0]}_0(x)" in page
        assert "File map:" not in page
    behind = json.dumps(sent[sent.index(results[-1]) + 1 :])
    found = [behind.index(f"File map: {name}") for name in NAMES]
    assert found == sorted(found)
    assert "3,600 lines" in behind
