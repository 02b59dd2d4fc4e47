"""Refreshes sign-ins across processes: one process refreshes under the lock and the others use its result."""

import asyncio
import time
from collections.abc import Mapping

from app.providers.auth_file import AuthFile
from app.providers.model_stream import Credential
from app.providers.secret_references import CredentialError
from app.providers.signin.interface import SignIn, SignInEntry
from app.values.user_errors import FileError

_TOKEN_REFRESH_MARGIN_MS = 60_000
"""The time in milliseconds before its end at which a token is refreshed."""


async def fresh_sign_in_credential(
    provider: str, sign_ins: Mapping[str, SignIn], auth: AuthFile
) -> Credential:
    """Returns the stored sign-in as a credential, refreshed if its end is near. Raises `CredentialError`."""
    sign_in = sign_ins.get(provider)
    entry = auth.entries.current().get(provider)
    if entry is None:
        raise CredentialError(f"You are not signed in to {provider}. Use /login {provider}.")
    if sign_in is None:
        return Credential(key=entry.get("access") or "", is_bearer=True)
    if is_token_expiring(entry):
        entry = await asyncio.to_thread(_refresh_under_lock, provider, sign_in, auth)
    return sign_in.credential(entry)


def is_token_expiring(entry: SignInEntry) -> bool:
    expires = entry.get("expires")
    return isinstance(expires, int | float) and expires - _TOKEN_REFRESH_MARGIN_MS <= time.time() * 1000


def _refresh_under_lock(provider: str, sign_in: SignIn, auth: AuthFile) -> SignInEntry:
    """Refreshes the entry of a sign-in under the lock of auth.json, and blocks meanwhile. If another process has
    refreshed it, that process's entry is used."""
    try:
        with auth.locked_entries() as entries:
            entry = entries.get(provider)
            if entry is None:
                raise CredentialError(
                    f"The sign-in to {provider} was removed in the meantime. Use /login to sign in again."
                )
            if is_token_expiring(entry):
                entry = entries[provider] = _refresh_entry(provider, sign_in, entry)
            return entry
    except FileError as problem:
        raise CredentialError(str(problem)) from None


def _refresh_entry(provider: str, sign_in: SignIn, entry: SignInEntry) -> SignInEntry:
    try:
        return sign_in.refresh(entry)
    except CredentialError as problem:
        raise CredentialError(f"{problem} To sign in again, use /login {provider}.") from None
