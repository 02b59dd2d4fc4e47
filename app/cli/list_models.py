"""Implements `bayou --list-models [search]`: lists models and whether they have credentials, including those
of extensions.

The user's own servers without a list of models are asked for theirs.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout

from app.assembly.command_line_options import CommandLineOptions
from app.printing import print_line, print_problem, safe_text
from app.providers.adapter_registry import AdapterRegistry
from app.providers.credentials import Credentials
from app.providers.models.catalogue import ModelCatalogue
from app.providers.models.thinking import supported_thinking_levels
from app.resources.paths import BayouPaths
from app.values.models import Model
from tools.text_tables import align_columns


def list_models(
    paths: BayouPaths,
    search: str,
    *,
    is_offline: bool,
    options: CommandLineOptions = CommandLineOptions(),  # noqa: B008  (frozen)
) -> int:
    catalogue = ModelCatalogue.load_catalogue(paths.agent_dir, env=os.environ)
    credentials = Credentials(paths.agent_dir, os.environ)
    with redirect_stdout(sys.stderr):  # an extension may print while it is loaded
        problems = asyncio.run(_complete_catalogue(options, paths, catalogue, credentials, is_offline))
    rows = models_table(catalogue, credentials, search)
    print_line("\n".join(rows))
    for problem in (*catalogue.models_file_problems, *problems):
        print_problem(problem)
    return 0


async def _complete_catalogue(
    options: CommandLineOptions,
    paths: BayouPaths,
    catalogue: ModelCatalogue,
    credentials: Credentials,
    is_offline: bool,
) -> tuple[str, ...]:
    from app.assembly.extensions.extension_providers import load_extension_providers  # noqa: PLC0415  (with what extensions stand on)

    if catalogue.providers_without_listed_models:
        await _query_servers(paths, catalogue, credentials, {"offline": True} if is_offline else {})
    return await load_extension_providers(options, paths, catalogue, credentials)


async def _query_servers(
    paths: BayouPaths, catalogue: ModelCatalogue, credentials: Credentials, flags: Mapping[str, bool]
) -> None:
    from app.providers.models.discovery import discover_models, model_list_problem_hint  # noqa: PLC0415  (only when servers are asked)
    from app.resources.settings.effective_settings import EffectiveSettings  # noqa: PLC0415  (beside it)

    network = EffectiveSettings(paths, flags=flags).settings.network
    if network.offline:
        return

    async def ask(provider: str) -> None:
        found = await discover_models(
            provider, catalogue, credentials, paths.agent_dir, proxy=network.http_proxy
        )
        if told := model_list_problem_hint(found):
            print_problem(f"{provider}: {told}")

    await asyncio.gather(*map(ask, catalogue.providers_without_listed_models))
    await AdapterRegistry().close_connections()


_MODELS_TABLE_HEADER = (
    "provider",
    "model",
    "context",
    "max output",
    "thinking",
    "images",
    "$/M in",
    "$/M out",
)


def matching_models(models: tuple[Model, ...], search: str) -> tuple[Model, ...]:
    """Returns the models whose provider, id or name contain every word."""
    words = search.lower().split()
    return tuple(
        model for model in models if all(word in f"{model.key} {model.name}".lower() for word in words)
    )


def models_table(catalogue: ModelCatalogue, credentials: Credentials, search: str = "") -> list[str]:
    """Formats a table with one line per model that has a key; with a search, one per match."""
    models = matching_models(catalogue.all_models(), search)
    paid = tuple(
        model for model in models if model.api == "offline" or credentials.has_credential(model.provider)
    )
    shown = models if search else paid
    if not shown:
        return [
            f"No model matches '{search}'."
            if search
            else "No provider is connected, because no API key is configured. See /login."
        ]
    return align_columns(
        [_MODELS_TABLE_HEADER, *(tuple(map(safe_text, _model_row(model))) for model in shown)]
    )


def _model_row(model: Model) -> tuple[str, ...]:
    levels = supported_thinking_levels(model)
    return (
        model.provider,
        model.id,
        _format_tokens(model.context_window),
        _format_tokens(model.max_tokens),
        "-" if levels == ("off",) else f"{levels[0]}…{levels[-1]}",
        "yes" if model.reads_images else "-",
        _format_price(model.cost.input),
        _format_price(model.cost.output),
    )


def _format_tokens(count: int) -> str:
    if count >= 1_000_000:
        return f"{count / 1_000_000:.2g}M" if count % 1_000_000 else f"{count // 1_000_000}M"
    return f"{count // 1000}k" if count >= 1000 else str(count)


def _format_price(dollars: float) -> str:
    return f"{dollars:g}" if dollars else "-"
