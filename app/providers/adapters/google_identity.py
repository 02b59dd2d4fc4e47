"""Gets access tokens from Google's application default credentials, the file that `gcloud` or a service
account leaves."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from app.providers.cloud_credentials import google_credentials_file
from app.providers.errors import ProviderError
from app.providers.secret_references import CredentialError
from app.providers.signin.interface import oauth_error_text, post_oauth_form

GOOGLE_CLOUD_OAUTH_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_GOOGLE_TOKEN_URL = "https://oauth2.googleapis.com/token"
_JWT_GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"

_GOOGLE_TOKEN_REFRESH_MARGIN_SECONDS = 60
_token_cache: dict[str, tuple[str, float, float]] = {}
"""Access tokens by the path of their credentials file, because a token lasts an hour and costs a request. Each
expires at an end by the wall clock, which can be set, or by the monotonic clock, which stops during sleep,
whichever comes first."""


async def google_access_token(env: Mapping[str, str]) -> str:
    """Returns an access token for Vertex AI. Raises `ProviderError`."""
    path = google_credentials_file(env)
    if path is None:
        raise ProviderError(
            "Vertex AI needs application default credentials: run `gcloud auth application-default login`, "
            "or name a file in GOOGLE_APPLICATION_CREDENTIALS."
        )
    known = _token_cache.get(str(path))
    if (
        known is not None
        and known[1] > time.time() + _GOOGLE_TOKEN_REFRESH_MARGIN_SECONDS
        and known[2] > time.monotonic() + _GOOGLE_TOKEN_REFRESH_MARGIN_SECONDS
    ):
        return known[0]
    try:
        token, seconds = await asyncio.to_thread(_fetch_access_token, path)
    except CredentialError as problem:
        raise ProviderError(f"401 {problem}", status=401) from None
    _token_cache[str(path)] = token, time.time() + seconds, time.monotonic() + seconds
    return token


def _fetch_access_token(path: Path) -> tuple[str, float]:
    try:
        data = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, ValueError, RecursionError) as problem:
        raise CredentialError(f"Google's credentials in {path} cannot be read: {problem}") from None
    match data.get("type"):
        case "authorized_user":
            fields = {
                "grant_type": "refresh_token",
                "refresh_token": data.get("refresh_token", ""),
                "client_id": data.get("client_id", ""),
                "client_secret": data.get("client_secret", ""),
            }
        case "service_account":
            fields = {
                "grant_type": _JWT_GRANT_TYPE,
                "assertion": signed_service_account_jwt(data, time.time()),
            }
        case other:
            raise CredentialError(
                f"Google's credentials in {path} are of the kind {other!r}, which bayou does not support."
            )
    answer = post_oauth_form(data.get("token_uri") or _GOOGLE_TOKEN_URL, fields)
    problem = oauth_error_text(answer)
    if problem or not answer.get("access_token"):
        raise CredentialError(f"Google refused the credentials in {path}: {problem or 'no token came'}.")
    return answer["access_token"], float(answer.get("expires_in") or 3600)


def signed_service_account_jwt(account: Mapping[str, Any], now: float) -> str:
    """Returns the signed JWT with which a service account requests a token (RFC 7523, RS256)."""
    import jwt  # noqa: PLC0415  (only a service account signs, and what signs takes its time)

    claims = {
        "iss": account.get("client_email", ""),
        "scope": GOOGLE_CLOUD_OAUTH_SCOPE,
        "aud": account.get("token_uri") or _GOOGLE_TOKEN_URL,
        "iat": int(now),
        "exp": int(now) + 3600,
    }
    key, headers = account.get("private_key", ""), {"kid": account.get("private_key_id", "")}
    try:
        return jwt.encode(claims, key, algorithm="RS256", headers=headers)
    except (jwt.PyJWTError, TypeError, ValueError):
        raise CredentialError("The private key of the service account cannot be read.") from None
