"""What failures mean, one row per pattern."""

import pytest

from app.providers.errors import ProviderError, error_from_response, html_to_sentence, read_retry_after_ms
from app.providers.failure_kinds import (
    AUTH_ERROR_PATTERNS,
    CONTEXT_OVERFLOW_PATTERNS,
    MODEL_UNAVAILABLE_PATTERNS,
    NETWORK_ERROR_PATTERNS,
    QUOTA_ERROR_PATTERNS,
    RATE_LIMIT_ERROR_PATTERNS,
    SERVER_ERROR_PATTERNS,
    AnswerFailure,
    classify_failure,
    compile_failure_pattern,
)
from app.values.messages import AssistantMessage
from app.values.usage import Usage
from tests.providers.wire_formats import model_for


def failed(text: str, provider: str = "p", **facts) -> AssistantMessage:
    diagnostics = ProviderError(text, **facts).to_diagnostics or None
    return AssistantMessage(
        stop_reason="error", error_message=text, provider=provider, diagnostics=diagnostics
    )


OVERFLOWS = {
    "Anthropic": "400 invalid_request_error: prompt is too long: 213462 tokens > 200000 maximum",
    "Z.ai China": "Prompt exceeds max length",
    "Anthropic 413": '{"type":"error","error":{"type":"request_too_large","message":"Request too large"}}',
    "Bedrock": "ValidationException: Input is too long for requested model.",
    "OpenAI": "Your input exceeds the context window of this model.",
    "OpenAI-compatible": "The input exceeds the model's maximum context length of 131072 tokens.",
    "LiteLLM": "ContextWindowExceededError: Context window exceeded",
    "Google": "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    "xAI": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Groq": "Please reduce the length of the messages or completion.",
    "OpenRouter": "This endpoint's maximum context length is 32768 tokens. However, you requested 40000",
    "Poolside": "The request exceeds the maximum allowed input length of 131,072 tokens",
    "Together": "The input (300000 tokens) is longer than the model's context length (262144 tokens).",
    "GitHub Copilot": "prompt token count of 150000 exceeds the limit of 128000",
    "llama.cpp": "the request exceeds the available context size, try increasing it",
    "LM Studio": "tokens to keep from the initial prompt is greater than the context length",
    "MiniMax": "invalid params, context window exceeds limit",
    "Kimi For Coding": "Your request exceeded model token limit: 262144",
    "Mistral": "Prompt contains 160000 tokens, too large for model with 131072 maximum context length",
    "DS4": "prompt has 70000 tokens, but the configured context size is 65536 tokens",
    "Z.ai finish reason": "Provider finish_reason: model_context_window_exceeded",
    "Ollama": "prompt too long; exceeded max context length by 4 tokens",
    "Qwen": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]",
    "code": "context_length_exceeded",
    "too many tokens": "Too many tokens in the request",
    "token limit": "Token limit exceeded",
    "HTTP 413": "413 Payload Too Large",
}


@pytest.mark.parametrize("name", [name for name, _ in CONTEXT_OVERFLOW_PATTERNS])
def test_every_familys_words_for_a_full_context(name: str):
    pattern = dict(CONTEXT_OVERFLOW_PATTERNS)[name]
    assert compile_failure_pattern(pattern).search(OVERFLOWS[name]), "its own pattern knows it"
    assert classify_failure(failed(OVERFLOWS[name])) == AnswerFailure(
        kind="overflow", is_context_overflow=True
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Throttling error: Too many tokens, please wait before trying again.", "rate_limit"),
        ("Service unavailable: too many tokens are being served", "server"),
        ("Rate limit reached: too many tokens per minute", "rate_limit"),
        ("Too many requests, too many tokens", "rate_limit"),
    ],
)
def test_similar_messages_are_not_context_overflows(text: str, kind: str):
    found = classify_failure(failed(text))
    assert (found.kind, found.is_context_overflow, found.is_retryable) == (kind, False, True)


def test_an_empty_refusal_is_an_overflow_at_cerebras_only():
    text = str(error_from_response(400, {}, b""))
    assert classify_failure(failed(text, "cerebras", status=400)).is_context_overflow
    assert classify_failure(failed("413 (no body)", "cerebras")).is_context_overflow
    assert not classify_failure(failed(text, "openai", status=400)).is_context_overflow


def test_overflow_that_only_the_counts_show():
    model = model_for("openai-completions", context_window=1000)

    def answer(stop, input_tokens: int, output: int, cached: int = 0) -> AssistantMessage:
        usage = Usage(input=input_tokens, output=output, cache_read=cached)
        return AssistantMessage(stop_reason=stop, usage=usage)

    assert classify_failure(answer("stop", 600, 5, cached=500), model).is_context_overflow
    assert classify_failure(answer("length", 990, 0), model).is_context_overflow
    assert not classify_failure(answer("stop", 1000, 5), model).is_context_overflow
    assert not classify_failure(answer("length", 990, 7), model).is_context_overflow
    assert not classify_failure(answer("length", 900, 0), model).is_context_overflow
    assert not classify_failure(answer("stop", 5000, 5), None).is_context_overflow


QUOTAS = {
    "Go usage limit": "GoUsageLimitError: limit",
    "free usage limit": "FreeUsageLimitError",
    "monthly limit": "429 Monthly usage limit reached",
    "balance": "Insufficient available balance",
    "OpenAI quota": "429 insufficient_quota: You exceeded your current quota",
    "budget": "Key is out of budget",
    "quota exceeded": "Quota exceeded for this project",
    "billing": "Check your plan and billing details",
    "shared subscription": "subscription_sharing_member_usage_limit_exceeded",
    "plan limit": "429 usage_limit_reached: The usage limit has been reached",
    "Z.ai 1308": '{"error":{"code":"1308","message":"Usage limit reached"}}',
    "payment": "402 Payment Required",
}


@pytest.mark.parametrize("name", [name for name, _ in QUOTA_ERROR_PATTERNS])
def test_a_used_up_quota_is_not_retried(name: str):
    found = classify_failure(failed(QUOTAS[name], status=429))
    assert (found.kind, found.is_retryable) == ("quota", False)


GONE = {
    "code": "404 invalid_request_error model_not_found: The model `gpt-9` does not exist",
    "Anthropic": "404 not_found_error: model: claude-opus-4-1",
    "not there": "404 model 'llama9' not found, try pulling it first",
    "retired": "400 The model `gemma-7b` has been decommissioned and is no longer supported.",
    "no such": "404 No endpoints found for acme/large.",
}


@pytest.mark.parametrize("name", [name for name, _ in MODEL_UNAVAILABLE_PATTERNS])
def test_a_model_that_is_gone_is_not_asked_again(name: str):
    assert compile_failure_pattern(dict(MODEL_UNAVAILABLE_PATTERNS)[name]).search(GONE[name])
    assert classify_failure(failed(GONE[name], status=int(GONE[name][:3]))) == AnswerFailure(kind="model")


@pytest.mark.parametrize(
    ("text", "status", "kind"),
    [
        ("503 The model is temporarily unavailable, retry later", 503, "server"),
        ("400 This model does not support the tool that was not found", 400, "other"),
        ("429 This model is no longer available at this rate", 429, "rate_limit"),
    ],
)
def test_other_words_about_a_model(text: str, status: int, kind: str):
    assert classify_failure(failed(text, status=status)).kind == kind


AUTHS = {
    "key": "invalid x-api-key: authentication_error",
    "unauthorized": "Unauthorized",
    "permission": "permission_error: not yours",
    "token": "The token has expired",
}


@pytest.mark.parametrize("name", [name for name, _ in AUTH_ERROR_PATTERNS])
def test_a_key_that_is_not_accepted(name: str):
    assert classify_failure(failed(AUTHS[name])) == AnswerFailure(kind="auth")
    assert classify_failure(failed("whatever", status=401)).kind == "auth"


RATES = {
    "rate limit": "rate_limit_error: slow down",
    "too many requests": "Too Many Requests",
    "status 429": "429 status code (no body)",
    "exhausted": "RESOURCE_EXHAUSTED: try later",
    "throttling": "ThrottlingException: slow down",
}
SERVERS = {
    "overloaded": "Overloaded",
    "capacity": "The model is at capacity",
    "high demand": "We are experiencing high demand",
    "status": "HTTP 529 from the server",
    "unavailable": "Service temporarily unavailable",
    "server error": "api_error: Internal server error",
    "provider error": "Provider returned error",
    "upstream": "upstream connect error or disconnect/reset before headers",
    "retry request": "An error occurred. You can retry your request.",
    "shared subscription": "subscription_sharing_pool_unavailable",
    "bad gateway": "Bad gateway",
}
NETWORKS = {
    "network": "network error",
    "connection": "Connection error: refused",
    "closed": "host closed the connection (eof)",
    "fetch": "TypeError: fetch failed",
    "DNS": "getaddrinfo ENOTFOUND api.example.com",
    "hang up": "socket hang up",
    "timeout": "Request timed out: no answer within 300 s.",
    "terminated": "terminated: Body Timeout Error",
    "websocket": "WebSocket closed 1006",
    "premature end": "Anthropic stream ended before message_stop",
    "http2": "HTTP/2 stream cancelled with GOAWAY",
}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *((RATES[name], "rate_limit") for name, _ in RATE_LIMIT_ERROR_PATTERNS),
        *((SERVERS[name], "server") for name, _ in SERVER_ERROR_PATTERNS),
        *((NETWORKS[name], "network") for name, _ in NETWORK_ERROR_PATTERNS),
    ],
)
def test_what_is_worth_another_try(text: str, kind: str):
    found = classify_failure(failed(text))
    assert (found.kind, found.is_retryable) == (kind, True)


@pytest.mark.parametrize(
    "text", ["404 model not found", "Invalid request: bad schema 15003", "version a500 is unknown", ""]
)
def test_what_another_try_does_not_mend(text: str):
    assert not classify_failure(failed(text)).is_retryable


@pytest.mark.parametrize(
    ("status", "is_retryable"),
    [
        (400, False),
        (404, False),
        (422, False),
        (408, True),
        (429, True),
        (500, True),
        (503, True),
        (529, True),
    ],
)
def test_the_status_counts_more_than_the_words(status: int, is_retryable: bool):
    assert classify_failure(failed("It went wrong", status=status)).is_retryable is is_retryable


def test_complete_and_aborted_answers_are_not_failures():
    assert classify_failure(AssistantMessage(stop_reason="stop")) == AnswerFailure()
    assert (
        classify_failure(AssistantMessage(stop_reason="aborted", error_message="timeout")).kind == "aborted"
    )


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("Rate limit reached. Please try again in 20s.", 20_000),
        ("Rate limit reached. Please try again in 1.5s", 1_500),
        ("Too many requests, retry after 350ms", 350),
        ("Rate limit: try again in 6m 30s", 390_000),
        ("Rate limit, resets in 2h 5m", 7_500_000),
        ('429 {"retryDelay": "34s"}', 34_000),
        ('429 usage: "resets_in_seconds": 120', 120_000),
        ("Overloaded", None),
    ],
)
def test_the_wait_that_the_text_asks_for(text: str, wait: int | None):
    assert classify_failure(failed(text)).retry_after_ms == wait


def test_the_headers_wait_comes_before_the_texts():
    assert (
        classify_failure(failed("429 try again in 20s", status=429, retry_after_ms=5000)).retry_after_ms
        == 5000
    )


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "5"}, 5_000),
        ({"retry-after-ms": "250", "retry-after": "9"}, 250),
        ({"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
        ({"Retry-After": "soon"}, None),
        ({"x-ratelimit-reset-requests": "6m0s"}, 360_000),
        ({}, None),
    ],
)
def test_the_wait_that_headers_ask_for(headers: dict[str, str], wait: int | None):
    assert read_retry_after_ms(headers) == wait


def test_html_is_reduced_to_its_sentence():
    page = "<html><head><title>502 Bad Gateway</title><style>p{}</style></head><body><center>nginx</center></body>"
    assert html_to_sentence(page) == "502 Bad Gateway - nginx"
    assert html_to_sentence("1 < 2 and 3 > 2") == "1 < 2 and 3 > 2"
