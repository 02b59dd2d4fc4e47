"""Commands for helper agents: listing, reading what one does, telling it something, stopping it."""

from collections.abc import Sequence

from app.engine.commands import response_data
from app.engine.commands.session_command import session_command
from app.engine.helpers.helper_run import HelperRun
from app.engine.session import Session


@session_command(
    "Helper agents", "Those of this session since it was opened, also ended ones.", answer="helpers"
)
async def list_helpers(session: Session) -> Sequence[response_data.HelperInfo]:
    return [_info(helper) for helper in session.helpers.known()]


@session_command("One helper agent, with what it has done so far and its answer")
async def get_helper(session: Session, helper_id: str) -> response_data.HelperInfo:
    return _in_full(session.helpers.get(helper_id))


@session_command(
    "Tell a helper something", "It reads it while it works; one that has ended goes on in the background."
)
async def steer_helper(session: Session, helper_id: str, message: str) -> response_data.HelperInfo:
    return _info(await session.helpers.tell(helper_id, message))


@session_command("Stop a helper", "Who waits for it gets what it has.", stops=True)
async def stop_helper(session: Session, helper_id: str) -> response_data.HelperInfo:
    return _in_full(await session.helpers.end(helper_id))


def _info(helper: HelperRun) -> response_data.HelperInfo:
    used = helper.budget.used
    info: response_data.HelperInfo = {
        "id": helper.id,
        "kind": helper.kind.name,
        "title": helper.title,
        "state": helper.state,
        "model": helper.model,
        "tool": helper.current,
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


def _in_full(helper: HelperRun) -> response_data.HelperInfo:
    return {**_info(helper), "lines": list(helper.lines), "answer": helper.result}
