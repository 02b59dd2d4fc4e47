"""The model picker, the picker for the thinking level, and that for the models that ctrl+p cycles through."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import msgspec
from textual.binding import BindingType

from widgets.key_labels import key_label
from widgets.lists.list_rows import ListRow, RowBadge, make_column_heads
from widgets.lists.row_filter import MatchedListRow
from widgets.screens.picker import PickerAction, PickerScreen, picker_bindings
from widgets.screens.preview_pane import PreviewText
from widgets.textual_internals import app_keymap

NO_API_KEY_BADGE = "no key"
_MODEL_COLUMN_HEADS = make_column_heads(
    "Model", badges=("context",), detail="provider", right="$ per 1M, in/out"
)


def _cycle_key_label(own: Mapping[str, str]) -> str:
    return key_label(own, "app.model.cycleForward", "ctrl+p")


def _no_scope_text(own: Mapping[str, str]) -> str:
    key = _cycle_key_label(own)
    return (
        f"no models selected for {key} yet: /scoped-models"
        if key
        else "no models selected yet: /scoped-models"
    )


def _no_selection_text(own: Mapping[str, str]) -> str:
    key = _cycle_key_label(own)
    return f"none selected: {key} cycles through all" if key else "none selected: the keys cycle through all"


def _with_missing_key(row: ListRow) -> ListRow:
    """Adds a badge to a model's row if its provider has no key, for lists without headings."""
    if row.is_heading or row.tone != "dim":
        return row
    return msgspec.structs.replace(row, badges=(*row.badges, RowBadge(text=NO_API_KEY_BADGE, tone="warning")))


class ModelScreen(PickerScreen):
    """The model picker: lists all models; Tab limits the list to those that ctrl+p cycles through."""

    ACTIONS = (
        PickerAction(
            id="app.models.save",
            keys="ctrl+s",
            label="use as default",
            help="Use as the default model",
            importance=7,
        ),
        PickerAction(
            id="app.models.scope",
            keys="tab",
            label="all/scoped",
            help="Switch between all models and those to cycle through",
            closes=False,
            needs_row=False,
        ),
        PickerAction(
            id="app.models.login",
            keys="ctrl+y",
            label="connect provider",
            help="Connect a provider",
            importance=6,
        ),
        PickerAction(
            id="app.models.refresh",
            keys="ctrl+r",
            label="refresh list",
            help="List the provider's models again",
            closes=False,
            importance=3,
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)

    def __init__(
        self,
        rows: Sequence[ListRow],
        scoped: Sequence[str] = (),
        *,
        current: str = "",
        query: str = "",
        preview: Callable[[ListRow], PreviewText] | None = None,
    ) -> None:
        self._all_rows = tuple(rows)
        self._scoped_ids = frozenset(scoped)
        self.is_scoped = False
        super().__init__(
            "Model",
            rows,
            query=query,
            current=current,
            choose="use",
            heads=_MODEL_COLUMN_HEADS,
            preview=preview,
            is_full_height=True,
        )

    def show_models(self, rows: Sequence[ListRow], note: str = "") -> None:
        """Replaces the rows of the model picker, for example after a provider has listed its models."""
        self._all_rows = tuple(rows)
        self._show_scope(note)

    def action_choose(self) -> None:
        if self.row is not None and self.row.id.endswith("/"):  # a server that has not listed its models yet
            self.action_act("app.models.refresh")
        else:
            super().action_choose()

    def action_act(self, action_id: str) -> None:
        if action_id != "app.models.scope":
            super().action_act(action_id)
        elif not self._scoped_ids:
            self.show_note(_no_scope_text(app_keymap(self.app)))
        else:
            self.is_scoped = not self.is_scoped
            self._show_scope()

    def adjust_visible_rows(self, shown: list[MatchedListRow]) -> list[MatchedListRow]:
        """Adds a badge to models without a key where the list has no headings: in search results, and among the models
        for ctrl+p."""
        if not self.filter_text and not self.is_scoped:
            return shown
        return [MatchedListRow(_with_missing_key(item.row), item.matched) for item in shown]

    def _show_scope(self, note: str = "") -> None:
        rows = (
            [row for row in self._all_rows if row.id in self._scoped_ids]
            if self.is_scoped
            else self._all_rows
        )
        self.show_rows(rows, title="Scoped models" if self.is_scoped else "Model", note=note)


class ThinkingLevelScreen(PickerScreen):
    """The picker for the model's thinking level, for this session or as the default."""

    ACTIONS = (
        PickerAction(
            id="app.thinking.save",
            keys="ctrl+s",
            label="use as default",
            help="Use as the default thinking level",
            importance=7,
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)


class ScopedModelsScreen(PickerScreen):
    """The screen to mark and order the models that ctrl+p cycles through; none marked means all that have
    credentials."""

    ACTIONS = (
        PickerAction(
            id="app.models.enableAll",
            keys="ctrl+a",
            label="all",
            help="Select all models",
            closes=False,
            needs_row=False,
            importance=3,
        ),
        PickerAction(
            id="app.models.clearAll",
            keys="ctrl+x",
            label="none",
            help="Deselect all models",
            closes=False,
            needs_row=False,
            importance=3,
        ),
        PickerAction(
            id="app.models.toggleProvider",
            keys="ctrl+p",
            label="provider",
            help="Select all models of this provider, or none",
            closes=False,
            importance=4,
        ),
        PickerAction(
            id="app.models.reorderUp",
            keys="alt+up",
            label="move up",
            help="Move the model up",
            closes=False,
            importance=5,
        ),
        PickerAction(
            id="app.models.reorderDown",
            keys="alt+down",
            label="move down",
            help="Move the model down",
            closes=False,
            importance=5,
        ),
        PickerAction(
            id="app.models.keep",
            keys="ctrl+s",
            label="save",
            help="Save the selection",
            needs_row=False,
            importance=9,
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)

    def __init__(
        self, rows: Sequence[ListRow], chosen: Sequence[str], provider_of: Callable[[str], str]
    ) -> None:
        self.chosen_ids = list(chosen)
        self._all = {row.id: row for row in rows}
        self._provider_of = provider_of
        super().__init__(
            "Models to cycle through",
            self._ordered_rows(),
            order="given",
            choose="select",
            heads=_MODEL_COLUMN_HEADS,
            is_full_height=True,
        )

    def _ordered_rows(self) -> list[ListRow]:
        """Returns the rows of all models: first the marked ones in their order, then the others."""
        rest = [row for row in self._all.values() if row.id not in self.chosen_ids]
        marked = [self._all[key] for key in self.chosen_ids if key in self._all]
        return [
            *(msgspec.structs.replace(row, is_checked=True) for row in marked),
            *(msgspec.structs.replace(row, tone="muted", is_checked=False) for row in rest),
        ]

    def action_choose(self) -> None:
        if self.row is not None:
            self._toggle_models([self.row.id])

    def action_act(self, action_id: str) -> None:
        match action_id:
            case "app.models.enableAll":
                self._set_chosen_models(list(self._all))
            case "app.models.clearAll":
                self._set_chosen_models([])
            case "app.models.toggleProvider" if self.row is not None:
                provider = self._provider_of(self.row.id)
                self._toggle_models([key for key in self._all if self._provider_of(key) == provider])
            case "app.models.reorderUp":
                self._move_model(-1)
            case "app.models.reorderDown":
                self._move_model(1)
            case _:
                super().action_act(action_id)

    def _toggle_models(self, keys: list[str]) -> None:
        """Marks the given models for ctrl+p; unmarks them if all are marked already."""
        others = [key for key in self.chosen_ids if key not in keys]
        self._set_chosen_models(others if all(key in self.chosen_ids for key in keys) else [*others, *keys])

    def _move_model(self, delta: int) -> None:
        if self.row is None or self.row.id not in self.chosen_ids:
            return
        at = self.chosen_ids.index(self.row.id)
        target = min(max(0, at + delta), len(self.chosen_ids) - 1)
        moved = list(self.chosen_ids)
        moved.insert(target, moved.pop(at))
        self._set_chosen_models(moved)

    def _set_chosen_models(self, keys: list[str]) -> None:
        self.chosen_ids = keys
        self.show_rows(
            self._ordered_rows(),
            note=f"{len(keys)} selected" if keys else _no_selection_text(app_keymap(self.app)),
        )
