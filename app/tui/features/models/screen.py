"""The model picker, and the picker for the models that ctrl+p cycles through."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import msgspec
from textual.binding import BindingType

from widgets.key_labels import key_label
from widgets.lists.filtering import VisibleRow
from widgets.lists.rows import ListRow
from widgets.screens.picker import PickerAction, PickerScreen, bindings_of
from widgets.screens.preview import PreviewText
from widgets.textual_internals import keymap_of

NO_KEY_WORDS = "no key"


def _cycle_key(own: Mapping[str, str]) -> str:
    return key_label(own, "app.model.cycleForward", "ctrl+p")


def _none_chosen(own: Mapping[str, str]) -> str:
    key = _cycle_key(own)
    return (
        f"no models chosen for {key} yet: /scoped-models" if key else "no models chosen yet: /scoped-models"
    )


def _none_selected(own: Mapping[str, str]) -> str:
    key = _cycle_key(own)
    return f"none selected: {key} cycles through all" if key else "none selected: all are cycled through"


def with_provider(row: ListRow) -> ListRow:
    """Adds to a row its provider and what is missing to use the model, for lists without headings."""
    provider, _, model = row.id.partition("/")
    if row.is_heading or not model or row.detail.split(" · ")[0] == provider:
        return row  # the row says it already
    detail = " · ".join(filter(None, (provider, NO_KEY_WORDS if row.tone == "dim" else "", row.detail)))
    return msgspec.structs.replace(row, detail=detail)


class ModelScreen(PickerScreen):
    """Lists all models; Tab limits the list to the models of the scope."""

    ACTIONS = (
        PickerAction(id="app.models.save", keys="ctrl+s", label="use and make default", importance=7),
        PickerAction(id="app.models.scope", keys="tab", label="all or scoped", closes=False, needs_row=False),
        PickerAction(id="app.models.login", keys="ctrl+y", label="connect its provider", importance=6),
        PickerAction(
            id="app.models.refresh", keys="ctrl+r", label="refresh from provider", closes=False, importance=3
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)

    def __init__(
        self,
        rows: Sequence[ListRow],
        scoped: Sequence[str] = (),
        *,
        current: str = "",
        query: str = "",
        preview: Callable[[ListRow], PreviewText] | None = None,
    ) -> None:
        self._all = tuple(rows)
        self._scoped = frozenset(scoped)
        self.is_scoped = False
        super().__init__(
            "Model", rows, query=query, current=current, choose="use", preview=preview, is_full_height=True
        )

    def show_models(self, rows: Sequence[ListRow], note: str = "") -> None:
        """Replaces the rows, for example after a provider has listed its models."""
        self._all = tuple(rows)
        self._show_scope(note)

    def action_choose(self) -> None:
        if self.row is not None and self.row.id.endswith("/"):  # a server that has not listed its models yet
            self.action_act("app.models.refresh")
        else:
            super().action_choose()

    def action_act(self, action_id: str) -> None:
        if action_id != "app.models.scope":
            super().action_act(action_id)
        elif not self._scoped:
            self.show_note(_none_chosen(keymap_of(self.app)))
        else:
            self.is_scoped = not self.is_scoped
            self._show_scope()

    def told(self, shown: list[VisibleRow]) -> list[VisibleRow]:
        """Adds the provider to each row where the list has no headings: in search results and in the
        scope."""
        if not self.typed and not self.is_scoped:
            return shown
        return [VisibleRow(with_provider(item.row), item.places) for item in shown]

    def _show_scope(self, note: str = "") -> None:
        rows = [row for row in self._all if row.id in self._scoped] if self.is_scoped else self._all
        self.show_rows(rows, title="Models in the scope" if self.is_scoped else "Model", note=note)


class LevelScreen(PickerScreen):
    """Chooses a thinking level, for this session or as the default."""

    ACTIONS = (PickerAction(id="app.thinking.save", keys="ctrl+s", label="make default", importance=7),)
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)


class ScopeScreen(PickerScreen):
    """The models that the cycle keys go through, marked and ordered; empty means all that have credentials."""

    ACTIONS = (
        PickerAction(
            id="app.models.enableAll", keys="ctrl+a", label="all", closes=False, needs_row=False, importance=3
        ),
        PickerAction(
            id="app.models.clearAll",
            keys="ctrl+x",
            label="none",
            closes=False,
            needs_row=False,
            importance=3,
        ),
        PickerAction(
            id="app.models.toggleProvider", keys="ctrl+p", label="its provider", closes=False, importance=4
        ),
        PickerAction(id="app.models.reorderUp", keys="alt+up", label="earlier", closes=False, importance=5),
        PickerAction(id="app.models.reorderDown", keys="alt+down", label="later", closes=False, importance=5),
        PickerAction(id="app.models.keep", keys="ctrl+s", label="keep", needs_row=False, importance=9),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)

    def __init__(
        self, rows: Sequence[ListRow], chosen: Sequence[str], provider_of: Callable[[str], str]
    ) -> None:
        self.chosen = list(chosen)
        self._all = {row.id: row for row in rows}
        self._provider_of = provider_of
        super().__init__(
            "Models to cycle through",
            self._ordered(),
            order="given",
            choose="mark",
            is_full_height=True,
        )

    def _ordered(self) -> list[ListRow]:
        """Returns the rows, marked ones first in their order."""
        rest = [row for row in self._all.values() if row.id not in self.chosen]
        marked = [self._all[key] for key in self.chosen if key in self._all]
        return [
            *(msgspec.structs.replace(row, is_checked=True) for row in marked),
            *(msgspec.structs.replace(row, tone="muted", is_checked=False) for row in rest),
        ]

    def action_choose(self) -> None:
        if self.row is not None:
            self._toggle([self.row.id])

    def action_act(self, action_id: str) -> None:
        match action_id:
            case "app.models.enableAll":
                self._mark(list(self._all))
            case "app.models.clearAll":
                self._mark([])
            case "app.models.toggleProvider" if self.row is not None:
                provider = self._provider_of(self.row.id)
                self._toggle([key for key in self._all if self._provider_of(key) == provider])
            case "app.models.reorderUp":
                self._move(-1)
            case "app.models.reorderDown":
                self._move(1)
            case _:
                super().action_act(action_id)

    def _toggle(self, keys: list[str]) -> None:
        """Marks all of these models; unmarks them if all are marked already."""
        others = [key for key in self.chosen if key not in keys]
        self._mark(others if all(key in self.chosen for key in keys) else [*others, *keys])

    def _move(self, delta: int) -> None:
        if self.row is None or self.row.id not in self.chosen:
            return
        at = self.chosen.index(self.row.id)
        target = min(max(0, at + delta), len(self.chosen) - 1)
        moved = list(self.chosen)
        moved.insert(target, moved.pop(at))
        self._mark(moved)

    def _mark(self, keys: list[str]) -> None:
        self.chosen = keys
        self.show_rows(
            self._ordered(),
            note=f"{len(keys)} marked" if keys else _none_selected(keymap_of(self.app)),
        )
