"""The sign-ins of the known providers: addresses, scopes, and what is special about each.

bayou signs in as itself: it uses no other product's application id. Where a provider wants a registered
application, its id comes from a variable; the sign-in says so when it is missing.
"""

import time
from collections.abc import Mapping

import msgspec

from app.providers.contract import Credential
from app.providers.key_values import CredentialError
from app.providers.signin.device import DeviceCode
from app.providers.signin.interface import Entry, SignIn, SignInUi, error_text, get, post_soon
from app.providers.signin.pkce import Callback, Pkce, code_of, first_answer, new_verifier


class OpenRouterKey(msgspec.Struct, frozen=True, kw_only=True):
    """OpenRouter hands out a key of one's own; no application needs to be registered, nothing expires."""

    id: str = "openrouter"
    name: str = "OpenRouter"
    base_url: str = "https://openrouter.ai"

    async def login(self, ui: SignInUi) -> Entry:
        from urllib.parse import urlencode  # noqa: PLC0415  (only this sign-in needs it)

        verifier, challenge = new_verifier()
        async with Callback(0, "/callback") as callback:
            query = {
                "callback_url": f"http://localhost:{callback.port}/callback",
                "code_challenge": challenge,
                "code_challenge_method": "S256",
            }
            await ui.open_url(f"{self.base_url}/auth?{urlencode(query)}", "Allow bayou to make a key.")
            answer = await first_answer(callback, ui)
        got = await post_soon(
            f"{self.base_url}/api/v1/auth/keys",
            {"code": code_of(answer, ""), "code_verifier": verifier, "code_challenge_method": "S256"},
            is_json=True,
        )
        if not got.get("key"):
            raise CredentialError(f"OpenRouter gave no key: {error_text(got) or 'its answer holds none'}.")
        return {"type": "api_key", "key": got["key"]}

    def refresh(self, entry: Entry) -> Entry:
        return entry

    def credential(self, entry: Entry) -> Credential:
        return Credential(key=entry.get("key") or entry.get("access") or "")


class Copilot(msgspec.Struct, frozen=True, kw_only=True):
    """GitHub's device code, then a short-lived token for Copilot that is fetched anew with the GitHub token."""

    device: DeviceCode
    token_url: str = "https://api.github.com/copilot_internal/v2/token"
    id: str = "github-copilot"
    name: str = "GitHub Copilot"

    async def login(self, ui: SignInUi) -> Entry:
        import asyncio  # noqa: PLC0415  (beside its only use)

        tokens = await self.device.tokens(ui)
        github = tokens.get("access_token") or ""
        if not github:
            raise CredentialError("GitHub gave no token.")
        ui.progress("Fetching a Copilot token")
        return await asyncio.to_thread(self.refresh, {"type": "oauth", "access": "", "refresh": github})

    def refresh(self, entry: Entry) -> Entry:
        answer = get(self.token_url, headers={"Authorization": f"Bearer {entry['refresh']}"})
        problem = error_text(answer)
        if problem or not answer.get("token"):
            raise CredentialError(f"GitHub gave no Copilot token: {problem or 'its answer holds none'}.")
        expires = float(answer.get("expires_at") or time.time() + 1_500)
        return {**entry, "access": answer["token"], "expires": int(expires * 1000)}

    def credential(self, entry: Entry) -> Credential:
        return Credential(key=entry["access"], is_bearer=True)


def sign_ins(env: Mapping[str, str]) -> dict[str, SignIn]:
    """By provider. `env` holds the ids of applications that the person has registered."""

    def client(provider: str) -> tuple[str, str]:
        name = f"BAYOU_{provider.upper().replace('-', '_')}_CLIENT_ID"
        return env.get(name, ""), name

    anthropic, anthropic_variable = client("anthropic")
    openai, openai_variable = client("openai-codex")
    github, github_variable = client("github-copilot")
    return {
        "anthropic": Pkce(
            id="anthropic",
            name="Anthropic",
            authorize_url="https://claude.ai/oauth/authorize",
            token_url="https://console.anthropic.com/v1/oauth/token",
            client_id=anthropic,
            client_variable=anthropic_variable,
            scope="org:create_api_key user:profile user:inference",
            is_json=True,
            headers={"Anthropic-Beta": "oauth-2025-04-20"},
        ),
        "openai-codex": Pkce(
            id="openai-codex",
            name="OpenAI (ChatGPT)",
            authorize_url="https://auth.openai.com/oauth/authorize",
            token_url="https://auth.openai.com/oauth/token",
            client_id=openai,
            client_variable=openai_variable,
            scope="openid profile email offline_access",
            redirect_port=1455,
            redirect_path="/auth/callback",
        ),
        "github-copilot": Copilot(
            device=DeviceCode(
                id="github",
                name="GitHub",
                device_url="https://github.com/login/device/code",
                token_url="https://github.com/login/oauth/access_token",
                client_id=github,
                client_variable=github_variable,
                scope="read:user",
            )
        ),
        "openrouter": OpenRouterKey(),
    }
