"""The hooks around a request over the network, from an extension's file to the server and back."""

import json
from pathlib import Path

from app.assembly.command_line_options import CommandLineOptions
from app.assembly.extensions.extension_setup import connect_extensions
from app.assembly.session_builder import assemble_session
from app.assembly.shutdown import close_session
from app.extensions.headless_ui import HeadlessUi
from app.resources.paths import BayouPaths
from app.values.events import Notice
from tests.providers.loopback import Loopback, Reply, loopback, sse

LISTENER = """
def extension(api):
    told = []

    @api.on("before_provider_request")
    def request(payload, context):
        told.append((payload.model.id, payload.request_id[:4], len(payload.message_ids)))
        payload.payload["extra_field"] = 1

    @api.on("before_provider_headers")
    def headers(payload, context):
        payload.headers["X-Team"] = "blue"

    @api.on("after_provider_response")
    def response(payload, context):
        told.append(payload.status)

    @api.on("provider_stream_event")
    def event(payload, context):
        told.append((payload.provider, payload.api, payload.model, payload.data))

    @api.command("told")
    async def show(arguments, context):
        context.ui.notify(repr(told))
"""
SAYS = {"id": "c", "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}


async def run(home: Path, server: Loopback, code: str) -> list[str]:
    """One prompt and `/told`; what was notified."""
    paths = BayouPaths.from_env({"HOME": str(home)}, home)
    extension = paths.agent_dir / "extensions" / "listener.py"
    extension.parent.mkdir(parents=True)
    extension.write_text(code)
    models = [{"id": "m"}]
    entry = {"baseUrl": server.url, "api": "openai-completions", "models": models}
    (paths.agent_dir / "models.json").write_text(json.dumps({"providers": {"mine": entry}}))
    options = CommandLineOptions(no_session=True, model="mine/m")
    assembled = assemble_session(options, paths, {})
    session = assembled.session
    notes: list[str] = []
    session.subscribe(lambda event: notes.append(event.text) if isinstance(event, Notice) else None)
    extended = await connect_extensions(
        assembled,
        options,
        paths,
        mode="print",
        ui=HeadlessUi(session.events.publish_now),
        shutdown=lambda: None,
    )
    assert extended.extensions.hooks.problems == []
    await session.prompt("Hello")
    await session.wait_until_idle()
    await session.prompt("/told")
    await session.events.wait_until_delivered()
    await close_session(session)
    return notes


async def test_an_extension_sees_and_changes_a_request_and_hears_every_event(tmp_path: Path) -> None:
    async with loopback() as server:
        server.reply(Reply(body=sse(SAYS, done=True)))
        notes = await run(tmp_path, server, LISTENER)
        request = server.requests[0]
        assert request.json["extra_field"] == 1 and request.headers["x-team"] == "blue"
    told = next(note for note in notes if note.startswith("["))
    expected = [("m", "req_", 1), 200, ("mine", "openai-completions", "m", SAYS)]
    expected.append(("mine", "openai-completions", "m", "[DONE]"))
    assert told == repr(expected)
