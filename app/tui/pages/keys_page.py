"""`/hotkeys` and the palette: what keys do now, a new key for an action, and any action by its name.

Also what a begun chord does: its keys are taken here before anybody else hears them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from textual.events import Key

from app.resources.files import FileFault, Stamp, stamp
from app.tui.keys.key_table import KeyTable
from app.tui.keys.keymap import KeyMap, bind, read_keymap
from app.tui.pages.asking import ask, pick
from app.tui.stage import PLACEHOLDER, Stage
from app.values.json_comments import JsonFault
from widgets.chords import Chords
from widgets.editor.line_input import LineInput
from widgets.editor.prompt import PromptEditor
from widgets.lists.rows import ListRow
from widgets.screens.catalogue import KeyScreen, hotkeys_screen, palette_screen
from widgets.screens.parts import key_name
from widgets.screens.picker import Picked
from widgets.terminal.view import TerminalScreen
from widgets.textual_inside import bindings_of
from widgets.transcript.blocks import NoteKind
from widgets.transcript.view import Transcript

_WAITING = (("app.message.dequeue", "takes them back"), ("app.queue.focus", "edits and moves them"))
_AT_BLOCKS = (
    ("transcript.next-block", "next"),
    ("transcript.previous-block", "previous"),
    ("transcript.copy-block", "copy"),
    ("transcript.toggle-block", "open"),
    ("transcript.full-screen", "whole"),
    ("transcript.leave", "back"),
)


class KeysPage:
    """The keys of one application."""

    def __init__(self, app: Stage, actions: KeyTable) -> None:
        self._app = app
        self._actions = actions
        self._chords = Chords({})
        self.at_blocks = ""
        """What the keys do while the keyboard is at the blocks of the transcript."""
        self._stamp: Stamp = None

    @property
    def _file(self) -> Path:
        return self._app.assembled.prompt.paths.keybindings_file

    def follow(self) -> None:
        """Reads the file again if it is another than it was: looked at with each key, where it makes a difference."""
        if stamp(self._file) == self._stamp:
            return
        problems = self.read()
        for text in problems:
            self._app.presenter.note(text, NoteKind.WARNING)
        if not problems:
            self._app.presenter.note("Your keys were read again.")

    def read(self) -> tuple[str, ...]:
        """Puts the person's own keys in force; returns what is wrong with their file."""
        file, is_first = self._file, self._stamp is None
        self._stamp = stamp(file)
        keymap: KeyMap = read_keymap(file, self._actions.places)
        if not keymap.is_read:
            what_stays = "The default keys stay." if is_first else "The keys stay as they were."
            return tuple(f"{problem}. {what_stays}" for problem in keymap.problems)
        self._app.keymap = keymap
        self._app.set_keymap(keymap.keys)
        self._tell_keys()
        self._chords = Chords({action: keys.split(",") for action, keys in keymap.keys.items()})
        clashes = [
            f"{file}: the chord {chord} of {action} begins like another of {owner}"
            for chord, owner, action in self._chords.conflicts
        ]
        return (*keymap.problems, *clashes)

    def _tell_keys(self) -> None:
        """What is told with its key names the key that is in force."""
        key, presenter = self._actions.key_of, self._app.presenter
        palette = key("app.palette")
        self._app.editor.surface.placeholder = (
            f"{PLACEHOLDER} · {palette.lower()} everything" if palette else PLACEHOLDER
        )
        presenter.drawing.retry_key = key("app.retry")
        self._app.queue_view.hint = self._hint(_WAITING)
        self.at_blocks = self._hint(_AT_BLOCKS)
        full, compacted = key("app.compaction.preview"), key("app.compaction.undo")
        presenter.offers = {
            "contextFull": f"{full} writes the summary for you to read and change first." if full else "",
            "compacted": f"{compacted} goes back to the full history" if compacted else "",
        }

    def _hint(self, actions: Sequence[tuple[str, str]]) -> str:
        named = ((self._actions.key_of(action).lower(), does) for action, does in actions)
        return " · ".join(f"{key} {does}" for key, does in named if key)

    async def table(self) -> None:
        """Enter on an action asks for a new key, until one leaves."""
        at, note = "", ""
        while True:
            rows = self._actions.key_rows()
            problems = sum(1 for row in rows if row.problem)
            note = note or (f"{problems} conflicts" if problems else "")
            picked: Picked | None = await ask(self._app, hotkeys_screen(rows, note=note, current=at))
            if picked is None:
                return
            at = picked.row.id
            row = next(row for row in rows if row.id == at)
            key: str | None = await ask(self._app, KeyScreen(row))
            note = "" if key is None else self._rebind(row.id, key)

    def _rebind(self, action: str, key: str) -> str:
        file = self._file
        try:
            bind(file, action, key or None)
        except (FileFault, JsonFault) as problem:
            return f"{file}: {problem}"
        self.read()
        conflict = self._app.keymap.conflicts.get(action)
        return conflict or (f"{key_name(key)} it is" if key else "the default again")

    async def commands(self, hints: Mapping[str, str]) -> None:
        """`/help`: what can be written with a slash; Enter begins it in the editor."""
        rows = [
            ListRow(id=f"/{name} ", title=f"/{name} {hints.get(name, '')}".rstrip(), detail=text)
            for name, text in self._actions.command_names()
        ]
        palette, note = self._actions.key_of("app.palette"), "/hotkeys lists the keys"
        picked: Picked | None = await pick(
            self._app,
            "Commands",
            rows,
            choose="write it",
            note=f"{palette} finds everything · {note}" if palette else note,
            is_full_height=True,
        )
        if picked is not None:
            self._app.editor.set_text(picked.row.id)
            self._app.editor.focus()

    async def palette(self) -> None:
        """Every action and command by name; Enter does it."""
        picked: Picked | None = await ask(self._app, palette_screen(self._actions.palette_rows()))
        if picked is None:
            return
        action = picked.row.id
        if action.startswith("/"):
            self._app.editor.set_text(f"{action} ")
            self._app.editor.focus()
            return
        for node in (self._app, self._app.editor, self._app.transcript):
            bound = (one for bindings in bindings_of(node).values() for one in bindings)
            found = next((one for one in bound if one.id == action), None)
            if found is not None:
                if isinstance(node, PromptEditor | Transcript):
                    node.focus()
                await self._app.run_action(found.action, node)
                return

    async def take(self, event: Key) -> bool:
        """Whether the key was a part of a chord, and is used up."""
        if isinstance(self._app.screen, TerminalScreen):
            return False
        self.follow()
        is_text = event.is_printable and isinstance(self._app.focused, PromptEditor | LineInput)
        if is_text and not self._chords.begun:
            return False
        step = self._chords.press(event.key)
        if step.is_waiting:
            further = " · ".join(
                f"{key_name(key)} {self._words(action)}" for key, action in self._chords.choices().items()
            )
            self._app.status.tell(f"{key_name(self._chords.begun)} … {further}")
        elif step.is_used:
            self._app.status.say_again()
        if step.action:
            await self._run(step.action)
        return step.is_used

    def _words(self, action: str) -> str:
        return next((row.title for row in self._actions.key_rows() if row.id == action), action)

    async def _run(self, action: str) -> None:
        """The action as the focus hears it; where nobody does, nothing happens."""
        for active in self._app.screen.active_bindings.values():
            if active.binding.id == action and active.enabled:
                await self._app.run_action(active.binding.action, active.node)
                return
