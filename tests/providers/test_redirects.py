"""Where requests go: redirects, addresses, and the headers that may not come along."""

import pytest

from app.providers.model_stream import Credential, HttpRequestHooks
from tests.providers.loopback import Loopback, Reply
from tests.providers.raw_wire import API, BODY, failed, is_whole
from tests.providers.wire_formats import ANSWERS, ask, model_for, options


def moved(status: int, target: str) -> Reply:
    return Reply(status=status, headers={"Location": target})


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_on_the_same_server_takes_everything_along(status: int, server: Loopback):
    server.reply(moved(status, "/elsewhere?x=1"), Reply(body=BODY))
    seen: list[int] = []

    async def on_response(status: int, headers: object) -> None:
        seen.append(status)

    how = options(
        key="sk-mine", hooks=HttpRequestHooks(on_response_headers=on_response), headers={"X-Team": "secret"}
    )
    assert is_whole(await ask(model_for(API, server.url), how=how))
    first, second = server.requests
    assert (second.method, second.target, second.body) == ("POST", "/elsewhere?x=1", first.body)
    assert second.headers["authorization"] == "Bearer sk-mine" and second.headers["x-team"] == "secret"
    assert seen == [200]


@pytest.mark.parametrize("api", ["openai-completions", "anthropic-messages", "google-generative-ai"])
async def test_another_server_gets_no_key_and_no_header_that_may_be_one(api: str, server: Loopback):
    there = server.url.replace("127.0.0.1", "localhost")
    server.reply(moved(307, f"{there}/v9"), Reply(body=ANSWERS[api]()))
    credential = Credential(key="sk-mine", headers={"X-Private": "sk-too"})
    how = options(credential=credential, headers={"X-Team": "sk-three"})
    message = await ask(model_for(api, server.url, headers={"Cookie": "sk-four"}), how=how)
    assert is_whole(message), message.error_message
    first, second = server.requests
    assert str(first.headers).count("sk-") == 4 and "sk-" not in str(second.headers)
    assert second.headers["user-agent"].startswith("bayou/") and second.headers["host"].startswith(
        "localhost"
    )
    assert second.body == first.body


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_a_redirect_that_would_lose_the_question_is_reported_instead(status: int, server: Loopback):
    server.reply(moved(status, "https://new.example/v1?key=sk-hidden"))
    message = await ask(model_for(API, server.url))
    failed(message, f"{status} ", "https://new.example/v1", "use that address")
    assert len(server.requests) == 1 and "sk-hidden" not in (message.error_message or "")


async def test_redirects_without_an_end(server: Loopback):
    server.reply(moved(307, "/again"))
    failed(await ask(model_for(API, server.url)), "redirects in a circle")
    assert len(server.requests) < 20


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("file:///etc/passwd", "the redirect was refused"),
        ("http://[::1/", "an invalid address"),
        ("http://127.0.0.1:99999/", "an invalid address"),
        ("//:80/", "/chat/completions redirects to an invalid address: //:80/"),
    ],
)
async def test_a_redirect_to_no_server(place: str, words: str, server: Loopback):
    server.reply(moved(307, place))
    failed(await ask(model_for(API, server.url)), "307", words)


# Addresses and headers


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("localhost:1234", "not a server"), ("ftp://host/x", "not a server"), ("http://", "not a server"),
        ("http://127.0.0.1:99999", "not a server"), ("http://[::1", "not a server"),
        ("http://no such host/", "no such host"),
    ],
)  # fmt: skip
async def test_invalid_redirect_addresses_are_refused(url: str, words: str):
    failed(await ask(model_for(API, url)), words)


async def test_a_key_with_a_line_break_is_refused_unshown(server: Loopback):
    message = await ask(model_for(API, server.url), how=options(key="sk-half\nsk-other"))
    failed(message, "authorization", "cannot be sent")
    assert "sk-" not in (message.error_message or "") and not server.requests


async def test_an_address_with_a_password_and_odd_letters(server: Loopback):
    server.sse(BODY)
    place = server.url.replace("http://", "http://me:p%40ss@") + "/a b/ü"
    assert is_whole(await ask(model_for(API, place), how=options(key="")))
    request = server.requests[0]
    assert request.target == "/a%20b/%C3%BC/chat/completions"
    assert request.headers["authorization"] == "Basic bWU6cEBzcw=="
    assert "@" not in request.headers["host"]
