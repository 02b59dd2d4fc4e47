"""The page for `/sandbox`: what the agent's commands may access, and whether they run in the sandbox."""

from collections.abc import Callable

import msgspec

from app.engine.sandbox.sandbox_texts import (
    SANDBOX_CONFINEMENT_DESCRIPTIONS,
    SANDBOX_MODE_DESCRIPTIONS,
    SANDBOX_NETWORK_DESCRIPTIONS,
    sandbox_state_text,
)
from app.engine.sandbox.sandboxes import SandboxState
from app.tui.features.shared_dialogs import pick_list_row
from app.tui.page_protocols import AskOnScreen, SaveDefault, ShowMessage
from widgets.lists.list_rows import ListRow
from widgets.transcript.transcript_blocks import AppNoteKind


class SandboxPage(msgspec.Struct, frozen=True):
    """Shows and changes the sandbox of one session."""

    state: Callable[[], SandboxState]
    ask: AskOnScreen
    show_message: ShowMessage
    save_default_setting: SaveDefault

    async def open(self, setting: str = "") -> None:
        """Shows the sandbox page; with a setting as argument, applies that setting instead."""
        if setting:
            self._set_mode(setting)
            return
        picked = await pick_list_row(self.ask, "Sandbox", _rows(self.state()))
        if picked is not None and picked.row.id.startswith("mode:"):
            self._set_mode(picked.row.id.removeprefix("mode:"))

    def _set_mode(self, setting: str) -> None:
        if setting not in SANDBOX_MODE_DESCRIPTIONS:
            known = ", ".join(SANDBOX_MODE_DESCRIPTIONS)
            self.show_message(f"Unknown sandbox.mode {setting}. Modes: {known}.", AppNoteKind.WARNING)
            return
        self.save_default_setting("sandbox.mode", setting)
        self.show_message(f"Sandbox {setting}: now {sandbox_state_text(self.state())}.")


_SANDBOX_SETTING_TEXTS = {
    "auto": "in the sandbox, if this system supports it",
    "required": "only in the sandbox; refused without one",
    "off": "without a sandbox",
}


def _rows(state: SandboxState) -> list[ListRow]:
    now = sandbox_state_text(state)
    rows = [
        ListRow(id="now", title=now[:1].upper() + now[1:], is_heading=True),
        ListRow(id="step", title="this system", detail=SANDBOX_CONFINEMENT_DESCRIPTIONS[state.step]),
        ListRow(
            id="network",
            title="network",
            detail=f"{state.network}: {SANDBOX_NETWORK_DESCRIPTIONS[state.network]}",
        ),
        ListRow(id="modes", title="The agent's commands run", is_heading=True),
    ]
    rows[2:2] = [ListRow(id="why", title="missing", detail=state.why)] if state.why else []
    rows += [
        ListRow(id=f"mode:{name}", title=name, detail=words, is_checked=name == state.setting)
        for name, words in _SANDBOX_SETTING_TEXTS.items()
    ]
    for key, title, places in (
        ("write", "Writable", state.writable),
        ("guard", "Read-only exceptions inside them", state.guarded),
        ("hide", "Hidden from commands", state.hidden),
    ):
        if places:
            rows.append(ListRow(id=key, title=title, is_heading=True))
            rows += [ListRow(id=f"{key}:{place}", title=place) for place in places]
    return rows
