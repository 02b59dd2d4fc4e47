"""The adapter of `openai-codex-responses`: the responses format on a ChatGPT account, which needs a sign-in
instead of a key."""

import base64

import msgspec

from app.providers.adapters.responses_reader import OpenAIResponsesReader
from app.providers.adapters.responses_request import build_request_payload, join_call_and_item_id
from app.providers.adapters.wire_helpers import base_url_of_model
from app.providers.errors import ProviderError
from app.providers.model_stream import AssistantStream, RequestContext, StreamOptions, declare_adapter_apis
from app.providers.request_preparation import prepare_request
from app.providers.senders.sender_choice import http_sender_for_model
from app.providers.transport import (
    HttpRequest,
    encode_request_payload,
    finish_request_payload,
    merge_request_headers,
    stream_response_events,
)
from app.values.models import Model

CODEX_DEFAULT_URL = "https://chatgpt.com/backend-api"
_CHATGPT_ACCOUNT_CLAIM = "https://api.openai.com/auth"


@declare_adapter_apis("openai-codex-responses")
async def stream_response(
    model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
) -> None:
    prepared = prepare_request(context, model, join_call_and_item_id, kept=options.request_cache)
    body = build_request_payload(prepared, model, options, is_prompt_separate=True)
    body.pop("max_output_tokens", None)
    body = await finish_request_payload(body, model, options)
    own = {
        "Authorization": f"Bearer {options.credential.key}",
        "Chatgpt-Account-Id": chatgpt_account_id(options.credential.key),
        "OpenAI-Beta": "responses=experimental",
        "Originator": "bayou",
    }
    if options.session_id:
        own["Session_id"] = options.session_id
    base = base_url_of_model(model, options, CODEX_DEFAULT_URL).rstrip("/").removesuffix("/codex")
    request = HttpRequest(
        base_url=base,
        path="/codex/responses",
        body=encode_request_payload(body, last="input"),
        headers=merge_request_headers(model, options, **own),
    )
    await stream_response_events(
        await http_sender_for_model(model), request, options, OpenAIResponsesReader(model, stream), stream
    )


def chatgpt_account_id(token: str) -> str:
    """Returns the account id in an access token. The server verifies the token; here it is only decoded."""
    try:
        part = token.split(".")[1]
        claims = msgspec.json.decode(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        return claims[_CHATGPT_ACCOUNT_CLAIM]["chatgpt_account_id"]
    except (IndexError, KeyError, TypeError, ValueError, RecursionError):
        raise ProviderError(
            "401 The sign-in for this account is not complete: no account id in its token. Use /login again.",
            status=401,
        ) from None
