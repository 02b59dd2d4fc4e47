"""What a person sees of requests that real servers refuse: what went wrong, and the step that helps, by its key."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.resources.paths import BayouPaths
from tests.providers.loopback import Loopback, Reply, loopback
from tests.support.photographs import Photographs
from tests.support.screens import Screen

NOON = "in 2 h 5 m, at 14:05"
REFUSALS = {
    "key": (401, {}, "authentication_error", "invalid x-api-key"),
    "limit": (
        429,
        {"retry-after": "7500"},
        "rate_limit_error",
        "This would exceed your organization's rate limit.",
    ),
    "overflow": (400, {}, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
    "gone": (404, {}, "not_found_error", "model: claude-opus-4-1"),
    "paid": (402, {}, "billing_error", "Your credit balance is too low to access the API."),
}
STEPS = {
    "key": ("the environment variable ANTHROPIC_API_KEY", "/login anthropic stores another key"),
    "limit": (f"anthropic accepts requests again {NOON}", "ctrl+l chooses a model of another provider"),
    "overflow": (
        "/context shows the usage and drops large results",
        "ctrl+l chooses a model with a larger context window",
    ),
    "gone": ("anthropic no longer offers claude-opus-4-1", "ctrl+l chooses another"),
    "paid": ("account needs credit", "/login anthropic signs in with another account"),
}


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Loopback]:
    monkeypatch.setattr("app.assembly.failure_advice.format_remaining_and_clock_time", lambda _: NOON)
    monkeypatch.setattr(
        "app.engine.models.model_requests.ModelRequests._on_connection_state",
        lambda self, state, seconds: None,
    )
    monkeypatch.setattr("app.engine.context.compactor.Compactor._largest_messages_text", lambda self: "")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-this-test")
    async with loopback() as server:
        yield server


def use(project: Path, address: str) -> None:
    """Configures the provider anthropic at this address, with a separate model."""
    file = BayouPaths.from_env(os.environ, project).agent_dir / "models.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    own = {"baseUrl": address, "models": [{"id": "claude-opus-4-1", "contextWindow": 200_000}]}
    file.write_text(json.dumps({"providers": {"anthropic": own}}))


def refusal(name: str) -> Reply:
    status, headers, kind, words = REFUSALS[name]
    body = json.dumps({"type": "error", "error": {"type": kind, "message": words}}).encode()
    return Reply(status=status, headers={"Content-Type": "application/json", **headers}, body=body)


async def test_the_step_that_helps_is_reported_and_its_key_works(
    screen: Screen, photographs: Photographs, server: Loopback
) -> None:
    use(screen.project, server.url)
    app = screen.app("--model", "anthropic/claude-opus-4-1", theme=photographs.theme)
    async with photographs.of(app) as tour:
        app.assembled.effective_settings.set("compaction.mode", "off")
        for name, told in STEPS.items():
            server.reply(refusal(name))
            await tour.say("/new")
            await tour.say(f"the boat: {name}")
            await tour.idle()
            words = " ".join(tour.words().split())
            assert all(one in words for one in told), words
            await tour.photograph(name)
        await tour.press("ctrl+l")
        await tour.until("enter use")
        await tour.press("escape")
        await tour.say("and again")  # what is not the last word any more has nothing to press
        await tour.idle()
        assert tour.words().count("ctrl+l chooses") == 1


async def test_a_server_that_is_not_running(
    screen: Screen, photographs: Photographs, server: Loopback
) -> None:
    use(screen.project, "http://127.0.0.1:9")
    app = screen.app("--model", "anthropic/claude-opus-4-1", theme=photographs.theme)
    async with photographs.of(app) as tour:
        app.assembled.effective_settings.set("retry.enabled", False)
        await tour.say("is anybody there?")
        await tour.idle()
        await tour.until("Is the server at 127.0.0.1:9 running?")
        await tour.photograph("nobody")
