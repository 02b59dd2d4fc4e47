"""The adapter of `bedrock-converse-stream`, Amazon Bedrock. botocore finds the credentials, signs requests
and decodes the binary event stream; bayou's senders carry the bytes. botocore comes with the extra
`bayou[bedrock]`."""

import asyncio
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any
from urllib.parse import quote

from app.providers.adapters.bedrock_wire import (
    BEDROCK_EXCEPTION_EVENT_PREFIX,
    BedrockResponseReader,
    build_request_payload,
)
from app.providers.errors import ProviderError
from app.providers.model_stream import AssistantStream, RequestContext, StreamOptions, declare_adapter_apis
from app.providers.models.known_providers import KNOWN_PROVIDERS
from app.providers.request_preparation import prepare_request, shorten_tool_call_id
from app.providers.senders.sender_choice import http_sender_for_model
from app.providers.senders.sender_choice import preload_sender_modules as warm_sender
from app.providers.transport import (
    HttpRequest,
    encode_request_payload,
    finish_request_payload,
    merge_request_headers,
    stream_response_events,
)
from app.values.models import Model

DEFAULT_AWS_REGION = "us-east-1"


def preload_modules(model: Model) -> None:
    warm_sender(model)
    try:
        _import_botocore()
    except ProviderError:
        pass  # the request that runs into the problem reports it


@declare_adapter_apis("bedrock-converse-stream")
async def stream_response(
    model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
) -> None:
    await asyncio.to_thread(_import_botocore)
    prepared = prepare_request(context, model, shorten_tool_call_id, kept=options.request_cache)
    body = await finish_request_payload(build_request_payload(prepared, model, options), model, options)
    env = options.credential.env
    session = await asyncio.to_thread(_botocore_session, env)
    region = aws_region(session, env)
    base = (
        model.base_url or env.get("AWS_BEDROCK_ENDPOINT") or f"https://bedrock-runtime.{region}.amazonaws.com"
    )
    request = HttpRequest(
        base_url=base,
        path=f"/model/{quote(model.id, safe='')}/converse-stream",
        body=encode_request_payload(body),
        headers=merge_request_headers(model, options, Accept="application/vnd.amazon.eventstream"),
    )
    headers = await asyncio.to_thread(_authorized_headers, request, session, region, options)
    signed = HttpRequest(base_url=base, path=request.path, body=request.body, headers=headers)
    await stream_response_events(
        await http_sender_for_model(model),
        signed,
        options,
        BedrockResponseReader(model, stream),
        stream,
        AwsEventStreamDecoder(),
    )


def aws_region(session: Any, env: Mapping[str, str]) -> str:
    return (
        env.get("AWS_REGION")
        or env.get("AWS_DEFAULT_REGION")
        or os.environ.get("AWS_REGION")
        or session.get_config_variable("region")
        or DEFAULT_AWS_REGION
    )


def _import_botocore() -> Any:
    """Imports botocore with the parts that are used. The import is by name, because the package is optional."""
    try:
        for part in ("auth", "awsrequest", "eventstream", "session"):
            import_module(f"botocore.{part}")
        return import_module("botocore")
    except ImportError as problem:
        missing = KNOWN_PROVIDERS["amazon-bedrock"].missing_package_hint
        raise ProviderError(
            missing or f"botocore cannot be loaded: {problem}. Install bayou again."
        ) from None


def _botocore_session(env: Mapping[str, str]) -> Any:
    return _import_botocore().session.Session(profile=env.get("AWS_PROFILE"))


def _authorized_headers(
    request: HttpRequest, session: Any, region: str, options: StreamOptions
) -> dict[str, str]:
    """Returns the request's headers with a bearer token or a signature. Blocks, because a role may have to be
    assumed first."""
    headers = dict(request.headers)
    if options.credential.key:
        return {**headers, "Authorization": f"Bearer {options.credential.key}"}
    botocore = _import_botocore()
    try:
        credentials = session.get_credentials()
    except Exception as problem:
        raise ProviderError(
            f"AWS credentials cannot be read: {problem}. Set them up, for example with aws configure."
        ) from problem
    if credentials is None:
        raise ProviderError(
            "401 There are no AWS credentials: set AWS_PROFILE, a key pair, or AWS_BEARER_TOKEN_BEDROCK.",
            status=401,
        )
    unsigned = botocore.awsrequest.AWSRequest(
        method=request.method,
        url=request.url,
        data=bytes(request.body),
        headers={"Content-Type": "application/json"},
    )
    botocore.auth.SigV4Auth(credentials.get_frozen_credentials(), "bedrock", region).add_auth(unsigned)
    return {**headers, **dict(unsigned.headers.items())}


class AwsEventStreamDecoder:
    """Decodes Amazon's binary event framing from chunks that may be cut anywhere."""

    def __init__(self) -> None:
        self._buffer = _import_botocore().eventstream.EventStreamBuffer()

    def feed(self, chunk: bytes) -> list[tuple[str, bytes]]:
        self._buffer.add_data(chunk)
        out: list[tuple[str, bytes]] = []
        try:
            for message in self._buffer:
                headers = message.headers
                if headers.get(":message-type") == "event":
                    out.append((str(headers.get(":event-type", "")), message.payload))
                else:
                    kind = headers.get(":exception-type") or headers.get(":error-code") or "error"
                    out.append((f"{BEDROCK_EXCEPTION_EVENT_PREFIX}{kind}", message.payload))
        except Exception as problem:
            raise ProviderError(
                f"Bedrock's event stream is damaged: {problem}", kind="malformed"
            ) from problem
        return out

    def finish(self) -> list[tuple[str, bytes]]:
        return []
