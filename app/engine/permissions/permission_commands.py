"""Session commands about permissions: the mode, the rules and the sandbox's state."""

from collections.abc import Sequence
from typing import Literal

from app.engine.commands import response_data
from app.engine.commands.session_command import require_text_for_os, session_command
from app.engine.session import Session
from app.permits.permission_decisions import PermissionMode


@session_command("Set what runs without approval", "read-only, ask, auto-edit or full; for this session.")
async def set_permission_mode(session: Session, mode: PermissionMode) -> None:
    session.permissions.rules.set_mode(mode)


@session_command(
    "Plan mode: no changes until you accept a plan",
    "A plan is a question; answer `Accept` or a comment.",
)
async def set_plan_mode(session: Session, is_on: bool = True) -> None:
    session.plan.set_active(is_on)


@session_command(
    "Set whether this client answers approvals",
    "`ask`: it does. `deny`: deny at once what needs approval.",
)
async def set_approvals(session: Session, answers: Literal["ask", "deny"]) -> None:
    session.permissions.permission_context.shared_permissions.set_client_policy(answers)


@session_command(
    "Add a folder to the workspace",
    "Its files can be read and changed. Responds with all added folders.",
    answer="folders",
)
async def add_folder(session: Session, path: str) -> Sequence[str]:
    session.folders.add_folder(require_text_for_os(path, "path"))
    return [str(folder) for folder in session.folders.all_folders]


@session_command(
    "Remove an added folder from the workspace", "Responds with the remaining folders.", answer="folders"
)
async def remove_folder(session: Session, path: str) -> Sequence[str]:
    session.folders.remove_folder(require_text_for_os(path, "path"))
    return [str(folder) for folder in session.folders.all_folders]


@session_command("Permission mode, rules and recent decisions")
async def get_permissions(session: Session) -> response_data.Permissions:
    now = session.permissions.gate_state()
    return {
        "mode": now.mode,
        "hasBox": now.has_sandbox,
        "rules": [
            {"deed": rule.action, "text": rule.text, "origin": rule.origin} for rule in now.rules.rules
        ],
        "problems": [str(problem) for problem in now.rules.problems],
        "verdicts": [
            {
                "toolCallId": past.call_id,
                "toolName": past.tool,
                "letter": past.decision.verdict.risk,
                "why": past.decision.verdict.why,
                "decision": past.outcome,
                "by": past.decided_by,
            }
            for past in now.past_verdicts[-20:]
        ],
    }


@session_command("What the agent's commands can read, write and reach")
async def get_sandbox(session: Session) -> response_data.Sandbox:
    now = session.permissions.boxes.sandbox_state()
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
