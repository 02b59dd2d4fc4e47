"""The adapter of `openai-completions`, for every server that speaks the chat-completions format."""

from app.providers.adapters.common import (
    authorization_header,
    base_url_of,
    copilot_headers,
    session_affinity_headers,
)
from app.providers.adapters.completions_compat import quirks_for
from app.providers.adapters.completions_reader import CompletionsReader
from app.providers.adapters.completions_request import build_payload
from app.providers.model_stream import AssistantStream, RequestContext, StreamOptions, serves_apis
from app.providers.request_preparation import prepare_request, shorten_call_id
from app.providers.senders.sender_choice import sender_for
from app.providers.transport import (
    HttpRequest,
    encode_payload,
    finish_payload,
    merge_request_headers,
    stream_response_events,
)
from app.values.models import Model

DEFAULT_URL = "https://api.openai.com/v1"
_MAX_CALL_ID_CHARS = 40


@serves_apis("openai-completions")
async def stream_response(
    model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
) -> None:
    switches = quirks_for(model)
    prepared = prepare_request(
        context,
        model,
        lambda call_id: shorten_call_id(call_id, _MAX_CALL_ID_CHARS),
        kept=options.request_cache,
    )
    body = await finish_payload(build_payload(prepared, model, options, switches), model, options)
    request = HttpRequest(
        base_url=base_url_of(model, options, DEFAULT_URL),
        path="/chat/completions",
        body=encode_payload(body),
        headers=merge_request_headers(
            model,
            options,
            **authorization_header(model, options),
            **session_affinity_headers(model, options, is_default=switches.send_session_affinity_headers),
            **copilot_headers(model, prepared),
        ),
    )
    await stream_response_events(
        await sender_for(model), request, options, CompletionsReader(model, switches, stream), stream
    )
