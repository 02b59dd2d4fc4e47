"""The default keys of every action, for tests that press them all."""

from app.tui.feature_register import ARGUMENT_HINT_BY_SLASH_COMMAND, PAGE_KEYS
from app.tui.features.keys.screens import SCREEN_BINDING_GROUPS
from app.tui.keys.action_table import ActionTable
from app.tui.keys.keymap import UNBOUND_KEY_LABEL, keys_of

TABLE = ActionTable(PAGE_KEYS, lambda: (), lambda: SCREEN_BINDING_GROUPS, ARGUMENT_HINT_BY_SLASH_COMMAND, {})
"""Every action with its default keys."""
PLACES = TABLE.binding_groups
"""Every place with key bindings."""
KEYS = {
    (one.title, binding.id): [key for key in keys_of(binding, {}) if key != UNBOUND_KEY_LABEL]
    for one in PLACES
    for binding in one.bindings
}
"""The default keys of every action, by place and id."""


def keys(place: str, action: str) -> list[str]:
    return [key for (where, id_), found in KEYS.items() if (where, id_) == (place, action) for key in found]
