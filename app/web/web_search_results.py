"""The results of a web search, and the interface of a search engine: a service that the user names, or the model's
provider."""

from typing import Protocol

import msgspec


class FoundWebPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page that a web search has found."""

    url: str
    title: str
    excerpt: str = ""
    age: str = ""


class WebSearchResults(msgspec.Struct, frozen=True, kw_only=True):
    """The pages that a web search has found, or a provider's answer."""

    pages: tuple[FoundWebPage, ...] = ()
    answer: str = ""
    """What the pages say, with the number of a page at each citation; empty where only pages are found."""
    queries: tuple[str, ...] = ()
    """What was searched for, where that is not the query itself."""


class WebSearchEngine(Protocol):
    """The interface of a web search, by a service or by the model's provider."""

    @property
    def title(self) -> str: ...

    @property
    def key(self) -> str:
        """Identifies the search engine in the cache of results."""
        ...

    @property
    def host(self) -> str:
        """The `host:port` that a query is sent to, as network rules write it. Raises `ToolError`."""
        ...

    async def search(self, query: str, count: int) -> WebSearchResults:
        """Searches the web and returns at most `count` results. Raises `ToolError`."""
        ...
