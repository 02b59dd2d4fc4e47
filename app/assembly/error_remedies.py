"""Suggests what a user can do about a failed answer: one sentence, with the keys or commands of the user
interface.

The message itself describes the error; `providers.classify` gives its kind.
"""

import math
import time
from collections.abc import Mapping
from typing import assert_never

import msgspec

from app.engine.core.model_choice import ModelChoice
from app.providers.credentials import Source
from app.providers.failure_kinds import Failure, classify
from app.providers.models.known_providers import key_variable
from app.values.messages import AssistantMessage
from app.values.wire import now_ms
from tools.amounts import elapsed
from tools.patterns import late

_CLOCK_TIME_FROM_MS = 10_000
"""From this length on, the end of a wait is shown as a time of day."""
_DAY_MS = 86_400_000
_LOCALHOST = late(r"\b(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?::\d+)?\b")
_UNREACHABLE = late(
    r"name or service not known|name resolution|nodename nor servname|no address|unreachable|getaddrinfo|enotfound"
    r"|eai_again"
)


class RemedyTexts(msgspec.Struct, frozen=True, kw_only=True):
    """The remedies of one user interface, each as the beginning of a sentence."""

    log_in: str
    """The provider's name follows this text."""
    choose_model: str
    show_context: str


class NextSteps(msgspec.Struct, frozen=True):
    """Chooses the remedy for a failed answer."""

    choice: ModelChoice
    ways: RemedyTexts
    env: Mapping[str, str]

    def of(self, message: AssistantMessage) -> str:
        """Returns the next step; empty where the error message says it all."""
        failure = classify(message, self.choice.model)
        text, provider = message.error_message or "", message.provider
        match failure.kind:
            case "none" | "aborted":
                return ""
            case "auth":
                return self._about_key(provider)
            case "overflow":
                return _sentences(self.ways.show_context, self._model("a model with a larger context window"))
            case "rate_limit" | "quota":
                return self._about_limit(failure, message)
            case "network":
                return _about_network(text, self._model("another model"))
            case "model":
                return _sentences(
                    f"{provider} no longer offers {message.model}, or your key has no access to it",
                    self._model("another"),
                )
            case "server":
                return _sentences(
                    f"The problem is on {provider}'s side", self._model("a model of another provider")
                )
            case "other":
                return _sentences(self._model("another model")) if not _has_advice(text) else ""
            case _:
                assert_never(failure.kind)

    def _model(self, which: str) -> str:
        return f"{self.ways.choose_model} {which}"

    def _about_key(self, provider: str) -> str:
        credentials = self.choice.credentials
        source = credentials.source(provider)
        way = f"{self.ways.log_in} {provider}"
        if source is None:
            return _sentences(f"No API key is configured for {provider}", f"{way} adds one")
        origin = key_origin(source, key_variable(provider, self.env))
        if source == "run":
            return _sentences(
                f"The rejected key comes from {origin}: start with another one",
                self._model("a model of another provider"),
            )
        does = "signs in again" if source == "sign-in" else "stores another key, which takes precedence"
        return _sentences(f"The rejected key comes from {origin}", f"{way} {does}")

    def _about_limit(self, failure: Failure, message: AssistantMessage) -> str:
        other = self._model("a model of another provider")
        free = message.timestamp + (failure.retry_after_ms or 0)
        if (failure.retry_after_ms or 0) >= _CLOCK_TIME_FROM_MS:
            return _sentences(f"{message.provider} accepts requests again {format_time(free)}", other)
        if failure.kind == "quota":
            way = f"{self.ways.log_in} {message.provider}"
            return _sentences(
                f"Waiting does not help: your {message.provider} account needs credit",
                other,
                f"{way} signs in with another account",
            )
        return _sentences(f"{message.provider} accepts requests again in a moment", other)


def key_origin(source: Source, variable: str) -> str:
    """Describes where a key came from, so that the user can find it."""
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


def format_time(free_ms: float) -> str:
    """Formats a time as `in 2 h 5 m, at 14:32`; a past one as `since 14:32`."""
    now = now_ms()
    moment = time.localtime(free_ms / 1000)
    hour = time.strftime("%H:%M", moment)
    if free_ms <= now:
        return f"since {hour}" if now - free_ms < _DAY_MS else "by now"
    if free_ms - now >= _DAY_MS:
        return time.strftime("on %d %B at %H:%M", moment).replace(" 0", " ")
    seconds = (free_ms - now) / 1000
    return f"in {elapsed(seconds if seconds < 60 else 60 * math.ceil(seconds / 60))}, at {hour}"


def _about_network(text: str, other: str) -> str:
    if own := _LOCALHOST.search(text):
        return _sentences(f"Is the server at {own[0]} running?", other)
    if _UNREACHABLE.search(text.lower()):
        return _sentences(
            "Check this machine's network connection, and the proxy if it needs one (setting httpProxy)",
            other,
        )
    return _sentences("The connection was lost; the conversation so far is complete", other)


def _has_advice(text: str) -> bool:
    return "/login" in text or "/model" in text or "bayou auth" in text


def _sentences(*parts: str) -> str:
    return " ".join(part if part.endswith("?") else f"{part}." for part in parts if part)
