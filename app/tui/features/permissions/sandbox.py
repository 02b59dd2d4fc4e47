"""`/sandbox`: what the agent's commands may access, and whether they run in the sandbox."""

from collections.abc import Callable

import msgspec

from app.engine.sandbox.sandbox_texts import NETWORK_WORDS, SETTING_WORDS, STEP_WORDS, state_line
from app.engine.sandbox.sandboxes import SandboxState
from app.tui.features.shared_dialogs import pick
from app.tui.page_protocols import AskPerson, SaveDefault, ShowMessage
from widgets.lists.rows import ListRow
from widgets.transcript.blocks import NoteKind


class SandboxPage(msgspec.Struct, frozen=True):
    """Shows and changes the sandbox of one session."""

    state: Callable[[], SandboxState]
    ask: AskPerson
    say: ShowMessage
    keep: SaveDefault

    async def open(self, setting: str = "") -> None:
        """Opens the page; with a setting as argument, applies it at once."""
        if setting:
            self._set(setting)
            return
        picked = await pick(self.ask, "Sandbox", _rows(self.state()))
        if picked is not None and picked.row.id.startswith("mode:"):
            self._set(picked.row.id.removeprefix("mode:"))

    def _set(self, setting: str) -> None:
        if setting not in SETTING_WORDS:
            known = ", ".join(SETTING_WORDS)
            self.say(f"Unknown sandbox.mode {setting}. Modes: {known}.", NoteKind.WARNING)
            return
        self.keep("sandbox.mode", setting)
        self.say(f"Sandbox {setting}: now {state_line(self.state())}.")


_SETTINGS = {
    "auto": "in the sandbox, as far as this system supports it",
    "required": "required: refuse to run without a sandbox",
    "off": "no sandbox",
}


def _rows(state: SandboxState) -> list[ListRow]:
    now = state_line(state)
    rows = [
        ListRow(id="now", title=now[:1].upper() + now[1:], is_heading=True),
        ListRow(id="step", title="here", detail=STEP_WORDS[state.step]),
        ListRow(id="network", title="network", detail=f"{state.network}: {NETWORK_WORDS[state.network]}"),
        ListRow(id="modes", title="The agent's commands run", is_heading=True),
    ]
    rows[2:2] = [ListRow(id="why", title="missing", detail=state.why)] if state.why else []
    rows += [
        ListRow(id=f"mode:{name}", title=name, detail=words, is_checked=name == state.setting)
        for name, words in _SETTINGS.items()
    ]
    for key, title, places in (
        ("write", "Can be written", state.writable),
        ("guard", "Cannot be written there", state.guarded),
        ("hide", "Cannot be seen", state.hidden),
    ):
        if places:
            rows.append(ListRow(id=key, title=title, is_heading=True))
            rows += [ListRow(id=f"{key}:{place}", title=place) for place in places]
    return rows
