"""The interface of account sign-ins and of the dialog with the user. Independent of how the dialog is drawn."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from app.providers.model_stream import Credential
from app.providers.secret_references import CredentialError
from app.values.json_texts import replace_texts_in_json

SignInEntry = dict[str, Any]
"""A sign-in as stored: `{"type": "oauth", "access", "refresh", "expires" (Unix ms), …}`."""

_SECRET_FORM_FIELDS = (
    "refresh_token",
    "code",
    "code_verifier",
    "client_secret",
    "assertion",
    "device_code",
    "subject_token",
)
"""The names of request fields with secrets, which are masked in errors because a server may repeat them."""


class SignInUi(Protocol):
    """The dialog with the user during a sign-in. Each method may be cancelled."""

    async def open_url(self, url: str, instructions: str) -> None:
        """Opens the browser, or shows the address if there is no browser."""
        ...

    async def show_code(self, code: str, url: str, seconds: float) -> None:
        """Shows a code that the user must type at the address within that time."""
        ...

    async def prompt(self, question: str) -> str:
        """Asks for a line of text, such as the redirect address when the browser cannot reach this machine."""
        ...

    async def select(self, question: str, options: Sequence[tuple[str, str]]) -> str:
        """Asks the user to choose one of several `(value, label)` pairs; returns the chosen value."""
        ...

    def progress(self, text: str) -> None: ...


class SignIn(Protocol):
    """The interface of an account sign-in to one model provider."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def missing(self) -> str:
        """Returns the variable that must first hold an application's id; empty if the sign-in can begin."""
        ...

    async def login(self, ui: SignInUi) -> SignInEntry:
        """Signs in and returns the entry to store. Raises `CredentialError`."""
        ...

    def refresh(self, entry: SignInEntry) -> SignInEntry:
        """Returns a renewed entry. Blocks; it runs on a thread and under the lock. Raises `CredentialError`."""
        ...

    def credential(self, entry: SignInEntry) -> Credential: ...


def post_oauth_form(
    url: str, data: Mapping[str, Any], *, is_json: bool = False, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Sends a request of a sign-in and returns its JSON answer. OAuth errors are answers too: see the `error`
    field."""
    # Only a sign-in needs these.
    from urllib.parse import urlencode  # noqa: PLC0415

    from app.providers.errors import ProviderError  # noqa: PLC0415

    kind = "application/json" if is_json else "application/x-www-form-urlencoded"
    body = msgspec.json.encode(data) if is_json else urlencode(data).encode()
    sent = [*(str(data[name]) for name in _SECRET_FORM_FIELDS if data.get(name)), *(headers or {}).values()]

    def without(text: str) -> str:
        return str(ProviderError(text).without_secrets(one.rpartition(" ")[2] for one in sent))

    try:
        answer = fetch_sign_in_json(url, headers={"Content-Type": kind, **(headers or {})}, body=body)
    except CredentialError as problem:
        raise CredentialError(without(str(problem))) from None
    return replace_texts_in_json(answer, without) if "error" in answer else answer


async def post_oauth_form_async(
    url: str, data: Mapping[str, Any], *, is_json: bool = False
) -> dict[str, Any]:
    return await asyncio.to_thread(post_oauth_form, url, data, is_json=is_json)


def fetch_sign_in_json(url: str, *, headers: Mapping[str, str], body: bytes = b"") -> dict[str, Any]:
    """Returns the JSON answer to a GET request, or to a POST request if there is a body."""
    # Only a sign-in needs these.
    from app.providers.errors import ProviderError, read_error_body  # noqa: PLC0415
    from app.providers.model_stream import StreamOptions  # noqa: PLC0415
    from app.providers.senders.http_exchange import fetch_http_response  # noqa: PLC0415
    from app.providers.transport import USER_AGENT, HttpRequest  # noqa: PLC0415

    request = HttpRequest(
        base_url=url,
        path="",
        body=body,
        headers={"Accept": "application/json", "User-Agent": USER_AGENT, **headers},
        method="POST" if body else "GET",
        is_body_secret=True,
    )
    try:
        status, content = asyncio.run(
            asyncio.wait_for(fetch_http_response(request, StreamOptions()), timeout=30.0)
        )
    except (ProviderError, TimeoutError) as problem:
        raise CredentialError(f"{url} cannot be reached: {problem or 'no answer within 30 s'}") from None
    try:
        answer = msgspec.json.decode(content)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict) or (status >= 400 and "error" not in answer):
        text, _ = read_error_body(content)
        raise CredentialError(f"{url} answered {status}: {text[:200]}")
    return answer


def unregistered_client_error(name: str, variable: str) -> CredentialError:
    return CredentialError(
        f"bayou is not registered with {name}. Use an API key, or set {variable} to the id of "
        "your own application."
    )


def oauth_error_text(answer: Mapping[str, Any]) -> str | None:
    """Returns the error of an OAuth answer as text; None if it has none."""
    error = answer.get("error")
    if not error:
        return None
    if isinstance(error, dict):
        return str(error.get("message") or error.get("type") or "unknown error")
    detail = answer.get("error_description")
    return f"{error}: {detail}" if detail else str(error)
