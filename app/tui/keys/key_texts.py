"""What is told on the page with its key names the key that is in force."""

from collections.abc import Callable, Sequence

from app.tui.transcript.presenter import Presenter
from widgets.editor.prompt import PromptEditor
from widgets.status.queue import QueueView
from widgets.status.todos import TodoView

PLACEHOLDER = "Ask anything · / commands · @ files · ! shell"
_WAITING = (("app.message.dequeue", "takes them back"), ("app.queue.focus", "edits and moves them"))
_AT_BLOCKS = (
    ("transcript.next-block", "next"),
    ("transcript.previous-block", "previous"),
    ("transcript.copy-block", "copy"),
    ("transcript.toggle-block", "open"),
    ("transcript.full-screen", "whole"),
    ("transcript.leave", "back"),
)


class KeyTexts:
    """The texts of one page."""

    def __init__(
        self,
        key_of: Callable[[str], str],
        *,
        editor: PromptEditor,
        queue_view: QueueView,
        todo_view: TodoView,
        presenter: Presenter,
    ) -> None:
        """`key_of`: the key of an action, as it is written for a person; nothing when it has none."""
        self._key_of = key_of
        self._editor = editor
        self._queue_view = queue_view
        self._todo_view = todo_view
        self._presenter = presenter
        self.at_blocks = ""
        """What the keys do while the keyboard is at the blocks of the transcript."""

    def tell(self) -> None:
        """At the start, and whenever keys have changed."""
        key, presenter = self._key_of, self._presenter
        palette = key("app.palette")
        self._editor.surface.placeholder = f"{PLACEHOLDER} · {palette} everything" if palette else PLACEHOLDER
        presenter.renderers.retry_key = key("app.retry")
        self._queue_view.hint = self._hint(_WAITING)
        self._todo_view.hint = self._hint((("app.todos.fold", "folds"),))
        self.at_blocks = self._hint(_AT_BLOCKS)
        full, compacted = key("app.compaction.preview"), key("app.compaction.undo")
        presenter.offers = {
            "contextFull": f"{full} writes the summary for you to read and change first." if full else "",
            "compacted": f"{compacted} goes back to the full history" if compacted else "",
        }

    def _hint(self, actions: Sequence[tuple[str, str]]) -> str:
        """`alt+up takes them back · …`; what has no key is left out."""
        named = ((self._key_of(action), does) for action, does in actions)
        return " · ".join(f"{key} {does}" for key, does in named if key)
