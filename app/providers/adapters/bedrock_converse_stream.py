"""The adapter of `bedrock-converse-stream`, Amazon Bedrock. botocore finds the credentials, signs requests
and decodes the binary event stream; bayou's senders carry the bytes. botocore comes with the extra
`bayou[bedrock]`."""

import asyncio
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any
from urllib.parse import quote

from app.providers.adapters.bedrock_wire import EXCEPTION, ConverseReader, payload
from app.providers.errors import ProviderError
from app.providers.model_stream import AssistantStream, Context, StreamOptions, speaks
from app.providers.models.known_providers import PROVIDERS
from app.providers.request_preparation import fitting_id, prepare_request
from app.providers.senders.sender_choice import sender_for
from app.providers.senders.sender_choice import warm as warm_sender
from app.providers.transport import HttpRequest, converse, encode_payload, final_payload, request_headers
from app.values.models import Model

DEFAULT_REGION = "us-east-1"


def warm(model: Model) -> None:
    warm_sender(model)
    try:
        _botocore()
    except ProviderError:
        pass  # the request that runs into the problem reports it


@speaks("bedrock-converse-stream")
async def adapter(model: Model, context: Context, options: StreamOptions, stream: AssistantStream) -> None:
    await asyncio.to_thread(_botocore)
    prepared = prepare_request(context, model, fitting_id, kept=options.kept)
    body = await final_payload(payload(prepared, model, options), model, options)
    env = options.credential.env
    session = await asyncio.to_thread(_session, env)
    region = region_of(session, env)
    base = (
        model.base_url or env.get("AWS_BEDROCK_ENDPOINT") or f"https://bedrock-runtime.{region}.amazonaws.com"
    )
    request = HttpRequest(
        base_url=base,
        path=f"/model/{quote(model.id, safe='')}/converse-stream",
        body=encode_payload(body),
        headers=request_headers(model, options, Accept="application/vnd.amazon.eventstream"),
    )
    headers = await asyncio.to_thread(_authorized, request, session, region, options)
    signed = HttpRequest(base_url=base, path=request.path, body=request.body, headers=headers)
    await converse(
        await sender_for(model), signed, options, ConverseReader(model, stream), stream, EventStreamDecoder()
    )


def region_of(session: Any, env: Mapping[str, str]) -> str:
    return (
        env.get("AWS_REGION")
        or env.get("AWS_DEFAULT_REGION")
        or os.environ.get("AWS_REGION")
        or session.get_config_variable("region")
        or DEFAULT_REGION
    )


def _botocore() -> Any:
    """Imports botocore with the parts that are used. The import is by name, because the package is optional."""
    try:
        for part in ("auth", "awsrequest", "eventstream", "session"):
            import_module(f"botocore.{part}")
        return import_module("botocore")
    except ImportError as problem:
        missing = PROVIDERS["amazon-bedrock"].missing_package
        raise ProviderError(
            missing or f"botocore cannot be loaded: {problem}. Install bayou again."
        ) from None


def _session(env: Mapping[str, str]) -> Any:
    return _botocore().session.Session(profile=env.get("AWS_PROFILE"))


def _authorized(request: HttpRequest, session: Any, region: str, options: StreamOptions) -> dict[str, str]:
    """Returns the headers with a bearer token or a signature. Blocks, because a role may have to be assumed
    first."""
    headers = dict(request.headers)
    if options.credential.key:
        return {**headers, "Authorization": f"Bearer {options.credential.key}"}
    botocore = _botocore()
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


class EventStreamDecoder:
    """Decodes Amazon's binary event framing from chunks that may be cut anywhere."""

    def __init__(self) -> None:
        self._buffer = _botocore().eventstream.EventStreamBuffer()

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
                    out.append((f"{EXCEPTION}{kind}", message.payload))
        except Exception as problem:
            raise ProviderError(
                f"Bedrock's event stream is damaged: {problem}", kind="malformed"
            ) from problem
        return out

    def finish(self) -> list[tuple[str, bytes]]:
        return []
