"""Signing in without a person: a client that has its own secret or key asks for a token by itself (OAuth's client
credentials), which is what servers without a browser want. The flow is the SDK's.

Imported where a server is configured so and wants to know who asks, behind the SDK.
"""

import httpx2
import jwt
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)

from app.mcp.entries import OAuthConfig, ServerConfig
from app.mcp.faults import ServerFault
from app.mcp.oauth import Clients, SignInMemory, answered, stored_of
from app.mcp.sign_ins import StoredSignIn
from tools.text import one_line

_SHOWN = 300
_ALGORITHM = "RS256"


class _BySecret(ClientCredentialsOAuthProvider):
    wanted_scope = ""
    """What the person wrote counts before what the server names."""

    async def _perform_authorization(self) -> httpx2.Request:
        self.context.client_metadata.scope = self.wanted_scope or self.context.client_metadata.scope
        return await super()._perform_authorization()


class _ByKey(PrivateKeyJWTOAuthProvider):
    wanted_scope = ""
    """As above."""

    async def _perform_authorization(self) -> httpx2.Request:
        self.context.client_metadata.scope = self.wanted_scope or self.context.client_metadata.scope
        return await super()._perform_authorization()


async def signed_in_by_itself(server: ServerConfig, clients: Clients) -> StoredSignIn:
    """Raises `ServerFault`: nobody can do here what the client cannot."""
    given = server.oauth
    assert given is not None
    try:
        provider = _provider(server, given)
        async with clients(provider) as client:
            answer = await answered(client, provider, server.url or "")
    except (OAuthFlowError, httpx2.HTTPError, jwt.PyJWTError, NotImplementedError, ValueError) as problem:
        said = one_line(str(problem))[:_SHOWN] or type(problem).__name__
        raise ServerFault(f"its client {given.client_id} was not let in: {said}") from None
    if provider.context.current_tokens is None:
        raise ServerFault(f"it answered with {answer.status_code} and does not say how to sign in")
    found = stored_of(provider.context)
    found.client = mark_of(given)  # its secret stays where the person wrote it
    return found


def mark_of(given: OAuthConfig) -> dict[str, object]:
    """By which a stored token is known as this client's."""
    return {"client_id": given.client_id, "grant_types": ["client_credentials"]}


def _provider(server: ServerConfig, given: OAuthConfig) -> OAuthClientProvider:
    url, issuer = server.url or "", given.issuer or None
    if given.private_key:
        key = SignedJWTParameters(
            issuer=given.client_id,
            subject=given.client_id,
            signing_key=given.private_key,
            signing_algorithm=given.algorithm or _ALGORITHM,
        )
        by_key = _ByKey(
            url, SignInMemory(None), given.client_id, key.create_assertion_provider(), issuer=issuer
        )
        by_key.wanted_scope = given.scope
        return by_key
    by_secret = _BySecret(url, SignInMemory(None), given.client_id, given.client_secret, issuer=issuer)
    by_secret.wanted_scope = given.scope
    return by_secret
