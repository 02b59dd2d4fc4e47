"""`/permissions`: the mode, the rules with their origin, and the recent decisions with their reasons. `/add-dir`:
the folders that a session works in besides its own."""

from app.engine.permissions.permission_gate import PermissionGate
from app.engine.permissions.session_folders import SessionFolders
from app.engine.permissions.verdict_log import PastVerdict
from app.permits.permission_decisions import MODE_WORDS, PERMISSION_MODES, PermissionMode
from app.permits.rules import PermitRule
from app.tui.features.permissions.sandbox import SandboxPage
from app.tui.features.shared_dialogs import pick
from app.tui.page_protocols import AskPerson, SaveDefault, ShowMessage
from app.values.user_errors import UserError
from tools.text import escape_controls
from widgets.lists.rows import ListRow
from widgets.transcript.blocks import NoteKind

_ORIGINS = {
    "session": "this session",
    "folder": "you, in this folder",
    "user": "you",
    "project": "the project",
}
_SHOWN = 20


class PermissionsPage:
    """Shows and changes the permissions of one session."""

    def __init__(self, permits: PermissionGate, ask: AskPerson, say: ShowMessage, keep: SaveDefault) -> None:
        self._permissions = permits
        self._ask = ask
        self._say = say
        self._keep = keep
        self.sandbox = SandboxPage(permits.boxes.state, ask, say, keep)

    async def open(self, mode: str = "") -> None:
        """Opens the page; with a mode as argument, switches to it at once."""
        if mode:
            self._set(mode)
            return
        picked = await pick(self._ask, "Permissions", self._rows())
        if picked is None:
            return
        kind, _, rest = picked.row.id.partition(":")
        if kind == "mode":
            self._set(rest)
        elif kind == "rule":
            self._remove_rule(self._rules()[int(rest)])
        elif kind == "past":
            self._explain(self._recent_verdicts()[int(rest)])

    def _rows(self) -> list[ListRow]:
        rows = [ListRow(id="modes", title="Mode", is_heading=True)]
        rows += [
            ListRow(
                id=f"mode:{mode}",
                title=mode,
                detail=MODE_WORDS[mode],
                is_checked=mode == self._permissions.rules.mode,
            )
            for mode in PERMISSION_MODES
        ]
        rules = self._rules()
        if rules:
            rows.append(ListRow(id="rules", title="Rules (enter: remove)", is_heading=True))
        for number, rule in enumerate(rules):
            rows.append(
                ListRow(
                    id=f"rule:{number}", title=rule.text, prefix=f"{rule.deed} ", right=_ORIGINS[rule.origin]
                )
            )
        past = self._recent_verdicts()
        if past:
            rows.append(ListRow(id="verdicts", title="Recent decisions (enter: why)", is_heading=True))
        for number, one in enumerate(past):
            verdict = one.decision.verdict
            rows.append(
                ListRow(
                    id=f"past:{number}",
                    title=verdict.decisive.text,
                    prefix=f"{verdict.risk} ",
                    detail=one.tool,
                    right=f"{one.outcome}, {one.by}",
                )
            )
        return rows

    def _rules(self) -> tuple[PermitRule, ...]:
        return self._permissions.view().rules.rules

    def _recent_verdicts(self) -> list[PastVerdict]:
        return list(reversed(self._permissions.view().past))[:_SHOWN]

    def _set(self, mode: str) -> None:
        known: PermissionMode | None = next((one for one in PERMISSION_MODES if one == mode), None)
        if known is None:
            self._say(
                f"There is no permission mode {mode}. Modes: {', '.join(PERMISSION_MODES)}.", NoteKind.WARNING
            )
            return
        self._permissions.rules.set_mode(known)
        self._say(f"Permissions: {known}: {MODE_WORDS[known]}.")

    def _remove_rule(self, rule: PermitRule) -> None:
        if rule.origin == "session":
            self._permissions.rules.forget(rule.text)
        elif rule.origin == "user":
            name = f"permissions.{rule.deed}"
            mine = self._permissions.rules.written(rule.deed)
            self._keep(name, [text for text in mine if text.strip() != rule.text])
        elif rule.origin == "folder":
            self._permissions.rules.forget_here(rule.text)
        else:
            self._say(f"{rule.text} is a project rule: change it in .bayou/settings.json.", NoteKind.WARNING)
            return
        self._say(f"Removed: {rule.deed} {rule.text}.")

    def _explain(self, past: PastVerdict) -> None:
        lines = [f"{past.tool}: {past.outcome}, by {past.by}."]
        for answer in past.decision.answers:
            part = answer.part
            lines.append(f"{part.risk} ({part.does}): {part.text}: {part.why} ({answer.decided_by})")
        self._say("\n".join(lines))


class FoldersPage:
    """Adds folders to one session, and lists and removes them."""

    def __init__(self, folders: SessionFolders, ask: AskPerson, say: ShowMessage) -> None:
        self._folders = folders
        self._ask = ask
        self._say = say

    async def open(self, path: str = "") -> None:
        try:
            if path:
                folder = self._folders.add(path)
                self._say(
                    f"Added {escape_controls(str(folder))}: its files can be read and changed in this session."
                )
            elif self._folders.all:
                await self._choose()
            else:
                self._say("No folder was added. /add-dir PATH adds one.")
        except UserError as problem:
            self._say(str(problem), NoteKind.ERROR)

    async def _choose(self) -> None:
        rows = [ListRow(id=str(one), title=escape_controls(str(one))) for one in self._folders.all]
        picked = await pick(self._ask, "Added folders (enter: remove)", rows)
        if picked is not None:
            self._folders.remove(picked.row.id)
            self._say(f"Removed {picked.row.title} from this session; its files stay.")
