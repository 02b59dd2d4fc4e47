"""The adapters of `google-generative-ai` and `google-vertex`: one format, with different addresses and
credentials."""

from urllib.parse import quote

from app.providers.adapters.google_identity import google_access_token
from app.providers.adapters.google_wire import GeminiResponseReader, build_request_payload
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

GEMINI_DEFAULT_URL = "https://generativelanguage.googleapis.com/v1beta"


@declare_adapter_apis("google-generative-ai", "google-vertex")
async def stream_response(
    model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
) -> None:
    prepared = prepare_request(context, model, kept=options.request_cache)
    body = await finish_request_payload(build_request_payload(prepared, model, options), model, options)
    base, path, own = await _request_url(model, options)
    request = HttpRequest(
        base_url=base,
        path=path,
        query={"alt": "sse"},
        body=encode_request_payload(body, last="contents"),
        headers=merge_request_headers(model, options, **own),
    )
    await stream_response_events(
        await http_sender_for_model(model), request, options, GeminiResponseReader(model, stream), stream
    )


async def _request_url(model: Model, options: StreamOptions) -> tuple[str, str, dict[str, str]]:
    key = options.credential.key
    name = quote(model.id, safe="@")
    method = f"{name}:streamGenerateContent"
    if model.api == "google-generative-ai":
        own = _key_header(options) if key else {}
        return base_url_of_model(model, options, GEMINI_DEFAULT_URL), f"/models/{method}", own
    env = options.credential.env
    if key:
        base = base_url_of_model(model, options, "https://aiplatform.googleapis.com")
        return base, f"/v1/publishers/google/models/{method}", _key_header(options)
    project = env.get("GOOGLE_CLOUD_PROJECT") or env.get("GCLOUD_PROJECT")
    location = env.get("GOOGLE_CLOUD_LOCATION")
    if not project or not location:
        raise ProviderError("Vertex AI needs GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION.")
    token = await google_access_token(env)
    host = "aiplatform.googleapis.com" if location == "global" else f"{location}-aiplatform.googleapis.com"
    path = f"/v1/projects/{project}/locations/{location}/publishers/google/models/{method}"
    return model.base_url or f"https://{host}", path, {"Authorization": f"Bearer {token}"}


def _key_header(options: StreamOptions) -> dict[str, str]:
    if options.credential.is_bearer:
        return {"Authorization": f"Bearer {options.credential.key}"}
    return {"X-Goog-Api-Key": options.credential.key}
