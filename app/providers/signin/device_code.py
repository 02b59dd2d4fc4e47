"""Sign-in with a code that the user types in any browser (RFC 8628)."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from app.providers.model_stream import Credential
from app.providers.secret_references import CredentialError
from app.providers.signin.interface import (
    SignInEntry,
    SignInUi,
    oauth_error_text,
    post_oauth_form_async,
    unregistered_client_error,
)
from app.providers.signin.pkce import refresh_sign_in_entry, sign_in_entry_from_tokens

_DEVICE_CODE_GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"


class DeviceCodeSignIn(msgspec.Struct, frozen=True, kw_only=True):
    """OAuth with a device code: the addresses, the client and the scope of a provider."""

    id: str
    name: str
    device_url: str
    token_url: str
    client_id: str
    scope: str = ""
    headers: Mapping[str, str] = {}
    client_id_variable: str = ""

    @property
    def missing(self) -> str:
        return "" if self.client_id else self.client_id_variable

    async def login(self, ui: SignInUi) -> SignInEntry:
        return sign_in_entry_from_tokens(await self.request_tokens(ui), self.name)

    async def request_tokens(self, ui: SignInUi) -> dict[str, Any]:
        """Returns the provider's tokens once the user has agreed. Raises `CredentialError`."""
        if self.missing:
            raise unregistered_client_error(self.name, self.missing)
        scope = {"scope": self.scope} if self.scope else {}
        begun = await post_oauth_form_async(self.device_url, {"client_id": self.client_id, **scope})
        problem = oauth_error_text(begun)
        if problem or not begun.get("device_code"):
            raise CredentialError(
                f"{self.name} returned no sign-in code: {problem or 'its answer holds none'}."
            )
        url = begun.get("verification_uri_complete") or begun.get("verification_uri") or ""
        seconds = float(begun.get("expires_in") or 900)
        await ui.show_code(str(begun.get("user_code") or ""), str(url), seconds)
        return await self._poll_for_token(begun["device_code"], float(begun.get("interval") or 5), seconds)

    async def _poll_for_token(self, device_code: str, interval: float, seconds: float) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await asyncio.sleep(interval)
            answer = await post_oauth_form_async(
                self.token_url,
                {
                    "grant_type": _DEVICE_CODE_GRANT_TYPE,
                    "device_code": device_code,
                    "client_id": self.client_id,
                },
            )
            error = answer.get("error")
            if error == "authorization_pending":
                continue
            if error == "slow_down":
                interval = float(answer.get("interval") or interval + 5)
                continue
            if error:
                raise CredentialError(f"{self.name} refused the sign-in: {oauth_error_text(answer)}.")
            return answer
        raise CredentialError("The code expired before it was used. Start again with /login.")

    def refresh(self, entry: SignInEntry) -> SignInEntry:
        return refresh_sign_in_entry(self.token_url, self.client_id, entry, self.name)

    def credential(self, entry: SignInEntry) -> Credential:
        return Credential(key=entry["access"], is_bearer=True, headers=self.headers)
