"""The table of all actions: key actions and slash commands, for the palette and the list of keys.

Screens, whose keys it includes, are imported when the whole table is shown."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
from textual.binding import Binding

from app.tui.keys.command_descriptions import describe_session_command
from app.tui.keys.keymap import KeyBindingGroup, UserKeyMap, keys_of, make_key_binding_group
from app.tui.keys.page_keys import PageKey, textual_bindings
from widgets.editor.prompt_editor import PromptEditor
from widgets.editor.vi.vi_keys import BINDINGS as VI_KEYS
from widgets.key_labels import UNBOUND_KEY_LABEL, format_key_name, key_label
from widgets.screens.action_rows import AppActionRow
from widgets.status.queue import QueueView
from widgets.transcript.searching.search_bar import SearchBar
from widgets.transcript.view import Transcript

_PAGE_BINDING_GROUPS: tuple[KeyBindingGroup, ...] = (
    make_key_binding_group("the editor", PromptEditor.BINDINGS),
    make_key_binding_group("the transcript's blocks", Transcript.BINDINGS),
    make_key_binding_group("the search in the transcript", SearchBar.BINDINGS),
    make_key_binding_group("queued messages", QueueView.BINDINGS),
    make_key_binding_group("vi's normal and visual mode", VI_KEYS),
)
_EXTENSION_KEYS_TITLE = "Extensions"
_ADDED_COMMANDS_TITLE = "Added by extensions, prompts and skills"
_PALETTE_GROUP_BY_ACTION_SUBJECT = {
    "model": "Model",
    "thinking": "Model",
    "session": "Sessions",
    "context": "Context",
    "compaction": "Context",
    "files": "Files and changes",
    "review": "Files and changes",
    **dict.fromkeys(("message", "plan", "queue", "retry", "todos", "tools"), "Work"),
    "approval": "Permissions",
    "permissions": "Permissions",
}
"""The palette's headings for actions of the page, by the second word of their id."""
_LAST_PALETTE_GROUP = "Screen"
_ACTIONS_NOT_IN_PALETTE = {
    "app.interrupt",
    "app.clear",
    "app.palette",
    "tui.editor.closeCompletion",
    "transcript.leave",
}
_COMMANDS_NOT_IN_PALETTE = {"keys"}
"""Slash commands that do the same as another one."""
_ACTIONS_LAST_IN_PALETTE = ("app.suspend", "app.exit")
"""Actions that leave the page; the first row of the palette must never be one of them."""

_PALETTE_SEARCH_WORDS = {
    "undo": "go back rewind revert restore checkpoint",
    "redo": "go forward",
    "tree": "go back rewind checkpoint earlier prompt history branches",
    "fork": "go back rewind branch",
    "resume": "continue history sessions",
    "new": "clear reset start over",
    "hotkeys": "shortcuts keyboard bindings",
    "help": "shortcuts commands",
    "settings": "preferences options configuration",
    "compact": "summarise shorten context",
    "usage": "cost money price tokens statistics",
    "login": "sign in account api key",
    "permissions": "approvals allow deny mode",
    "memory": "AGENTS.md CLAUDE.md instructions",
    "mcp": "servers tools",
    "export": "share save html",
    "quit": "exit leave close",
}
"""Words by which people search a command in the palette, beside its name and description."""


class ActionTable:
    """All actions of the application with their keys, for the palette and the list of keys."""

    def __init__(
        self,
        page: Sequence[PageKey[Any]],
        commands: Callable[[], Sequence[tuple[str, str]]],
        screens: Callable[[], tuple[KeyBindingGroup, ...]],
        hints: Mapping[str, str],
        groups: Mapping[str, str],
    ) -> None:
        """Creates the table. `page`: the page's own keys; `commands`: returns all slash commands with descriptions;
        `screens`: returns the keys of all screens; `hints`: argument names of commands; `groups`: headings of bayou's
        commands."""
        self.hints = hints
        self._group_by_command = groups
        self._page = textual_bindings(page)
        self._slash_command_by_action = {key.id: key.slash_command for key in page if key.slash_command}
        self._command_by_action = {key.id: key.session_command for key in page if key.session_command}
        self._screens = screens
        self.slash_command_descriptions = commands
        self.user_keymap = UserKeyMap()
        """The user's key bindings, as far as they differ from the defaults."""
        self.shortcuts: dict[str, tuple[str, str]] = {}
        """The shortcuts bound by extensions: action and description by key."""

    @cached_property
    def binding_groups(self) -> tuple[KeyBindingGroup, ...]:
        """The groups of key bindings of all widgets and screens, in the order of the list of keys."""
        return (
            make_key_binding_group("the main screen", self._page),
            *_PAGE_BINDING_GROUPS,
            *self._screens(),
        )

    def key_rows(self) -> list[AppActionRow]:
        """Returns the rows of the list of keys; an action that several screens have gets one row, at the first."""
        own, conflicts = self.user_keymap.keys_by_action, self.user_keymap.conflict_by_action
        rows: list[AppActionRow] = []
        told: set[str] = set()
        for one in self.binding_groups:
            for binding in one.bindings:
                if binding.id is None or binding.id in told:
                    continue
                told.add(binding.id)
                rows.append(
                    AppActionRow(
                        id=binding.id,
                        title=self.action_description(binding),
                        keys=keys_of(binding, own),
                        group=one.title[:1].upper() + one.title[1:],
                        is_own=binding.id in own,
                        problem=conflicts.get(binding.id, ""),
                    )
                )
        return rows + self._extension_rows()

    def _extension_rows(self) -> list[AppActionRow]:
        return [
            AppActionRow(id=action, title=meaning, keys=(key,), group=_EXTENSION_KEYS_TITLE)
            for key, (action, meaning) in self.shortcuts.items()
        ]

    def slash_command_group(self, name: str) -> str:
        """Returns the heading for a slash command; extensions, prompts and skills share one."""
        return self._group_by_command.get(name, _ADDED_COMMANDS_TITLE)

    def palette_rows(self) -> list[AppActionRow]:
        """Returns the rows of the palette: actions of the page and slash commands by subject, actions of editor and
        transcript. An action and the slash command that does the same are one row."""
        page, *around = self.binding_groups[:3]
        own = {binding.id for binding in page.bindings}
        names = {name for name, _ in self.slash_command_descriptions()}
        suggested_rules = {binding.id for one in around for binding in one.bindings}
        actions: list[AppActionRow] = []
        others: list[AppActionRow] = []
        for row in self.key_rows():
            if row.id in _ACTIONS_NOT_IN_PALETTE:
                continue
            if row.id in own:
                subject = (*row.id.split("."), "")[1]
                group = _PALETTE_GROUP_BY_ACTION_SUBJECT.get(subject, _LAST_PALETTE_GROUP)
                twin = self._slash_command_by_action.get(row.id, "")
                actions.append(
                    AppActionRow(
                        id=row.id,
                        title=row.title,
                        keys=row.keys,
                        group=group,
                        detail=f"/{twin}" if twin in names else "",
                        words=_PALETTE_SEARCH_WORDS.get(twin, ""),
                    )
                )
            elif row.id in suggested_rules or row.group == _EXTENSION_KEYS_TITLE:
                others.append(AppActionRow(id=row.id, title=row.title, keys=row.keys, group=row.group))
        commands = [
            AppActionRow(
                id=f"/{name}",
                title=f"/{name}",
                detail=text,
                group=self.slash_command_group(name),
                words=_PALETTE_SEARCH_WORDS.get(name, ""),
            )
            for name, text in self.slash_command_descriptions()
            if name not in _COMMANDS_NOT_IN_PALETTE | set(self._slash_command_by_action.values())
        ]
        leaving = [
            msgspec.structs.replace(row, group="Leaving")
            for row in actions
            if row.id in _ACTIONS_LAST_IN_PALETTE
        ]
        about = [*(row for row in actions if row.id not in _ACTIONS_LAST_IN_PALETTE), *commands]
        groups = list(dict.fromkeys((*self._group_by_command.values(), *(row.group for row in about))))
        about.sort(key=lambda row: groups.index(row.group))
        return [*about, *others, *leaving]

    def action_description(self, binding: Binding) -> str:
        """Returns the description of a binding's action."""
        verb = self._command_by_action.get(binding.id or "")
        return describe_session_command(verb) if verb else binding.description

    def keys_of(self, action: str) -> tuple[str, ...]:
        """Returns an action's keys in Textual's spelling; if several screens have the action, those of the first."""
        for one in self._groups_page_first():
            for binding in one.bindings:
                if binding.id == action:
                    return keys_of(binding, self.user_keymap.keys_by_action)
        return ()

    def key_of(self, action: str) -> str:
        """Returns the label of an action's first key; empty if the action has no key."""
        key = next(iter(self.keys_of(action)), UNBOUND_KEY_LABEL)
        return "" if key == UNBOUND_KEY_LABEL else format_key_name(key)

    def key_label(self, action: str, usual: str) -> str:
        """Returns the key label for a text: `usual` unless the user has bound another key; empty if
        the action has no key."""
        return key_label(self.user_keymap.keys_by_action, action, usual)

    def _groups_page_first(self) -> Iterator[KeyBindingGroup]:
        """Yields the groups of key bindings, those of the page first, so that most lookups import no screen."""
        yield make_key_binding_group("the main screen", self._page)
        yield from _PAGE_BINDING_GROUPS
        yield from self.binding_groups
