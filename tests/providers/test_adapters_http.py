"""What holds for every adapter that speaks over HTTP, asked of a loopback server."""

import asyncio
import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from app.providers.adapter_registry import AdapterRegistry
from app.providers.model_stream import Credential, HttpRequestHooks
from app.values.content import Text, Thinking, ToolCall
from tests.providers.loopback import Loopback, Reply
from tests.providers.wire_formats import (
    ANSWERS,
    FIRST,
    SECOND,
    TEXT,
    THOUGHT,
    account_key,
    ask,
    context,
    frame,
    header,
    listen,
    model_for,
    options,
    shape,
)

APIS = sorted(ANSWERS)
every_api = pytest.mark.parametrize("api", APIS)
every_text_api = pytest.mark.parametrize("api", [api for api in APIS if not api.startswith("bedrock")])
"""Those whose responses are lines of text."""
PINGS = {
    "anthropic-messages": b'event: ping\ndata: {"type": "ping"}\n\n',
    "bedrock-converse-stream": frame("keepAlive", {}),
}
BODIES = [
    (b'{"error":{"type":"rate_limit_error","message":"Slow down."}}', "application/json", "Slow down."),
    (b'{"message":"Plain message"}', "application/json", "Plain message"),
    (b'{"error":"just text"}', "application/json", "just text"),
    (
        b"<html><head><title>503 Backend fetch failed</title></head><body><h1>Sorry</h1></body></html>",
        "text/html",
        "503 Backend fetch failed - Sorry",
    ),
    (b"", "text/plain", ""),
    (b"\xff\xfe broken", "text/plain", "broken"),
]


@every_api
async def test_thought_text_and_parallel_calls_arrive_block_by_block(api: str, server: Loopback):
    server.sse(ANSWERS[api]())
    stream = AdapterRegistry().stream_answer(model_for(api, server.url), context(), options())
    call = ["toolcall_start", "toolcall_delta", "toolcall_end"]
    if api in (
        "openai-completions",
        "mistral-conversations",
    ):  # their calls may be interleaved: none is over before all are
        calls = [*call[:2], *call[:2], call[2], call[2]]
    else:
        calls = call * 2
    assert shape(await listen(stream)) == [
        "start",
        *("thinking_start", "thinking_delta", "thinking_end"),
        *("text_start", "text_delta", "text_end"),
        *calls,
        "done",
    ]
    message = await stream.final_message()
    thought, text, first, second = message.content
    assert isinstance(thought, Thinking) and thought.thinking == THOUGHT and thought.thinking_signature
    assert isinstance(text, Text) and text.text == TEXT
    assert isinstance(first, ToolCall) and (first.name, first.arguments) == ("read", FIRST)
    assert isinstance(second, ToolCall) and (second.name, second.arguments) == ("read", SECOND)
    assert message.stop_reason == "toolUse"
    assert (message.api, message.provider, message.model) == (api, "local", "model-x")


@every_api
async def test_tokens_are_counted_and_priced(api: str, server: Loopback):
    server.sse(ANSWERS[api]())
    usage = (await ask(model_for(api, server.url))).usage
    assert (usage.input, usage.output, usage.cache_read) == (10, 25, 100)
    writes = (30 * 1.25 + 20 * 2 * 1.0) if usage.cache_write else 0
    assert usage.cost.total == pytest.approx((10 * 1 + 25 * 2 + 100 * 0.1 + writes) / 1e6)


@every_api
async def test_the_hooks_see_payload_headers_and_the_response_before_its_body(api: str, server: Loopback):
    server.sse(ANSWERS[api](), headers={"Content-Type": "text/event-stream", "X-Request-Id": "r1"})
    seen: list[Any] = []

    async def on_payload(payload: dict[str, Any]) -> dict[str, Any]:
        return {**payload, "extra_field": 7}

    async def on_headers(headers: dict[str, str | None]) -> None:
        headers["X-Added"] = "yes"
        headers["x-unwanted"] = None

    async def on_response(status: int, headers: Mapping[str, str]) -> None:
        seen.append((status, header(headers, "x-request-id"), stream.partial_message.content))

    hooks = HttpRequestHooks(
        on_request_payload=on_payload, on_request_headers=on_headers, on_response_headers=on_response
    )
    how = options(hooks=hooks, headers={"X-Own": "1", "X-Unwanted": "1"})
    stream = AdapterRegistry().stream_answer(
        model_for(api, server.url, headers={"X-Model": "2"}), context(), how
    )
    assert (await stream.final_message()).stop_reason == "toolUse"
    request = server.requests[0]
    assert request.json["extra_field"] == 7
    assert {
        name: header(request.headers, name) for name in ("x-added", "x-own", "x-model", "x-unwanted")
    } == {
        "x-added": "yes",
        "x-own": "1",
        "x-model": "2",
        "x-unwanted": None,
    }
    assert seen == [(200, "r1", ())]


@every_api
async def test_requests_name_bayou_and_carry_no_foreign_settings(
    api: str, server: Loopback, monkeypatch: pytest.MonkeyPatch
):
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "somebody-elses")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Leak: somebody-elses")
    server.sse(ANSWERS[api]())
    await ask(model_for(api, server.url), how=options(key=account_key("sk-mine")))
    request = server.requests[0]
    assert (header(request.headers, "user-agent") or "").startswith("bayou/")
    assert "somebody-elses" not in str(request.headers)
    assert "sk-mine" in str(request.headers)


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-completions", "openai-responses"])
async def test_a_gateway_gets_its_key_and_the_provider_behind_it_none(api: str, server: Loopback):
    server.sse(ANSWERS[api]())
    place = f"{server.url}/{{CLOUDFLARE_ACCOUNT_ID}}/gate"
    how = options(credential=Credential(key="cf-key", env={"CLOUDFLARE_ACCOUNT_ID": "acc"}))
    await ask(model_for(api, place, provider="cloudflare-ai-gateway"), how=how)
    request = server.requests[0]
    assert request.target.startswith("/acc/gate/")
    assert header(request.headers, "cf-aig-authorization") == "Bearer cf-key"
    assert header(request.headers, "authorization") is None and header(request.headers, "x-api-key") is None


@every_text_api
async def test_a_server_without_keys_is_sent_none(api: str, server: Loopback):
    server.sse(ANSWERS[api]())
    if api in ("google-vertex", "openai-codex-responses"):
        return  # they need to know who asks: the machine's identity, an account
    message = await ask(model_for(api, server.url), how=options(key=""))
    assert message.stop_reason == "toolUse"
    assert header(server.requests[0].headers, "authorization") is None
    assert header(server.requests[0].headers, "x-api-key") is None


@every_api
@pytest.mark.parametrize("state", ["before headers", "between events", "endless keep-alives"])
async def test_cancelling_closes_the_socket_in_every_state(api: str, state: str, server: Loopback):
    body = ANSWERS[api]()
    match state:
        case "before headers":
            server.reply(Reply(hang_before_headers=True))
        case "between events":
            server.sse(body[: len(body) // 2], then_hang=True)
        case _:
            server.sse(b"", forever=b": keep-alive\n\n")
    stream = AdapterRegistry().stream_answer(model_for(api, server.url), context(), options())
    async with asyncio.timeout(10):
        await (server.answering if state == "before headers" else server.body_sent).wait()
        stream.cancel_response()
        assert (await stream.final_message()).stop_reason == "aborted"
        await server.client_left.wait()
        await stream.wait_until_closed()


@every_api
@pytest.mark.parametrize("kind", ["never answers", "stalls", "only pings"])
async def test_a_silent_server_is_given_up_with_a_retryable_error(api: str, kind: str, server: Loopback):
    body = ANSWERS[api]()
    server.sse(body)
    await ask(model_for(api, server.url))  # the SDK and the connection are there: only the silence counts now
    match kind:
        case "never answers":
            server.reply(Reply(hang_before_headers=True))
        case "stalls":
            server.sse(body[: len(body) // 2], then_hang=True)
        case _:
            server.sse(b"", forever=PINGS.get(api, b": ping\n\n"))
    how = options(first_event_seconds=0.3, idle_seconds=0.3)
    message = await ask(model_for(api, server.url), how=how)
    assert message.stop_reason == "error"
    assert "timed out" in (message.error_message or "")
    if len(server.requests) == 2:  # on a very busy machine the time may be over before the request is out
        async with asyncio.timeout(10):
            await server.client_left.wait()


@every_api
@pytest.mark.parametrize(
    ("status", "body", "content_type", "expected"),
    [
        *((429, *body) for body in BODIES),
        *((status, *BODIES[0]) for status in (400, 401, 404, 500, 529)),
    ],
)
async def test_an_error_status_shows_the_servers_message(
    api: str, status: int, body: bytes, content_type: str, expected: str, server: Loopback
):
    headers = {"Content-Type": content_type, "Retry-After": "7"}
    server.reply(Reply(status=status, body=body, headers=headers))
    seen: list[int] = []

    async def on_response(status: int, headers: Mapping[str, str]) -> None:
        seen.append(status)

    message = await ask(
        model_for(api, server.url), how=options(hooks=HttpRequestHooks(on_response_headers=on_response))
    )
    assert message.stop_reason == "error"
    text = message.error_message or ""
    assert text.startswith(f"{status} ") and expected in text and "<" not in text
    assert message.diagnostics[0]["details"]["retryAfterMs"] == 7000
    assert seen == [status]
    assert len(server.requests) == 1


@every_api
async def test_a_server_that_answers_with_something_else_says_so(api: str, server: Loopback):
    html = b"<html><body><h1>Welcome to the captive portal</h1></body></html>"
    server.reply(Reply(body=html, headers={"Content-Type": "text/html"}))
    message = await ask(model_for(api, server.url))
    assert "captive portal" in (message.error_message or "") and "<" not in (message.error_message or "")
    server.reply(Reply(body=b""))
    assert (await ask(model_for(api, server.url))).stop_reason == "error"


@every_api
async def test_a_key_that_the_server_repeats_is_not_shown(api: str, server: Loopback):
    key = account_key("sk-very-secret-key")
    body = json.dumps({"error": {"message": f"Incorrect key {key} provided"}}).encode()
    server.reply(Reply(status=401, body=body, headers={"Content-Type": "application/json"}))
    message = await ask(model_for(api, server.url), how=options(key=key))
    assert "Incorrect key" in (message.error_message or "")
    assert "sk-very-secret-key" not in repr(message)


WAYS = (
    lambda key: key.replace("'", """'"'"'"""),
    lambda key: "".join(f"&#x{ord(one):x};" if not one.isalnum() else one for one in key),
    lambda key: "".join(f"\\u{ord(one):04x}" if not one.isalnum() else one for one in key),
    lambda key: "".join(f"%25{ord(one):02x}" if not one.isalnum() else one for one in key),
    lambda key: json.dumps(json.dumps(json.dumps(key))),
    lambda key: base64.b64encode(f"key:{key}".encode()).decode(),
)


@pytest.mark.parametrize("write", WAYS)
async def test_a_key_that_the_server_repeats_is_not_shown_however_it_is_written(
    write: Callable[[str], str], server: Loopback
):
    key = """it's a "very"\\secret/k3y+7&x"""
    body = json.dumps({"error": {"message": f"Incorrect key {write(key)} provided"}}).encode()
    server.reply(Reply(status=401, body=body, headers={"Content-Type": "application/json"}))
    model = model_for("openai-completions", server.url, headers={"X-Key": key})
    message = await ask(model, how=options(key="another-key-123"))
    assert "Incorrect key" in (message.error_message or "") and "•" in (message.error_message or "")
    assert "very" not in repr(message) and "k3y" not in repr(message)


@every_api
async def test_a_models_own_request_fields(api: str, server: Loopback):
    server.sse(ANSWERS[api]())
    model = model_for(
        api,
        server.url,
        sampling_params={"top_k": 3, "seed": 1},
        sampling_params_by_thinking_level={"high": {"seed": 2}},
    )
    await ask(model, how=options(thinking="high"))
    body = server.requests[0].json
    assert (body["top_k"], body["seed"]) == (3, 2)


@every_api
async def test_a_refused_connection_is_an_error(api: str):
    message = await ask(model_for(api, "http://127.0.0.1:9"))
    assert message.stop_reason == "error"
    assert "Connection error" in (message.error_message or "") and "127.0.0.1:9" in (
        message.error_message or ""
    )


@every_text_api
async def test_invalid_utf8_and_malformed_events(api: str, server: Loopback):
    body = ANSWERS[api]().replace(b"w\\u00f6rld", b"w\xffrld")
    server.sse(body)
    message = await ask(model_for(api, server.url))
    assert message.stop_reason == "toolUse" and message.text == "Hello, w\ufffdrld."
    server.sse(ANSWERS[api]()[:200].rsplit(b"\n\n", 1)[0] + b"\n\ndata: {broken\n\n")
    message = await ask(model_for(api, server.url))
    assert message.stop_reason == "error" and "not JSON" in (message.error_message or "")


@every_text_api
async def test_lines_may_end_in_any_way_and_data_may_come_in_any_pieces(api: str, server: Loopback):
    body = ANSWERS[api]()
    for variant in (body.replace(b"\n", b"\r\n"), body.replace(b"\n", b"\r")):
        server.sse(tuple(variant[i : i + 7] for i in range(0, len(variant), 7)))
        message = await ask(model_for(api, server.url))
        assert (message.text, message.stop_reason) == (TEXT, "toolUse")
