"""Shows what commands take over from the user's shell: aliases, functions, options, their age, and what is missing.

It opens from `bash.ownShell` in `/settings`."""

import time
from collections.abc import Callable
from typing import ClassVar

import msgspec
from textual.binding import BindingType

from app.engine.user_runs.shell_snapshot import ShellSnapshotSource
from app.tui.features.shared_dialogs import read_card
from app.tui.page_protocols import AskPerson
from app.values.user_errors import UserError
from tools.amounts import ago, pluralized
from tools.results import Card, TextBlock
from tools.running.user_shell.shell_snapshot import ShellSnapshot
from tools.text import escape_controls, one_line
from widgets.lists.rows import ListRow
from widgets.screens.picker import Picked, PickerAction, PickerScreen, bindings_of
from widgets.screens.preview import PreviewPart, PreviewText

AGAIN = PickerAction(
    id="app.ownShell.again", keys="ctrl+r", label="take anew", closes=False, needs_row=False, importance=7
)


class OwnShellScreen(PickerScreen):
    """Lists what was taken over from the shell; Enter shows a definition in full."""

    ACTIONS = (AGAIN,)
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)


class OwnShellPage(msgspec.Struct, frozen=True):
    """Shows the imported shell definitions of one session."""

    verbs: ShellSnapshotSource
    ask: AskPerson
    now: Callable[[], float] = time.time

    def in_a_line(self) -> str:
        """Returns a one-line summary for the setting's row."""
        if not self.verbs.is_wanted:
            return ""
        found = self.verbs.view()
        return (
            "Not read yet: the first command reads your startup files."
            if found is None
            else self._summary(found)
        )

    def _summary(self, found: ShellSnapshot) -> str:
        has = [
            pluralized(len(found.aliases), "alias", "aliases"),
            pluralized(len(found.functions), "function"),
            pluralized(len(found.options), "option"),
        ]
        of = f"Taken from {found.shell} {ago(self.now() - found.taken)}"
        return f"{of}: {', '.join(has)}." if found.file else f"{of}: nothing."

    async def open(self) -> None:
        found = self.verbs.view()
        note = ""
        if found is None and self.verbs.is_wanted:
            found, note = await self._take_snapshot()
        current = ""
        while True:
            screen = OwnShellScreen(
                "Your shell, as commands have it",
                _rows(found),
                choose="read",
                current=current,
                note=note or self._note(found),
                empty="nothing",
                preview=lambda row: _shown(self.verbs.view(), row),
                is_full_height=True,
            )
            picked: Picked | None = await self.ask(screen, on_request=self._answer)
            found, note = self.verbs.view(), ""
            if picked is None:
                return
            current = picked.row.id
            await read_card(self.ask, picked.row.title, _card(found, picked.row))

    async def _answer(self, request: PickerScreen.ActionRequested) -> None:
        if request.action == AGAIN.id:
            request.screen.show_note("reading your startup files …")
            found, problem = await self._take_snapshot()
            request.screen.show_rows(_rows(found), note=problem or self._note(found))

    async def _take_snapshot(self) -> tuple[ShellSnapshot | None, str]:
        try:
            return await self.verbs.take(), ""
        except UserError as problem:
            return self.verbs.view(), str(problem)

    def _note(self, found: ShellSnapshot | None) -> str:
        return f"{found.shell}, taken {ago(self.now() - found.taken)}" if found is not None else ""


def _rows(found: ShellSnapshot | None) -> list[ListRow]:
    rows: list[ListRow] = []
    if found is None:
        return rows
    if found.problem:
        rows += [
            ListRow(id="#problem", title="What is missing", is_heading=True),
            ListRow(id="problem", title=found.problem, tone="warning"),
        ]
    for kind, title, defined in (
        ("alias", "Aliases", found.aliases),
        ("function", "Functions", found.functions),
        ("option", "Options that are on", dict.fromkeys(found.options, "")),
    ):
        if defined:
            rows.append(ListRow(id=f"#{kind}", title=f"{title} ({len(defined)})", is_heading=True))
        rows += [
            ListRow(
                id=f"{kind} {name}",
                title=escape_controls(name),
                detail=_in_short(kind, body),
            )
            for name, body in sorted(defined.items())
        ]
    return rows


def _in_short(kind: str, body: str) -> str:
    if kind == "alias":
        return one_line(escape_controls(body))
    return pluralized(body.count("\n"), "line") if body else ""


def _definition(found: ShellSnapshot | None, row: ListRow) -> str:
    kind, _, name = row.id.partition(" ")
    known = {"alias": found.aliases, "function": found.functions}.get(kind, {}) if found is not None else {}
    return escape_controls(known.get(name, row.title)).strip("\n")


def _shown(found: ShellSnapshot | None, row: ListRow) -> PreviewText:
    if row.id == "problem":
        return PreviewText(parts=(PreviewPart(text=row.title, tone="warning"),))
    kind = row.id.partition(" ")[0]
    parts = (PreviewPart(text=kind, tone="dim"), PreviewPart(text=_definition(found, row)))
    return PreviewText(title=row.title, parts=parts)


def _card(found: ShellSnapshot | None, row: ListRow) -> Card:
    return Card(title=row.title, blocks=(TextBlock(text=_definition(found, row)),))
