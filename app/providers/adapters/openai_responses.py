"""The adapter of `openai-responses`, for OpenAI and for every server that speaks its responses format."""

from app.providers.adapters.responses_reader import OpenAIResponsesReader
from app.providers.adapters.responses_request import build_request_payload, join_call_and_item_id
from app.providers.adapters.wire_helpers import (
    authorization_header,
    base_url_of_model,
    copilot_headers,
    session_affinity_headers,
)
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

OPENAI_RESPONSES_DEFAULT_URL = "https://api.openai.com/v1"


@declare_adapter_apis("openai-responses")
async def stream_response(
    model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
) -> None:
    prepared = prepare_request(context, model, join_call_and_item_id, kept=options.request_cache)
    body = await finish_request_payload(build_request_payload(prepared, model, options), model, options)
    request = HttpRequest(
        base_url=base_url_of_model(model, options, OPENAI_RESPONSES_DEFAULT_URL),
        path="/responses",
        body=encode_request_payload(body, last="input"),
        headers=merge_request_headers(
            model,
            options,
            **authorization_header(model, options),
            **session_affinity_headers(model, options),
            **copilot_headers(model, prepared),
        ),
    )
    await stream_response_events(
        await http_sender_for_model(model), request, options, OpenAIResponsesReader(model, stream), stream
    )
