"""Updates the texts of the page that name keys, so that they show the user's current keys."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from app.engine.core.model_choice import ModelChoice
from app.tui.transcript.presenter import TranscriptPresenter
from app.values.messages import AssistantMessage
from widgets.editor.prompt_editor import PromptEditor
from widgets.status.queue import QueueView

PROMPT_EDITOR_PLACEHOLDER = "Ask anything · / commands · @ files · ! shell"
READ_ONLY_EDITOR_PLACEHOLDER = "Read-only · /clone continues in a copy"
FindKeyLabel = Callable[[str], str]
"""Returns the label of an action's key; empty if it has none."""
_MESSAGE_QUEUE_KEY_HINTS = (("app.message.dequeue", "back to editor"), ("app.queue.focus", "edit queue"))
_TRANSCRIPT_BLOCK_KEY_HINTS = (
    ("transcript.next-block", "next"),
    ("transcript.previous-block", "previous"),
    ("transcript.copy-block", "copy"),
    ("transcript.toggle-block", "expand"),
    ("transcript.full-screen", "full screen"),
    ("transcript.leave", "back"),
)


class KeyHintUpdater(msgspec.Struct):
    """Updates the texts of one page that name keys, after the user changed keys."""

    key_of: FindKeyLabel
    is_read_only: Callable[[], bool]
    editor: PromptEditor
    queue_view: QueueView
    presenter: TranscriptPresenter
    block_hints: str = ""
    """The key hints that are shown while the transcript has the focus."""

    def update_all(self) -> None:
        """Updates all texts, at the start and when keys have changed."""
        key, presenter = self.key_of, self.presenter
        self.update_placeholder()
        presenter.renderers.retry_key = key("app.retry")
        self.queue_view.hint = self._key_hint(_MESSAGE_QUEUE_KEY_HINTS)
        self.block_hints = self._key_hint(_TRANSCRIPT_BLOCK_KEY_HINTS)
        full, compacted = key("app.compaction.preview"), key("app.compaction.undo")
        presenter.next_step_by_subject = {
            "contextFull": f"{full} lets you edit the summary first." if full else "",
            "compacted": f"{compacted} restores the full history" if compacted else "",
        }

    def update_placeholder(self) -> None:
        """Updates the editor's placeholder when another session is shown."""
        palette = self.key_of("app.palette")
        invites = READ_ONLY_EDITOR_PLACEHOLDER if self.is_read_only() else PROMPT_EDITOR_PLACEHOLDER
        self.editor.surface.placeholder = f"{invites} · {palette} everything" if palette else invites
        self.editor.refresh()

    def _key_hint(self, actions: Sequence[tuple[str, str]]) -> str:
        """Returns a text with the current keys of actions, such as `alt+up edit queue · …`; actions without a key are
        left out."""
        named = ((self.key_of(action), does) for action, does in actions)
        return " · ".join(f"{key} {does}" for key, does in named if key)


def make_failure_advice_finder(
    choice: ModelChoice, key_of: FindKeyLabel, env: Mapping[str, str]
) -> Callable[[AssistantMessage], str]:
    """Returns a function that suggests the next step after a failed answer, with this page's keys."""

    def step(message: AssistantMessage) -> str:
        from app.assembly.failure_advice import FailureAdvice, FailureAdviceTexts  # noqa: PLC0415  (with the first answer that fails)

        ways = FailureAdviceTexts(
            log_in="/login",
            choose_model=f"{key_of('app.model.select') or '/model'} chooses",
            show_context="/context shows the usage and drops large results, /compact summarises older messages",
        )
        return FailureAdvice(choice, ways, env).next_step(message)

    return step
