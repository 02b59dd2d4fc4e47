"""Connects a server of the user's own, such as Ollama, LM Studio or vLLM: asks for its address, lists its models,
and writes it into `models.json`."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from app.engine.core.model_choice import ModelChoice
from app.providers.credentials import CredentialError
from app.providers.errors import ProviderError
from app.providers.model_stream import Credential, StreamOptions
from app.providers.models.discovery import request_model_list
from app.providers.models.discovery_store import DiscoveredModels, save_discovered_models
from app.providers.models.server_address import (
    EXAMPLE_MODEL_SERVER_ADDRESS,
    complete_model_server_address,
    is_private_host,
    provider_name_for_address,
)
from app.resources.json_files import edit_json_file
from app.tui.features.shared_dialogs import pick_list_row
from app.tui.page_protocols import AskOnScreen, ShowMessage
from app.values.json_comments import with_json_value
from app.values.models import Model
from app.values.user_errors import UserError
from tools.number_formatting import count_with_noun
from widgets.lists.list_rows import ListRow
from widgets.screens.dialogs import TextInputDialog
from widgets.transcript.transcript_blocks import AppNoteKind

OWN_MODEL_SERVER_API = "openai-completions"
OWN_MODEL_SERVER_ROW = ListRow(
    id="another server",
    title="Another server…",
    detail="Ollama, LM Studio, vLLM, OpenAI-compatible",
    search_words="ollama lm studio vllm openai-compatible local custom own self-hosted llama.cpp localhost models.json",
)
LOCAL_MODEL_SERVER_NAMES = (
    "ollama",
    "lmstudio",
    "lm-studio",
    "vllm",
    "llama.cpp",
    "llama-cpp",
    "local",
    "custom",
    "server",
)
"""What users type after `/login` for such a server."""


class OwnModelServerSetup(msgspec.Struct, frozen=True):
    model_choice: ModelChoice
    switch_model: Callable[[Model], Awaitable[None]]
    """Switches the session to a model."""
    agent_dir: Path
    options: Callable[[], StreamOptions | None]
    """Returns the current request options, or None while requests are not allowed."""
    ask: AskOnScreen
    show_message: ShowMessage

    async def connect(self) -> None:
        """Connects a model server of the user's own: asks for its address until it lists its models or the user gives
        up; nothing is written before that."""
        told, typed, key = (
            "For a server with an OpenAI-compatible API. The address is that of Ollama.",
            EXAMPLE_MODEL_SERVER_ADDRESS,
            "",
        )
        while True:
            answer = await self.ask(
                TextInputDialog("Address of the server", told, prefill=typed, check=_address_problem)
            )
            if answer is None:
                return
            typed, base_url = answer, complete_model_server_address(answer)
            try:
                key, found = await self._list_models(base_url, key)
            except ProviderError as problem:
                told = f"{_failure_and_next_step(problem, base_url)} Or correct the address:"
                continue
            if found is None:
                return
            if found.models:
                break
            told = f"{base_url} lists no models. Load one there (ollama pull NAME), then try again."
        await self._add_server(base_url, key, found)

    async def _list_models(self, base_url: str, key: str) -> tuple[str, DiscoveredModels | None]:
        """Asks a server for its models, and the user for a key if the server wants one. Returns the key and the models,
        None if the user gives no key. Raises `ProviderError`."""
        options = self.options()
        if options is None:
            raise ProviderError("bayou is offline: switch off `offline` in /settings.")
        while True:
            self.show_message(f"Listing the models of {base_url} …")
            try:
                return key, await request_model_list(
                    OWN_MODEL_SERVER_API, base_url, Credential(key=key), proxy=options.proxy
                )
            except ProviderError as problem:
                if problem.status not in (401, 403):
                    raise
                told = f"The server rejected this key: {problem}" if key else "The server requires a key."
            answer = await self.ask(TextInputDialog(f"API key for {base_url}", told, is_secret=True))
            if not answer or not answer.strip():
                return key, None
            key = answer.strip()

    async def _add_server(self, base_url: str, key: str, found: DiscoveredModels) -> None:
        """Writes the server into `models.json` and its key into `auth.json`, and switches the session to one of its
        models."""
        catalogue, credentials = self.model_choice.catalogue, self.model_choice.credentials
        catalogue.reread_models_file()
        places = {name: catalogue.api_and_address_of(name)[1].rstrip("/") for name in catalogue.provider_ids}
        known = {name: place for name, place in places.items() if place}
        provider = next((name for name, place in known.items() if place == base_url), "")
        provider = provider or provider_name_for_address(base_url, known)
        try:
            if provider not in known:
                entry = {"baseUrl": base_url, "api": OWN_MODEL_SERVER_API}
                await asyncio.to_thread(
                    edit_json_file,
                    catalogue.models_file_path,
                    lambda text: with_json_value(text, ("providers", provider), entry),
                    new_mode=0o600,
                )
            if key:
                await credentials.store_key(provider, key)
            await asyncio.to_thread(save_discovered_models, self.agent_dir, provider, found)
        except (UserError, CredentialError, OSError) as problem:
            self.show_message(f"The server could not be added: {problem}", AppNoteKind.ERROR)
            return
        catalogue.reread_models_file()
        catalogue.add_discovered_models(provider, found)
        count = count_with_noun(len(found.models), "model")
        self.show_message(
            f"{provider} is connected with {count}. Its entry is in {catalogue.models_file_path}."
        )
        await self._choose_model(provider)

    async def _choose_model(self, provider: str) -> None:
        models = self.model_choice.catalogue.models_of_provider(provider)
        chosen = models[0]
        if len(models) > 1:
            rows = [ListRow(id=model.id, title=model.id) for model in models]
            picked = await pick_list_row(self.ask, f"Model of {provider}", rows)
            if picked is None:
                self.show_message("/model selects one of its models.")
                return
            chosen = self.model_choice.find_model(provider, picked.row.id)
        await self.switch_model(chosen)
        self.show_message(f"Model: {chosen.key}")


def _address_problem(typed: str) -> str:
    try:
        complete_model_server_address(typed)
    except UserError as problem:
        return str(problem)
    return ""


def _failure_and_next_step(problem: ProviderError, base_url: str) -> str:
    """Returns a message for a server whose models could not be listed: what failed, and what to do next."""
    if problem.status == 404:
        return f"{base_url}/models answered 404. The address usually ends with /v1."
    if problem.error_type in ("connection", "timeout"):
        host = base_url.partition("://")[2].partition("/")[0]
        start = (
            " Start the server (for Ollama: ollama serve), then try again."
            if _is_private_address(host)
            else ""
        )
        return f"{problem}{start}"
    return str(problem)


def _is_private_address(place: str) -> bool:
    return is_private_host(place.rpartition(":")[0].strip("[]") or place)
