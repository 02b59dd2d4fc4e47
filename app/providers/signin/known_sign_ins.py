"""The sign-ins of the known providers: addresses, scopes, and their special steps.

bayou signs in under its own name and uses no other product's application id. If a provider requires a
registered application, its id comes from a variable; the sign-in names the variable when it is missing."""

import asyncio
import secrets
import time
import uuid
from collections.abc import Mapping

import msgspec

from app.providers.model_stream import Credential
from app.providers.secret_references import CredentialError
from app.providers.signin.device_code import DeviceCodeSignIn
from app.providers.signin.interface import (
    SignIn,
    SignInEntry,
    SignInUi,
    fetch_sign_in_json,
    oauth_error_text,
    post_oauth_form,
    post_oauth_form_async,
)
from app.providers.signin.pkce import (
    OAuthRedirectServer,
    PkceSignIn,
    new_verifier_and_challenge,
    parse_authorization_code,
    wait_for_redirect_or_paste,
)


class OpenRouterSignIn(msgspec.Struct, frozen=True, kw_only=True):
    """OpenRouter's sign-in: gives the user a key that does not expire, without a registered application."""

    id: str = "openrouter"
    name: str = "OpenRouter"
    missing: str = ""
    base_url: str = "https://openrouter.ai"

    async def login(self, ui: SignInUi) -> SignInEntry:
        from urllib.parse import urlencode  # noqa: PLC0415  (only this sign-in needs it)

        verifier, challenge = new_verifier_and_challenge()
        path = f"/callback/{secrets.token_urlsafe(16)}"  # replaces the state, which this page does not return
        async with OAuthRedirectServer(0, path) as callback:
            query = {
                "callback_url": f"http://localhost:{callback.port}{path}",
                "code_challenge": challenge,
                "code_challenge_method": "S256",
            }
            await ui.open_url(f"{self.base_url}/auth?{urlencode(query)}", "Allow bayou to create an API key.")
            answer = await wait_for_redirect_or_paste(callback, ui)
        got = await post_oauth_form_async(
            f"{self.base_url}/api/v1/auth/keys",
            {
                "code": parse_authorization_code(answer, ""),
                "code_verifier": verifier,
                "code_challenge_method": "S256",
            },
            is_json=True,
        )
        if not got.get("key"):
            raise CredentialError(
                f"OpenRouter returned no key: {oauth_error_text(got) or 'its answer holds none'}."
            )
        return {"type": "api_key", "key": got["key"]}

    def refresh(self, entry: SignInEntry) -> SignInEntry:
        return entry

    def credential(self, entry: SignInEntry) -> Credential:
        return Credential(key=entry.get("key") or entry.get("access") or "")


class CopilotSignIn(msgspec.Struct, frozen=True, kw_only=True):
    """GitHub's device code, followed by a short-lived Copilot token that is renewed with the GitHub token."""

    device: DeviceCodeSignIn
    token_url: str = "https://api.github.com/copilot_internal/v2/token"
    id: str = "github-copilot"
    name: str = "GitHub Copilot"

    @property
    def missing(self) -> str:
        return self.device.missing

    async def login(self, ui: SignInUi) -> SignInEntry:
        tokens = await self.device.request_tokens(ui)
        github = tokens.get("access_token") or ""
        if not github:
            raise CredentialError("GitHub returned no token.")
        ui.progress("Fetching a Copilot token")
        return await asyncio.to_thread(self.refresh, {"type": "oauth", "access": "", "refresh": github})

    def refresh(self, entry: SignInEntry) -> SignInEntry:
        answer = fetch_sign_in_json(self.token_url, headers={"Authorization": f"Bearer {entry['refresh']}"})
        problem = oauth_error_text(answer)
        if problem or not answer.get("token"):
            raise CredentialError(f"GitHub returned no Copilot token: {problem or 'its answer holds none'}.")
        expires = float(answer.get("expires_at") or time.time() + 1_500)
        return {**entry, "access": answer["token"], "expires": int(expires * 1000)}

    def credential(self, entry: SignInEntry) -> Credential:
        return Credential(key=entry["access"], is_bearer=True)


class MetaSignIn(msgspec.Struct, frozen=True, kw_only=True):
    """Meta's device code, followed by a key of the model API that lasts a day and is renewed with the
    sign-in."""

    device: DeviceCodeSignIn
    key_url: str = "https://api.meta.ai/muse-code/key"
    id: str = "meta"
    name: str = "Meta"

    @property
    def missing(self) -> str:
        return self.device.missing

    async def login(self, ui: SignInUi) -> SignInEntry:
        tokens = await self.device.request_tokens(ui)
        identity = tokens.get("access_token") or ""
        if not identity:
            raise CredentialError("Meta's answer did not contain an account.")
        ui.progress("Fetching a key for the model API")
        return await asyncio.to_thread(self.refresh, {"type": "oauth", "access": "", "refresh": identity})

    def refresh(self, entry: SignInEntry) -> SignInEntry:
        headers = {"Authorization": f"Bearer {entry['refresh']}", "X-Api-Version": "1.0.0"}
        answer = post_oauth_form(self.key_url, {}, is_json=True, headers=headers)
        problem = oauth_error_text(answer)
        if problem or not answer.get("api_key"):
            raise CredentialError(f"Meta returned no key: {problem or 'its answer holds none'}.")
        return {**entry, "access": answer["api_key"], "expires": int((time.time() + _SECONDS_PER_DAY) * 1000)}

    def credential(self, entry: SignInEntry) -> Credential:
        return Credential(key=entry["access"], is_bearer=True)


_SECONDS_PER_DAY = 86_400


def known_sign_ins(env: Mapping[str, str]) -> dict[str, SignIn]:
    """Returns the known sign-ins by provider. `env` holds the ids of applications that the user has registered."""

    def client(provider: str) -> str:
        return env.get(client_id_variable(provider), "")

    found: tuple[SignIn, ...] = (
        PkceSignIn(
            id="anthropic",
            name="Anthropic",
            authorize_url="https://claude.ai/oauth/authorize",
            token_url="https://console.anthropic.com/v1/oauth/token",
            client_id=client("anthropic"),
            client_id_variable=client_id_variable("anthropic"),
            scope="org:create_api_key user:profile user:inference",
            is_token_request_json=True,
            headers={"Anthropic-Beta": "oauth-2025-04-20"},
        ),
        _make_chatgpt_sign_in(),
        PkceSignIn(
            id="openai-codex",
            name="OpenAI Codex (ChatGPT)",
            authorize_url="https://auth.openai.com/oauth/authorize",
            token_url="https://auth.openai.com/oauth/token",
            client_id=client("openai-codex"),
            client_id_variable=client_id_variable("openai-codex"),
            scope="openid profile email offline_access",
            redirect_port=1455,
            redirect_path="/auth/callback",
        ),
        CopilotSignIn(
            device=DeviceCodeSignIn(
                id="github",
                name="GitHub",
                device_url="https://github.com/login/device/code",
                token_url="https://github.com/login/oauth/access_token",
                client_id=client("github-copilot"),
                client_id_variable=client_id_variable("github-copilot"),
                scope="read:user",
            )
        ),
        DeviceCodeSignIn(
            id="xai",
            name="xAI",
            device_url="https://auth.x.ai/oauth2/device/code",
            token_url="https://auth.x.ai/oauth2/token",
            client_id=client("xai"),
            client_id_variable=client_id_variable("xai"),
            scope="openid profile email offline_access api:access",
        ),
        DeviceCodeSignIn(
            id="kimi-coding",
            name="Kimi",
            device_url="https://auth.kimi.com/api/oauth/device_authorization",
            token_url="https://auth.kimi.com/api/oauth/token",
            client_id=client("kimi-coding"),
            client_id_variable=client_id_variable("kimi-coding"),
        ),
        MetaSignIn(
            device=DeviceCodeSignIn(
                id="meta",
                name="Meta",
                device_url="https://auth.meta.com/oidc/device/authorization/",
                token_url="https://auth.meta.com/oidc/device/token/",
                client_id=client("meta"),
                client_id_variable=client_id_variable("meta"),
            )
        ),
        OpenRouterSignIn(),
    )
    return {sign_in.id: sign_in for sign_in in found}


def client_id_variable(provider: str) -> str:
    """Returns the environment variable that holds the id of the user's registered application for a provider."""
    return f"BAYOU_{provider.upper().replace('-', '_')}_CLIENT_ID"


def _make_chatgpt_sign_in() -> PkceSignIn:
    """Builds the sign-in with ChatGPT, in which each sign-in registers a new client under bayou's name."""
    resource = {"resource": "https://api.openai.com/v1"}
    return PkceSignIn(
        id="openai",
        name="OpenAI (ChatGPT)",
        authorize_url="https://auth.openai.com/api/accounts/authorize",
        token_url="https://auth.openai.com/api/accounts/oauth/token",
        client_id="dynamic_agent_client",
        registers_client=True,
        scope="openid profile email offline_access resource.invoke chatgpt.tokens.use.direct",
        redirect_host="127.0.0.1",
        redirect_port=1455,
        redirect_path="/auth/callback",
        # The host's id is random each time, so that it reveals nothing about this machine.
        extra_authorize_fields={
            "agent_name_hint": "bayou",
            "ext_agent_host_id": f"urn:uuid:{uuid.uuid4()}",
            **resource,
        },
        extra_token_fields=resource,
    )
