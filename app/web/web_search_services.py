"""The two search services that the user may name: their requests, and their answers as one form.

The key goes only to the service's own address, or to the one that the user's settings give instead."""

import html
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Literal, TypeVar
from urllib.parse import urlencode

import msgspec

from app.providers.model_stream import Credential
from app.providers.secret_references import CredentialError
from app.resources.settings.settings import Settings
from app.web.web_access import read_web_access_settings
from app.web.web_search_results import FoundWebPage, WebSearchResults
from tools.lazy_patterns import lazy_regex
from tools.text_sanitizing import escape_controls
from tools.tool_definition import ToolError

if TYPE_CHECKING:
    from app.web.fetching import WebFetcher

MAX_WEB_SEARCH_RESULTS = 10
_MAX_SEARCH_EXCERPT_CHARS = 400
_SEARCH_HTML_TAG_PATTERN = lazy_regex(r"</?[a-zA-Z][^<>]{0,100}>")

Answer = TypeVar("Answer", bound=msgspec.Struct)


class SearchKeyRefused(ToolError):
    """The service does not take the key."""


class WebSearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The HTTP request for one web search."""

    method: Literal["GET", "POST"]
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


class WebSearchService(msgspec.Struct, frozen=True, kw_only=True):
    """A web search service: its address, its requests, and the parser of its answers."""

    title: str
    url: str
    make_request: Callable[[str, str, str, int], WebSearchRequest]
    """Makes a request from address, key, query and number of results."""
    read_pages: Callable[[bytes], tuple[FoundWebPage, ...]]


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


def _brave_request(url: str, key: str, query: str, count: int) -> WebSearchRequest:
    return WebSearchRequest(
        method="GET",
        url=f"{url}?{urlencode({'q': query, 'count': count})}",
        headers={"X-Subscription-Token": key, "Accept": "application/json"},
    )


def _read_brave(body: bytes) -> tuple[FoundWebPage, ...]:
    return tuple(
        FoundWebPage(
            url=one.url, title=_plain_text(one.title), excerpt=_plain_text(one.description), age=one.age
        )
        for one in _decode_answer(body, _BraveAnswer).web.results
    )


def _tavily_request(url: str, key: str, query: str, count: int) -> WebSearchRequest:
    return WebSearchRequest(
        method="POST",
        url=url,
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
        body=msgspec.json.encode({"query": query, "max_results": count}),
    )


def _read_tavily(body: bytes) -> tuple[FoundWebPage, ...]:
    return tuple(
        FoundWebPage(
            url=one.url,
            title=_plain_text(one.title),
            excerpt=_plain_text(one.content),
            age=one.published_date or "",
        )
        for one in _decode_answer(body, _TavilyAnswer).results
    )


def _decode_answer(body: bytes, of: type[Answer]) -> Answer:
    try:
        return msgspec.json.decode(body, type=of)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise ToolError(f"The search service sent an answer in an unknown form: {problem}.") from None


def _plain_text(text: str) -> str:
    """Returns a title or excerpt without marks of HTML, in one line."""
    return " ".join(html.unescape(_SEARCH_HTML_TAG_PATTERN.sub("", text)).split())[:_MAX_SEARCH_EXCERPT_CHARS]


SEARCH_SERVICE_BY_NAME: Mapping[str, WebSearchService] = {
    "brave": WebSearchService(
        title="Brave Search",
        url="https://api.search.brave.com/res/v1/web/search",
        make_request=_brave_request,
        read_pages=_read_brave,
    ),
    "tavily": WebSearchService(
        title="Tavily",
        url="https://api.tavily.com/search",
        make_request=_tavily_request,
        read_pages=_read_tavily,
    ),
}


class SearchServiceEngine(msgspec.Struct, frozen=True):
    """Searches the web with the service that the user's settings name."""

    name: str
    settings: Settings
    credential: Callable[[str], Awaitable[Credential | None]]
    """Returns that of a service. Raises `CredentialError`."""

    @property
    def title(self) -> str:
        return SEARCH_SERVICE_BY_NAME[self.name].title

    @property
    def key(self) -> str:
        """The address of the search service, or the one that the user's settings give instead."""
        web = self.settings.web
        return (web.search_url if web.search == self.name else None) or SEARCH_SERVICE_BY_NAME[self.name].url

    @property
    def host(self) -> str:
        return self._fetcher().check_fetchable_url(self.key).host_and_port

    async def search(self, query: str, count: int) -> WebSearchResults:
        """Searches with the service. Raises `ToolError`, which is a `SearchKeyRefused` if the service does not take the
        key."""
        service, name = SEARCH_SERVICE_BY_NAME[self.name], self.name
        try:
            credential = await self.credential(name)
        except CredentialError as problem:
            raise ToolError(str(problem)) from None
        if credential is None:
            raise ToolError(
                f"There is no key for {service.title}. The user stores one: bayou auth login {name}."
            )
        request = service.make_request(self.key, credential.key, query, count)
        status, body = await self._fetcher().send_request(
            request.method, request.url, headers=request.headers, body=request.body
        )
        if status in (401, 403):
            raise SearchKeyRefused(
                f"{service.title} refused the key ({status}). The user stores another: bayou auth login "
                f"{name}."
            )
        if status == 429:
            raise ToolError(
                f"{service.title} allows no more searches now (429). Try again later, or continue without "
                f"a search."
            )
        if not 200 <= status < 300:
            said = escape_controls(" ".join(body.decode("utf-8", "replace").split())[:300])
            raise ToolError(f"{service.title} answered {status}. {said}".strip())
        return WebSearchResults(pages=service.read_pages(body)[:count])

    def _fetcher(self) -> "WebFetcher":
        from app.web.fetching import WebFetcher  # noqa: PLC0415  (the network's library, at the first call)

        return WebFetcher(lambda: read_web_access_settings(self.settings))
