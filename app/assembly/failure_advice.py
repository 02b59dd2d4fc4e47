"""Suggests what a user can do about a failed answer: one sentence, with the keys or commands of the user
interface.

The message itself describes the error; `classify_failure` gives its kind.
"""

import math
import time
from collections.abc import Mapping
from typing import assert_never

import msgspec

from app.engine.core.model_choice import ModelChoice
from app.providers.credentials import CredentialSource
from app.providers.failure_kinds import AnswerFailure, classify_failure
from app.providers.models.known_providers import find_api_key_variable
from app.values.messages import AssistantMessage
from app.values.wire import now_ms
from tools.lazy_patterns import lazy_regex
from tools.number_formatting import format_elapsed

_MIN_DELAY_WITH_CLOCK_TIME_MS = 10_000
"""The minimum length of a wait in milliseconds from which its end is shown as a time of day."""
_ONE_DAY_MS = 86_400_000
_LOCALHOST_ADDRESS_PATTERN = lazy_regex(r"\b(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?::\d+)?\b")
_HOST_UNREACHABLE_ERROR_PATTERN = lazy_regex(
    r"name or service not known|name resolution|nodename nor servname|no address|unreachable|getaddrinfo|enotfound"
    r"|eai_again"
)


class FailureAdviceTexts(msgspec.Struct, frozen=True, kw_only=True):
    """The texts in which one user interface names its remedies, such as how to log in, each as the beginning of
    a sentence."""

    log_in: str
    """The beginning of the advice to log in, which the provider's name follows."""
    choose_model: str
    show_context: str


class FailureAdvice(msgspec.Struct, frozen=True):
    """Chooses the advice for a user after a failed answer."""

    model_choice: ModelChoice
    remedy_texts: FailureAdviceTexts
    env: Mapping[str, str]

    def next_step(self, message: AssistantMessage) -> str:
        """Returns the advice for a failed answer; empty where its error message says it all."""
        failure = classify_failure(message, self.model_choice.model)
        text, provider = message.error_message or "", message.provider
        match failure.kind:
            case "none" | "aborted":
                return ""
            case "auth":
                return self._key_advice(provider)
            case "overflow":
                return _join_sentences(
                    self.remedy_texts.show_context,
                    self._choose_model_step("a model with a larger context window"),
                )
            case "rate_limit" | "quota":
                return self._rate_limit_advice(failure, message)
            case "network":
                return _network_advice(text, self._choose_model_step("another model"))
            case "model":
                return _join_sentences(
                    f"{provider} no longer offers {message.model}, or your key has no access to it",
                    self._choose_model_step("another"),
                )
            case "server":
                return _join_sentences(
                    f"The problem is on {provider}'s side",
                    self._choose_model_step("a model of another provider"),
                )
            case "other":
                return (
                    _join_sentences(self._choose_model_step("another model"))
                    if not _mentions_remedy(text)
                    else ""
                )
            case _:
                assert_never(failure.kind)

    def _choose_model_step(self, which: str) -> str:
        return f"{self.remedy_texts.choose_model} {which}"

    def _key_advice(self, provider: str) -> str:
        credentials = self.model_choice.credentials
        source = credentials.credential_source_of(provider)
        way = f"{self.remedy_texts.log_in} {provider}"
        if source is None:
            return _join_sentences(f"No API key is configured for {provider}", f"{way} adds one")
        origin = describe_api_key_source(source, find_api_key_variable(provider, self.env))
        if source == "run":
            return _join_sentences(
                f"The rejected key comes from {origin}: start with another one",
                self._choose_model_step("a model of another provider"),
            )
        does = "signs in again" if source == "sign-in" else "stores another key, which takes precedence"
        return _join_sentences(f"The rejected key comes from {origin}", f"{way} {does}")

    def _rate_limit_advice(self, failure: AnswerFailure, message: AssistantMessage) -> str:
        other = self._choose_model_step("a model of another provider")
        free = message.timestamp + (failure.retry_after_ms or 0)
        if (failure.retry_after_ms or 0) >= _MIN_DELAY_WITH_CLOCK_TIME_MS:
            return _join_sentences(
                f"{message.provider} accepts requests again {format_remaining_and_clock_time(free)}", other
            )
        if failure.kind == "quota":
            way = f"{self.remedy_texts.log_in} {message.provider}"
            return _join_sentences(
                f"Waiting does not help: your {message.provider} account needs credit",
                other,
                f"{way} signs in with another account",
            )
        return _join_sentences(f"{message.provider} accepts requests again in a moment", other)


def describe_api_key_source(source: CredentialSource, variable: str) -> str:
    """Describes where an API key came from, so that the user can find it."""
    match source:
        case "run":
            return "--api-key"
        case "stored":
            return "auth.json"
        case "sign-in":
            return "your account's sign-in"
        case "extension":
            return "an extension"
        case "models.json":
            return "models.json"
        case "environment":
            return f"the environment variable {variable}"
        case "surroundings":
            return "this machine's cloud credentials"
        case _:
            assert_never(source)


def format_remaining_and_clock_time(free_ms: float) -> str:
    """Formats a time as `in 2 h 5 m, at 14:32`; a past one as `since 14:32`."""
    now = now_ms()
    moment = time.localtime(free_ms / 1000)
    hour = time.strftime("%H:%M", moment)
    if free_ms <= now:
        return f"since {hour}" if now - free_ms < _ONE_DAY_MS else "by now"
    if free_ms - now >= _ONE_DAY_MS:
        return time.strftime("on %d %B at %H:%M", moment).replace(" 0", " ")
    seconds = (free_ms - now) / 1000
    return f"in {format_elapsed(seconds if seconds < 60 else 60 * math.ceil(seconds / 60))}, at {hour}"


def _network_advice(text: str, other: str) -> str:
    if own := _LOCALHOST_ADDRESS_PATTERN.search(text):
        return _join_sentences(f"Is the server at {own[0]} running?", other)
    if _HOST_UNREACHABLE_ERROR_PATTERN.search(text.lower()):
        return _join_sentences(
            "Check this machine's network connection, and the proxy if it needs one (setting httpProxy)",
            other,
        )
    return "The connection was lost; all earlier messages are complete."


def _mentions_remedy(text: str) -> bool:
    return "/login" in text or "/model" in text or "bayou auth" in text


def _join_sentences(*parts: str) -> str:
    return " ".join(part if part.endswith("?") else f"{part}." for part in parts if part)
