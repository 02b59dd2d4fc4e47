"""The adapter of `openai-codex-responses`: the responses format on a ChatGPT account, which needs a sign-in
instead of a key."""

import base64

import msgspec

from app.providers.adapters.common import base_url_of
from app.providers.adapters.responses_reader import ResponsesReader
from app.providers.adapters.responses_request import joined_call_id, payload
from app.providers.errors import ProviderError
from app.providers.model_stream import AssistantStream, Context, StreamOptions, serves_apis
from app.providers.request_preparation import prepare_request
from app.providers.senders.sender_choice import sender_for
from app.providers.transport import (
    HttpRequest,
    encode_payload,
    exchange_events,
    final_payload,
    request_headers,
)
from app.values.models import Model

DEFAULT_URL = "https://chatgpt.com/backend-api"
_ACCOUNT_CLAIM = "https://api.openai.com/auth"


@serves_apis("openai-codex-responses")
async def adapter(model: Model, context: Context, options: StreamOptions, stream: AssistantStream) -> None:
    prepared = prepare_request(context, model, joined_call_id, kept=options.request_cache)
    body = payload(prepared, model, options, is_prompt_separate=True)
    body.pop("max_output_tokens", None)
    body = await final_payload(body, model, options)
    own = {
        "Authorization": f"Bearer {options.credential.key}",
        "Chatgpt-Account-Id": account_id(options.credential.key),
        "OpenAI-Beta": "responses=experimental",
        "Originator": "bayou",
    }
    if options.session_id:
        own["Session_id"] = options.session_id
    base = base_url_of(model, options, DEFAULT_URL).rstrip("/").removesuffix("/codex")
    request = HttpRequest(
        base_url=base,
        path="/codex/responses",
        body=encode_payload(body, last="input"),
        headers=request_headers(model, options, **own),
    )
    await exchange_events(await sender_for(model), request, options, ResponsesReader(model, stream), stream)


def account_id(token: str) -> str:
    """Returns the account id in an access token. The server verifies the token; here it is only decoded."""
    try:
        part = token.split(".")[1]
        claims = msgspec.json.decode(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        return claims[_ACCOUNT_CLAIM]["chatgpt_account_id"]
    except (IndexError, KeyError, TypeError, ValueError, RecursionError):
        raise ProviderError(
            "401 The sign-in for this account is not complete: no account id in its token. Use /login again.",
            status=401,
        ) from None
