"""The two search services that the user may name: their requests, and their answers as one form.

The key goes only to the service's own address, or to the one that the user's settings give instead."""

import html
from collections.abc import Callable, Mapping
from typing import Literal, TypeVar
from urllib.parse import urlencode

import msgspec

from tools.base import ToolError
from tools.patterns import late

ServiceName = Literal["brave", "tavily"]
MAX_RESULTS = 10
_EXCERPT_CHARS = 400
_TAG = late(r"</?[a-zA-Z][^<>]{0,100}>")

Answer = TypeVar("Answer", bound=msgspec.Struct)


class FoundPage(msgspec.Struct, frozen=True, kw_only=True):
    """One result of a search."""

    url: str
    title: str
    excerpt: str = ""
    age: str = ""


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The request for one search."""

    method: Literal["GET", "POST"]
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


class SearchService(msgspec.Struct, frozen=True, kw_only=True):
    """A service: where it is, and what is sent to it and read from it."""

    title: str
    url: str
    key_variable: str
    request: Callable[[str, str, str, int], SearchRequest]
    """Makes a request from address, key, query and number of results."""
    read: Callable[[bytes], tuple[FoundPage, ...]]


class _BravePage(msgspec.Struct, frozen=True):
    url: str
    title: str = ""
    description: str = ""
    age: str = ""


class _BraveWeb(msgspec.Struct, frozen=True):
    results: tuple[_BravePage, ...] = ()


class _BraveAnswer(msgspec.Struct, frozen=True):
    web: _BraveWeb = _BraveWeb()


class _TavilyPage(msgspec.Struct, frozen=True):
    url: str
    title: str = ""
    content: str = ""
    published_date: str | None = None


class _TavilyAnswer(msgspec.Struct, frozen=True):
    results: tuple[_TavilyPage, ...] = ()


def _ask_brave(url: str, key: str, query: str, count: int) -> SearchRequest:
    return SearchRequest(
        method="GET",
        url=f"{url}?{urlencode({'q': query, 'count': count})}",
        headers={"X-Subscription-Token": key, "Accept": "application/json"},
    )


def _read_brave(body: bytes) -> tuple[FoundPage, ...]:
    return tuple(
        FoundPage(url=one.url, title=_plain(one.title), excerpt=_plain(one.description), age=one.age)
        for one in _decoded(body, _BraveAnswer).web.results
    )


def _ask_tavily(url: str, key: str, query: str, count: int) -> SearchRequest:
    return SearchRequest(
        method="POST",
        url=url,
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
        body=msgspec.json.encode({"query": query, "max_results": count}),
    )


def _read_tavily(body: bytes) -> tuple[FoundPage, ...]:
    return tuple(
        FoundPage(
            url=one.url, title=_plain(one.title), excerpt=_plain(one.content), age=one.published_date or ""
        )
        for one in _decoded(body, _TavilyAnswer).results
    )


def _decoded(body: bytes, of: type[Answer]) -> Answer:
    try:
        return msgspec.json.decode(body, type=of)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise ToolError(f"The search service sent an answer of another form: {problem}.") from None


def _plain(text: str) -> str:
    """Returns a title or excerpt without marks of HTML, in one line."""
    return " ".join(html.unescape(_TAG.sub("", text)).split())[:_EXCERPT_CHARS]


SERVICES: Mapping[ServiceName, SearchService] = {
    "brave": SearchService(
        title="Brave Search",
        url="https://api.search.brave.com/res/v1/web/search",
        key_variable="BRAVE_API_KEY",
        request=_ask_brave,
        read=_read_brave,
    ),
    "tavily": SearchService(
        title="Tavily",
        url="https://api.tavily.com/search",
        key_variable="TAVILY_API_KEY",
        request=_ask_tavily,
        read=_read_tavily,
    ),
}
