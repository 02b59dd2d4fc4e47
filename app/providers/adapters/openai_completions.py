"""The adapter of `openai-completions`, for every server that speaks the chat-completions format."""

from app.providers.adapters.completions_compat import completions_quirks_of_model
from app.providers.adapters.completions_reader import ChatCompletionsReader
from app.providers.adapters.completions_request import build_request_payload
from app.providers.adapters.wire_helpers import (
    authorization_header,
    base_url_of_model,
    copilot_headers,
    session_affinity_headers,
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

OPENAI_COMPLETIONS_DEFAULT_URL = "https://api.openai.com/v1"
_MAX_TOOL_CALL_ID_CHARS = 40


@declare_adapter_apis("openai-completions")
async def stream_response(
    model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
) -> None:
    switches = completions_quirks_of_model(model)
    prepared = prepare_request(
        context,
        model,
        lambda call_id: shorten_tool_call_id(call_id, _MAX_TOOL_CALL_ID_CHARS),
        kept=options.request_cache,
    )
    body = await finish_request_payload(
        build_request_payload(prepared, model, options, switches), model, options
    )
    request = HttpRequest(
        base_url=base_url_of_model(model, options, OPENAI_COMPLETIONS_DEFAULT_URL),
        path="/chat/completions",
        body=encode_request_payload(body),
        headers=merge_request_headers(
            model,
            options,
            **authorization_header(model, options),
            **session_affinity_headers(model, options, is_default=switches.send_session_affinity_headers),
            **copilot_headers(model, prepared),
        ),
    )
    await stream_response_events(
        await http_sender_for_model(model),
        request,
        options,
        ChatCompletionsReader(model, switches, stream),
        stream,
    )
