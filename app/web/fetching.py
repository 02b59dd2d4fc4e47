"""Fetches a page of the web within limits of time and size, and connects only to addresses that were checked."""

import asyncio
import codecs
import re
import time
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2
import msgspec

from app.providers.errors import ProviderError
from app.providers.senders.certificates import find_certificate_bundle, tls_context
from app.providers.senders.client import (
    ProxyOrDirectTransport,
    proxy_by_address_pattern,
    raise_for_invalid_redirect,
)
from app.version import VERSION
from app.web.html_to_markdown import ConvertedWebText, html_to_markdown
from app.web.url_checks import (
    HostNameNotFound,
    ResolveHost,
    WebAddress,
    is_listed_private_host,
    parse_web_address,
    resolve_public_addresses,
)
from app.web.web_access import WebAccessSettings
from tools.box.sandbox_proxy import resolve_host_addresses
from tools.result_limits import format_size
from tools.tool_definition import ToolError

MAX_WEB_PAGE_BYTES = 5_000_000
"""The most that is read of a page, after decompression."""
WEB_FETCH_TIMEOUT_SECONDS = 20.0
_HTML_CONVERSION_TIMEOUT_SECONDS = 10.0
_PAGE_CACHE_SECONDS = 900.0
_MAX_CACHED_PAGES = 20
_MAX_PAGE_REDIRECTS = 5
_MAX_SHOWN_ERROR_CHARS = 500
_HTTP_REDIRECT_STATUSES = frozenset((301, 302, 303, 307, 308))
_HTML_CONTENT_TYPES = frozenset(("text/html", "application/xhtml+xml"))
_TEXT_CONTENT_TYPE_PATTERN = re.compile(
    r"text/|application/(?:[\w.-]+\+)?(?:json|xml|yaml|toml|javascript|ecmascript|x-sh)$"
)
_CHARSET_DECLARATION_PATTERN = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_ALLOWED_CHARSETS_PATTERN = re.compile(r"utf|iso8859|cp\d|gb|big5|shift_jis|euc_|koi8|mac|ascii")
_CHARSET_SEARCH_BYTES = 2_048


class FetchedWebPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page as it is shown to the model."""

    url: str
    title: str
    text: str
    media_type: str
    size: int
    """Bytes that were read."""
    is_cut: bool = False
    """Whether the page is larger than what was read."""
    moved_to: str = ""
    """The address of another host that the server named instead of a page."""


class WebFetcher:
    """Fetches pages, and keeps those of the last quarter of an hour for the session."""

    def __init__(
        self, settings: Callable[[], WebAccessSettings], resolve: ResolveHost = resolve_host_addresses
    ) -> None:
        self._settings = settings
        self._resolve = resolve
        self._pages: OrderedDict[tuple[str, bool], tuple[float, FetchedWebPage]] = OrderedDict()

    async def fetch(self, url: str, *, raw: bool = False) -> FetchedWebPage:
        """Returns a web page, from the cache if it is there. Raises `ToolError` with what happened and what to
        try."""
        settings = self._settings()
        target = self.check_fetchable_url(url)
        key = target.url, raw
        at, page = self._pages.get(key, (0.0, None))
        if page is not None and time.monotonic() - at < _PAGE_CACHE_SECONDS:
            return page
        try:
            async with asyncio.timeout(WEB_FETCH_TIMEOUT_SECONDS):
                page = await self._fetch_page(target, settings, raw)
        except TimeoutError:
            raise ToolError(
                f"{target.host} did not send the page within {WEB_FETCH_TIMEOUT_SECONDS:.0f} seconds."
            ) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ProviderError, zlib.error) as problem:
            reason = str(problem) or type(problem).__name__
            raise ToolError(f"The page could not be read from {target.host}: {reason}.") from None
        self._pages[key] = time.monotonic(), page
        while len(self._pages) > _MAX_CACHED_PAGES:
            self._pages.popitem(last=False)
        return page

    async def send_request(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, bytes]:
        """Sends a request to a service that the user has named; returns status and content. Follows no redirect,
        which could take the key elsewhere. Raises `ToolError`."""
        settings, target = self._settings(), self.check_fetchable_url(url)
        try:
            async with (
                asyncio.timeout(WEB_FETCH_TIMEOUT_SECONDS),
                self._make_client(settings) as client,
                client.stream(method, target.url, headers=dict(headers), content=body) as response,
            ):
                content, _ = await _read_body(response)
                return response.status_code, content
        except TimeoutError:
            raise ToolError(
                f"{target.host} did not answer within {WEB_FETCH_TIMEOUT_SECONDS:.0f} seconds."
            ) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ProviderError, zlib.error) as problem:
            reason = str(problem) or type(problem).__name__
            raise ToolError(f"The request to {target.host} failed: {reason}.") from None

    def check_fetchable_url(self, url: str) -> WebAddress:
        """Returns the target of a URL. Raises `ToolError` if bayou does not fetch such addresses."""
        target, settings = parse_web_address(url), self._settings()
        is_own = is_listed_private_host(target, settings.private_hosts)
        if target.scheme == "http" and not (settings.allows_http or is_own):
            raise ToolError(
                f"web_fetch reads https addresses only. Try https://{target.url.removeprefix('http://')}; "
                "the user can allow http with the setting web.allowHttp."
            )
        return target

    async def _fetch_page(self, target: WebAddress, settings: WebAccessSettings, raw: bool) -> FetchedWebPage:
        async with self._make_client(settings) as client:
            for _ in range(_MAX_PAGE_REDIRECTS + 1):
                async with client.stream("GET", target.url) as response:
                    location = response.headers.get("location", "")
                    if response.status_code not in _HTTP_REDIRECT_STATUSES or not location:
                        return await _make_page(response, target, raw)
                    following = self.check_fetchable_url(str(response.url.join(location)))
                    if following.scheme == "http" and target.scheme == "https":
                        raise ToolError(
                            f"{target.host} redirects to the unencrypted {following.url}, which was not "
                            f"followed."
                        )
                    if following.host != target.host or following.port != target.port:
                        # Another host is another question to the user: the model asks for it by name.
                        return FetchedWebPage(
                            url=target.url, title="", text="", media_type="", size=0, moved_to=following.url
                        )
                    target = following
        raise ToolError(f"{target.host} redirects more than {_MAX_PAGE_REDIRECTS} times.")

    def _make_client(self, settings: WebAccessSettings) -> httpx2.AsyncClient:
        """Returns an HTTP client for a single fetch: a kept connection could serve another name at the same
        address."""
        check = _RequestAddressCheck(settings.private_hosts, self._resolve)
        bundle = find_certificate_bundle(None)
        return httpx2.AsyncClient(
            transport=_AddressCheckedTransport(check, bundle),
            mounts={
                pattern: _ProxiedTransport(check, ProxyOrDirectTransport(address, bundle))
                if address
                else None
                for pattern, address in proxy_by_address_pattern(settings.proxy).items()
            },
            headers={
                "User-Agent": f"bayou/{VERSION}",
                "Accept": "text/markdown, text/html, text/plain;q=0.9, */*;q=0.5",
                "Accept-Encoding": "gzip",
            },
            timeout=httpx2.Timeout(None),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            event_hooks={"response": [raise_for_invalid_redirect]},
            trust_env=False,
            follow_redirects=False,
        )


class _RequestAddressCheck:
    def __init__(self, private_hosts: Sequence[str], resolve: ResolveHost) -> None:
        self._private_hosts = private_hosts
        self._resolve = resolve

    async def checked_addresses(self, request: httpx2.Request) -> list[str]:
        """Returns the IP addresses that a request may connect to. Raises `ToolError` for a host that may not be
        connected to."""
        target = parse_web_address(str(request.url))
        is_own = is_listed_private_host(target, self._private_hosts)
        return await resolve_public_addresses(target, is_private=is_own, resolve=self._resolve)


class _AddressCheckedTransport(httpx2.AsyncBaseTransport):
    """Connects to the address that was checked; certificates are verified against the host's name."""

    def __init__(self, check: _RequestAddressCheck, bundle: str) -> None:
        self._check = check
        self._bundle = bundle
        self._opened: list[httpx2.AsyncHTTPTransport] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        addresses = await self._check.checked_addresses(request)
        context = (
            await asyncio.to_thread(tls_context, self._bundle) if request.url.scheme == "https" else False
        )
        transport = httpx2.AsyncHTTPTransport(verify=context, trust_env=False)
        self._opened.append(transport)
        problem: httpx2.ConnectError | None = None
        for address in addresses:
            to_address = httpx2.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": request.url.raw_host.decode("ascii")},
            )
            try:
                return await transport.handle_async_request(to_address)
            except httpx2.ConnectError as failed:
                problem = failed
        raise problem or httpx2.ConnectError("no address")

    async def aclose(self) -> None:
        for transport in self._opened:
            await transport.aclose()


class _ProxiedTransport(httpx2.AsyncBaseTransport):
    """Sends through the user's proxy, which resolves the name; one that resolves here is checked here too."""

    def __init__(self, check: _RequestAddressCheck, route: ProxyOrDirectTransport) -> None:
        self._check = check
        self._route = route

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            await self._check.checked_addresses(request)
        except HostNameNotFound:
            pass
        return await self._route.handle_async_request(request)

    async def aclose(self) -> None:
        await self._route.aclose()


async def _make_page(response: httpx2.Response, target: WebAddress, raw: bool) -> FetchedWebPage:
    media_type = response.headers.get("content-type", "text/html").partition(";")[0].strip().casefold()
    is_text = _TEXT_CONTENT_TYPE_PATTERN.match(media_type) is not None or media_type in _HTML_CONTENT_TYPES
    if response.is_success and not is_text:
        size = response.headers.get("content-length", "")
        known = f", {format_size(int(size))}" if size.isascii() and size.isdigit() else ""
        raise ToolError(
            f"{target.url} is not text ({media_type}{known}). To work with such a file, download it with "
            f"bash."
        )
    body, is_cut = await _read_body(response)
    text = body.decode(_detect_charset(response.headers.get("content-type", ""), body), "replace")
    if not response.is_success:
        excerpt = " ".join(_convert_to_markdown(text, target.url).markdown.split())[:_MAX_SHOWN_ERROR_CHARS]
        raise ToolError(
            f"{target.url} answered {response.status_code} {response.reason_phrase}. {excerpt}".strip()
        )
    title = ""
    if media_type in _HTML_CONTENT_TYPES and not raw:
        page = await asyncio.to_thread(_convert_to_markdown, text, target.url)
        title, text = page.title, page.markdown
    return FetchedWebPage(
        url=target.url, title=title, text=text, media_type=media_type, size=len(body), is_cut=is_cut
    )


def _convert_to_markdown(text: str, url: str) -> ConvertedWebText:
    until = time.monotonic() + _HTML_CONVERSION_TIMEOUT_SECONDS
    return html_to_markdown(text, url, lambda: time.monotonic() > until)


async def _read_body(response: httpx2.Response) -> tuple[bytes, bool]:
    """Reads at most `MAX_BYTES` of the content. Each piece is unpacked only as far as there is room."""
    encoding = response.headers.get("content-encoding", "identity").strip().casefold()
    if encoding not in ("identity", "", "gzip", "x-gzip"):
        raise ToolError(f"The server compressed the page as {encoding}, which was not requested.")
    pieces = _decompress(response) if "gzip" in encoding else response.aiter_raw()
    body = bytearray()
    async for piece in pieces:
        body += piece[: MAX_WEB_PAGE_BYTES - len(body)]
        if len(body) >= MAX_WEB_PAGE_BYTES:
            return bytes(body), True
    return bytes(body), False


async def _decompress(response: httpx2.Response) -> AsyncIterator[bytes]:
    unpacking = zlib.decompressobj(31)
    async for piece in response.aiter_raw():
        while piece:
            yield unpacking.decompress(piece, MAX_WEB_PAGE_BYTES)
            piece = unpacking.unconsumed_tail


def _detect_charset(content_type: str, body: bytes) -> str:
    declared = _CHARSET_DECLARATION_PATTERN.search(content_type) or _CHARSET_DECLARATION_PATTERN.search(
        body[:_CHARSET_SEARCH_BYTES].decode("latin-1")
    )
    try:
        name = codecs.lookup(declared[1]).name if declared else "utf-8"
    except (LookupError, ValueError):
        return "utf-8"
    # Others are no encodings of text, or take quadratic time.
    return name if _ALLOWED_CHARSETS_PATTERN.match(name) else "utf-8"
