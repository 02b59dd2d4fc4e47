"""The adapter of `azure-openai-responses`: the responses format on an Azure resource, which has deployments
instead of models."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from app.providers.adapters.responses_reader import OpenAIResponsesReader
from app.providers.adapters.responses_request import build_request_payload, join_call_and_item_id
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

AZURE_DEFAULT_API_VERSION = "v1"


class AzureDeployment(msgspec.Struct, frozen=True, kw_only=True):
    """The address of an Azure resource, the deployment that serves a model, and the API version."""

    base_url: str
    deployment: str
    api_version: str


@declare_adapter_apis("azure-openai-responses")
async def stream_response(
    model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
) -> None:
    place = azure_deployment_for_model(model, options.credential.env)
    prepared = prepare_request(context, model, join_call_and_item_id, kept=options.request_cache)
    body = await finish_request_payload(
        {**build_request_payload(prepared, model, options), "model": place.deployment}, model, options
    )
    key = options.credential.key
    own = (
        {"Authorization": f"Bearer {key}"}
        if options.credential.is_bearer
        else {"Api-Key": key}
        if key
        else {}
    )
    request = HttpRequest(
        base_url=place.base_url,
        path="/responses",
        body=encode_request_payload(body, last="input"),
        query={"api-version": place.api_version},
        headers=merge_request_headers(model, options, **own),
    )
    await stream_response_events(
        await http_sender_for_model(model), request, options, OpenAIResponsesReader(model, stream), stream
    )


def azure_deployment_for_model(model: Model, env: Mapping[str, str]) -> AzureDeployment:
    """Returns the deployment for a model: resource, name and API version from the credential's settings, which
    include the environment's."""
    base = model.base_url or env.get("AZURE_OPENAI_BASE_URL")
    resource = env.get("AZURE_OPENAI_RESOURCE_NAME")
    if not base and resource:
        base = f"https://{resource}.openai.azure.com/openai/v1"
    if not base:
        raise ProviderError(
            "Azure needs your resource: set AZURE_OPENAI_RESOURCE_NAME or AZURE_OPENAI_BASE_URL."
        )
    return AzureDeployment(
        base_url=_with_api_path(base.rstrip("/")),
        deployment=parse_azure_deployments(env.get("AZURE_OPENAI_DEPLOYMENT_NAME_MAP", "")).get(
            model.id, model.id
        ),
        api_version=env.get("AZURE_OPENAI_API_VERSION") or AZURE_DEFAULT_API_VERSION,
    )


def parse_azure_deployments(text: str) -> dict[str, str]:
    """Parses the setting `model=deployment,model=deployment` into a mapping of models to deployments."""
    pairs = (pair.partition("=") for pair in text.split(","))
    return {model.strip(): name.strip() for model, mark, name in pairs if mark and name.strip()}


def _with_api_path(base: str) -> str:
    host = urlsplit(base).hostname or ""
    is_bare = urlsplit(base).path in ("", "/", "/openai")
    if is_bare and host.endswith(
        (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
    ):
        return f"{base.removesuffix('/openai')}/openai/v1"
    return base
