"""What a key does on the page: a table of ids, default keys, words and deeds; bindings, palette and help come from it.

What keys do inside the editor, the transcript or a screen stands with those.
"""

from collections.abc import Callable

import msgspec
from textual.binding import Binding, BindingType

from app.tui.desk import Desk
from app.tui.keys.keymap import NO_KEY

Do = Callable[[Desk], object]


class PageKey(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    """What `keybindings.json` calls it."""
    keys: str
    help: str
    do: Do
    is_first: bool = False
    """Before the focused widget sees the key."""


CLEAR = "app.clear"
"""Also copies what is selected, on whatever screen."""
_NO_QUEUE = "No message is waiting."


def _cycle_model(step: int) -> Do:
    return lambda app: app.spawn(app.chosen(app.model_page.cycle(step)))


def copy_answer(app: Desk) -> None:
    message = app.session.conversation.last_assistant
    if message is None or not message.text:
        app.presenter.note("There is no answer to copy yet.")
        return
    app.copy(message.text, "answer")


def _open_or_close(app: Desk) -> None:
    transcript = app.transcript
    if transcript.has_focus and transcript.keyboard.cursor:
        transcript.toggle(transcript.keyboard.cursor)
    else:
        transcript.open_all(tools=not transcript.expansion.tools)


def _to_background(app: Desk) -> None:
    moved = app.presenter.running_call_ids()
    for call_id in moved:
        app.session.toolbox.send_to_background(call_id)
    if not moved and app.session.shell.is_running:
        app.presenter.note("Your own command cannot go into the background; Escape stops it.")
    elif not moved:
        app.presenter.note("No tool is running.")


PAGE_KEYS: tuple[PageKey, ...] = (
    PageKey(
        id="app.interrupt", keys="escape", help="Stop; twice: the tree", do=lambda app: app.leaving.escape()
    ),
    PageKey(
        id=CLEAR,
        keys="ctrl+c",
        help="Clear; twice: quit",
        do=lambda app: app.leaving.clear(app.key_table.key_of(CLEAR)),
        is_first=True,
    ),
    PageKey(id="app.exit", keys="ctrl+d", help="Quit", do=lambda app: app.leaving.leave()),
    PageKey(id="app.suspend", keys="ctrl+z", help="Suspend", do=lambda app: app.action_suspend_process()),
    PageKey(
        id="app.palette",
        keys="ctrl+k",
        help="All commands and actions",
        do=lambda app: app.spawn(app.chosen(app.keys_page.palette())),
    ),
    PageKey(
        id="app.model.select",
        keys="ctrl+l",
        help="Choose a model",
        do=lambda app: app.spawn(app.chosen(app.model_page.choose())),
    ),
    PageKey(id="app.model.cycleForward", keys="ctrl+p", help="Next model", do=_cycle_model(1)),
    PageKey(id="app.model.cycleBackward", keys="ctrl+shift+p", help="Previous model", do=_cycle_model(-1)),
    PageKey(
        id="app.session.tree",
        keys=NO_KEY,
        help="The session tree",
        do=lambda app: app.spawn(app.chosen(app.session_tree.open())),
    ),
    PageKey(
        id="app.session.resume",
        keys=NO_KEY,
        help="Go on with another session",
        do=lambda app: app.spawn(app.chosen(app.sessions_page.open())),
    ),
    PageKey(
        id="app.session.fork",
        keys=NO_KEY,
        help="Go on from before a prompt, in a new file",
        do=lambda app: app.spawn(app.chosen(app.sessions_page.fork())),
    ),
    PageKey(
        id="app.session.new",
        keys=NO_KEY,
        help="Begin a new session",
        do=lambda app: app.spawn(app.chosen(app.sessions_page.new())),
    ),
    PageKey(
        id="app.context.show",
        keys="alt+c",
        help="What fills the context window",
        do=lambda app: app.spawn(app.chosen(app.context_page.open())),
    ),
    PageKey(
        id="app.compaction.preview",
        keys="alt+s",
        help="Summarise the older part, the summary to be changed first",
        do=lambda app: app.spawn(app.chosen(app.context_page.preview())),
    ),
    PageKey(
        id="app.compaction.undo",
        keys="alt+u",
        help="Back to the full history, before the last compaction",
        do=lambda app: app.spawn(app.chosen(app.context_page.undo())),
    ),
    PageKey(
        id="app.thinking.cycle",
        keys="shift+tab",
        help="Next thinking level",
        do=lambda app: app.spawn(app.chosen(app.model_page.cycle_level())),
        is_first=True,
    ),
    PageKey(
        id="app.thinking.toggle",
        keys="ctrl+t",
        help="Show or hide thinking",
        do=lambda app: app.transcript.open_all(thinking=not app.transcript.expansion.thinking),
    ),
    PageKey(
        id="app.tools.expand",
        keys="ctrl+o",
        help="Open or close all tools, or the block that the keyboard is at",
        do=_open_or_close,
    ),
    PageKey(
        id="app.tools.background",
        keys="ctrl+b",
        help="Put the running tool into the background",
        do=_to_background,
    ),
    PageKey(
        id="app.message.dequeue",
        keys="alt+up",
        help="Take queued messages back",
        do=lambda app: app.waiting.take_back(),
    ),
    PageKey(
        id="app.queue.focus",
        keys="alt+q",
        help="Edit, move or remove queued messages",
        do=lambda app: app.queue_view.focus() if app.queue_view.rows else app.presenter.note(_NO_QUEUE),
    ),
    PageKey(id="app.message.copy", keys="ctrl+x", help="Copy the last answer", do=copy_answer),
    PageKey(
        id="app.transcript.focus",
        keys="f6,alt+t",
        help="Go to the transcript's blocks",
        do=lambda app: app.transcript.focus(),
    ),
    PageKey(
        id="tui.altScreen.search",
        keys="ctrl+f,f3,ctrl+shift+f",
        help="Search the transcript",
        do=lambda app: app.search_bar.open(),
        is_first=True,
    ),
    PageKey(
        id="app.retry",
        keys="alt+r,f5",
        help="Try again after an error or a stop",
        do=lambda app: app.action_retry(),
    ),
    PageKey(
        id="tui.altScreen.previousPrompt",
        keys="ctrl+up,ctrl+shift+up",
        help="Previous prompt",
        do=lambda app: app.transcript.keyboard.prompt(-1),
    ),
    PageKey(
        id="tui.altScreen.nextPrompt",
        keys="ctrl+down,ctrl+shift+down",
        help="Next prompt",
        do=lambda app: app.transcript.keyboard.prompt(1),
    ),
    PageKey(
        id="tui.altScreen.pageUp",
        keys="pageup",
        help="Page up",
        do=lambda app: app.transcript.keyboard.page(-1),
    ),
    PageKey(
        id="tui.altScreen.pageDown",
        keys="pagedown",
        help="Page down",
        do=lambda app: app.transcript.keyboard.page(1),
    ),
    PageKey(
        id="tui.altScreen.top",
        keys="ctrl+home",
        help="To the beginning",
        do=lambda app: app.transcript.keyboard.go_home(),
    ),
    PageKey(
        id="tui.altScreen.bottom",
        keys="ctrl+end",
        help="To the end",
        do=lambda app: app.transcript.keyboard.go_end(),
    ),
)
BY_ID = {act.id: act for act in PAGE_KEYS}
BINDINGS: list[BindingType] = [
    Binding(act.keys, f"act('{act.id}')", act.help, id=act.id, priority=act.is_first) for act in PAGE_KEYS
]
