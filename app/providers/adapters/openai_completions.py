"""The adapter of `openai-completions`, for every server that speaks the chat-completions format."""

from app.providers.adapters.common import address, affinity_headers, authorization, copilot_headers
from app.providers.adapters.completions_compat import quirks_for
from app.providers.adapters.completions_reader import CompletionsReader
from app.providers.adapters.completions_request import payload
from app.providers.model_stream import AssistantStream, Context, StreamOptions, speaks
from app.providers.request_preparation import fitting_id, prepare_request
from app.providers.senders.sender_choice import sender_for
from app.providers.transport import HttpRequest, converse, encode_payload, final_payload, request_headers
from app.values.models import Model

DEFAULT_URL = "https://api.openai.com/v1"
_ID_LIMIT = 40


@speaks("openai-completions")
async def adapter(model: Model, context: Context, options: StreamOptions, stream: AssistantStream) -> None:
    switches = quirks_for(model)
    prepared = prepare_request(
        context, model, lambda call_id: fitting_id(call_id, _ID_LIMIT), kept=options.kept
    )
    body = await final_payload(payload(prepared, model, options, switches), model, options)
    request = HttpRequest(
        base_url=address(model, options, DEFAULT_URL),
        path="/chat/completions",
        body=encode_payload(body),
        headers=request_headers(
            model,
            options,
            **authorization(model, options),
            **affinity_headers(model, options, is_default=switches.send_session_affinity_headers),
            **copilot_headers(model, prepared),
        ),
    )
    await converse(
        await sender_for(model), request, options, CompletionsReader(model, switches, stream), stream
    )
