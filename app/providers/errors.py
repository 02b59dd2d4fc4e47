"""The exception of failed requests with the server's details, and the extraction of plain sentences from error
bodies.

`failure_kinds` decides what a failure means for the next step (retry, compact, give up).
"""

import re
import time
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from app.values.wire import now_ms
from tools.lazy_patterns import lazy_regex
from tools.masking.encoded_secret_forms import KnownSecret
from tools.masking.secret_marks import SecretMarker

_HTML_TAG_PATTERN = lazy_regex(r"<[^>]*>")
_HTML_INVISIBLE_PATTERN = lazy_regex(r"<(script|style|svg|head)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_HTML_TITLE_PATTERN = lazy_regex(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_HTML_ENTITIES = {"&nbsp;": " ", "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'"}
_MAX_ERROR_SENTENCE_CHARS = 1_000


class ProviderError(Exception):
    """A failed request: the message and, if known, the server's status, error type and requested wait."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after_ms: int | None = None,
        kind: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_ms = retry_after_ms
        self.error_type = kind
        """The server's error type (such as `rate_limit_error`), or one of bayou's (`timeout`, `connection`)."""

    def without_secrets(self, secrets: Iterable[str]) -> "ProviderError":
        """Returns the error with all secrets masked, in case the server repeated a key in any spelling."""
        from tools.masking.secret_mask import SecretMask  # noqa: PLC0415  (a start without an error needs none)

        mask = SecretMask(
            SecretMarker(b""), known=[KnownSecret("key", secret) for secret in secrets], masks_words=True
        )
        text, kind = (mask.replace_secrets(one, "•" * 8) for one in (str(self), self.error_type or ""))
        if text == str(self) and kind == (self.error_type or ""):
            return self
        return ProviderError(text, status=self.status, retry_after_ms=self.retry_after_ms, kind=kind or None)

    @property
    def to_diagnostics(self) -> list[dict[str, Any]]:
        """Returns the details in the form in which they are stored with the failed message."""
        facts = {"status": self.status, "retryAfterMs": self.retry_after_ms, "kind": self.error_type}
        details = {name: value for name, value in facts.items() if value is not None}
        return [{"type": "provider_error", "timestamp": now_ms(), "details": details}] if details else []


def error_from_response(status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    """Builds the error of an HTTP response with an error status."""
    text, kind = read_error_body(body)
    return ProviderError(
        f"{status} {prefix_error_type(text, kind)}".strip()
        if text or kind
        else f"{status} {_SENTENCE_BY_HTTP_STATUS.get(status, '')}".strip(),
        status=status,
        retry_after_ms=read_retry_after_ms(headers if status == 429 else _remove_reset_headers(headers)),
        kind=kind,
    )


def read_error_body(body: bytes) -> tuple[str, str | None]:
    """Extracts the sentence and the server's error type from an error body of any format."""
    raw = body.decode("utf-8", "replace").strip()
    try:
        data = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return _shorten_sentence(html_to_sentence(raw)), None
    return error_from_json(data)


def error_from_json(data: Any) -> tuple[str, str | None]:
    """Extracts the sentence and the error type from a decoded body or from an `error` event of a stream."""
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        return _shorten_sentence(str(data)) if data is not None else "", None
    inner = data.get("error", data)
    if isinstance(inner, str):
        return _shorten_sentence(inner), _error_type_text(data.get("type") or data.get("code"))
    if not isinstance(inner, dict):
        inner = data
    text = _first_text_field(inner, "message", "Message", "detail", "error_description", "error", "msg")
    kind = (
        _error_type_text(inner.get("type"))
        or _error_type_text(inner.get("status"))
        or _error_type_text(inner.get("code"))
    )
    code = _error_type_text(inner.get("code"))
    if code and kind and code != kind:
        kind = f"{kind} {code}"
    nested = _read_nested_error(inner)
    if nested and nested not in text:
        text = f"{text} ({nested})" if text else nested
    return _shorten_sentence(text), kind


def error_from_stream_event(data: Mapping[str, Any]) -> ProviderError:
    """Builds the error that an event of a stream reports."""
    text, kind = error_from_json(data)
    inner = data.get("error")
    code = inner.get("code") if isinstance(inner, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else None
    return ProviderError(prefix_error_type(text, kind), kind=kind, status=status)


def html_to_sentence(text: str) -> str:
    """Reduces HTML to its title and its first words; other text is unchanged."""
    if not re.search(r"<(html|body|head|title|h1|p|div|center)\b", text, re.IGNORECASE):
        return text
    title = _HTML_TITLE_PATTERN.search(text)
    words = _unescape_html(_HTML_TAG_PATTERN.sub(" ", _HTML_INVISIBLE_PATTERN.sub(" ", text)))
    words = " ".join(words.split())
    heading = " ".join(_unescape_html(_HTML_TAG_PATTERN.sub(" ", title.group(1))).split()) if title else ""
    if heading and words.startswith(heading):
        words = words[len(heading) :].strip()
    return " - ".join(part for part in (heading, words[:200].strip()) if part)


def read_retry_after_ms(headers: Mapping[str, str]) -> int | None:
    """Returns how long the server asks to wait, from `retry-after-ms`, `retry-after` (seconds or a date) or a
    reset time."""
    found = {name.lower(): value for name, value in headers.items()}
    for name, factor in (("retry-after-ms", 1.0), ("retry-after", 1000.0)):
        value = found.get(name)
        if value is None:
            continue
        try:
            return max(0, round(float(value) * factor))
        except (ValueError, OverflowError):
            pass
        import email.utils  # noqa: PLC0415  (rare, and not for nothing)

        try:
            moment = email.utils.parsedate_to_datetime(value)
        except (ValueError, TypeError):
            continue
        return max(0, round((moment.timestamp() - _read_server_time(found)) * 1000))
    return _read_limit_reset_ms(found)


def _read_server_time(headers: Mapping[str, str]) -> float:
    """Returns the server's time from the response's `date` header, or this machine's time if the header is missing."""
    import email.utils  # noqa: PLC0415  (as above)

    try:
        return email.utils.parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (ValueError, TypeError):
        return time.time()


_RATE_LIMIT_RESET_HEADERS = ("x-ratelimit-reset-requests", "x-ratelimit-reset-tokens", "x-ratelimit-reset")
_RETRY_DURATION_PATTERN = lazy_regex(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:([\d.]+)ms)?")


def _remove_reset_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Removes the headers with reset times, which matter only after a limit was hit."""
    return {name: value for name, value in headers.items() if name.lower() not in _RATE_LIMIT_RESET_HEADERS}


def _read_limit_reset_ms(headers: Mapping[str, str]) -> int | None:
    """Returns the milliseconds until a used-up rate limit resets, from spans such as `6m0s`."""
    waits: list[int] = []
    for name in _RATE_LIMIT_RESET_HEADERS:
        match = _RETRY_DURATION_PATTERN.fullmatch(headers.get(name, ""))
        if match and any(match.groups()):
            hours, minutes, seconds, milliseconds = (float(part or 0) for part in match.groups())
            waits.append(round(hours * 3_600_000 + minutes * 60_000 + seconds * 1000 + milliseconds))
    return max(waits) if waits else None


_SENTENCE_BY_HTTP_STATUS = {
    400: "The request was refused without a reason",
    401: "The key was not accepted",
    403: "Access was denied",
    404: "Not found (wrong base URL or model?)",
    408: "Request timeout",
    413: "The request is too large",
    429: "Too many requests",
    500: "Internal server error",
    502: "Bad gateway",
    503: "Service unavailable",
    504: "Gateway timeout",
    529: "Overloaded",
}


def prefix_error_type(text: str, kind: str | None) -> str:
    """Returns the error sentence with the server's error type before it, unless the sentence already contains the
    type."""
    if not kind or kind in text:
        return text
    return f"{kind}: {text}" if text else kind


def _first_text_field(data: Mapping[str, Any], *names: str) -> str:
    for name in names:
        value = data.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, list) and value:
            return "; ".join(
                _first_text_field(item, "msg", "message") for item in value if isinstance(item, dict)
            )
    return ""


def _read_nested_error(error: Mapping[str, Any]) -> str:
    """Reads `metadata.raw`, where routers put the error of the server behind them."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if not isinstance(raw, str) or not raw.strip():
        return ""
    return read_error_body(raw.encode("utf-8", "replace"))[0]


def _error_type_text(value: Any) -> str | None:
    if isinstance(value, str) and value and value != "error":
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _unescape_html(text: str) -> str:
    for entity, character in _HTML_ENTITIES.items():
        text = text.replace(entity, character)
    return text


def _shorten_sentence(text: str) -> str:
    return text if len(text) <= _MAX_ERROR_SENTENCE_CHARS else text[: _MAX_ERROR_SENTENCE_CHARS - 1] + "…"
