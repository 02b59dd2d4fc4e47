"""What a key does on the page: a table of ids, default keys, words and deeds; bindings, palette and help come from it.

What keys do inside the editor, the transcript or a screen stands with those.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from textual.binding import Binding, BindingType

from app.tui.keys.keymap import NO_KEY
from app.tui.keys.verb_words import words_of

if TYPE_CHECKING:
    from app.tui.every_page import Pages

Do = Callable[["Pages"], object]
"""What is to be awaited is done beside everything else; when it cannot be had, the person is told why."""


class PageKey(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    """What `keybindings.json` calls it."""
    keys: str
    do: Do
    help: str = ""
    verb: str = ""
    """The session's command that it is, where that is told in its words."""
    is_first: bool = False
    """Before the focused widget sees the key."""


CLEAR = "app.clear"
"""Also copies what is selected, on whatever screen."""


def _cycle_model(step: int) -> Do:
    return lambda pages: pages.models.cycle(step)


PAGE_KEYS: tuple[PageKey, ...] = (
    PageKey(
        id="app.interrupt",
        keys="escape",
        help="Stop; twice: the tree",
        do=lambda pages: pages.leaving.escape(),
    ),
    PageKey(
        id=CLEAR,
        keys="ctrl+c",
        help="Clear; twice: quit",
        do=lambda pages: pages.leaving.clear(pages.action_table.key_of(CLEAR), pages.screen),
        is_first=True,
    ),
    PageKey(id="app.exit", keys="ctrl+d", help="Quit", do=lambda pages: pages.leaving.leave()),
    PageKey(id="app.suspend", keys="ctrl+z", help="Suspend", do=lambda pages: pages.suspend()),
    PageKey(
        id="app.palette",
        keys="ctrl+k",
        help="All commands and actions",
        do=lambda pages: pages.keys.palette(),
    ),
    PageKey(
        id="app.model.select",
        keys="ctrl+l",
        help="Choose a model",
        do=lambda pages: pages.models.choose(),
    ),
    PageKey(id="app.model.cycleForward", keys="ctrl+p", verb="cycle_model", do=_cycle_model(1)),
    PageKey(id="app.model.cycleBackward", keys="ctrl+shift+p", help="Previous model", do=_cycle_model(-1)),
    PageKey(
        id="app.session.tree",
        keys=NO_KEY,
        help="The session tree",
        do=lambda pages: pages.tree.open(),
    ),
    PageKey(
        id="app.session.resume",
        keys=NO_KEY,
        verb="switch_session",
        do=lambda pages: pages.sessions.open(),
    ),
    PageKey(
        id="app.session.fork",
        keys=NO_KEY,
        verb="fork",
        do=lambda pages: pages.sessions.fork(),
    ),
    PageKey(
        id="app.session.new",
        keys=NO_KEY,
        verb="new_session",
        do=lambda pages: pages.sessions.new(),
    ),
    PageKey(
        id="app.context.show",
        keys="alt+c",
        help="What fills the context window",
        do=lambda pages: pages.context.open(),
    ),
    PageKey(
        id="app.compaction.preview",
        keys="alt+s",
        help="Summarise the older part, the summary to be changed first",
        do=lambda pages: pages.context.preview(),
    ),
    PageKey(
        id="app.compaction.undo",
        keys="alt+u",
        verb="undo_compaction",
        do=lambda pages: pages.context.undo(),
    ),
    PageKey(
        id="app.files.undo",
        keys="alt+z",
        verb="undo_files",
        do=lambda pages: pages.files.undo(),
    ),
    PageKey(
        id="app.files.redo",
        keys=NO_KEY,
        verb="redo_files",
        do=lambda pages: pages.files.redo(),
    ),
    PageKey(
        id="app.diff.show",
        keys="alt+g",
        help="What the last prompt changed in files",
        do=lambda pages: pages.diff.open("prompt"),
    ),
    PageKey(
        id="app.thinking.cycle",
        keys="shift+tab",
        verb="cycle_thinking_level",
        do=lambda pages: pages.models.cycle_level(),
        is_first=True,
    ),
    PageKey(
        id="app.thinking.toggle",
        keys="ctrl+t",
        help="Show or hide thinking",
        do=lambda pages: pages.run.show_thinking(),
    ),
    PageKey(
        id="app.tools.expand",
        keys="ctrl+o",
        help="Open or close all tools, or the block that the keyboard is at",
        do=lambda pages: pages.run.open_or_close(),
    ),
    PageKey(
        id="app.tools.background",
        keys="ctrl+b",
        help="Put the running tool into the background",
        do=lambda pages: pages.run.to_background(),
    ),
    PageKey(
        id="app.message.dequeue",
        keys="alt+up",
        verb="clear_queue",
        do=lambda pages: pages.queued.take_back(),
    ),
    PageKey(
        id="app.queue.focus",
        keys="alt+q",
        help="Edit, move or remove queued messages",
        do=lambda pages: pages.queued.focus(),
    ),
    PageKey(
        id="app.plan.toggle",
        keys="alt+o",
        verb="set_plan_mode",
        do=lambda pages: pages.plans.toggle(),
    ),
    PageKey(
        id="app.todos.fold",
        keys="alt+l",
        help="Fold the list of todos into one line, or show it",
        do=lambda pages: pages.todo_list.fold(),
    ),
    PageKey(
        id="app.side.toggle",
        keys="alt+i",
        help="Show or hide changed files, todos and jobs at the right",
        do=lambda pages: pages.side_lists.toggle(pages.settings.keep),
    ),
    PageKey(
        id="app.message.copy",
        keys="ctrl+x",
        help="Copy the last answer",
        do=lambda pages: pages.run.copy_answer(),
    ),
    PageKey(
        id="app.transcript.focus",
        keys="f6,alt+t",
        help="Go to the transcript's blocks",
        do=lambda pages: pages.transcript.focus(),
    ),
    PageKey(
        id="tui.altScreen.search",
        keys="ctrl+f,f3,ctrl+shift+f",
        help="Search the transcript",
        do=lambda pages: pages.search_bar.open(),
        is_first=True,
    ),
    PageKey(
        id="app.retry",
        keys="alt+r,f5",
        help="Try again after an error or a stop",
        do=lambda pages: pages.run.retry(),
    ),
    PageKey(
        id="app.approval.once",
        keys="alt+a",
        help="Let what is asked about run, this once",
        do=lambda pages: pages.approvals.once(),
        is_first=True,
    ),
    PageKey(
        id="app.approval.deny",
        keys="alt+x",
        help="Not; words in the editor go along as the reason",
        do=lambda pages: pages.approvals.deny(),
        is_first=True,
    ),
    PageKey(
        id="app.approval.always",
        keys="alt+w",
        help="A rule that would answer this question from now on",
        do=lambda pages: pages.approvals.always(),
        is_first=True,
    ),
    PageKey(
        id="app.approval.whole",
        keys="alt+v",
        help="All of what is asked about",
        do=lambda pages: pages.approvals.whole(),
        is_first=True,
    ),
    PageKey(
        id="app.approval.enter",
        keys="f8",
        help="Go into the question",
        do=lambda pages: pages.approvals.enter(),
        is_first=True,
    ),
    PageKey(
        id="app.permissions.cycle",
        keys="alt+m",
        help="The next permission mode",
        do=lambda pages: pages.approvals.cycle_mode(),
    ),
    PageKey(
        id="tui.altScreen.previousPrompt",
        keys="ctrl+up,ctrl+shift+up",
        help="Previous prompt",
        do=lambda pages: pages.transcript.keyboard.prompt(-1),
    ),
    PageKey(
        id="tui.altScreen.nextPrompt",
        keys="ctrl+down,ctrl+shift+down",
        help="Next prompt",
        do=lambda pages: pages.transcript.keyboard.prompt(1),
    ),
    PageKey(
        id="tui.altScreen.pageUp",
        keys="pageup",
        help="Page up",
        do=lambda pages: pages.transcript.keyboard.page(-1),
    ),
    PageKey(
        id="tui.altScreen.pageDown",
        keys="pagedown",
        help="Page down",
        do=lambda pages: pages.transcript.keyboard.page(1),
    ),
    PageKey(
        id="tui.altScreen.top",
        keys="ctrl+home",
        help="To the beginning",
        do=lambda pages: pages.transcript.keyboard.go_home(),
    ),
    PageKey(
        id="tui.altScreen.bottom",
        keys="ctrl+end",
        help="To the end",
        do=lambda pages: pages.transcript.keyboard.go_end(),
    ),
)
BY_ID = {key.id: key for key in PAGE_KEYS}
BINDINGS: list[BindingType] = [
    Binding(key.keys, f"act('{key.id}')", key.help, id=key.id, priority=key.is_first) for key in PAGE_KEYS
]


def told(binding: Binding) -> str:
    """What the action of a binding does, in words."""
    key = BY_ID.get(binding.id or "")
    return words_of(key.verb) if key is not None and key.verb else binding.description
