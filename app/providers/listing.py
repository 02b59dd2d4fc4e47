"""The list of models as text, for `bayou --list-models` and pickers."""

from app.providers.catalogue import ModelCatalogue
from app.providers.credentials import Credentials
from app.providers.thinking import supported_levels
from app.values.models import Model

_HEADER = ("provider", "model", "context", "max out", "thinking", "images", "$/M in", "$/M out")


def matching(models: tuple[Model, ...], search: str) -> tuple[Model, ...]:
    """Models whose provider, id or name contain every word."""
    words = search.lower().split()
    return tuple(
        model for model in models if all(word in f"{model.key} {model.name}".lower() for word in words)
    )


def list_models(catalogue: ModelCatalogue, credentials: Credentials, search: str = "") -> list[str]:
    """A table, one line per model that there is a key for; with a search, of all that match."""
    models = matching(catalogue.models(), search)
    paid = tuple(model for model in models if model.api == "offline" or credentials.has(model.provider))
    shown = models if search else paid
    if not shown:
        return [f"No model matches '{search}'." if search else "There is a key for no provider. See /login."]
    rows = [_HEADER, *(_row(model) for model in shown)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _row(model: Model) -> tuple[str, ...]:
    levels = supported_levels(model)
    return (
        model.provider,
        model.id,
        _tokens(model.context_window),
        _tokens(model.max_tokens),
        "-" if levels == ("off",) else f"{levels[0]}…{levels[-1]}",
        "yes" if model.reads_images else "-",
        _price(model.cost.input),
        _price(model.cost.output),
    )


def _tokens(count: int) -> str:
    if count >= 1_000_000:
        return f"{count / 1_000_000:.2g}M" if count % 1_000_000 else f"{count // 1_000_000}M"
    return f"{count // 1000}k" if count >= 1000 else str(count)


def _price(dollars: float) -> str:
    return f"{dollars:g}" if dollars else "-"
