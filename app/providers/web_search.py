"""Web search by a provider's own tool: which models have it, and the searches, pages and citations of an
answer."""

import msgspec

from app.values.models import Model
from tools.lazy_patterns import lazy_regex

_PROVIDERS_WITH_WEB_SEARCH = {
    ("anthropic-messages", "anthropic"),
    ("openai-responses", "openai"),
    ("openai-codex-responses", "openai-codex"),
    ("google-generative-ai", "google"),
    ("google-vertex", "google-vertex"),
}
_MODELS_WITHOUT_WEB_SEARCH = lazy_regex(
    r"gpt-4(?:-turbo)?$|gpt-4\.1-nano|o1|o3-mini|gemma|deep-research|.*(?:codex-spark|computer-use|robotics)"
)
"""Matches the names of models that refuse the search tool although their provider has one."""


class WebSource(msgspec.Struct, frozen=True, kw_only=True):
    """A web page that a provider's web search has found."""

    url: str
    title: str = ""
    age: str = ""


class WebSearchFindings(msgspec.Struct, kw_only=True):
    """The web searches, pages and citations of an answer, collected while the answer arrives."""

    queries: list[str] = []
    sources: dict[str, WebSource] = {}
    """The pages that the searches found, by their addresses."""
    citations: list[tuple[int, str]] = []
    """The citations in the answer's text: the number of characters before each, and the address of the cited page."""
    answer_start: int = 0
    """The number of characters that the model wrote before its last search; they are not part of the answer."""
    search_problem: str = ""
    """The provider's code for why a search failed; empty if none failed."""

    def add_query(self, query: object) -> None:
        if isinstance(query, str) and query and query not in self.queries:
            self.queries.append(query)

    def mark_answer_start(self, text: str) -> None:
        """Records that a web search begins after this text, so that the answer starts behind it."""
        self.answer_start = len(text)

    def add_source(self, url: object, title: object = "", age: object = "") -> None:
        if not isinstance(url, str) or not url:
            return
        known = self.sources.get(url)
        if known is None or (title and not known.title):
            self.sources[url] = WebSource(url=url, title=_text_or_empty(title), age=_text_or_empty(age))


def can_search_web(model: Model) -> bool:
    """Says whether the model's provider offers web search; for other providers `supportsWebSearch` in models.json
    decides."""
    declared = (model.compat or {}).get("supportsWebSearch")
    if declared is not None:
        return bool(declared)
    return (model.api, model.provider) in _PROVIDERS_WITH_WEB_SEARCH and _MODELS_WITHOUT_WEB_SEARCH.match(
        model.id
    ) is None


class CitedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with a number at each citation, and the sources in the order of these numbers, the cited ones first."""

    text: str
    sources: tuple[WebSource, ...]
    cited_count: int
    """The number of sources that are cited."""


def number_citations(text: str, findings: WebSearchFindings) -> CitedAnswer:
    start = findings.answer_start if text[findings.answer_start :].strip() else 0
    marks = sorted({mark for mark in findings.citations if mark[0] >= start and mark[1] in findings.sources})
    order = dict.fromkeys((*(url for _, url in marks), *findings.sources))
    numbers = {url: number for number, url in enumerate(order, 1)}
    for at, url in sorted(marks, key=lambda mark: (mark[0], numbers[mark[1]]), reverse=True):
        text = f"{text[:at]}[{numbers[url]}]{text[at:]}"
    return CitedAnswer(
        text=text[start:].strip(),
        sources=tuple(findings.sources[url] for url in order),
        cited_count=len({url for _, url in marks}),
    )


def _text_or_empty(value: object) -> str:
    return value if isinstance(value, str) else ""
