"""Fetching a page: redirects, sizes, encodings, times; from a real server on this machine that the user named."""

import gzip
import zlib
from collections.abc import AsyncIterator

import pytest

from app.web import fetching
from app.web.fetching import WebFetcher
from app.web.web_access import WebAccessSettings
from tests.providers.loopback import Loopback, Reply, loopback
from tools.tool_definition import ToolError


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    async with loopback() as one:
        yield one


@pytest.fixture
def fetcher() -> WebFetcher:
    return WebFetcher(lambda: WebAccessSettings(private_hosts=("127.0.0.1",)))


def page(body: bytes, kind: str = "text/html", **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(body=body, headers={"Content-Type": kind, **named})


def redirect(to: str) -> Reply:
    return Reply(status=302, headers={"Location": to})


async def test_a_page_is_markdown_with_its_title(server: Loopback, fetcher: WebFetcher):
    server.reply(page(b"<title>Boats</title><h1>Fleet</h1><p>See <a href='/list'>the list</a>."))
    found = await fetcher.fetch(f"{server.url}/docs")
    assert (found.title, found.text) == ("Boats", f"# Fleet\n\nSee [the list]({server.url}/list).")
    sent = server.requests[0].headers
    assert (
        sent["user-agent"].startswith("bayou/") and not {"cookie", "authorization", "referer"} & sent.keys()
    )


async def test_a_page_is_kept_for_the_session(server: Loopback, fetcher: WebFetcher):
    server.reply(page(b"one", "text/plain"), page(b"two", "text/plain"))
    assert [(await fetcher.fetch(server.url)).text for _ in range(2)] == ["one", "one"]


async def test_redirects_within_a_host_are_followed_and_others_reported(
    server: Loopback, fetcher: WebFetcher
):
    server.reply(redirect("/b"), redirect("c"), page(b"there", "text/plain"))
    found = await fetcher.fetch(f"{server.url}/a")
    assert (found.text, found.url) == ("there", f"{server.url}/c")
    server.reply(redirect("https://example.org/x"))
    assert (await fetcher.fetch(f"{server.url}/away")).moved_to == "https://example.org/x"


@pytest.mark.parametrize(
    ("to", "reason"),
    [
        ("https://169.254.169.254/latest/meta-data", ""),
        ("file:///etc/passwd", "begins with file:"),
        ("http://example.org/", "https addresses only"),
        ("/again", "redirects more than 5 times"),
    ],
)
async def test_a_redirect_leads_nowhere_it_may_not(
    server: Loopback, fetcher: WebFetcher, to: str, reason: str
):
    server.reply(redirect(to))
    if not reason:  # another host: the model must ask for it by name, and is refused then
        moved = (await fetcher.fetch(server.url)).moved_to
        to, reason = moved, "metadata"
        with pytest.raises(ToolError, match=reason):
            await fetcher.fetch(moved)
        return
    with pytest.raises(ToolError, match=reason):
        await fetcher.fetch(server.url)


@pytest.mark.parametrize("to", ["//:80/", "http://[::1/"])
async def test_a_redirect_to_no_address_names_the_page_that_sent_it(
    server: Loopback, fetcher: WebFetcher, to: str
):
    server.reply(redirect(to))
    with pytest.raises(ToolError) as refused:
        await fetcher.fetch(f"{server.url}/docs?key=1")
    assert f"302 {server.url}/docs redirects to an invalid address: {to}" in str(refused.value)


async def test_a_bomb_is_unpacked_only_as_far_as_pages_go(server: Loopback, fetcher: WebFetcher):
    packing = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packing.compress(bytes(10_000_000)) for _ in range(50)) + packing.flush()
    server.reply(page(bomb, "text/plain", Content_Encoding="gzip"))
    found = await fetcher.fetch(server.url)
    assert found.is_cut and found.size == fetching.MAX_WEB_PAGE_BYTES


async def test_an_endless_page_is_cut(server: Loopback, fetcher: WebFetcher):
    server.reply(Reply(headers={"Content-Type": "text/plain"}, forever=b"x" * 1_000_000))
    found = await fetcher.fetch(server.url)
    assert found.is_cut and found.size == fetching.MAX_WEB_PAGE_BYTES


async def test_a_silent_server_is_given_up(
    server: Loopback, fetcher: WebFetcher, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fetching, "WEB_FETCH_TIMEOUT_SECONDS", 0.2)
    server.reply(Reply(hang_before_headers=True))
    with pytest.raises(ToolError, match=r"did not send the page within"):
        await fetcher.fetch(server.url)


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("größe".encode("latin-1"), "text/plain; charset=iso-8859-1", "größe"),
        ('<meta charset="shift_jis">港'.encode("shift_jis"), "text/html", "港"),
        ("größe".encode(), "text/plain", "größe"),
        (b"\xff\xfe broken", "text/plain; charset=utf-8", "\ufffd\ufffd broken"),
        (b"abc", "text/plain; charset=rot13", "abc"),
        (b"abc", "text/plain; charset=no-such", "abc"),
        (b'{"a": 1}', "application/vnd.api+json", '{"a": 1}'),
    ],
)
async def test_the_encoding_is_the_pages_or_utf8(
    server: Loopback, fetcher: WebFetcher, body: bytes, kind: str, text: str
):
    server.reply(page(body, kind))
    assert (await fetcher.fetch(server.url)).text == text


async def test_packed_text_is_unpacked(server: Loopback, fetcher: WebFetcher):
    server.reply(page(gzip.compress(b"hello"), "text/plain", Content_Encoding="gzip"))
    assert (await fetcher.fetch(server.url)).text == "hello"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (page(b"%PDF-1.7", "application/pdf"), r"is not text \(application/pdf, 8B\)"),
        (
            Reply(status=404, headers={"Content-Type": "text/html"}, body=b"<p>No such boat"),
            "404 .*No such boat",
        ),
        (page(b"\x1f\x8b broken", "text/plain", Content_Encoding="gzip"), "could not be read"),
        (page(b"x", "text/plain", Content_Encoding="br"), "compressed the page as br"),
    ],
)
async def test_content_that_is_not_a_page_is_named(
    server: Loopback, fetcher: WebFetcher, reply: Reply, reason: str
):
    server.reply(reply)
    with pytest.raises(ToolError, match=reason):
        await fetcher.fetch(server.url)


async def test_raw_shows_the_source(server: Loopback, fetcher: WebFetcher):
    server.reply(page(b"<p>as it is"))
    assert (await fetcher.fetch(server.url, raw=True)).text == "<p>as it is"
