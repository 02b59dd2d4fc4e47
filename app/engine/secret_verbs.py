"""What faces do with what was masked: see it, say that something is no secret, send a prompt as it is."""

from app.engine.masking import MaskedSecret, Masking
from app.engine.prompts import Disposition, Prompts


class SecretVerbs:
    """Of one session."""

    def __init__(self, masking: Masking, prompts: Prompts) -> None:
        self._masking = masking
        self._prompts = prompts

    @property
    def found(self) -> tuple[MaskedSecret, ...]:
        """What was masked in this session, the latest last."""
        return self._masking.found

    def text(self, text: str, where: str) -> str:
        """With its secrets masked."""
        return self._masking.text(text, where)

    def call_no_secret(self, digest: str) -> MaskedSecret:
        """It is shown from now on, here and in later sessions. Raises `Unable`."""
        return self._masking.call_no_secret(digest)

    async def unmask(self) -> Disposition:
        """Sends the last prompt in which something was masked again, as it is."""
        return await self._prompts.unmask()
