"""Asks whether a project's settings, extensions and commands may be used, and lists exactly what would take effect."""

import time
from collections.abc import Awaitable, Callable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.assembly.assembled_session import AssembledSession
from app.resources.paths import BayouPaths
from app.resources.trust.project_items import ProjectTrustItem
from app.resources.trust.project_trust import (
    TrustQuestion,
    new_trust_items,
    store_trust_answer,
    trust_question_for,
)
from app.tui.features.extensions.trust_screen import ProjectTrustScreen
from app.tui.page_protocols import AskOnScreen, ShowMessage
from app.tui.status.header_and_footer import short_path
from app.values.user_errors import FileError
from tools.text_sanitizing import reveal_hidden_characters
from widgets.lists.list_rows import ListRow
from widgets.screens.dialogs import DIALOG_GRACE_SECONDS
from widgets.screens.preview_pane import PreviewParagraph, PreviewText
from widgets.transcript.transcript_blocks import AppNoteKind

if TYPE_CHECKING:
    from app.assembly.extensions.extension_setup import ConnectedExtensions

_TRUST_ROW = ListRow(id="yes", title="Trust this folder", detail="everything listed above takes effect")
_DO_NOT_TRUST_ROWS = (
    ListRow(id="later", title="Not now", detail="ignored; asks again at the next start"),
    ListRow(id="no", title="Never trust this folder", detail="ignored; does not ask again"),
)
_FILES_TOO_LARGE_TO_TRUST_TEXT = (
    "Some files are too large to check for changes. Remove large files from the folder, or "
    "start with --approve to trust it for one run."
)


class ProjectTrustPage(msgspec.Struct, frozen=True):
    """Asks the trust question for one session's project."""

    assembled: AssembledSession
    ask: AskOnScreen
    show_message: ShowMessage
    connected_extensions: Callable[[], "ConnectedExtensions | None"]
    home: Path
    clock: Callable[[], float] = time.monotonic

    async def open(self, *, is_asked_for: bool = True) -> None:
        await ask_project_trust(
            self.assembled.prompt.paths,
            self.assembled.project_trust.decision.question,
            self.ask,
            self.show_message,
            self._apply_answer,
            home=self.home,
            clock=self.clock,
            is_asked_for=is_asked_for,
        )

    async def _apply_answer(self, question: TrustQuestion, is_trusted: bool) -> bool:
        extended = self.connected_extensions()
        if extended is not None:
            await extended.trust(question, is_trusted)
        return extended is not None


async def ask_project_trust(
    paths: BayouPaths,
    earlier: TrustQuestion,
    ask: AskOnScreen,
    say: ShowMessage,
    apply: Callable[[TrustQuestion, bool], Awaitable[bool]],
    *,
    home: Path,
    clock: Callable[[], float] = time.monotonic,
    is_asked_for: bool = True,
) -> None:
    """Asks whether the project may be trusted, stores the answer for the folder and passes it to `apply`. `earlier`:
    the question as it was asked before.

    `is_asked_for`: the user opened the question; otherwise keys that were meant for the editor do not answer it."""
    question = trust_question_for(paths)
    if question.is_empty:
        say("Nothing in this folder needs your trust.")
        return
    text = PreviewText(parts=tuple(_format_items(question, earlier, short_path(paths.cwd, home))))
    grace = 0.0 if is_asked_for else DIALOG_GRACE_SECONDS
    yes = None if question.exceeded_limit else _TRUST_ROW
    screen = ProjectTrustScreen(
        "Trust this project?", text, _DO_NOT_TRUST_ROWS, yes=yes, grace=grace, clock=clock
    )
    chosen: ListRow | None = await ask(screen)
    if chosen is None or chosen.id == "later":
        return
    is_trusted = chosen.id == "yes"
    if is_trusted and trust_question_for(paths).fingerprint != question.fingerprint:
        say("The folder changed while the question was open, so it is not trusted. /trust asks again.")
        return
    try:
        store_trust_answer(paths, question, is_trusted=is_trusted)
    except FileError as problem:
        say(str(problem), AppNoteKind.ERROR)
        return
    word = "is trusted" if is_trusted else "is not trusted"
    if await apply(question, is_trusted):
        say(f"This folder {word}. Its settings, prompts, skills and extensions were reloaded.")
    else:
        say(f"This folder {word}. Restart bayou to apply this.")


def _format_items(question: TrustQuestion, before: TrustQuestion, folder: str) -> list[PreviewParagraph]:
    """Formats the project's items that would take effect if it is trusted, first those that run something."""
    parts = [PreviewParagraph(text=f"{reveal_hidden_characters(folder)} contains:")]
    if question.exceeded_limit:
        parts.append(PreviewParagraph(text=_FILES_TOO_LARGE_TO_TRUST_TEXT, tone="warning"))
    fresh = set(new_trust_items(question, before)) if before.items else set()
    kinds = max((len(item.kind) for item in question.items), default=0) + 2

    def head(item: ProjectTrustItem) -> str:
        mark = " (new or changed)" if item in fresh else ""
        return f"{item.kind:<{kinds}}{reveal_hidden_characters(item.path)}{mark}"

    for told, items in groupby(question.items, key=head):
        group = list(items)
        tone = "warning" if group[0].runs_code else "muted"
        parts.append(PreviewParagraph(text=told, tone=tone))
        parts += [PreviewParagraph(text=f"{'':{kinds}}{item.display_text}") for item in group]
    return parts
