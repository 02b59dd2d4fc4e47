"""Signs in to MCP servers on the network: with the browser when the user asks for it, otherwise with the
stored token. The SDK runs the flow (PKCE, discovery, registration, `state`, `iss` and resource checks).

A session never opens a browser by itself: an error says that a sign-in is needed. Addresses that a server's sign-in
names may not lead from the Internet to this machine or its local network."""

import asyncio
import json
import re
import socket
import time
from collections.abc import AsyncGenerator, Callable
from ipaddress import IPv6Address, ip_address
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit, urlunsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY

from app.mcp.mcp_token_store import McpTokenStore, StoredOAuthTokens
from app.mcp.server_config_entries import McpServerConfig
from app.mcp.server_errors import McpServerUnavailable, McpSignInRequired
from app.providers.signin.interface import SignInUi
from app.providers.signin.pkce import OAuthRedirectServer, wait_for_redirect_or_paste
from app.values.user_errors import FileError, UserError
from app.version import VERSION
from tools.text_sanitizing import one_line, show_invisible_chars

McpHttpClientFactory = Callable[[httpx2.Auth | None], httpx2.AsyncClient]
"""Makes HTTP clients with bayou's proxy and certificates."""
_MCP_CLIENT_INFO = {"name": "bayou", "version": VERSION}
_OAUTH_REDIRECT_PATH = "/callback"
_MAX_SIGN_IN_ERROR_CHARS = 300


class StoredMcpTokenAuth(httpx2.Auth):
    """The authentication of requests to an MCP server: sends the stored token, refreshes it when it has
    expired, and raises `McpSignInRequired` when a person must sign in."""

    def __init__(
        self, server: McpServerConfig, sign_ins: McpTokenStore, clients: McpHttpClientFactory
    ) -> None:
        self._server = server
        self._url = server.url or ""
        self._sign_ins = sign_ins
        self._clients = clients
        self._sign_in_lock = asyncio.Lock()
        self._refresh_tasks: set[asyncio.Task[StoredOAuthTokens]] = set()

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        known = await self._load_stored_tokens()
        is_alone = self._server.oauth is not None and self._server.oauth.uses_client_credentials
        if known is not None and known.is_expired:
            known = await self._refresh_uncancelled(known)
        _add_authorization_header(request, known)
        response = yield request
        if response.status_code == 401:
            if known is None and not is_alone:
                raise self._sign_in_required_error("sign-in required")
            newer = await self._refresh_uncancelled(known)
            _add_authorization_header(request, newer)
            response = yield request
            if response.status_code == 401 and is_alone:
                raise McpServerUnavailable("the server rejected its client's token (401)")
            if response.status_code == 401:
                raise self._sign_in_required_error("the server no longer accepts the sign-in")
        challenge = response.headers.get("www-authenticate", "")
        if response.status_code == 403 and "insufficient_scope" in challenge and is_alone:
            raise McpServerUnavailable("the server requires more permissions: add them to `oauth.scope`")
        if response.status_code == 403 and "insufficient_scope" in challenge:
            await self._store_requested_scope(challenge)
            raise self._sign_in_required_error("the server requires more permissions than the sign-in has")

    async def _load_stored_tokens(self) -> StoredOAuthTokens | None:
        try:
            found = await asyncio.to_thread(self._sign_ins.load_sign_in, self._server.name, self._url)
        except FileError as problem:
            raise McpServerUnavailable(str(problem)) from None
        return found if found is None or _are_tokens_for_config(self._server, found) else None

    async def _refresh_uncancelled(self, known: StoredOAuthTokens | None) -> StoredOAuthTokens:
        """Refreshes the expired token and stores the new one, even when the caller is cancelled: a refresh token often
        works once."""
        task = asyncio.ensure_future(self._newer_or_refreshed_tokens(known))
        self._refresh_tasks.add(task)
        task.add_done_callback(self._forget_refresh_task)
        return await asyncio.shield(task)

    def _forget_refresh_task(self, task: "asyncio.Task[StoredOAuthTokens]") -> None:
        self._refresh_tasks.discard(task)
        if not task.cancelled():
            task.exception()

    async def _newer_or_refreshed_tokens(self, known: StoredOAuthTokens | None) -> StoredOAuthTokens:
        """Returns a token that another process or a new sign-in has stored meanwhile; otherwise refreshes the token, or
        signs in without a person, and stores the new one."""
        async with self._sign_in_lock, self._sign_ins.lock_token_for_refresh(self._server.name, self._url):
            now = await self._load_stored_tokens()
            if now is not None and (known is None or now.tokens != known.tokens):
                return now
            if self._server.oauth is not None and self._server.oauth.uses_client_credentials:
                from app.mcp.client_credentials import sign_in_with_client_credentials  # noqa: PLC0415  (few are)

                fresh = await sign_in_with_client_credentials(self._server, self._clients)
            elif now is None:
                raise self._sign_in_required_error("signed out")
            else:
                fresh = await self._refresh_token(now)
            await asyncio.to_thread(self._sign_ins.store_sign_in, self._server.name, self._url, fresh)
            return fresh

    async def _refresh_token(self, known: StoredOAuthTokens) -> StoredOAuthTokens:
        context = _restore_oauth_context(self._server, known)
        if context is None or not context.can_refresh_token():
            raise self._sign_in_required_error("the sign-in expired")
        async with self._clients(None) as client:
            try:
                answer = await client.send(_make_refresh_request(context))
            except httpx2.HTTPError as problem:
                raise McpServerUnavailable(f"the sign-in server cannot be reached: {problem}") from None
        if answer.status_code == 429 or answer.status_code >= 500:
            raise McpServerUnavailable(f"the sign-in server answered {answer.status_code}")
        try:
            token = OAuthToken.model_validate_json(answer.content) if answer.status_code == 200 else None
        except ValueError:  # a validation error of pydantic: the stored data is invalid
            token = None
        if token is None:
            raise self._sign_in_required_error("the sign-in expired")
        said = token.model_dump(mode="json", exclude_none=True)
        context.current_tokens = OAuthToken.model_validate({**known.tokens, **said})
        return oauth_context_to_stored_tokens(context)

    async def _store_requested_scope(self, challenge: str) -> None:
        """Stores the OAuth scope that the server asks for, for the next sign-in."""
        scope, known = re.search(r'scope="([^"]*)"', challenge), await self._load_stored_tokens()
        if scope is not None and known is not None:
            known.wanted_scope = _join_scopes(
                str(known.tokens.get("scope") or ""), known.wanted_scope, scope[1]
            )
            await asyncio.to_thread(self._sign_ins.store_sign_in, self._server.name, self._url, known)

    def _sign_in_required_error(self, why: str) -> McpSignInRequired:
        return McpSignInRequired(f"{why}: /mcp login {self._server.name}")


async def sign_in_to_mcp_server(
    server: McpServerConfig, sign_ins: McpTokenStore, clients: McpHttpClientFactory, ui: SignInUi
) -> str:
    """Signs the user in to an MCP server in the browser and stores the token; returns a sentence about the
    result. Raises `UserError`."""
    if server.oauth is not None and server.oauth.uses_client_credentials:
        return await _check_client_credentials(server, sign_ins, clients)
    port = server.oauth.callback_port if server.oauth is not None else 0
    url = server.url or ""
    before = await asyncio.to_thread(sign_ins.load_sign_in, server.name, url)
    wanted = before.wanted_scope if before is not None else ""
    async with OAuthRedirectServer(port, _OAUTH_REDIRECT_PATH, "") as callback:
        flow = _BrowserSignIn(server, callback, ui, wanted)
        try:
            async with clients(flow.provider) as client:
                answer = await send_request_with_sign_in(client, flow.provider, url)
        except UserError:
            raise
        except (OAuthFlowError, httpx2.HTTPError, ValueError) as problem:
            said = (
                show_invisible_chars(one_line(str(problem)))[:_MAX_SIGN_IN_ERROR_CHARS]
                or type(problem).__name__
            )
            raise McpServerUnavailable(f'The sign-in to "{server.name}" failed: {said}') from None
    context = flow.provider.context
    if context.current_tokens is None:
        if answer.status_code < 400:
            return f'"{server.name}" needs no sign-in.'
        raise McpServerUnavailable(
            f'"{server.name}" answered {answer.status_code} without saying how to sign in. If it '
            "needs a key, add it to `headers`."
        )
    await asyncio.to_thread(sign_ins.store_sign_in, server.name, url, oauth_context_to_stored_tokens(context))
    if answer.status_code >= 400:
        return f'Signed in to "{server.name}", but its next answer was {answer.status_code}.'
    return f'Signed in to "{server.name}".'


async def _check_client_credentials(
    server: McpServerConfig, sign_ins: McpTokenStore, clients: McpHttpClientFactory
) -> str:
    """Signs in to an MCP server with a client's own credentials, to check at once that the server accepts
    them."""
    from app.mcp.client_credentials import sign_in_with_client_credentials  # noqa: PLC0415  (few are)

    assert server.oauth is not None
    async with sign_ins.lock_token_for_refresh(server.name, server.url or ""):
        fresh = await sign_in_with_client_credentials(server, clients)
        await asyncio.to_thread(sign_ins.store_sign_in, server.name, server.url or "", fresh)
    return f'"{server.name}" accepted the client {one_line(server.oauth.client_id)}.'


async def send_request_with_sign_in(
    client: httpx2.AsyncClient, provider: OAuthClientProvider, url: str
) -> httpx2.Response:
    """Sends a first request to an MCP server, signs in as the server demands, and returns the response."""
    # Some servers accept the older greeting from anyone, and some know only the older one.
    answer = await client.send(_make_discover_request(url))
    if provider.context.current_tokens is None:
        answer = await client.send(_make_initialize_request(url))
    return answer


class _BrowserSignIn:
    """One sign-in of the user to an MCP server: opens the SDK's pages in the browser and waits for the
    redirect."""

    def __init__(
        self, server: McpServerConfig, callback: OAuthRedirectServer, ui: SignInUi, wanted_scope: str
    ) -> None:
        self._server = server
        self._requested_scope = wanted_scope
        self._redirect_server = callback
        self._ui = ui
        redirect = f"http://127.0.0.1:{callback.port}{_OAUTH_REDIRECT_PATH}"
        self.provider = OAuthClientProvider(
            server.url or "",
            _make_client_metadata(server, redirect),
            PendingOAuthTokenStorage(_preregistered_client(server, redirect)),
            redirect_handler=self._open_authorization_page,
            callback_handler=self._wait_for_redirect,
        )

    async def _open_authorization_page(self, url: str) -> None:
        parts = urlsplit(url)
        fields = {name: values[0] for name, values in parse_qs(parts.query).items()}
        given = self._server.oauth
        if given is not None and given.scope:
            fields["scope"] = given.scope
        elif self._requested_scope:
            fields["scope"] = _join_scopes(fields.get("scope", ""), self._requested_scope)
        if given is not None and given.client_secret:
            self._choose_client_secret_method()
        page = urlunsplit(parts._replace(query=urlencode(fields)))
        refused = await forbidden_sign_in_address_reason(page, self._server.url or "")
        if refused or parts.scheme not in ("http", "https"):
            raise McpServerUnavailable(f'"{self._server.name}": {refused or "its sign-in is no web page"}.')
        self._redirect_server.set_oauth_state(fields.get("state", ""))
        await self._ui.open_url(
            page,
            f'Sign in to "{self._server.name}" at {parts.hostname}. If the last page does not load, '
            "paste its address here.",
        )

    def _choose_client_secret_method(self) -> None:
        """Chooses how a registered client sends its secret, from the methods that the authorization server
        supports."""
        client, said = self.provider.context.client_info, self.provider.context.oauth_metadata
        ways = said.token_endpoint_auth_methods_supported if said is not None else None
        if client is not None:
            is_posted = "client_secret_post" in (ways or ()) and "client_secret_basic" not in (ways or ())
            client.token_endpoint_auth_method = "client_secret_post" if is_posted else "client_secret_basic"

    async def _wait_for_redirect(self) -> AuthorizationCodeResult:
        answer = await wait_for_redirect_or_paste(self._redirect_server, self._ui)
        query = urlsplit(answer.strip()).query or answer.strip()
        fields = {name: values[0] for name, values in parse_qs(query).items()}
        if "error" in fields:
            told = show_invisible_chars(one_line(fields.get("error_description") or fields["error"]))
            told = told[:_MAX_SIGN_IN_ERROR_CHARS]
            raise McpServerUnavailable(f'The sign-in to "{self._server.name}" was refused: {told}.')
        if not fields.get("code"):
            raise McpServerUnavailable("The address contains no sign-in code. Start the sign-in again.")
        return AuthorizationCodeResult(code=fields["code"], state=fields.get("state"), iss=fields.get("iss"))


class PendingOAuthTokenStorage:
    """Holds the values of one sign-in that the SDK wants to store, until all of them are stored together."""

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self._client = client
        self._tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


def oauth_context_to_stored_tokens(context: OAuthContext) -> StoredOAuthTokens:
    tokens = context.current_tokens
    assert tokens is not None
    resource = context.protected_resource_metadata

    def plain(
        value: OAuthToken | OAuthClientInformationFull | OAuthMetadata | ProtectedResourceMetadata | None,
    ) -> dict[str, object]:
        return value.model_dump(mode="json", exclude_none=True) if value is not None else {}

    return StoredOAuthTokens(
        tokens=plain(tokens),
        client=plain(context.client_info),
        server=plain(context.oauth_metadata),
        resource=plain(resource),
        expires_at=time.time() + tokens.expires_in if tokens.expires_in else 0.0,
    )


def _are_tokens_for_config(server: McpServerConfig, known: StoredOAuthTokens) -> bool:
    """Returns whether a stored token belongs to a server's present configuration: the same OAuth client, and the same
    kind of sign-in."""
    alone = known.client.get("grant_types") == ["client_credentials"]
    if server.oauth is None or not server.oauth.uses_client_credentials:
        return not alone
    return alone and known.client.get("client_id") == server.oauth.client_id


def _restore_oauth_context(server: McpServerConfig, known: StoredOAuthTokens) -> OAuthContext | None:
    """Restores the SDK's sign-in state from what is stored; returns None if the stored data is invalid."""
    try:
        return OAuthContext(
            server_url=server.url or "",
            client_metadata=_make_client_metadata(server, f"http://127.0.0.1{_OAUTH_REDIRECT_PATH}"),
            storage=PendingOAuthTokenStorage(None),
            redirect_handler=None,
            callback_handler=None,
            current_tokens=OAuthToken.model_validate(known.tokens),
            client_info=OAuthClientInformationFull.model_validate(known.client) if known.client else None,
            oauth_metadata=OAuthMetadata.model_validate(known.server) if known.server else None,
            protected_resource_metadata=(
                ProtectedResourceMetadata.model_validate(known.resource) if known.resource else None
            ),
        )
    except ValueError:  # a validation error of pydantic: the stored data is invalid
        return None


def _make_refresh_request(context: OAuthContext) -> httpx2.Request:
    tokens, client, said = context.current_tokens, context.client_info, context.oauth_metadata
    assert tokens is not None and tokens.refresh_token is not None and client is not None
    data = {
        "grant_type": "refresh_token",
        "refresh_token": tokens.refresh_token,
        "client_id": client.client_id,
    }
    if context.should_include_resource_param():
        data["resource"] = context.get_resource_url()
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    data, headers = context.prepare_token_auth(data, headers)
    base = context.get_authorization_base_url(context.server_url)
    url = str(said.token_endpoint) if said is not None else urljoin(base, "/token")
    return httpx2.Request("POST", url, data=data, headers=headers)


def _make_client_metadata(server: McpServerConfig, redirect: str) -> OAuthClientMetadata:
    return OAuthClientMetadata.model_validate(
        {
            "redirect_uris": [redirect],
            "client_name": (server.oauth.client_name if server.oauth is not None else "") or "bayou",
            "software_id": "bayou",
            "software_version": VERSION,
            "token_endpoint_auth_method": "none",
        }
    )


def _preregistered_client(server: McpServerConfig, redirect: str) -> OAuthClientInformationFull | None:
    """Returns the OAuth client that the user has registered and configured; None if one must be registered
    automatically."""
    given = server.oauth
    if given is None or not given.client_id:
        return None
    return OAuthClientInformationFull.model_validate(
        {
            "client_id": given.client_id,
            "client_secret": given.client_secret or None,
            "redirect_uris": [redirect],
            "token_endpoint_auth_method": "client_secret_post" if given.client_secret else "none",
        }
    )


def _make_discover_request(url: str) -> httpx2.Request:
    version = "2026-07-28"
    meta = {
        PROTOCOL_VERSION_META_KEY: version,
        CLIENT_INFO_META_KEY: _MCP_CLIENT_INFO,
        CLIENT_CAPABILITIES_META_KEY: {},
    }
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": "server/discover"}
    return _make_json_rpc_request(url, "server/discover", {"_meta": meta}, headers)


def _make_initialize_request(url: str) -> httpx2.Request:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _MCP_CLIENT_INFO}
    return _make_json_rpc_request(url, "initialize", params, {})


def _make_json_rpc_request(
    url: str, method: str, params: dict[str, object], headers: dict[str, str]
) -> httpx2.Request:
    """Returns a JSON-RPC request to an MCP server's address; it is the first one, which a server that wants a
    sign-in refuses."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    return httpx2.Request("POST", url, content=json.dumps(message).encode(), headers={**accepted, **headers})


def _join_scopes(*scopes: str) -> str:
    return " ".join(dict.fromkeys(word for scope in scopes for word in scope.split()))


def _add_authorization_header(request: httpx2.Request, known: StoredOAuthTokens | None) -> None:
    if known is not None and known.tokens.get("access_token"):
        request.headers["Authorization"] = f"Bearer {known.tokens['access_token']}"


async def is_private_network_url(url: str) -> bool:
    """Returns whether a URL leads to a private address, by all addresses of its host name. A name without an address is
    not private."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return _is_local_address(host)
    except ValueError:
        pass
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return any(_is_local_address(str(address[4][0])) for address in found)


async def forbidden_sign_in_address_reason(url: str, server_url: str) -> str:
    """Returns why a sign-in may not use this address for that server; empty when it may."""
    parts, home = urlsplit(url), urlsplit(server_url)
    if (parts.scheme, parts.netloc) == (home.scheme, home.netloc) or await is_private_network_url(server_url):
        return ""
    where = parts.hostname or url[:80]
    if parts.scheme != "https":
        return f"its sign-in redirects to {where} without encryption, so it was stopped"
    if await is_private_network_url(url):
        return f"its sign-in redirects to {where} in your local network, so it was stopped"
    return ""


def _is_local_address(address: str) -> bool:
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return not found.is_global
