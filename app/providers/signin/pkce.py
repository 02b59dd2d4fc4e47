"""Sign-in in the browser with PKCE: a page of the provider, and a redirect back to this machine.

If the browser runs on another machine, the redirect cannot arrive; the user can paste its address instead."""

import asyncio
import base64
import hashlib
import secrets
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import msgspec

from app.providers.model_stream import Credential
from app.providers.secret_references import CredentialError
from app.providers.signin.interface import (
    SignInEntry,
    SignInUi,
    oauth_error_text,
    post_oauth_form,
    post_oauth_form_async,
    unregistered_client_error,
)

_SIGNED_IN_PAGE = (
    "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n\r\n"
    "<!doctype html><title>bayou</title><p>{}</p>"
)
_SIGN_IN_INSTRUCTIONS = "Sign in there. If the last page does not load, paste its address here."


def new_verifier_and_challenge() -> tuple[str, str]:
    """Returns a random PKCE verifier (the secret) and the challenge computed from it."""
    verifier = secrets.token_urlsafe(48)
    digest = hashlib.sha256(verifier.encode()).digest()
    return verifier, base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class PkceSignIn(msgspec.Struct, frozen=True, kw_only=True):
    """OAuth with an authorization code and PKCE (RFC 7636 and RFC 8252)."""

    id: str
    name: str
    authorize_url: str
    token_url: str
    client_id: str
    scope: str = ""
    redirect_port: int = 0
    """The port on this machine to which the browser is redirected; 0 means any free port."""
    redirect_path: str = "/callback"
    redirect_host: str = "localhost"
    extra_authorize_fields: Mapping[str, str] = {}
    """Additional query fields of the authorization address."""
    extra_token_fields: Mapping[str, str] = {}
    """Additional fields of every token request."""
    registers_client: bool = False
    """Whether each sign-in is given a new client id by the redirect; `client_id` then only requests one."""
    is_token_request_json: bool = False
    """Whether the token endpoint expects JSON instead of a form."""
    headers: Mapping[str, str] = {}
    """Headers of every request that uses the resulting token."""
    client_id_variable: str = ""

    @property
    def missing(self) -> str:
        return "" if self.client_id else self.client_id_variable

    async def login(self, ui: SignInUi) -> SignInEntry:
        if self.missing:
            raise unregistered_client_error(self.name, self.missing)
        verifier, challenge = new_verifier_and_challenge()
        state = secrets.token_urlsafe(16)
        async with OAuthRedirectServer(self.redirect_port, self.redirect_path, state) as callback:
            redirect = f"http://{self.redirect_host}:{callback.port}{self.redirect_path}"
            query = {
                "response_type": "code",
                "client_id": self.client_id,
                "redirect_uri": redirect,
                "scope": self.scope,
                "state": state,
                "code_challenge": challenge,
                "code_challenge_method": "S256",
                **self.extra_authorize_fields,
            }
            await ui.open_url(f"{self.authorize_url}?{urlencode(query)}", _SIGN_IN_INSTRUCTIONS)
            answer = await wait_for_redirect_or_paste(callback, ui)
        code = parse_authorization_code(answer, state)
        client = _parse_registered_client_id(answer, self.name) if self.registers_client else self.client_id
        tokens = await post_oauth_form_async(
            self.token_url,
            {
                "grant_type": "authorization_code",
                "code": code,
                "state": state,
                "client_id": client,
                "redirect_uri": redirect,
                "code_verifier": verifier,
                **self.extra_token_fields,
            },
            is_json=self.is_token_request_json,
        )
        entry = sign_in_entry_from_tokens(tokens, self.name)
        return {**entry, "clientId": client} if self.registers_client else entry

    def refresh(self, entry: SignInEntry) -> SignInEntry:
        client = entry.get("clientId") or self.client_id
        return refresh_sign_in_entry(
            self.token_url,
            client,
            entry,
            self.name,
            is_json=self.is_token_request_json,
            extra=self.extra_token_fields,
        )

    def credential(self, entry: SignInEntry) -> Credential:
        return Credential(key=entry["access"], is_bearer=True, headers=self.headers)


def refresh_sign_in_entry(
    token_url: str,
    client_id: str,
    entry: SignInEntry,
    name: str,
    *,
    is_json: bool = False,
    extra: Mapping[str, str] | None = None,
) -> SignInEntry:
    """Performs OAuth's refresh grant. Other fields of the old entry are kept."""
    fields = {
        "grant_type": "refresh_token",
        "refresh_token": entry.get("refresh", ""),
        "client_id": client_id,
    }
    tokens = post_oauth_form(token_url, {**fields, **(extra or {})}, is_json=is_json)
    fresh = sign_in_entry_from_tokens(tokens, name)
    return {**entry, **fresh, "refresh": fresh.get("refresh") or entry.get("refresh", "")}


def sign_in_entry_from_tokens(tokens: Mapping[str, Any], name: str) -> SignInEntry:
    problem = oauth_error_text(tokens)
    if problem or not tokens.get("access_token"):
        raise CredentialError(f"{name} refused the sign-in: {problem or 'no access token came'}.")
    seconds = tokens.get("expires_in")
    expires = int((time.time() + float(seconds)) * 1000) if isinstance(seconds, int | float) else None
    entry: SignInEntry = {
        "type": "oauth",
        "access": tokens["access_token"],
        "refresh": tokens.get("refresh_token", ""),
    }
    if expires is not None:
        entry["expires"] = expires
    return entry


def parse_authorization_code(answer: str, state: str) -> str:
    """Returns the code in a redirect's address or a pasted text. Raises `CredentialError`."""
    fields = _parse_redirect_fields(answer)
    if "error" in fields:
        raise CredentialError(
            f"The sign-in was refused: {fields.get('error_description') or fields['error']}."
        )
    code = fields.get("code")
    if code is None and answer.strip() and "=" not in answer:
        code, _, pasted_state = answer.strip().partition("#")  # some pages show `code#state`
        fields["state"] = pasted_state or state
    if not code:
        raise CredentialError("The address contains no sign-in code. Start again with /login.")
    if state and "state" not in fields:
        raise CredentialError(
            "The address has no state, so it does not belong to this sign-in. Start again with /login."
        )
    if fields.get("state", state) != state:
        raise CredentialError(
            "The address belongs to another sign-in (its state differs). Start again with /login."
        )
    return code


def _parse_registered_client_id(answer: str, name: str) -> str:
    client = _parse_redirect_fields(answer).get("client_id", "").strip()
    if not client:
        raise CredentialError(
            f"{name} did not register this sign-in. Paste the whole address of the last page."
        )
    return client


def _parse_redirect_fields(answer: str) -> dict[str, str]:
    query = urlsplit(answer.strip()).query or answer.strip()
    return {name: values[0] for name, values in parse_qs(query).items()}


async def wait_for_redirect_or_paste(callback: "OAuthRedirectServer", ui: SignInUi) -> str:
    """Returns the redirect or the pasted address, whichever arrives first."""
    waiting = asyncio.ensure_future(callback.redirect_address())
    pasting = asyncio.ensure_future(ui.prompt("Address of the last page (only if it does not load):"))
    try:
        done, _ = await asyncio.wait((waiting, pasting), return_when=asyncio.FIRST_COMPLETED)
        if waiting in done:
            return waiting.result()
        pasted = pasting.result()
        return pasted if pasted.strip() else await waiting
    finally:
        for task in (waiting, pasting):
            task.cancel()


class OAuthRedirectServer:
    """A local server that waits for one redirect. Any web page can send a browser here, so it rejects
    requests without the state of this sign-in and continues to wait."""

    def __init__(self, port: int, path: str, state: str = "") -> None:
        self.port = port
        self._path = path
        self._state = state
        self._answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "OAuthRedirectServer":
        try:
            self._server = await asyncio.start_server(self._serve_request, "127.0.0.1", self.port)
        except OSError as problem:
            raise CredentialError(f"Port {self.port} on this machine is in use: {problem}") from None
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()

    def set_oauth_state(self, state: str) -> None:
        """Sets the state by which redirects are recognised, if it was not known when the server was created."""
        self._state = state

    async def redirect_address(self) -> str:
        return await asyncio.shield(self._answer)

    def _belongs_to_sign_in(self, fields: Mapping[str, str]) -> bool:
        """Says whether a redirect belongs to this sign-in. A refusal may lack the state, because it carries
        no code."""
        if "error" in fields and "state" not in fields:
            return True
        return not self._state or fields.get("state") == self._state

    async def _serve_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            words = (await reader.readline()).decode("latin-1").split()
            target = words[1] if len(words) > 1 else ""
            if urlsplit(target).path == self._path and not self._belongs_to_sign_in(
                _parse_redirect_fields(target)
            ):
                writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
            elif urlsplit(target).path == self._path:
                writer.write(_SIGNED_IN_PAGE.format("You are signed in. You can close this window.").encode())
                if not self._answer.done():
                    self._answer.set_result(target)
            else:
                writer.write(b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n")
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()
