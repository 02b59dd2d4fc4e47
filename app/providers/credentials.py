"""Finds the credential of a provider: the first of several sources that has one.

Order: given for this run, stored, from an extension or models.json, from the environment, from a cloud's
credentials on this machine. A credential belongs to a provider's name: two providers with the same API
never share a key."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from app.providers.auth_file import AuthEntry, AuthFile
from app.providers.cloud_credentials import CLOUD_CREDENTIAL_CHECKS
from app.providers.model_stream import Credential
from app.providers.models.known_providers import (
    KNOWN_PROVIDERS,
    PROVIDERS_AND_WEB_SEARCH_SERVICES,
    KnownProvider,
)
from app.providers.models.models_file import ProviderKeySettings, WatchedModelsFile
from app.providers.secret_references import CredentialError, SecretResolver, is_secret_resolvable, mask_secret
from app.values.user_errors import FileError

if TYPE_CHECKING:
    from app.providers.signin.interface import SignIn

__all__ = ["CredentialError", "CredentialSource", "Credentials", "is_api_key_too_short", "mask_secret"]

_MIN_API_KEY_CHARS = 8
CredentialSource = Literal[
    "run", "stored", "sign-in", "extension", "models.json", "environment", "surroundings"
]
_ANTHROPIC_OAUTH_HEADERS = {"Anthropic-Beta": "oauth-2025-04-20"}


class _ExtensionKey(msgspec.Struct, frozen=True, kw_only=True):
    """The key that an extension set for a provider, with its settings."""

    owner: str
    key: str | None
    headers: Mapping[str, str]
    is_bearer: bool
    is_for_own_address: bool
    """Whether the extension gave the key together with a server address, so that the key must go only there."""


def is_api_key_too_short(key: str) -> bool:
    """Says whether a typed key is so short that it was probably cut off; `$NAME` and `!command` do not count as
    keys."""
    return len(key) < _MIN_API_KEY_CHARS and not key.startswith(("$", "!"))


def _key_for_address(
    provider: str, extension_key: _ExtensionKey | None, own: ProviderKeySettings
) -> tuple[str, CredentialSource, bool] | None:
    """Returns the key that was given together with another address for a built-in provider, its source, and whether
    it is a bearer token; None if there is none. Stored keys and those of the environment are only for the
    provider's usual address."""
    if provider not in KNOWN_PROVIDERS:
        return None
    if extension_key is not None and extension_key.is_for_own_address and extension_key.key:
        return extension_key.key, "extension", extension_key.is_bearer
    if own.is_for_own_address and own.key:
        return own.key, "models.json", own.is_bearer
    return None


class Credentials:
    """The credentials of all providers and of services with a key: finds, stores and forgets keys and sign-ins."""

    def __init__(
        self, agent_dir: Path, env: Mapping[str, str], *, sign_ins: Mapping[str, "SignIn"] | None = None
    ) -> None:
        self._sign_ins = dict(sign_ins) if sign_ins is not None else None
        self._env = env
        self._auth_file = AuthFile(agent_dir)
        self._secret_resolver = SecretResolver(env)
        self._command_line_keys: dict[str, str] = {}
        self._extension_keys: dict[str, list[_ExtensionKey]] = {}
        self._extension_sign_ins: dict[str, list[tuple[str, SignIn]]] = {}
        self._models_file = WatchedModelsFile(agent_dir)

    @property
    def auth_file_problems(self) -> tuple[str, ...]:
        """Returns the faults of auth.json with their places; its other entries stay in use."""
        self._auth_file.entries.current()
        return tuple(
            problem for problem in (self._auth_file.permission_notice, self._auth_file.read_error) if problem
        )

    def set_command_line_key(self, provider: str, key: str) -> None:
        """Sets the command line's key, which is never written to a file."""
        self._command_line_keys[provider] = key

    def set_extension_key(
        self,
        provider: str,
        key: str | None,
        *,
        owner: str,
        headers: Mapping[str, str] | None = None,
        is_bearer: bool = False,
        is_for_address: bool = False,
    ) -> None:
        """Sets an extension's key for a provider: a value, `$NAME` or `!command`. `is_for_address` says that
        the key is for the address that the extension gives the provider."""
        entry = _ExtensionKey(
            owner=owner,
            key=key,
            headers=headers or {},
            is_bearer=is_bearer,
            is_for_own_address=is_for_address,
        )
        self._extension_keys.setdefault(provider, []).append(entry)

    def add_sign_in(self, provider: str, sign_in: "SignIn", *, owner: str) -> None:
        """Adds an extension's sign-in for a provider; it takes precedence over the built-in one."""
        self._extension_sign_ins.setdefault(provider, []).append((owner, sign_in))

    def remove_extension_keys(self, owner: str) -> None:
        for provider, offers in self._extension_sign_ins.items():
            self._extension_sign_ins[provider] = [offer for offer in offers if offer[0] != owner]
        for provider, entries in self._extension_keys.items():
            self._extension_keys[provider] = [entry for entry in entries if entry.owner != owner]

    def preload_files_of_provider(self, provider: str) -> None:
        """Reads the files about a provider ahead of its first request. Call it on a thread."""
        self._auth_file.entries.current()
        self._models_file_access(provider)

    def has_credential(self, provider: str) -> bool:
        """Says whether a provider has a credential, without running a command or reading a secret."""
        return self.credential_source_of(provider) is not None

    def credential_source_of(self, provider: str) -> CredentialSource | None:
        """Returns the source from which a provider's credential would come; None if it has none."""
        if provider in self._command_line_keys:
            return "run"
        if (
            paired := _key_for_address(
                provider, self._latest_extension_key(provider), self._models_file_access(provider)
            )
        ) is not None:
            return paired[1]
        entry = self._auth_file.entries.current().get(provider)
        if entry is not None:
            return "stored" if entry["type"] == "api_key" else "sign-in"
        extension_key = self._latest_extension_key(provider)
        if (
            extension_key is not None
            and extension_key.key
            and is_secret_resolvable(extension_key.key, self._env)
        ):
            return "extension"
        own = self._models_file_access(provider).key
        if own and is_secret_resolvable(own, self._env):
            return "models.json"
        known = PROVIDERS_AND_WEB_SEARCH_SERVICES.get(provider)
        if known is not None and self._has_key_variables(known):
            return "environment"
        if provider in CLOUD_CREDENTIAL_CHECKS and CLOUD_CREDENTIAL_CHECKS[provider](self._env):
            return "surroundings"
        return "models.json" if self._needs_no_key(provider) else None

    async def resolve_credential(self, provider: str) -> Credential | None:
        """Returns the credential with its secret, or None if there is none. Raises `CredentialError`."""
        known = PROVIDERS_AND_WEB_SEARCH_SERVICES.get(provider)
        found = await self._find_credential(provider, known)
        if found is None:
            return None
        settings = {
            name: self._env[name]
            for name in (known.setting_variables if known else ())
            if self._env.get(name)
        }
        headers = {**found.headers, **await self._extra_headers(provider)}
        return msgspec.structs.replace(found, headers=headers, env={**settings, **found.env})

    async def credential_of_key(self, provider: str, key: str) -> Credential:
        """Returns the credential that an unstored key would give, so that it can be checked. Raises
        `CredentialError`."""
        known = PROVIDERS_AND_WEB_SEARCH_SERVICES.get(provider)
        secret = await self._secret_resolver.resolve_secret(key, what=f"The key for {provider}")
        settings = {
            name: self._env[name]
            for name in (known.setting_variables if known else ())
            if self._env.get(name)
        }
        return Credential(
            key=secret,
            is_bearer=self._models_file_access(provider).is_bearer,
            headers=await self._extra_headers(provider),
            env=settings,
        )

    async def _find_credential(self, provider: str, known: KnownProvider | None) -> Credential | None:
        is_bearer = self._models_file_access(provider).is_bearer
        if provider in self._command_line_keys:
            return Credential(key=self._command_line_keys[provider], is_bearer=is_bearer)
        if (
            paired := _key_for_address(
                provider, self._latest_extension_key(provider), self._models_file_access(provider)
            )
        ) is not None:
            key = await self._secret_resolver.resolve_secret(paired[0], what=f"The key for {provider}")
            return Credential(key=key, is_bearer=paired[2])
        entry = self._auth_file.entries.current().get(provider)
        if entry is not None:
            return await self._credential_from_entry(provider, entry, is_bearer)
        what = f"The key for {provider}"
        extension_key = self._latest_extension_key(provider)
        if extension_key is not None and extension_key.key:
            key = await self._secret_resolver.resolve_secret(extension_key.key, what=what)
            return Credential(key=key, is_bearer=extension_key.is_bearer)
        own = self._models_file_access(provider).key
        if own:
            return Credential(
                key=await self._secret_resolver.resolve_secret(own, what=what), is_bearer=is_bearer
            )
        if known is not None:
            for name in known.token_variables:
                if self._env.get(name):
                    headers = _ANTHROPIC_OAUTH_HEADERS if name == "ANTHROPIC_OAUTH_TOKEN" else {}
                    return Credential(key=self._env[name], is_bearer=True, headers=headers)
            for name in known.key_variables:
                if self._env.get(name):
                    return Credential(key=self._env[name], is_bearer=is_bearer)
        if (
            provider in CLOUD_CREDENTIAL_CHECKS and CLOUD_CREDENTIAL_CHECKS[provider](self._env)
        ) or self._needs_no_key(provider):
            return Credential()
        return None

    async def _credential_from_entry(self, provider: str, entry: AuthEntry, is_bearer: bool) -> Credential:
        env = {name: str(value) for name, value in (entry.get("env") or {}).items()}
        if entry["type"] == "api_key":
            key = await self._secret_resolver.resolve_secret(
                entry["key"], what=f"The stored key for {provider}"
            )
            return Credential(key=key, is_bearer=is_bearer, env=env)
        from app.providers.signin.refresh import fresh_sign_in_credential  # noqa: PLC0415  (only sign-ins need it)

        return await fresh_sign_in_credential(provider, self.sign_ins, self._auth_file)

    @property
    def sign_ins(self) -> dict[str, "SignIn"]:
        """Account sign-ins by provider, including those of extensions."""
        if self._sign_ins is None:
            from app.providers.signin.known_sign_ins import known_sign_ins  # noqa: PLC0415  (only sign-ins need it)

            self._sign_ins = known_sign_ins(self._env)
        offered = {name: offers[-1][1] for name, offers in self._extension_sign_ins.items() if offers}
        if not offered:
            return self._sign_ins
        return {**self._sign_ins, **offered}

    async def store_key(self, provider: str, key: str, env: Mapping[str, str] | None = None) -> None:
        """Stores an API key (or `$NAME`, or `!command`) in auth.json. Raises `CredentialError`."""
        entry: AuthEntry = {"type": "api_key", "key": key, **({"env": dict(env)} if env else {})}
        await self.store_auth_entry(provider, entry)

    async def store_auth_entry(self, provider: str, entry: AuthEntry) -> None:
        def write() -> None:
            with self._auth_file.locked_entries() as entries:
                entries[provider] = entry

        await self._change_auth_file(write)

    async def mark_token_refused(self, provider: str, credential: Credential) -> None:
        """Marks a sign-in's token as refused by the server, so that the next request in any process fetches a
        fresh one. It may look valid because a clock was set or the account withdrew it."""
        entry = self._auth_file.entries.current().get(provider)
        if entry is None or entry["type"] == "api_key" or entry.get("access") != credential.key:
            return

        def write() -> None:
            with self._auth_file.locked_entries() as entries:
                now = entries.get(provider)
                if now is not None and now.get("access") == credential.key:
                    entries[provider] = {**now, "expires": 0}

        await self._change_auth_file(write)

    async def remove_stored_credential(self, provider: str) -> bool:
        """Removes the stored credential; False if there was none."""
        found: list[Any] = []

        def remove() -> None:
            with self._auth_file.locked_entries() as entries:
                found.append(entries.pop(provider, None))

        await self._change_auth_file(remove)
        return found[0] is not None

    def stored_credential_kinds(self) -> Mapping[str, str]:
        """Maps each provider with a stored credential to `api_key` or `oauth`."""
        return {provider: entry["type"] for provider, entry in self._auth_file.entries.current().items()}

    async def _change_auth_file(self, change: Any) -> None:
        try:
            await asyncio.to_thread(change)
        except (FileError, OSError) as problem:
            raise CredentialError(f"The credential could not be stored: {problem}") from None

    async def _extra_headers(self, provider: str) -> dict[str, str]:
        """Returns the headers that models.json or an extension adds to each request of a provider."""
        extension_key = self._latest_extension_key(provider)
        wanted = {
            **self._models_file_access(provider).headers,
            **(extension_key.headers if extension_key else {}),
        }
        return {
            name: await self._secret_resolver.resolve_secret(value, what=f"The header {name} for {provider}")
            for name, value in wanted.items()
        }

    def _latest_extension_key(self, provider: str) -> _ExtensionKey | None:
        entries = self._extension_keys.get(provider)
        return entries[-1] if entries else None

    def _models_file_access(self, provider: str) -> ProviderKeySettings:
        return self._models_file.current_file().key_settings_of_provider(provider)

    def _has_key_variables(self, known: KnownProvider) -> bool:
        has_key = any(self._env.get(name) for name in (*known.token_variables, *known.key_variables))
        return has_key and all(self._env.get(name) for name in known.required_variables)

    def _needs_no_key(self, provider: str) -> bool:
        """Says whether a provider needs no key: one from models.json without a key, such as a server on this
        machine."""
        own = self._models_file_access(provider)
        return provider not in KNOWN_PROVIDERS and own.has_entry and own.key is None
