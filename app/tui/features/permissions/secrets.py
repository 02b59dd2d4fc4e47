"""The page for `/secrets`, which lists what was masked and marks false alarms, and for `/unmask`, which sends a prompt
without masking."""

from collections.abc import Awaitable, Callable

import msgspec

from app.engine.prompt_submission import PromptDisposition
from app.engine.secrets.session_mask import SessionSecretMask
from app.tui.features.shared_dialogs import pick_list_row
from app.tui.page_protocols import AskOnScreen, ShowMessage
from widgets.lists.list_rows import ListRow

_NOTHING_MASKED_TEXT = "No secrets were masked in this session."


class MaskedSecretsPage(msgspec.Struct, frozen=True):
    """Lists the secrets that were masked in one session, and marks false alarms."""

    secrets: SessionSecretMask
    send_unmasked: Callable[[], Awaitable[PromptDisposition]]
    ask: AskOnScreen
    show_message: ShowMessage

    async def open(self) -> None:
        found = list(reversed(self.secrets.masked_secrets))
        if not found:
            self.show_message(_NOTHING_MASKED_TEXT)
            return
        rows = [ListRow(id="secrets", title="Masked secrets (enter: not a secret)", is_heading=True)]
        rows += [
            ListRow(
                id=one.digest,
                title=one.mark,
                detail=one.where,
                right=f"{one.count} time{'' if one.count == 1 else 's'}",
            )
            for one in found
        ]
        picked = await pick_list_row(self.ask, "Secrets", rows)
        if picked is not None:
            one = self.secrets.mark_as_no_secret(picked.row.id)
            self.show_message(
                f"{one.mark} is marked as not a secret and no longer masked (setting secrets.ignore)."
            )

    async def unmask(self) -> None:
        """Sends the last prompt in which secrets were masked again, without masking."""
        await self.send_unmasked()
