"""Asking whether a project's own settings, extensions and commands may be used: exactly what would come into force."""

from app.resources.files import FileFault
from app.resources.trust import question_for, remember
from app.tui.pages.asking import ask
from app.tui.stage import Stage
from app.tui.status.bars import short_path
from widgets.lists.rows import ListRow
from widgets.screens.dialogs import QuestionScreen
from widgets.transcript.blocks import NoteKind

_LONGEST_NAME = 40
"""Up to which what is told of a file begins in one column."""
_ANSWERS = (
    ListRow(id="yes", title="Trust this folder"),
    ListRow(id="no", title="Do not trust it"),
    ListRow(id="later", title="Decide later"),
)


async def ask_trust(app: Stage, *, grace: float = 0.0) -> None:
    """The answer is kept for the folder, and counts at once. `grace`: when the person did not ask for the question."""
    paths = app.assembled.prompt.paths
    question = question_for(paths.cwd)
    if question.is_empty:
        app.presenter.note("This folder has nothing of its own that bayou would run or use.")
        return
    kinds = max(len(item.kind) for item in question.items)
    names = min(_LONGEST_NAME, max(len(str(item.path)) for item in question.items))
    listed = "\n".join(
        f"{item.kind:<{kinds}}  {item.path!s:<{names}}  {item.detail}".rstrip() for item in question.items
    )
    text = f"{short_path(paths.cwd, app.home)} brings along:\n\n{listed}"
    chosen: ListRow | None = await ask(
        app, QuestionScreen("Trust this project?", text, _ANSWERS, grace=grace, clock=app.clock)
    )
    if chosen is None or chosen.id == "later":
        return
    try:
        remember(paths, question, is_trusted=chosen.id == "yes")
    except FileFault as problem:
        app.presenter.note(str(problem), NoteKind.ERROR)
        return
    word = "is trusted" if chosen.id == "yes" else "is not trusted"
    if app.extended is None:
        app.presenter.note(f"This folder {word}. That counts from the next start of bayou.")
        return
    await app.extended.trust(chosen.id == "yes")
    app.presenter.note(f"This folder {word}. Its settings, prompts, skills and extensions follow that now.")
