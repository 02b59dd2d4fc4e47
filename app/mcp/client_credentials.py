"""Signs in to MCP servers without a person: a client with its own secret or key requests a token (OAuth's
client credentials), as servers for use without a browser require. The SDK runs the flow.

Imported when a server is configured so and requires a sign-in, after the SDK."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from urllib.parse import parse_qsl

import httpx2
import jwt
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)

from app.mcp.mcp_oauth import (
    McpHttpClientFactory,
    PendingOAuthTokenStorage,
    oauth_context_to_stored_tokens,
    send_request_with_sign_in,
)
from app.mcp.mcp_token_store import StoredOAuthTokens
from app.mcp.server_config_entries import McpOAuthConfig, McpServerConfig
from app.mcp.server_errors import McpServerUnavailable
from tools.text_sanitizing import one_line, show_invisible_chars

_MAX_SIGN_IN_ERROR_CHARS = 300
_DEFAULT_CLIENT_JWT_ALGORITHM = "RS256"


class _ConfiguredScopeAuth(httpx2.Auth):
    """The SDK's sign-in to an MCP server, with the configured OAuth scope in place of the one that the server
    names."""

    requires_response_body = True

    def __init__(self, provider: OAuthClientProvider, scope: str) -> None:
        self._provider = provider
        self._scope = scope

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        async with aclosing(self._provider.async_auth_flow(request)) as flow:
            following = await anext(flow)
            while True:
                response = yield self._replace_scope(following)
                try:
                    following = await flow.asend(response)
                except StopAsyncIteration:
                    return

    def _replace_scope(self, request: httpx2.Request) -> httpx2.Request:
        is_form = request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
        form = dict(parse_qsl(request.content.decode())) if is_form else {}
        if not self._scope or form.get("grant_type") != "client_credentials":
            return request
        headers = {name: value for name, value in request.headers.items() if name != "content-length"}
        data = {**form, "scope": self._scope}
        return httpx2.Request(request.method, request.url, data=data, headers=headers)


async def sign_in_with_client_credentials(
    server: McpServerConfig, clients: McpHttpClientFactory
) -> StoredOAuthTokens:
    """Requests a token for an MCP server with the client's own credentials. Raises `McpServerUnavailable`: a
    person could not help here."""
    given = server.oauth
    assert given is not None
    try:
        provider = _make_token_provider(server, given)
        async with clients(_ConfiguredScopeAuth(provider, given.scope)) as client:
            answer = await send_request_with_sign_in(client, provider, server.url or "")
    except (OAuthFlowError, httpx2.HTTPError, jwt.PyJWTError, NotImplementedError, ValueError) as problem:
        said = (
            show_invisible_chars(one_line(str(problem)))[:_MAX_SIGN_IN_ERROR_CHARS] or type(problem).__name__
        )
        raise McpServerUnavailable(f"the client id {given.client_id} was rejected: {said}") from None
    if provider.context.current_tokens is None:
        raise McpServerUnavailable(f"the server answered {answer.status_code} without saying how to sign in")
    found = oauth_context_to_stored_tokens(provider.context)
    found.client = oauth_client_fingerprint(
        given
    )  # the secret is not stored again: it stays in the configuration
    return found


def oauth_client_fingerprint(given: McpOAuthConfig) -> dict[str, object]:
    """Returns the values that are stored with a token, to tell later whether it belongs to this OAuth client."""
    return {"client_id": given.client_id, "grant_types": ["client_credentials"]}


def _make_token_provider(server: McpServerConfig, given: McpOAuthConfig) -> OAuthClientProvider:
    url, issuer = server.url or "", given.issuer or None
    if given.private_key:
        key = SignedJWTParameters(
            issuer=given.client_id,
            subject=given.client_id,
            signing_key=given.private_key,
            signing_algorithm=given.algorithm or _DEFAULT_CLIENT_JWT_ALGORITHM,
        )
        assertion = key.create_assertion_provider()
        return PrivateKeyJWTOAuthProvider(
            url, PendingOAuthTokenStorage(None), given.client_id, assertion, issuer=issuer
        )
    return ClientCredentialsOAuthProvider(
        url, PendingOAuthTokenStorage(None), given.client_id, given.client_secret, issuer=issuer
    )
