"""The adapter of `anthropic-messages`, for Anthropic and for every server that speaks its format."""

from app.providers.adapters.anthropic_wire import AnthropicResponseReader, build_request_payload
from app.providers.adapters.wire_helpers import (
    authorization_header,
    base_url_of_model,
    copilot_headers,
    session_affinity_headers,
    uses_bearer_token,
)
from app.providers.model_stream import AssistantStream, RequestContext, StreamOptions, declare_adapter_apis
from app.providers.request_preparation import prepare_request, shorten_tool_call_id
from app.providers.senders.sender_choice import http_sender_for_model
from app.providers.transport import (
    HttpRequest,
    encode_request_payload,
    finish_request_payload,
    merge_request_headers,
    stream_response_events,
)
from app.values.models import Model

ANTHROPIC_DEFAULT_URL = "https://api.anthropic.com"


@declare_adapter_apis("anthropic-messages")
async def stream_response(
    model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
) -> None:
    prepared = prepare_request(context, model, shorten_tool_call_id, kept=options.request_cache)
    body = await finish_request_payload(build_request_payload(prepared, model, options), model, options)
    request = HttpRequest(
        base_url=base_url_of_model(model, options, ANTHROPIC_DEFAULT_URL),
        path="/v1/messages",
        body=encode_request_payload(body),
        headers=merge_request_headers(
            model,
            options,
            **{"Anthropic-Version": "2023-06-01"},
            **_key_header(model, options),
            **session_affinity_headers(model, options),
            **copilot_headers(model, prepared),
        ),
    )
    await stream_response_events(
        await http_sender_for_model(model), request, options, AnthropicResponseReader(model, stream), stream
    )


def _key_header(model: Model, options: StreamOptions) -> dict[str, str]:
    if uses_bearer_token(model, options):
        return authorization_header(model, options)
    return {"X-Api-Key": options.credential.key} if options.credential.key else {}
