"""Shows what commands take over from the user's shell: aliases, functions, options, their age, and what is missing.

It opens from `bash.ownShell` in `/settings`."""

import time
from collections.abc import Callable
from typing import ClassVar

import msgspec
from textual.binding import BindingType

from app.engine.user_runs.shell_snapshot import ShellSnapshotSource
from app.tui.features.shared_dialogs import show_card
from app.tui.page_protocols import AskOnScreen
from app.values.user_errors import UserError
from tools.number_formatting import count_with_noun, format_ago
from tools.running.user_shell.shell_snapshot import UserShellSnapshot
from tools.text_sanitizing import escape_controls, one_line
from tools.tool_result_values import Card, TextBlock
from widgets.lists.list_rows import ListRow
from widgets.screens.picker import PickerAction, PickerResult, PickerScreen, picker_bindings
from widgets.screens.preview_pane import PreviewParagraph, PreviewText

RELOAD_USER_SHELL_ACTION = PickerAction(
    id="app.ownShell.again",
    keys="ctrl+r",
    label="reload",
    help="Read your shell's startup files again",
    closes=False,
    needs_row=False,
    importance=7,
)


class UserShellDefinitionsScreen(PickerScreen):
    """A picker of the definitions taken over from the user's shell; Enter shows one in full."""

    ACTIONS = (RELOAD_USER_SHELL_ACTION,)
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)


class UserShellDefinitionsPage(msgspec.Struct, frozen=True):
    """Shows what commands of one session take over from the user's shell."""

    snapshot_source: ShellSnapshotSource
    ask: AskOnScreen
    clock: Callable[[], float] = time.time

    def one_line_summary(self) -> str:
        """Returns a summary of what is taken over from the user's shell, for the setting's row."""
        if not self.snapshot_source.is_wanted:
            return ""
        found = self.snapshot_source.current_snapshot()
        return (
            "Not imported yet: the first command reads your shell's startup files."
            if found is None
            else self._snapshot_summary(found)
        )

    def _snapshot_summary(self, found: UserShellSnapshot) -> str:
        has = [
            count_with_noun(len(found.aliases), "alias", "aliases"),
            count_with_noun(len(found.functions), "function"),
            count_with_noun(len(found.options), "option"),
        ]
        of = f"Imported from {found.shell} {format_ago(self.clock() - found.taken_at)}"
        return f"{of}: {', '.join(has)}." if found.file else f"{of}: nothing."

    async def open(self) -> None:
        found = self.snapshot_source.current_snapshot()
        note = ""
        if found is None and self.snapshot_source.is_wanted:
            found, note = await self._take_snapshot()
        current = ""
        while True:
            screen = UserShellDefinitionsScreen(
                "Imported shell definitions",
                _definition_rows(found),
                choose="open",
                current=current,
                note=note or self._note_text(found),
                empty="no shell definitions imported",
                preview=lambda row: _definition_preview(self.snapshot_source.current_snapshot(), row),
                is_full_height=True,
            )
            picked: PickerResult | None = await self.ask(screen, on_request=self._handle_request)
            found, note = self.snapshot_source.current_snapshot(), ""
            if picked is None:
                return
            current = picked.row.id
            await show_card(self.ask, picked.row.title, _definition_card(found, picked.row))

    async def _handle_request(self, request: PickerScreen.ActionRequested) -> None:
        if request.action == RELOAD_USER_SHELL_ACTION.id:
            request.screen.show_note("reading your shell's startup files …")
            found, problem = await self._take_snapshot()
            request.screen.show_rows(_definition_rows(found), note=problem or self._note_text(found))

    async def _take_snapshot(self) -> tuple[UserShellSnapshot | None, str]:
        try:
            return await self.snapshot_source.take_snapshot(), ""
        except UserError as problem:
            return self.snapshot_source.current_snapshot(), str(problem)

    def _note_text(self, found: UserShellSnapshot | None) -> str:
        return (
            f"{found.shell}, imported {format_ago(self.clock() - found.taken_at)}"
            if found is not None
            else ""
        )


def _definition_rows(found: UserShellSnapshot | None) -> list[ListRow]:
    rows: list[ListRow] = []
    if found is None:
        return rows
    if found.problem:
        rows += [
            ListRow(id="#problem", title="Not imported", is_heading=True),
            ListRow(id="problem", title=found.problem, tone="warning"),
        ]
    for kind, title, defined in (
        ("alias", "Aliases", found.aliases),
        ("function", "Functions", found.functions),
        ("option", "Shell options that are on", dict.fromkeys(found.options, "")),
    ):
        if defined:
            rows.append(ListRow(id=f"#{kind}", title=f"{title} ({len(defined)})", is_heading=True))
        rows += [
            ListRow(
                id=f"{kind} {name}",
                title=escape_controls(name),
                detail=_short_definition(kind, body),
            )
            for name, body in sorted(defined.items())
        ]
    return rows


def _short_definition(kind: str, body: str) -> str:
    if kind == "alias":
        return one_line(escape_controls(body))
    return count_with_noun(body.count("\n"), "line") if body else ""


def _full_definition(found: UserShellSnapshot | None, row: ListRow) -> str:
    kind, _, name = row.id.partition(" ")
    known = {"alias": found.aliases, "function": found.functions}.get(kind, {}) if found is not None else {}
    return escape_controls(known.get(name, row.title)).strip("\n")


def _definition_preview(found: UserShellSnapshot | None, row: ListRow) -> PreviewText:
    if row.id == "problem":
        return PreviewText(parts=(PreviewParagraph(text=row.title, tone="warning"),))
    kind = row.id.partition(" ")[0]
    parts = (PreviewParagraph(text=kind, tone="dim"), PreviewParagraph(text=_full_definition(found, row)))
    return PreviewText(title=row.title, parts=parts)


def _definition_card(found: UserShellSnapshot | None, row: ListRow) -> Card:
    return Card(title=row.title, blocks=(TextBlock(text=_full_definition(found, row)),))
