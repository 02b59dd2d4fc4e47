"""The page for `/model`, `/thinking` and `/scoped-models`: chooses the model, its thinking level, and the models that
ctrl+p cycles through."""

from collections.abc import Awaitable, Callable
from functools import lru_cache
from pathlib import Path

import msgspec

from app.engine.core.model_choice import ModelChoice
from app.engine.session import Session
from app.providers.models.discovery import discover_models, model_list_problem_hint, stored_model_list_state
from app.providers.models.known_providers import KNOWN_PROVIDERS, RESELLER_PROVIDER_IDS
from app.providers.models.model_names import select_model, select_models
from app.providers.models.model_vendors import is_reseller_offer
from app.tui.features.models.screen import (
    NO_API_KEY_BADGE,
    ModelScreen,
    ScopedModelsScreen,
    ThinkingLevelScreen,
)
from app.tui.page_protocols import AskOnScreen, KeyLabel, SaveDefault, ShowMessage
from app.values.models import THINKING_LEVELS, Model, thinking_level
from app.values.user_errors import UserError
from tools.number_formatting import format_token_count
from widgets.lists.list_rows import ListRow, RowBadge
from widgets.screens.picker import PickerResult
from widgets.screens.preview_pane import PreviewParagraph, PreviewText, labelled_fact_paragraphs
from widgets.transcript.transcript_blocks import AppNoteKind

THINKING_LEVEL_TEXTS = {
    "off": "no thinking",
    "minimal": "very little",
    "low": "a little",
    "medium": "moderate",
    "high": "a lot",
    "xhigh": "very high",
    "max": "maximum",
}


class ModelPage(msgspec.Struct, frozen=True):
    """Chooses the model and the thinking level of one session."""

    session: Session
    models: ModelChoice
    ask: AskOnScreen
    show_message: ShowMessage
    save_default_setting: SaveDefault
    key_label: KeyLabel
    connect: Callable[[str], Awaitable[None]]
    """Asks for a provider's credentials and stores them."""
    query_models: Callable[[str], Awaitable[str]]
    """Asks a provider for its models; returns the outcome as text."""

    async def choose_model(self, query: str = "") -> None:
        choice = self.models
        self.session.models.reread_models_file()
        screen = ModelScreen(
            model_picker_rows(choice),
            [model.key for model in choice.scope],
            query=query,
            current=choice.model.key if choice.model else "",
            preview=self._model_preview,
        )
        picked: PickerResult | None = await self.ask(screen, on_request=self._query_provider)
        if picked is None:
            return
        provider, _, model_id = picked.row.id.partition("/")
        if not model_id:  # the server has not listed its models yet, so there is none to use
            return
        if picked.action == "app.models.login" or not self._is_usable(provider, model_id):
            await self.connect(provider)
            if not choice.credentials.has_credential(provider):
                return
        await self.session.models.use_model(choice.find_model(provider, model_id))
        if picked.action == "app.models.save":
            self.save_default_setting("defaultProvider", provider)
            self.save_default_setting("defaultModel", model_id)
            self.show_message(f"Default model: {picked.row.id}.")

    def _is_usable(self, provider: str, model_id: str) -> bool:
        model = self.models.catalogue.find_model(provider, model_id)
        return model is not None and self.models.is_model_available(model)

    async def select_model_by_name(self, name: str) -> None:
        """Selects a model (`/model NAME`); a thinking level may follow the name."""
        choice = self.models
        self.session.models.reread_models_file()
        selection = select_model(name, choice.catalogue, choice.credentials)
        await self.session.models.use_model(selection.model)
        if selection.thinking is not None:
            await self.session.models.use_thinking_level(selection.thinking)
        self.show_message(f"Model: {selection.model.key}")
        if selection.warning:
            self.show_message(selection.warning, AppNoteKind.WARNING)

    async def _query_provider(self, request: ModelScreen.ActionRequested) -> None:
        """Asks the provider of a row which models it has, and updates the list of models."""
        screen, row = request.screen, request.row
        if not isinstance(screen, ModelScreen) or row is None:
            return
        provider = row.id.partition("/")[0]
        screen.show_note(f"listing the models of {provider} …")
        note = await self.query_models(provider)
        if screen.is_there:
            screen.show_models(model_picker_rows(self.models), note)

    async def choose_thinking_level(self) -> None:
        """Lets the user choose the thinking level: Enter for this session, Ctrl+S also as the default."""
        choice = self.models
        rows = [
            ListRow(
                id=level, title=level, detail=THINKING_LEVEL_TEXTS[level], is_checked=level == choice.thinking
            )
            for level in choice.thinking_levels
        ]
        picked: PickerResult | None = await self.ask(
            ThinkingLevelScreen("Thinking", rows, current=choice.thinking, choose="use")
        )
        level = thinking_level(picked.row.id) if picked is not None else None
        if level is None or picked is None:
            return
        await self.session.models.use_thinking_level(level)
        if picked.action == "app.thinking.save":
            self.save_default_setting("defaultThinkingLevel", level)
            self.show_message(f"Default thinking level: {level}.")

    async def set_thinking_level_by_name(self, name: str) -> None:
        """Sets the thinking level (`/thinking LEVEL`)."""
        level = thinking_level(name)
        if level is None:
            raise UserError(f"Unknown thinking level. Levels for /thinking: {', '.join(THINKING_LEVELS)}.")
        await self.session.models.use_thinking_level(level)
        self.show_message(f"Thinking: {self.models.thinking}")

    async def cycle_model(self, step: int) -> None:
        if await self.session.models.cycle_model(step) is None:
            self.show_message("No other model is available. /login connects another provider.")

    async def cycle_level(self) -> None:
        if await self.session.models.cycle_thinking_level() is None:
            model = self.session.model
            self.show_message(
                f"{model.id} has no thinking levels. /model selects another."
                if model
                else "No model is selected. /model selects one."
            )

    async def choose_cycled_models(self) -> None:
        """Lets the user choose the models that ctrl+p cycles through, and saves them in the settings."""
        choice = self.models
        rows = [row for row in model_picker_rows(choice) if is_usable_model_row(row)]
        screen = ScopedModelsScreen(
            rows, [model.key for model in choice.scope], lambda key: key.partition("/")[0]
        )
        picked: PickerResult | None = await self.ask(screen)
        if picked is None:
            return
        chosen = screen.chosen_ids
        choice.scope = select_models(chosen, choice.catalogue, choice.credentials) if chosen else ()
        self.save_default_setting("enabledModels", chosen or None)
        told = ", ".join(chosen) if chosen else "all connected models"
        self.show_message(f"Models to cycle through: {told}.")

    def _model_preview(self, row: ListRow) -> PreviewText:
        provider, _, model_id = row.id.partition("/")
        model = self.models.catalogue.find_model(provider, model_id)
        if model is None:
            return PreviewText()
        parts = [
            PreviewParagraph(
                text=f"{model.key} · {self.models.catalogue.provider_display_name(provider)}", tone="muted"
            )
        ]
        parts += [PreviewParagraph(text=""), *labelled_fact_paragraphs(_model_facts(model), tone="text")]
        parts += [PreviewParagraph(text=""), *self._credential_parts(model)]
        return PreviewText(title=model.name, parts=tuple(parts))

    def _credential_parts(self, model: Model) -> list[PreviewParagraph]:
        choice = self.models
        if model.api in ("offline", "scripted"):
            return [PreviewParagraph(text="Needs no key and no network.", tone="success")]
        source = choice.credentials.credential_source_of(model.provider)
        if source is None:
            known = KNOWN_PROVIDERS.get(model.provider)
            names = " or ".join((*known.token_variables, *known.key_variables)) if known else ""
            key = self.key_label("tui.select.confirm", "Enter")
            by_key = f"connect with {key}" if key else "connect with /login"
            ways = f"Set {names}, or {by_key}." if names else f"{by_key[0].upper()}{by_key[1:]}."
            return [
                PreviewParagraph(text="No key", tone="warning"),
                PreviewParagraph(text=ways, tone="muted"),
            ]
        told = model_list_problem_hint(
            stored_model_list_state(model.provider, choice.catalogue, choice.credentials)
        )
        return [
            PreviewParagraph(
                text=f"Connected with {_API_KEY_SOURCE_TEXTS.get(source, source)}", tone="success"
            ),
            *([PreviewParagraph(text=told, tone="muted")] if told else []),
        ]


_API_KEY_SOURCE_TEXTS = {
    "run": "--api-key",
    "stored": "a stored API key",
    "sign-in": "an account",
    "extension": "a key of an extension",
    "environment": "a key in the environment",
    "surroundings": "this machine's credentials",
}


def _model_facts(model: Model) -> list[tuple[str, str]]:
    cost = model.cost
    told = [
        ("Context", f"{format_token_count(model.context_window)} tokens"),
        ("Max output", f"{format_token_count(model.max_tokens)} tokens"),
    ]
    if cost.output:
        told.append(("Price", f"${cost.input:g} in, ${cost.output:g} out per million tokens"))
        if cost.cache_read or cost.cache_write:
            told.append(("Cache", f"${cost.cache_read:g} read, ${cost.cache_write:g} written"))
    can = [*(["images"] if model.reads_images else []), *(["thinking"] if model.reasoning else [])]
    return [*told, ("Supports", ", ".join(can) or "text only")]


async def query_provider_models(
    models: ModelChoice, provider: str, *, agent_dir: Path, proxy: str | None
) -> str:
    """Asks a provider which models it has and stores them; returns the outcome as text."""
    found = await discover_models(provider, models.catalogue, models.credentials, agent_dir, proxy=proxy)
    return model_list_problem_hint(found) or f"{provider} has {found.count} models"


def model_picker_rows(choice: ModelChoice) -> list[ListRow]:
    """Returns the rows of the model picker: first usable models, then by provider those that need a key; models of
    their vendors come before those of resellers."""
    current = choice.model.key if choice.model else ""
    catalogue = choice.catalogue
    usable = {provider: choice.credentials.has_credential(provider) for provider in catalogue.provider_ids}
    ready: list[ListRow] = []
    others: dict[str, list[ListRow]] = {}
    for model in sorted(catalogue.all_models(), key=lambda model: model.provider in RESELLER_PROVIDER_IDS):
        is_usable = usable.get(model.provider, False) or model.api in ("offline", "scripted")
        rows = ready if is_usable else others.setdefault(model.provider, [])
        rows.append(_model_row(model, current, is_usable=is_usable))
    providers_without_listed_models = [
        name for name in catalogue.providers_without_listed_models if not catalogue.models_of_provider(name)
    ]
    asking = [
        ListRow(id=f"{name}/", title=name, detail="list the server's models")
        for name in providers_without_listed_models
    ]
    found = [*asking, _heading_row("Ready"), *ready] if ready else asking
    for provider, rows in others.items():
        found += [_heading_row(f"{catalogue.provider_display_name(provider)} · {NO_API_KEY_BADGE}"), *rows]
    return found


def is_usable_model_row(row: ListRow) -> bool:
    """Returns whether a row of the model picker is a model that can be used now, and not a heading or a server to
    query."""
    return not row.is_heading and row.tone != "dim" and not row.id.endswith("/")


def _heading_row(title: str) -> ListRow:
    return ListRow(id=f"#{title}", title=title, is_heading=True)


@lru_cache(maxsize=512)
def _window_badge(window: int) -> tuple[RowBadge, ...]:
    """Returns the badge with the size of a model's context window, cached because there are few sizes."""
    return (RowBadge(text=f"{format_token_count(window):>7}"),)


def _model_row(model: Model, current: str, *, is_usable: bool) -> ListRow:
    """Returns a model's row in the picker: its provider, context window, price, and what it lacks."""
    lacks = "text only" if not model.reads_images else ""
    thinks = "" if model.reasoning else "no thinking"
    return ListRow(
        id=model.key,
        title=model.id,
        detail=" · ".join(filter(None, (model.provider, ", ".join(filter(None, (lacks, thinks)))))),
        right=f"{model.cost.input:g}/{model.cost.output:g}" if model.cost.output else "",
        badges=_window_badge(model.context_window),
        is_checked=model.key == current,
        tone="text" if is_usable else "dim",
        search_words=model.name,
        is_secondary=is_reseller_offer(model),
    )
