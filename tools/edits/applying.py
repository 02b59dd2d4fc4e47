"""Edits of one or several files carried out: computed and written under the locks of all of them, all or none.

What an edit means is the dialects' business; here stands what every one of them does around it.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from tools.base import ToolContext
from tools.edits.editing import Edited
from tools.edits.shown import ShownLines
from tools.edits.syntax import SyntaxOf
from tools.files.failures import file_error
from tools.files.mutations import AppliedChange, FileState, NewContent
from tools.files.paths import display
from tools.files.places import locate
from tools.results import TextPart, ToolResult
from tools.text import one_line, visible
from tools.workspace import Workspace, workspace_of


class EditedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is to be edited."""

    path: str
    """Absolute."""
    real: str
    shown: str
    """As people and models read it."""
    key: str
    """Under which it is known what the model saw of it."""
    is_notebook: bool


Make = Callable[[EditedFile, bytes, ShownLines, Callable[[str], SyntaxOf]], Edited]
"""What an edit makes of a file's bytes; the last gives the check of syntax for a text of it."""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    target: EditedFile
    edited: Edited


async def target_of(raw: str, context: ToolContext) -> EditedFile:
    workspace = workspace_of(context)

    def found() -> EditedFile:
        path = locate(workspace, raw, context)
        real = workspace.files.real_path(path)
        is_notebook = path.lower().endswith(".ipynb")
        return EditedFile(
            path=path,
            real=real,
            shown=display(path, context.cwd),
            key=notebook_key(real) if is_notebook else real,
            is_notebook=is_notebook,
        )

    return await asyncio.to_thread(found)


def notebook_key(real: str) -> str:
    """What was shown of a notebook are other lines than those of the file."""
    return f"{real}\0cells"


async def edit_files(context: ToolContext, jobs: Sequence[tuple[EditedFile, Make]]) -> tuple[Done, ...]:
    """Raises `ToolError`, with every file as it was."""
    workspace = workspace_of(context)
    made: list[Edited] = []

    def compute(states: Sequence[FileState | None]) -> list[NewContent | None]:
        made.clear()
        contents: list[NewContent | None] = []
        for (target, make), state in zip(jobs, states, strict=True):
            if state is None:
                raise FileNotFoundError(2, "No such file", target.path)
            edited = make(target, state.data, shown_of(workspace, target), _syntax_of(workspace, target))
            made.append(edited)
            contents.append(_content(edited))
        return contents

    try:
        changes = await workspace.mutations.change_all(
            [target.path for target, _ in jobs], context.call_id, compute
        )
    except OSError as problem:
        named = problem.filename if isinstance(problem.filename, str) else jobs[0][0].path
        raise file_error(problem, "edit", named, workspace.files) from None
    done = tuple(Done(target=target, edited=edited) for (target, _), edited in zip(jobs, made, strict=True))
    for one, change in zip(done, changes, strict=True):
        _remember(workspace, one, change)
    return done


def shown_of(workspace: Workspace, target: EditedFile) -> ShownLines:
    cache = workspace.read_cache
    return ShownLines(lines=dict(cache.lines(target.key)), sent=cache.sent(target.real))


def _syntax_of(workspace: Workspace, target: EditedFile) -> Callable[[str], SyntaxOf]:
    name = "" if target.is_notebook else target.path
    return lambda text: workspace.syntax.of(name, text)


def _content(edited: Edited) -> NewContent | None:
    if edited.data is None:
        return None
    return NewContent(data=edited.data, added=edited.diff.added, removed=edited.diff.removed)


def _remember(workspace: Workspace, done: Done, change: AppliedChange | None) -> None:
    """The model knows all of what it changed."""
    target, edited, cache = done.target, done.edited, workspace.read_cache
    if change is None:
        return
    cache.note_edits(target.real, edited.sent)
    if edited.is_as_stored:
        cache.record_whole(target.real, change.version, edited.text)
    else:
        cache.forget(target.real)
        cache.record_whole(target.key, change.version, edited.text)


# What is said of it


def result_of(done: Sequence[Done]) -> ToolResult:
    changed = [one for one in done if one.edited.data is not None]
    said: list[str] = []
    if changed:
        count = sum(one.edited.count for one in changed)
        where = ", ".join(one_line(one.target.shown) for one in changed)
        said.append(f"Successfully replaced {count} block(s) in {where}.")
    for one in done:
        name = f"{one_line(one.target.shown)}: " if len(done) > 1 else ""
        said += [f"{name}{note}" for note in one.edited.notes]
    text = " ".join(said)
    warnings = [
        f"{one_line(one.target.shown)}:\n{one.edited.warning}" if len(done) > 1 else one.edited.warning
        for one in done
        if one.edited.warning
    ]
    if warnings:
        text += "\n\n" + "\n".join(warnings)
    return ToolResult(content=(TextPart(text=visible(text)),), details=_details(done))


def _details(done: Sequence[Done]) -> dict[str, Any]:
    edits = [one.edited for one in done]
    details: dict[str, Any] = {
        "diff": visible("\n".join(edited.diff.display for edited in edits if edited.diff.display)),
        "patch": visible("".join(edited.diff.patch for edited in edits)),
        "added": sum(edited.diff.added for edited in edits),
        "removed": sum(edited.diff.removed for edited in edits),
        "strategies": [strategy for edited in edits for strategy in edited.strategies],
        "syntax": "checked" if all(edited.is_checked for edited in edits) else "not checked",
    }
    if len(done) > 1:
        details["files"] = [
            {
                "path": one_line(one.target.shown),
                "patch": visible(one.edited.diff.patch),
                "added": one.edited.diff.added,
                "removed": one.edited.diff.removed,
            }
            for one in done
        ]
    elif edits[0].diff.first_changed_line is not None:
        details["firstChangedLine"] = edits[0].diff.first_changed_line
    warnings = [visible(edited.warning) for edited in edits if edited.warning]
    if warnings:
        details["warning"] = "\n".join(warnings)
    return details
