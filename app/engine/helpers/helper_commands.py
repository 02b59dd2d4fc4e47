"""Session commands for helper agents: listing them, reading one's progress, sending it a message, stopping it."""

from collections.abc import Sequence

from app.engine.commands import response_data
from app.engine.commands.session_command import session_command
from app.engine.helpers.helper_run import HelperAgentRun
from app.engine.session import Session


@session_command("Helper agents", "All since the session was opened, ended ones included.", answer="helpers")
async def list_helpers(session: Session) -> Sequence[response_data.HelperInfo]:
    return [_helper_info(helper) for helper in session.helpers.known_helpers()]


@session_command("One helper agent with its calls and its answer")
async def get_helper(session: Session, helper_id: str) -> response_data.HelperInfo:
    return _helper_details(session.helpers.find_helper(helper_id))


@session_command(
    "Send a message to a helper",
    "An ended helper continues in the background.",
)
async def steer_helper(session: Session, helper_id: str, message: str) -> response_data.HelperInfo:
    return _helper_info(await session.helpers.send_message(helper_id, message))


@session_command("Stop a helper", "The agent gets its unfinished result.", stops=True)
async def stop_helper(session: Session, helper_id: str) -> response_data.HelperInfo:
    return _helper_details(await session.helpers.stop_helper(helper_id))


def _helper_info(helper: HelperAgentRun) -> response_data.HelperInfo:
    used = helper.budget.usage_so_far
    info: response_data.HelperInfo = {
        "id": helper.id,
        "kind": helper.kind.name,
        "title": helper.title,
        "state": helper.state,
        "model": helper.model,
        "tool": helper.current_tool,
        "turns": helper.budget.turns,
        "tokens": used.total_tokens,
        "cost": used.cost.total,
        "seconds": round(helper.seconds, 1),
        "toolCallId": helper.call_id,
        "isIsolated": helper.is_isolated,
    }
    if helper.session_file is not None:
        info["sessionFile"] = str(helper.session_file)
    return info


def _helper_details(helper: HelperAgentRun) -> response_data.HelperInfo:
    return {**_helper_info(helper), "lines": list(helper.progress_lines), "answer": helper.answer_text}
