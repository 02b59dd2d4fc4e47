"""Classifies a failed answer by the next step: compact, retry (and when), ask for another key, give up.

It uses the facts that bayou's adapters store with the message (status, `retry-after`, the server's error
type), and the text, because older sessions and other writers have nothing else. The patterns are tables
with a test per row."""

import re
from functools import cache
from typing import Any, Literal

import msgspec

from app.values.messages import AssistantMessage
from app.values.models import Model

FailureKind = Literal[
    "none", "aborted", "overflow", "rate_limit", "quota", "auth", "model", "network", "server", "other"
]


class AnswerFailure(msgspec.Struct, frozen=True, kw_only=True):
    """The kind of a failure, and whether and when a retry makes sense."""

    kind: FailureKind = "none"
    is_context_overflow: bool = False
    is_retryable: bool = False
    retry_after_ms: int | None = None
    """The time in milliseconds that the server asked to wait before a retry; None if it did not."""


NamedPatterns = tuple[tuple[str, str], ...]
"""Pairs of a name and a regular expression, which is compiled when the first failure is classified."""


def _named_patterns(*rows: tuple[str, str]) -> NamedPatterns:
    return rows


@cache
def compile_failure_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


CONTEXT_OVERFLOW_PATTERNS = _named_patterns(
    ("Anthropic", r"prompt (?:is )?too long"),
    ("Z.ai China", r"prompt exceeds max(?:imum)? length"),
    ("Anthropic 413", r"request_too_large"),
    ("Bedrock", r"input is too long for (?:the )?requested model"),
    ("OpenAI", r"exceeds the context window"),
    (
        "OpenAI-compatible",
        r"exceeds (?:the |the model'?s |model'?s )?maximum context length (?:of )?\(?[\d,]+",
    ),
    ("LiteLLM", r"context window exceeded"),
    ("Google", r"input token count.{0,80}exceeds the maximum"),
    ("xAI", r"maximum prompt length is [\d,]+"),
    ("Groq", r"reduce the length of the messages"),
    ("OpenRouter", r"maximum context length is [\d,]+ tokens"),
    ("Poolside", r"exceeds (?:the )?maximum allowed input length of [\d,]+ tokens"),
    ("Together", r"input \([\d,]+ tokens\) is longer than the model'?s context length"),
    ("GitHub Copilot", r"exceeds the limit of [\d,]+"),
    ("llama.cpp", r"exceeds the available context size"),
    ("LM Studio", r"greater than the context length"),
    ("MiniMax", r"context window exceeds limit"),
    ("Kimi For Coding", r"exceeded model token limit"),
    ("Mistral", r"too large for model with [\d,]+ maximum context length"),
    ("DS4", r"prompt has [\d,]+ tokens,? but the configured context size is [\d,]+"),
    ("Z.ai finish reason", r"model_context_window_exceeded"),
    ("Ollama", r"prompt too long; exceeded (?:max )?context length"),
    ("Qwen", r"range of input length should be"),
    ("code", r"context[_ ]length[_ ]exceeded"),
    ("too many tokens", r"too many tokens"),
    ("token limit", r"token limit exceeded"),
    ("HTTP 413", r"^(?:.{0,60}API error \(413\):|413\b)"),
)
"""Messages of a full context window: the vendor and the pattern. They count only for answers that ended
in an error."""

CEREBRAS_CONTEXT_OVERFLOW_PATTERN = r"^(?:400|413)\b.{0,40}(?:no body|without a reason|too large)"

NOT_CONTEXT_OVERFLOW_PATTERNS = _named_patterns(
    ("throttling", r"^(?:\d{3} )?(?:Throttling\w*( error)?|Service unavailable\w*):"),
    ("rate limit", r"rate.?limit"),
    ("too many requests", r"too many requests"),
)

QUOTA_ERROR_PATTERNS = _named_patterns(
    ("Go usage limit", r"GoUsageLimitError"),
    ("free usage limit", r"FreeUsageLimitError"),
    ("monthly limit", r"monthly usage limit reached"),
    ("balance", r"available balance|insufficient balance|credit balance is too low"),
    ("OpenAI quota", r"insufficient_quota"),
    ("budget", r"out of budget"),
    ("quota exceeded", r"quota exceeded|exceeded your current quota"),
    ("billing", r"\bbilling\b"),
    ("shared subscription", r"subscription_sharing_\w*usage_limit_exceeded"),
    ("plan limit", r"usage_limit_reached|usage_not_included"),
    ("Z.ai 1308", r'"code"\s*:\s*"?1308\b|\b1308:'),
    ("payment", r"\bpayment required\b"),
)
"""Messages of used-up credit. A retry does not help until the account is paid."""

AUTH_ERROR_PATTERNS = _named_patterns(
    ("key", r"invalid.{0,10}api.?key|incorrect api key|api key not valid|no api key|authentication_error"),
    ("unauthorized", r"unauthori[sz]ed|authentication (?:failed|fails|required)"),
    ("permission", r"permission_error|permission_denied|access ?denied|not authorized"),
    ("token", r"(?:token|session) (?:has )?expired|invalid.{0,10}token|could not validate credentials"),
)

MODEL_UNAVAILABLE_PATTERNS = _named_patterns(
    ("code", r"model_?not_?found|model_not_available|invalid_model|unknown.?model|model_not_supported"),
    ("Anthropic", r"not_found_error: model\b"),
    (
        "not there",
        r"\bmodels? [`'\"]?[\w./:@-]*[`'\"]? ?(?:does not exist|doesn't exist|(?:is |was )?not found)",
    ),
    (
        "retired",
        r"\bmodel [`'\"]?[\w./:@-]*[`'\"]? ?(?:has been |is |was )?"
        r"(?:deprecated|decommissioned|retired|discontinued|no longer (?:available|supported))",
    ),
    ("no such", r"no such model|no endpoints? found for|is not a valid model"),
)
"""Messages of a server that no longer has the model, or does not offer it to this account."""

RATE_LIMIT_ERROR_PATTERNS = _named_patterns(
    ("rate limit", r"rate.?limit"),
    ("too many requests", r"too many requests"),
    ("status 429", r"(?<![0-9a-z])429(?![0-9a-z])"),
    ("exhausted", r"resource.?(?:has been )?exhausted"),
    ("throttling", r"throttl"),
)

SERVER_ERROR_PATTERNS = _named_patterns(
    ("overloaded", r"overloaded"),
    (
        "capacity",
        r"(?:at|over|insufficient|no|out of|exceeded|model) capacity|capacity (?:exceeded|constraints)",
    ),
    ("high demand", r"high demand"),
    ("status", r"(?<![0-9a-z])(?:500|502|503|504|520|522|524|529)(?![0-9a-z])"),
    ("unavailable", r"service.{0,3}(?:temporarily )?unavailable|temporarily unavailable"),
    ("server error", r"server.?error|internal.?error|internal_server"),
    ("provider error", r"provider returned error"),
    ("upstream", r"upstream (?:request|connect|forward|error|failed)|failed to forward|error forwarding"),
    ("retry request", r"retry your request|please try again|retry delay|try again later"),
    ("shared subscription", r"subscription_sharing_\w*unavailable"),
    ("bad gateway", r"bad gateway|gateway time-?out"),
)

NETWORK_ERROR_PATTERNS = _named_patterns(
    ("network", r"network.?error|network is unreachable"),
    ("connection", r"connection (?:error|reset|refused|closed|lost|aborted|was closed|timed out)|econn\w+"),
    ("closed", r"closed the connection|the connection closed|peer closed"),
    ("fetch", r"fetch failed|failed to fetch"),
    (
        "DNS",
        r"getaddrinfo|enotfound|eai_again|name or service not known|name resolution|nodename nor servname",
    ),
    ("hang up", r"socket hang up|other side closed"),
    ("timeout", r"time[ds]?.?out\b|timeouts?\b|deadline exceeded"),
    ("terminated", r"\bterminated\b"),
    ("websocket", r"websocket (?:closed|error)"),
    ("premature end", r"ended (?:before|without)|stream ended|premature|incomplete chunked|unexpected end"),
    ("http2", r"http/?2.{0,40}(?:cancel|goaway|refused_stream|internal_error)|stream (?:was )?reset"),
)

_CUT_CONNECTION_PATTERN = (
    r"connection (?:was )?(?:reset|closed|lost|aborted|dropped)|closed the connection|peer closed|econnreset"
    r"|socket hang up|other side closed|incomplete chunked|premature|stream (?:was )?reset"
)
_RETRYABLE_HTTP_STATUSES = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529))
_RETRY_WAIT_PATTERNS = (
    r"(?:retry|try again|retrying|available|resets?)[ _](?:again )?(?:in|after)[ :]+(?:about )?"
    r"(?:(\d+) ?h(?:ours?)?)?[ ,]*(?:(\d+) ?m(?:in(?:ute)?s?)?(?!s))?[ ,]*"
    r"(?:([\d.]+) ?(ms|s(?:ec(?:ond)?s?)?\b))?",
    r'"?(?:retryDelay|retry delay)"?[: ]+"?()()([\d.]+) ?(ms|s)',
    r'"?(?:resets_in_seconds|retry_after(?:_seconds)?)"?\s*[:=]\s*"?()()([\d.]+)()',
)


def classify_failure(message: AssistantMessage, model: Model | None = None) -> AnswerFailure:
    """Returns the classification of the failure of an answer (`message`): its kind, and whether and when to retry.
    The kind is `none` if the answer did not fail."""
    if message.stop_reason == "aborted":
        return AnswerFailure(kind="aborted")
    if message.stop_reason != "error":
        if _is_silent_context_overflow(message, model):
            return AnswerFailure(kind="overflow", is_context_overflow=True)
        return AnswerFailure()
    facts = _stored_error_details(message)
    text = message.error_message or ""
    if _is_context_overflow(text, facts, message.provider):
        return AnswerFailure(kind="overflow", is_context_overflow=True)
    kind = _classify_text(text, facts)
    if kind in ("rate_limit", "network", "server"):
        return AnswerFailure(kind=kind, is_retryable=True, retry_after_ms=_retry_wait_ms(text, facts))
    return AnswerFailure(kind=kind, retry_after_ms=_retry_wait_ms(text, facts) if kind == "quota" else None)


def is_cut_connection(message: AssistantMessage) -> bool:
    """Returns whether a failed answer ended because the connection was closed, and not because none was made."""
    return classify_failure(message).kind == "network" and bool(
        compile_failure_pattern(_CUT_CONNECTION_PATTERN).search(message.error_message or "")
    )


def _classify_text(text: str, facts: dict[str, Any]) -> FailureKind:
    status = facts.get("status")
    if (status is None or status in (400, 403, 404, 410, 422)) and _matches_any_pattern(
        MODEL_UNAVAILABLE_PATTERNS, text
    ):
        return "model"
    if status == 402 or _matches_any_pattern(QUOTA_ERROR_PATTERNS, text):
        return "quota"
    if status in (401, 403) or (status is None and _matches_any_pattern(AUTH_ERROR_PATTERNS, text)):
        return "auth"
    if status == 429:
        return "rate_limit"
    if facts.get("kind") in ("timeout", "connection", "malformed"):
        return "network"
    if facts.get("kind") == "tls":
        return "other"  # a retry does not repair a certificate
    if status in _RETRYABLE_HTTP_STATUSES:
        return "server"
    if (
        status is not None
        and 400 <= status < 500
        and not _matches_any_pattern(RATE_LIMIT_ERROR_PATTERNS, text)
    ):
        return "other"
    if _matches_any_pattern(RATE_LIMIT_ERROR_PATTERNS, text):
        return "rate_limit"
    if _matches_any_pattern(SERVER_ERROR_PATTERNS, text):
        return "server"
    return "network" if _matches_any_pattern(NETWORK_ERROR_PATTERNS, text) else "other"


def _matches_any_pattern(rows: NamedPatterns, text: str) -> bool:
    return any(compile_failure_pattern(pattern).search(text) for _, pattern in rows)


def _is_context_overflow(text: str, facts: dict[str, Any], provider: str) -> bool:
    if facts.get("status") == 429 or _matches_any_pattern(NOT_CONTEXT_OVERFLOW_PATTERNS, text):
        return False
    if facts.get("status") == 413 or _matches_any_pattern(CONTEXT_OVERFLOW_PATTERNS, text):
        return True
    return (
        provider == "cerebras"
        and compile_failure_pattern(CEREBRAS_CONTEXT_OVERFLOW_PATTERN).search(text) is not None
    )


def _is_silent_context_overflow(message: AssistantMessage, model: Model | None) -> bool:
    """Detects an overflow by token counts, for servers that drop the overflowing text without an error."""
    if model is None or model.context_window <= 0:
        return False
    read = message.usage.input + message.usage.cache_read
    if message.stop_reason == "stop":
        return read > model.context_window
    if message.stop_reason == "length":
        return message.usage.output == 0 and read >= 0.99 * model.context_window
    return False


def _stored_error_details(message: AssistantMessage) -> dict[str, Any]:
    """Returns the details of the provider's error that bayou's adapter stored in the message; empty if another
    program wrote the message."""
    for entry in reversed(message.diagnostics if isinstance(message.diagnostics, list) else []):
        if isinstance(entry, dict) and entry.get("type") == "provider_error":
            details = entry.get("details")
            return details if isinstance(details, dict) else {}
    return {}


def _retry_wait_ms(text: str, facts: dict[str, Any]) -> int | None:
    known = facts.get("retryAfterMs")
    if isinstance(known, int):
        return known
    for pattern in _RETRY_WAIT_PATTERNS:
        for match in compile_failure_pattern(pattern).finditer(text):
            hours, minutes, amount, unit = match.groups()
            if not (hours or minutes or amount):
                continue
            factor = 1 if (unit or "").lower() == "ms" else 1000
            try:
                rest = float(amount) * factor if amount else 0.0
            except ValueError:
                continue
            return round(int(hours or 0) * 3_600_000 + int(minutes or 0) * 60_000 + rest)
    return None
