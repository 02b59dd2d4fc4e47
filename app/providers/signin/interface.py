"""What an account sign-in is, and how it talks to the person. Who draws the dialog is not known here."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from app.providers.contract import Credential
from app.providers.key_values import CredentialError
from app.values.json_texts import with_texts

Entry = dict[str, Any]
"""As it is stored: `{"type": "oauth", "access", "refresh", "expires" (Unix ms), …}`."""

_SECRET_FIELDS = (
    "refresh_token",
    "code",
    "code_verifier",
    "client_secret",
    "assertion",
    "device_code",
    "subject_token",
)
"""Of what is sent: a server that refuses may repeat it."""


class SignInUi(Protocol):
    """The person's side. Each method may be cancelled."""

    async def open_url(self, url: str, instructions: str) -> None:
        """Opens the browser, or shows the address where there is none."""
        ...

    async def show_code(self, code: str, url: str, seconds: float) -> None:
        """A code to be typed at that address within that time."""
        ...

    async def prompt(self, question: str) -> str:
        """A line of text: the redirect address, when the browser cannot reach this machine."""
        ...

    async def select(self, question: str, options: Sequence[tuple[str, str]]) -> str:
        """One of `(value, label)`."""
        ...

    def progress(self, text: str) -> None: ...


class SignIn(Protocol):
    """One provider's sign-in."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def missing(self) -> str:
        """The variable that must hold an application's id first; empty when the sign-in can begin."""
        ...

    async def login(self, ui: SignInUi) -> Entry:
        """Raises `CredentialError`."""
        ...

    def refresh(self, entry: Entry) -> Entry:
        """A fresh entry for an old one. Blocks: it runs on a thread, under the lock. Raises `CredentialError`."""
        ...

    def credential(self, entry: Entry) -> Credential: ...


def post(
    url: str, data: Mapping[str, Any], *, is_json: bool = False, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """One request of a sign-in and its JSON answer. OAuth errors are answers too: see the `error` field."""
    # Only a sign-in needs these.
    from urllib.parse import urlencode  # noqa: PLC0415

    from app.providers.errors import ProviderError  # noqa: PLC0415

    kind = "application/json" if is_json else "application/x-www-form-urlencoded"
    body = msgspec.json.encode(data) if is_json else urlencode(data).encode()
    sent = [*(str(data[name]) for name in _SECRET_FIELDS if data.get(name)), *(headers or {}).values()]

    def without(text: str) -> str:
        return str(ProviderError(text).without(one.rpartition(" ")[2] for one in sent))

    try:
        answer = fetch_json(url, headers={"Content-Type": kind, **(headers or {})}, body=body)
    except CredentialError as problem:
        raise CredentialError(without(str(problem))) from None
    return with_texts(answer, without) if "error" in answer else answer


async def post_async(url: str, data: Mapping[str, Any], *, is_json: bool = False) -> dict[str, Any]:
    return await asyncio.to_thread(post, url, data, is_json=is_json)


def fetch_json(url: str, *, headers: Mapping[str, str], body: bytes = b"") -> dict[str, Any]:
    """The answer to a request, which is posted if it has a body."""
    # Only a sign-in needs these.
    from app.providers.contract import StreamOptions  # noqa: PLC0415
    from app.providers.errors import ProviderError, read_error_body  # noqa: PLC0415
    from app.providers.senders.exchange import fetch  # noqa: PLC0415
    from app.providers.transport import USER_AGENT, HttpRequest  # noqa: PLC0415

    request = HttpRequest(
        base_url=url,
        path="",
        body=body,
        headers={"Accept": "application/json", "User-Agent": USER_AGENT, **headers},
        method="POST" if body else "GET",
        is_secret=True,
    )
    try:
        status, content = asyncio.run(asyncio.wait_for(fetch(request, StreamOptions()), timeout=30.0))
    except (ProviderError, TimeoutError) as problem:
        raise CredentialError(f"{url} cannot be reached: {problem or 'no answer within 30 s'}") from None
    try:
        answer = msgspec.json.decode(content)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict) or (status >= 400 and "error" not in answer):
        text, _ = read_error_body(content)
        raise CredentialError(f"{url} answered with {status}: {text[:200]}")
    return answer


def unregistered(name: str, variable: str) -> CredentialError:
    return CredentialError(
        f"bayou is not registered with {name}. Use an API key, or put the id of an application of your own "
        f"into {variable}."
    )


def error_text(answer: Mapping[str, Any]) -> str | None:
    """What an OAuth answer complains of."""
    error = answer.get("error")
    if not error:
        return None
    if isinstance(error, dict):
        return str(error.get("message") or error.get("type") or "unknown error")
    detail = answer.get("error_description")
    return f"{error}: {detail}" if detail else str(error)
