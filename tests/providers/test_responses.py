"""What is particular to the responses format, on OpenAI, on Azure and on a ChatGPT account."""

from typing import Any

import pytest

from app.providers.adapters.azure_openai_responses import azure_deployment_for_model, parse_azure_deployments
from app.providers.adapters.responses_request import build_request_payload
from app.providers.model_stream import Credential
from app.providers.request_preparation import prepare_request
from app.values.messages import AssistantMessage, user_message
from tests.providers.loopback import Loopback, Reply, sse
from tests.providers.wire_formats import ask, context, model_for, options, responses_answer

RESPONSES = "openai-responses"


def item_event(kind: str, index: int, **item: Any) -> dict[str, Any]:
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": item}


def ended(kind: str = "completed", **response: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "response": {"id": "r", "status": kind, **response}}


async def responses(server: Loopback, *events: Any) -> AssistantMessage:
    server.sse(sse(*events, names=True))
    return await ask(model_for(RESPONSES, server.url))


async def test_arguments_only_at_the_end_and_ids_of_both_kinds(server: Loopback):
    fields = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read"}
    done = {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": '{"path": "a"}'}
    message = await responses(server, item_event("added", 0, **fields, arguments=""), done, ended())
    (only,) = message.tool_calls
    assert (only.id, only.arguments, message.stop_reason) == ("call_1|fc_1", {"path": "a"}, "toolUse")
    whole = item_event("done", 0, **fields, arguments='{"path": "b"}')
    (only,) = (await responses(server, whole, ended())).tool_calls
    assert only.arguments == {"path": "b"}


async def test_refusals_are_text(server: Loopback):
    delta = {"type": "response.refusal.delta", "output_index": 0, "delta": "I will not."}
    message = await responses(server, item_event("added", 0, type="message", id="m"), delta, ended())
    assert (message.text, message.stop_reason) == ("I will not.", "stop")


async def test_an_answer_that_comes_only_with_its_end(server: Loopback):
    output = [{"type": "message", "id": "m", "content": [{"type": "output_text", "text": "all at once"}]}]
    assert (await responses(server, ended(output=output))).text == "all at once"


@pytest.mark.parametrize(
    ("event", "stop", "words"),
    [
        (ended("incomplete", incomplete_details={"reason": "max_output_tokens"}), "length", None),
        (ended("incomplete", incomplete_details={"reason": "content_filter"}), "error", "content_filter"),
        (
            ended("failed", error={"code": "server_error", "message": "Broken"}),
            "error",
            "server_error: Broken",
        ),
        (
            {"type": "error", "code": "rate_limit_exceeded", "message": "Slow"},
            "error",
            "rate_limit_exceeded: Slow",
        ),
    ],
)
async def test_other_endings(event: dict[str, Any], stop: str, words: str | None, server: Loopback):
    message = await responses(server, item_event("added", 0, type="message", id="m"), event)
    assert message.stop_reason == stop and (words is None or words in (message.error_message or ""))


async def test_encrypted_reasoning_goes_back_item_by_item(server: Loopback):
    server.sse(responses_answer())
    model = model_for(RESPONSES, server.url)
    first = await ask(model, how=options(thinking="high"))
    assert server.requests[0].json["include"] == ["reasoning.encrypted_content"]
    assert server.requests[0].json["reasoning"] == {"effort": "high", "summary": "auto"}
    await ask(model, context(user_message("a"), first))
    items = server.requests[-1].json["input"]
    reasoning = next(item for item in items if item.get("type") == "reasoning")
    assert (reasoning["id"], reasoning["encrypted_content"]) == ("rs_1", "secret")
    assert [item["id"] for item in items if item.get("type") == "function_call"] == ["fc_1", "fc_2"]
    assert next(item for item in items if item.get("type") == "message")["id"] == "msg_1"


# azure and codex


async def test_azure_places(server: Loopback):
    model = model_for("azure-openai-responses", id="gpt-x")
    env = {"AZURE_OPENAI_RESOURCE_NAME": "res", "AZURE_OPENAI_DEPLOYMENT_NAME_MAP": "gpt-x=mine, b=c"}
    place = azure_deployment_for_model(model, env)
    assert (place.base_url, place.deployment) == ("https://res.openai.azure.com/openai/v1", "mine")
    bare = azure_deployment_for_model(model, {"AZURE_OPENAI_BASE_URL": "https://r.openai.azure.com/"})
    assert bare.base_url == "https://r.openai.azure.com/openai/v1"
    assert parse_azure_deployments("a=b,broken,c=") == {"a": "b"}
    server.sse(responses_answer())
    there = Credential(
        key="k", env={**env, "AZURE_OPENAI_BASE_URL": server.url, "AZURE_OPENAI_API_VERSION": "v9"}
    )
    await ask(model, how=options(credential=there))
    request = server.requests[0]
    assert request.target == "/responses?api-version=v9" and request.headers["api-key"] == "k"
    assert request.json["model"] == "mine"
    nowhere = await ask(model)
    assert "AZURE_OPENAI_RESOURCE_NAME" in (nowhere.error_message or "")


async def test_codex_names_the_account_and_itself(server: Loopback):
    server.reply(Reply(body=responses_answer()))
    model = model_for("openai-codex-responses", server.url)
    message = await ask(model, how=options(session_id="s"))
    request = server.requests[0]
    assert message.stop_reason == "toolUse" and request.target == "/codex/responses"
    assert (request.headers["chatgpt-account-id"], request.headers["originator"]) == ("acc-1", "bayou")
    assert request.json["instructions"] == "You are helpful." and "max_output_tokens" not in request.json
    assert "/login" in ((await ask(model, how=options(key="not-a-token"))).error_message or "")


LONG = {"credential": Credential(key="k"), "is_long_cache": True, "session_id": "s"}


@pytest.mark.parametrize(
    ("switches", "sent"),
    [
        ({}, {"prompt_cache_retention": "24h"}),
        ({"supportsExplicitPromptCacheMode": True}, {"prompt_cache_options": {"ttl": "30m"}}),
        ({"supportsLongCacheRetention": False}, {}),
    ],
)
def test_a_long_cache_is_asked_for_as_the_model_takes_it(switches: dict[str, Any], sent: dict[str, Any]):
    model = model_for("openai-responses", "https://api.openai.com/v1", compat=switches)
    body = build_request_payload(prepare_request(context(), model), model, options(**LONG))
    assert {
        name: body[name] for name in body if name.startswith("prompt_cache_") and name[-3:] != "key"
    } == sent


def test_an_account_is_not_sent_what_openai_refuses_it():
    model = model_for("openai-responses", "https://api.openai.com/v1", provider="openai", reasoning=False)
    more = {**LONG, "temperature": 0.5}
    by_key = build_request_payload(prepare_request(context(), model), model, options(**more))
    by_account = build_request_payload(
        prepare_request(context(), model),
        model,
        options(**{**more, "credential": Credential(key="k", is_bearer=True)}),
    )
    assert set(by_key) - set(by_account) == {"max_output_tokens", "temperature", "prompt_cache_retention"}
