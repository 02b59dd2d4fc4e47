"""The adapter of `anthropic-messages`, for Anthropic and for every server that speaks its format."""

from app.providers.adapters.anthropic_wire import MessagesReader, payload
from app.providers.adapters.common import (
    address,
    affinity_headers,
    authorization,
    copilot_headers,
    wants_bearer,
)
from app.providers.model_stream import AssistantStream, Context, StreamOptions, speaks
from app.providers.request_preparation import fitting_id, prepare_request
from app.providers.senders.sender_choice import sender_for
from app.providers.transport import HttpRequest, converse, encode_payload, final_payload, request_headers
from app.values.models import Model

DEFAULT_URL = "https://api.anthropic.com"


@speaks("anthropic-messages")
async def adapter(model: Model, context: Context, options: StreamOptions, stream: AssistantStream) -> None:
    prepared = prepare_request(context, model, fitting_id, kept=options.kept)
    body = await final_payload(payload(prepared, model, options), model, options)
    request = HttpRequest(
        base_url=address(model, options, DEFAULT_URL),
        path="/v1/messages",
        body=encode_payload(body),
        headers=request_headers(
            model,
            options,
            **{"Anthropic-Version": "2023-06-01"},
            **_key(model, options),
            **affinity_headers(model, options),
            **copilot_headers(model, prepared),
        ),
    )
    await converse(await sender_for(model), request, options, MessagesReader(model, stream), stream)


def _key(model: Model, options: StreamOptions) -> dict[str, str]:
    if wants_bearer(model, options):
        return authorization(model, options)
    return {"X-Api-Key": options.credential.key} if options.credential.key else {}
