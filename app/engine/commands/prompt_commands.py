"""Commands that send one of bayou's built-in prompts."""

from app.engine.commands.builtin_prompts import agents_file_prompt, code_review_prompt
from app.engine.commands.session_command import session_command
from app.engine.prompt_submission import PromptDisposition
from app.engine.session import Session


@session_command("Write or update AGENTS.md", answer="disposition")
async def init_context(session: Session) -> PromptDisposition:
    return await _send_prompt(session, await agents_file_prompt(session))


@session_command("Review uncommitted changes or a branch", answer="disposition")
async def review(session: Session, what: str = "") -> PromptDisposition:
    return await _send_prompt(session, await code_review_prompt(session, what))


async def _send_prompt(session: Session, text: str) -> PromptDisposition:
    """Sends one of bayou's built-in prompts; a running prompt is finished first."""
    return await session.prompt(text, while_running="follow_up", expand=False)
