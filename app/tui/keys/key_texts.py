"""Updates texts of the page that name keys, so that they show the current keys."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from app.engine.core.model_choice import ModelChoice
from app.tui.transcript.presenter import Presenter
from app.values.messages import AssistantMessage
from widgets.editor.prompt import PromptEditor
from widgets.status.queue import QueueView

EDITOR_PLACEHOLDER = "Ask anything · / commands · @ files · ! shell"
READ_ONLY = "Read-only · /clone goes on in a copy"
KeyOf = Callable[[str], str]
"""Returns the label of an action's key; empty if it has none."""
_WAITING = (("app.message.dequeue", "takes them back"), ("app.queue.focus", "edits and moves them"))
_AT_BLOCKS = (
    ("transcript.next-block", "next"),
    ("transcript.previous-block", "previous"),
    ("transcript.copy-block", "copy"),
    ("transcript.toggle-block", "open"),
    ("transcript.full-screen", "whole"),
    ("transcript.leave", "back"),
)


class KeyTexts(msgspec.Struct):
    """Updates the key hints in the texts of one page."""

    key_of: KeyOf
    is_read_only: Callable[[], bool]
    editor: PromptEditor
    queue_view: QueueView
    presenter: Presenter
    at_blocks: str = ""
    """The key hints that are shown while the transcript has the focus."""

    def tell(self) -> None:
        """Updates all texts, at the start and when keys have changed."""
        key, presenter = self.key_of, self.presenter
        self.tell_of_session()
        presenter.renderers.retry_key = key("app.retry")
        self.queue_view.hint = self._hint(_WAITING)
        self.at_blocks = self._hint(_AT_BLOCKS)
        full, compacted = key("app.compaction.preview"), key("app.compaction.undo")
        presenter.offers = {
            "contextFull": f"{full} lets you edit the summary first." if full else "",
            "compacted": f"{compacted} goes back to the full history" if compacted else "",
        }

    def tell_of_session(self) -> None:
        """Updates the editor's placeholder when another session is shown."""
        palette = self.key_of("app.palette")
        invites = READ_ONLY if self.is_read_only() else EDITOR_PLACEHOLDER
        self.editor.surface.placeholder = f"{invites} · {palette} everything" if palette else invites
        self.editor.refresh()

    def _hint(self, actions: Sequence[tuple[str, str]]) -> str:
        """Returns key hints such as `alt+up edit queue · …`; actions without a key are left out."""
        named = ((self.key_of(action), does) for action, does in actions)
        return " · ".join(f"{key} {does}" for key, does in named if key)


def next_steps(
    choice: ModelChoice, key_of: KeyOf, env: Mapping[str, str]
) -> Callable[[AssistantMessage], str]:
    """Returns a function that suggests the next step after a failed answer, with this page's keys."""

    def step(message: AssistantMessage) -> str:
        from app.assembly.error_remedies import NextSteps, RemedyTexts  # noqa: PLC0415  (with the first answer that fails)

        ways = RemedyTexts(
            log_in="/login",
            choose_model=f"{key_of('app.model.select') or '/model'} chooses",
            show_context="/context shows what fills the window and takes single messages out, /compact makes room",
        )
        return NextSteps(choice, ways, env).of(message)

    return step
