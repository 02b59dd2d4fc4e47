"""Session commands about secrets: what was masked, marking false alarms, sending a prompt unmasked."""

from collections.abc import Sequence

from app.engine.commands import response_data
from app.engine.commands.session_command import session_command
from app.engine.prompt_submission import PromptDisposition
from app.engine.session import Session


@session_command("Secrets masked in this session", answer="secrets")
async def get_secrets(session: Session) -> Sequence[response_data.SecretMasked]:
    return [
        {"mark": one.mark, "kind": one.kind, "digest": one.digest, "where": one.where, "count": one.count}
        for one in session.secrets.masked_secrets
    ]


@session_command(
    "Mark a masked value as a false alarm",
    "It is no longer masked. `digest` is the last part of its mark.",
)
async def call_no_secret(session: Session, digest: str) -> None:
    session.secrets.mark_as_no_secret(digest)


@session_command("Send the last masked prompt unmasked", answer="disposition")
async def unmask(session: Session) -> PromptDisposition:
    return await session.resend_unmasked()
