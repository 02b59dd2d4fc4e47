"""Google's application default credentials: an access token out of the file that `gcloud` or a service account left.

Signing needs nothing but integers: a service account's key is read from its PEM and used as it is.
"""

import asyncio
import base64
import hashlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from app.providers.ambient import adc_file
from app.providers.errors import ProviderError
from app.providers.key_values import CredentialError
from app.providers.signin.interface import error_text, post

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_TOKEN_URL = "https://oauth2.googleapis.com/token"
_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_SHA256_PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")

_EARLY = 60
_tokens: dict[str, tuple[str, float, float]] = {}
"""By file, for a token lives an hour and costs a request: it, and when it ends by two clocks. One can be set, the other
stands still while the machine sleeps; what comes first counts."""


async def access_token(env: Mapping[str, str]) -> str:
    """A token for Vertex AI. Raises `ProviderError`."""
    path = adc_file(env)
    if path is None:
        raise ProviderError(
            "Vertex AI needs application default credentials: run `gcloud auth application-default login`, "
            "or name a file in GOOGLE_APPLICATION_CREDENTIALS."
        )
    known = _tokens.get(str(path))
    if known is not None and known[1] > time.time() + _EARLY and known[2] > time.monotonic() + _EARLY:
        return known[0]
    try:
        token, seconds = await asyncio.to_thread(_fetch, path)
    except CredentialError as problem:
        raise ProviderError(f"401 {problem}", status=401) from None
    _tokens[str(path)] = token, time.time() + seconds, time.monotonic() + seconds
    return token


def _fetch(path: Path) -> tuple[str, float]:
    try:
        data = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError) as problem:
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
            fields = {"grant_type": _GRANT, "assertion": signed_assertion(data, time.time())}
        case other:
            raise CredentialError(
                f"Google's credentials in {path} are of the kind {other!r}, which bayou cannot use."
            )
    answer = post(data.get("token_uri") or _TOKEN_URL, fields)
    problem = error_text(answer)
    if problem or not answer.get("access_token"):
        raise CredentialError(f"Google refused the credentials in {path}: {problem or 'no token came'}.")
    return answer["access_token"], float(answer.get("expires_in") or 3600)


def signed_assertion(account: Mapping[str, Any], now: float) -> str:
    """A JWT by which a service account asks for a token (RFC 7523, RS256)."""
    header = {"alg": "RS256", "typ": "JWT", "kid": account.get("private_key_id", "")}
    claims = {
        "iss": account.get("client_email", ""),
        "scope": SCOPE,
        "aud": account.get("token_uri") or _TOKEN_URL,
        "iat": int(now),
        "exp": int(now) + 3600,
    }
    text = f"{_b64(msgspec.json.encode(header))}.{_b64(msgspec.json.encode(claims))}"
    modulus, exponent = _private_numbers(account.get("private_key", ""))
    return f"{text}.{_b64(_sign(text.encode(), modulus, exponent))}"


def _sign(message: bytes, modulus: int, exponent: int) -> bytes:
    """PKCS #1 v1.5 with SHA-256."""
    size = (modulus.bit_length() + 7) // 8
    digest = _SHA256_PREFIX + hashlib.sha256(message).digest()
    padded = b"\x00\x01" + b"\xff" * (size - len(digest) - 3) + b"\x00" + digest
    return pow(int.from_bytes(padded, "big"), exponent, modulus).to_bytes(size, "big")


def _private_numbers(pem: str) -> tuple[int, int]:
    """Modulus and private exponent of a PKCS #8 (or #1) RSA key."""
    lines = [line for line in pem.strip().splitlines() if line and not line.startswith("-----")]
    try:
        der = base64.b64decode("".join(lines))
        fields = _sequence(der)
        if len(fields) >= 3 and fields[1][0] == 0x30:  # PKCS #8: version, algorithm, the key itself
            fields = _sequence(fields[2][1])
        return int.from_bytes(fields[1][1], "big"), int.from_bytes(fields[3][1], "big")
    except (IndexError, ValueError):
        raise CredentialError("The private key of the service account cannot be read.") from None


def _sequence(der: bytes) -> list[tuple[int, bytes]]:
    """The members of a DER sequence as tag and content."""
    (_, content), _ = _element(der, 0)
    members: list[tuple[int, bytes]] = []
    at = 0
    while at < len(content):
        member, at = _element(content, at)
        members.append(member)
    return members


def _element(der: bytes, at: int) -> tuple[tuple[int, bytes], int]:
    tag, length, start = der[at], der[at + 1], at + 2
    if length & 0x80:
        size = length & 0x7F
        length = int.from_bytes(der[start : start + size], "big")
        start += size
    return (tag, der[start : start + length]), start + length


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
