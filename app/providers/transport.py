"""The interface between wire formats and the network: an `HttpRequest` goes in; status, headers and bytes
come out.

Adapters say what to send and read the response. `app.providers.senders` decides how it travels (SDK, plain
httpx, proxies, certificates), so that a lighter sender can replace an SDK without a change of an adapter."""

import platform
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol
from urllib.parse import urlencode

import msgspec

from app.providers.errors import ProviderError, html_to_sentence, read_error_body
from app.providers.model_stream import AssistantStream, StreamOptions
from app.providers.request_cache import RequestMessageList
from app.providers.stream.sse import SseDecoder
from app.values.codec import decode_json, encode_json
from app.values.models import Model
from app.version import VERSION

_MIN_SEPARATE_BODY_PART_BYTES = 128 * 1024
"""The minimum size of a part of a body that is written separately; smaller ones are joined, because each part is a
separate write."""


class RequestBody:
    """A body that can be read again, for a redirect or a stale connection that needs a second send."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._body_parts = tuple(_join_small_parts(parts))
        self._length = sum(map(len, self._body_parts))

    def __len__(self) -> int:
        return self._length

    def __bytes__(self) -> bytes:
        return b"".join(self._body_parts)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._body_parts:
            yield piece


def _join_small_parts(parts: Iterable[bytes]) -> Iterator[bytes]:
    small: list[bytes] = []
    for part in parts:
        if len(part) < _MIN_SEPARATE_BODY_PART_BYTES:
            small.append(part)
            continue
        if small:
            yield b"".join(small)
            small = []
        yield part
    if small:
        yield b"".join(small)


USER_AGENT = f"bayou/{VERSION} ({sys.platform}; python/{platform.python_version()}; {platform.machine()})"
_MAX_QUOTED_BODY_BYTES = 8_192
_IGNORED_LEADING_BYTES = b"\xef\xbb\xbf \t\r\n\v\f"
"""The bytes before the content (white space, byte order mark) that say nothing about its type."""
_SSE_LINE_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request. `headers` are complete: a sender adds only those that the transport itself needs."""

    base_url: str
    path: str
    body: bytes | RequestBody
    headers: Mapping[str, str] = {}
    query: Mapping[str, str] = {}
    method: str = "POST"
    is_body_secret: bool = False
    """Whether the body contains a credential, so that redirects to another server are not followed."""

    @property
    def url(self) -> str:
        url = self.base_url.rstrip("/") + self.path
        return f"{url}?{urlencode(self.query)}" if self.query else url


class ServerResponse(Protocol):
    """A response whose headers have arrived."""

    status: int
    headers: Mapping[str, str]

    def body_chunks(self) -> AsyncIterator[bytes]:
        """Yields the body as it arrives. Raises `ProviderError` when the connection breaks."""
        ...


Sender = Callable[[HttpRequest, StreamOptions], AbstractAsyncContextManager[ServerResponse]]
"""A function that opens the response to a request. It raises `ProviderError` for an error status or an unreachable
server. Leaving the context closes the connection if the response was not read to the end."""


class ResponseEventReader(Protocol):
    """The interface of a decoder for the events of a wire format, which writes blocks. Implementations do no I/O."""

    has_ended: bool
    """Whether the terminal event has been read; later events are ignored."""

    def read_event(self, event: str, data: bytes) -> None: ...

    def finish_response(self) -> None:
        """Completes the blocks at the end of the body. Raises `ProviderError` if the response is incomplete."""
        ...


def merge_request_headers(model: Model, options: StreamOptions, **own: str) -> dict[str, str]:
    """Merges the headers of a request from bayou, the adapter, the model, the credential and the caller."""
    headers = {"User-Agent": USER_AGENT, "Content-Type": "application/json"}
    headers.update(own)
    headers.update(model.headers or {})
    headers.update(options.credential.headers)
    headers.update(options.headers)
    return headers


def encode_request_payload(payload: Mapping[str, Any], last: str = "messages") -> bytes | RequestBody:
    """Encodes the request's JSON with fixed field order and the growing list at the end, so that consecutive
    requests share all bytes up to their new messages."""
    names = sorted(name for name in payload if name != last)
    growing = payload.get(last)
    if isinstance(growing, RequestMessageList):
        before = encode_json({name: payload[name] for name in names})[:-1]
        separator = b"," if names else b""
        return RequestBody([before, separator, encode_json(last), b":", *growing.encoded_parts(), b"}"])
    if last in payload:
        names.append(last)
    return encode_json({name: payload[name] for name in names})


async def finish_request_payload(
    payload: dict[str, Any], model: Model, options: StreamOptions
) -> dict[str, Any]:
    """Adds the model's and the caller's extra fields to the payload and passes it through the hook."""
    of_level = (model.sampling_params_by_thinking_level or {}).get(options.thinking) or {}
    payload = {**payload, **(model.sampling_params or {}), **of_level, **options.sampling}
    if options.hooks.on_request_payload is not None:
        payload = {
            name: value.to_messages() if isinstance(value, RequestMessageList) else value
            for name, value in payload.items()
        }
        payload = await options.hooks.on_request_payload(payload) or payload
    return payload


class ResponseEventDecoder(Protocol):
    """Decodes the bytes of a response's body into events."""

    def feed(self, chunk: bytes) -> list[tuple[str, bytes]]: ...

    def finish(self) -> list[tuple[str, bytes]]: ...


async def stream_response_events(
    send: Sender,
    request: HttpRequest,
    options: StreamOptions,
    reader: ResponseEventReader,
    stream: AssistantStream,
    decoder: ResponseEventDecoder | None = None,
) -> None:
    """Sends the request and passes the events of its response to `reader`."""
    decoder = decoder or SseDecoder()
    on_event = options.hooks.on_raw_event
    async with send(request, options) as answer:
        seen = 0
        head = bytearray()
        async for chunk in answer.body_chunks():
            if not seen and len(head) < _MAX_QUOTED_BODY_BYTES:
                head += (chunk if head else chunk.lstrip(_IGNORED_LEADING_BYTES))[:_MAX_QUOTED_BODY_BYTES]
            if not seen and _looks_like_page_or_json(bytes(head)):
                raise _not_a_stream_error(bytes(head))
            for event, data in decoder.feed(chunk):
                seen += 1
                if on_event is not None:
                    await on_event(event, data)
                _read_event(reader, event, data)
                if reader.has_ended:
                    break
            if reader.has_ended or stream.is_over:
                break
            await stream.wait_for_space()
        else:
            for event, data in decoder.finish():
                seen += 1
                if on_event is not None:
                    await on_event(event, data)
                _read_last_event(reader, event, data)
        if not seen:
            raise _not_a_stream_error(bytes(head))
        reader.finish_response()


def _looks_like_page_or_json(head: bytes) -> bool:
    """Detects a web page or a single JSON value, so that the error is reported at once even if the server
    keeps the connection open."""
    start = head[:1]
    if start != b"{":
        return start == b"<"
    try:
        _event_decoder.decode(head)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _read_event(reader: ResponseEventReader, event: str, data: bytes) -> None:
    try:
        reader.read_event(event, data)
    except (AttributeError, TypeError, LookupError) as problem:
        raise ProviderError(
            f"The server sent an event in an unknown form: {_quote_body_start(data)}", kind="malformed"
        ) from problem


def _quote_body_start(data: bytes) -> str:
    return html_to_sentence(data[:200].decode("utf-8", "replace"))


def _read_last_event(reader: ResponseEventReader, event: str, data: bytes) -> None:
    """Handles the last event without a line break: complete, if the server omits it, or truncated."""
    try:
        if not reader.has_ended:
            _read_event(reader, event, data)
    except ProviderError as problem:
        if problem.error_type != "malformed":
            raise


def _not_a_stream_error(head: bytes) -> ProviderError:
    if not head.strip():
        return ProviderError(
            "The server's answer was empty: the stream ended before it began.", kind="connection"
        )
    if b"\0" in head or any(head.startswith(mark) or mark.startswith(head) for mark in _SSE_LINE_STARTS):
        return ProviderError("The connection closed before the first event was complete.", kind="connection")
    text, kind = read_error_body(head)
    return ProviderError(
        f"The server did not answer with an event stream: {html_to_sentence(text)}", kind=kind
    )


def decode_event_json(data: bytes) -> Any:
    """Decodes the JSON of one event; invalid UTF-8 becomes replacement characters. Raises `ProviderError`."""
    try:
        return _event_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return _replace_surrogates_in_event(decode_json(data.decode("utf-8", "replace")))
    except (msgspec.DecodeError, RecursionError) as problem:
        raise ProviderError(
            f"The server sent an event that is not JSON ({problem}): {_quote_body_start(data)}",
            kind="malformed",
        ) from None


def _replace_surrogates_in_event(data: Any) -> Any:
    """Replaces lone surrogates, which servers leave when they cut a text inside a character."""
    if isinstance(data, str):
        return data.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(data, dict):
        return {name: _replace_surrogates_in_event(value) for name, value in data.items()}
    return [_replace_surrogates_in_event(value) for value in data] if isinstance(data, list) else data


_event_decoder = msgspec.json.Decoder()
