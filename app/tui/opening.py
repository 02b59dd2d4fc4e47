"""What happens when the page is first shown: before its first paint as little as possible, the rest behind it."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.assembly.extending import Extended
from app.tui import bars, look
from app.tui.extended import adopt
from app.tui.keymap import read_keymap
from app.tui.trusting import ask_trust
from app.values.content import Image
from widgets.editor.prompt import PromptEditor
from widgets.status.queue import QueueView
from widgets.terminal.view import TerminalScreen
from widgets.transcript.blocks import NoteKind
from widgets.transcript.view import Transcript

if TYPE_CHECKING:
    from app.tui.app import BayouApp

Extend = Callable[["BayouApp"], Awaitable[Extended]]
"""Loads the session's extensions for this face."""
WELCOME = (
    "The offline guide is active: a small program that works with your files, and no language model.\n"
    "Connect one with /login, or with a key in the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, …), then /model.\n"
    "Three things to try: read README.md · map FILE · run git status"
)


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks to happen at the start."""

    extend: Extend | None = None
    keymap_file: Path | None = None
    opens_sessions: bool = False
    """`--resume`: choose a session first."""
    prompts: tuple[str, ...] = ()
    typed: str = ""
    """What was typed before the editor was there."""
    images: tuple[Image, ...] = ()
    """Go with the first prompt."""

    def begin(self, app: "BayouApp") -> None:
        """Before the first paint."""
        problem = app.use_theme(app.assembled.theme)
        if problem is not None:
            app.presenter.note(problem, NoteKind.WARNING)
            app.use_theme(look.DARK)
        app.session.subscribe(app.presenter.show)
        app.presenter.show_all()
        if bars.is_offline_session(app.session):
            app.presenter.note(WELCOME)
        for text in (*app.assembled.problems, *self._use_keymap(app)):
            app.presenter.note(text, NoteKind.WARNING)
        app.editor.focus()
        if draft := app.drafts.restore():
            app.editor.set_text(draft)
        if self.typed:
            app.editor.paste(self.typed)
        app.status.refresh()

    async def complete(self, app: "BayouApp") -> None:
        """After it: extensions, the model's own parts, then what the command line asks."""
        gc.freeze()
        gc.enable()
        if self.extend is not None:
            adopt(app, await self.extend(app))
        warm_up(app)
        if app.assembled.trust.needs_answer:
            await ask_trust(app)
        if self.opens_sessions:
            await app.chosen(app.choosing.session())
        for index, prompt in enumerate(self.prompts):
            await app.sending.prompt(prompt, self.images if index == 0 else ())
            await app.session.wait_until_idle()

    def _use_keymap(self, app: "BayouApp") -> tuple[str, ...]:
        """A person's own keys; returns what is wrong with their file."""
        if self.keymap_file is None:
            return ()
        groups = (
            app.BINDINGS,
            PromptEditor.BINDINGS,
            Transcript.BINDINGS,
            QueueView.BINDINGS,
            TerminalScreen.BINDINGS,
        )
        keymap = read_keymap(self.keymap_file, groups)
        app.set_keymap(keymap.keys)
        return keymap.problems


def warm_up(app: "BayouApp") -> None:
    """Imports what the chosen model needs, beside the event loop, so that the first request waits for nothing."""
    model, registry = app.session.choice.model, app.session.requests.registry
    if model is not None:
        app.spawn(asyncio.to_thread(registry.warm, model.api))
