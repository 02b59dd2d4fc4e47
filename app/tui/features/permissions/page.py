"""The page for `/permissions`: the mode, the rules with their origin, and the recent decisions with their reasons. Also
`/add-dir`: the folders that a session works in besides its own."""

from typing import ClassVar

from app.engine.permissions.permission_gate import PermissionGate
from app.engine.permissions.session_folders import SessionAddedFolders
from app.engine.permissions.verdict_log import PastPermissionVerdict
from app.permits.permission_decisions import PERMISSION_MODE_DESCRIPTIONS, PERMISSION_MODES, PermissionMode
from app.permits.permit_rules import PermitRule
from app.tui.features.permissions.sandbox import SandboxPage
from app.tui.features.shared_dialogs import pick_list_row
from app.tui.page_protocols import AskOnScreen, SaveDefault, ShowMessage
from app.values.user_errors import UserError
from tools.text_sanitizing import escape_controls
from widgets.lists.list_rows import ListRow, RowTone
from widgets.row_builder import fit_text_to_cells
from widgets.screens.picker import PickerResult, PickerScreen
from widgets.transcript.transcript_blocks import AppNoteKind

_RULE_ORIGIN_LABELS = {
    "session": "this session",
    "folder": "you, in this folder",
    "user": "you",
    "project": "the project",
}
_CALL_RISK_TONES: dict[str, RowTone] = {"safe": "success", "contained": "warning", "forbidden": "error"}
_RISK_WORDS = {"forbidden": "dangerous"}
"""What a risk is called on the screen, where that is not its name in rules and files."""
_MAX_SHOWN_DECISIONS = 20
_MAX_TOOL_NAME_CELLS = 12


class _PermissionsScreen(PickerScreen):
    """The screen with permission modes, rules and recent decisions; each section has its own columns."""

    IS_ALIGNED: ClassVar[bool] = False


class PermissionsPage:
    """Shows and changes the permissions of one session."""

    def __init__(
        self, permits: PermissionGate, ask: AskOnScreen, say: ShowMessage, keep: SaveDefault
    ) -> None:
        self._permissions = permits
        self._ask = ask
        self._show_message = say
        self._save_default = keep
        self.sandbox = SandboxPage(permits.boxes.sandbox_state, ask, say, keep)

    async def open(self, mode: str = "") -> None:
        """Shows the permissions page; with a mode as argument, switches to that mode instead."""
        if mode:
            self._set_mode(mode)
            return
        picked: PickerResult | None = await self._ask(_PermissionsScreen("Permissions", self._rows()))
        if picked is None:
            return
        kind, _, rest = picked.row.id.partition(":")
        if kind == "mode":
            self._set_mode(rest)
        elif kind == "rule":
            self._remove_rule(self._active_rules()[int(rest)])
        elif kind == "past":
            self._explain_verdict(self._recent_verdicts()[int(rest)])

    def _rows(self) -> list[ListRow]:
        rows = [ListRow(id="modes", title="Mode", is_heading=True)]
        rows += [
            ListRow(
                id=f"mode:{mode}",
                title=mode.ljust(max(map(len, PERMISSION_MODES))),
                detail=PERMISSION_MODE_DESCRIPTIONS[mode],
                is_checked=mode == self._permissions.rules.mode,
            )
            for mode in PERMISSION_MODES
        ]
        rules = self._active_rules()
        if rules:
            rows.append(ListRow(id="rules", title="Rules (enter: remove)", is_heading=True))
        for number, rule in enumerate(rules):
            rows.append(
                ListRow(
                    id=f"rule:{number}",
                    title=rule.text,
                    prefix=f"{rule.action:<5} ",
                    right=_RULE_ORIGIN_LABELS[rule.origin],
                )
            )
        past = self._recent_verdicts()
        if past:
            rows.append(
                ListRow(
                    id="verdicts",
                    title="Recent decisions: risk, tool, call (enter: why)",
                    right="outcome, by",
                    is_heading=True,
                )
            )
        tool_cells = min(_MAX_TOOL_NAME_CELLS, max((len(one.tool) for one in past), default=0))
        for number, one in enumerate(past):
            verdict = one.decision.verdict
            text = verdict.decisive_part.text.removeprefix(f"{one.tool} ")
            rows.append(
                ListRow(
                    id=f"past:{number}",
                    title=f"{fit_text_to_cells(one.tool, tool_cells)}  {text}",
                    lead_word=f"{_RISK_WORDS.get(verdict.risk, verdict.risk):<9}  ",
                    lead_tone=_CALL_RISK_TONES.get(verdict.risk, "muted"),
                    right=f"{one.outcome}, {one.decided_by}",
                    right_tone="error" if one.outcome == "refused" else "success",
                )
            )
        return rows

    def _active_rules(self) -> tuple[PermitRule, ...]:
        return self._permissions.gate_state().rules.rules

    def _recent_verdicts(self) -> list[PastPermissionVerdict]:
        return list(reversed(self._permissions.gate_state().past_verdicts))[:_MAX_SHOWN_DECISIONS]

    def _set_mode(self, mode: str) -> None:
        known: PermissionMode | None = next((one for one in PERMISSION_MODES if one == mode), None)
        if known is None:
            self._show_message(
                f"There is no permission mode {mode}. Modes: {', '.join(PERMISSION_MODES)}.",
                AppNoteKind.WARNING,
            )
            return
        self._permissions.rules.set_mode(known)
        self._show_message(f"Permission mode {known}: {PERMISSION_MODE_DESCRIPTIONS[known]}.")

    def _remove_rule(self, rule: PermitRule) -> None:
        if rule.origin == "session":
            self._permissions.rules.remove_rule(rule.text)
        elif rule.origin == "user":
            name = f"permissions.{rule.action}"
            mine = self._permissions.rules.settings_rules(rule.action)
            self._save_default(name, [text for text in mine if text.strip() != rule.text])
        elif rule.origin == "folder":
            self._permissions.rules.remove_folder_rule(rule.text)
        else:
            self._show_message(
                f"{rule.text} is a project rule: change it in .bayou/settings.json.", AppNoteKind.WARNING
            )
            return
        self._show_message(f"Removed: {rule.action} {rule.text}.")

    def _explain_verdict(self, past: PastPermissionVerdict) -> None:
        lines = [f"{past.tool}: {past.outcome}, by {past.decided_by}."]
        for answer in past.decision.part_decisions:
            part = answer.part
            lines.append(
                f"{part.risk} ({part.risk_description}): {part.text}: {part.why} ({answer.decided_by})"
            )
        self._show_message("\n".join(lines))


class ExtraFoldersPage:
    """Adds folders to those that one session works in, lists and removes them."""

    def __init__(self, folders: SessionAddedFolders, ask: AskOnScreen, say: ShowMessage) -> None:
        self._folders = folders
        self._ask = ask
        self._show_message = say

    async def open(self, path: str = "") -> None:
        try:
            if path:
                folder = self._folders.add_folder(path)
                self._show_message(
                    f"Added {escape_controls(str(folder))}: the agent can read and change its files in this session."
                )
            elif self._folders.all_folders:
                await self._choose_folder_to_remove()
            else:
                self._show_message("No folders are added. /add-dir PATH adds one.")
        except UserError as problem:
            self._show_message(str(problem), AppNoteKind.ERROR)

    async def _choose_folder_to_remove(self) -> None:
        rows = [ListRow(id=str(one), title=escape_controls(str(one))) for one in self._folders.all_folders]
        picked = await pick_list_row(self._ask, "Added folders (enter: remove)", rows)
        if picked is not None:
            self._folders.remove_folder(picked.row.id)
            self._show_message(f"Removed {picked.row.title} from this session; its files stay.")
