"""Commands that send one of bayou's built-in prompts."""

from app.engine.commands.base import command
from app.engine.commands.written_prompts import init_prompt, review_prompt
from app.engine.prompts import Disposition
from app.engine.session import Session


@command("Draft an AGENTS.md, or bring it up to date", answer="disposition")
async def init_context(session: Session) -> Disposition:
    return await _send_prompt(session, await init_prompt(session))


@command("Review what is not committed, or a branch", answer="disposition")
async def review(session: Session, what: str = "") -> Disposition:
    return await _send_prompt(session, await review_prompt(session, what))


async def _send_prompt(session: Session, text: str) -> Disposition:
    """Behind what is under way."""
    return await session.prompt(text, while_running="follow_up", expand=False)
