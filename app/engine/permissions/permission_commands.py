"""Commands about permissions: the mode, and the state of the gate."""

from collections.abc import Sequence
from typing import Literal

from app.engine.commands import response_data
from app.engine.commands.session_command import session_command
from app.engine.session import Session
from app.permits.permission_decisions import PermissionMode


@session_command(
    "What runs without a question", "One of read-only, ask, auto-edit and full, for this session."
)
async def set_permission_mode(session: Session, mode: PermissionMode) -> None:
    session.permissions.rules.set_mode(mode)


@session_command(
    "Plan mode: nothing changes until one is accepted",
    "A plan is a question: `Accept`, or words.",
)
async def set_plan_mode(session: Session, is_on: bool = True) -> None:
    session.plan.switch(is_on)


@session_command(
    "Say whether this client answers questions",
    "`ask`, or `deny`: what would be asked is refused at once.",
)
async def set_approvals(session: Session, answers: Literal["ask", "deny"]) -> None:
    session.permissions.answering.set_program(answers)


@session_command(
    "Work in another folder too",
    "Its files can be read and changed. Answers with all added folders.",
    answer="folders",
)
async def add_folder(session: Session, path: str) -> Sequence[str]:
    session.folders.add(path)
    return [str(folder) for folder in session.folders.all]


@session_command(
    "Stop working in an added folder", "Answers with the folders that are left.", answer="folders"
)
async def remove_folder(session: Session, path: str) -> Sequence[str]:
    session.folders.remove(path)
    return [str(folder) for folder in session.folders.all]


@session_command("Permission mode, rules and recent decisions")
async def get_permissions(session: Session) -> response_data.Permissions:
    now = session.permissions.view()
    return {
        "mode": now.mode,
        "hasBox": now.has_box,
        "rules": [{"deed": rule.deed, "text": rule.text, "origin": rule.origin} for rule in now.rules.rules],
        "problems": [str(problem) for problem in now.rules.problems],
        "verdicts": [
            {
                "toolCallId": past.call_id,
                "toolName": past.tool,
                "letter": past.decision.verdict.risk,
                "why": past.decision.verdict.why,
                "decision": past.outcome,
                "by": past.by,
            }
            for past in now.past[-20:]
        ],
    }


@session_command("What the agent's commands can read, write and reach")
async def get_sandbox(session: Session) -> response_data.Sandbox:
    now = session.permissions.boxes.state()
    return {
        "setting": now.setting,
        "step": now.step,
        "why": now.why,
        "isInForce": now.is_in_force,
        "network": now.network,
        "writable": list(now.writable),
        "guarded": list(now.guarded),
        "hidden": list(now.hidden),
    }
