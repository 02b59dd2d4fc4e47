"""Commands for the goal: setting, reading, checking, continuing, removing."""

from collections.abc import Sequence

from app.engine.commands.session_command import session_command
from app.engine.goals.goal_texts import continue_goal_prompt, goal_check_result_message
from app.engine.session import Session
from app.values.messages import CustomMessage
from app.values.todos import GOAL_CONTINUE_MESSAGE_TYPE, GoalCheck, GoalView


@session_command(
    "The goal and whether its checks still pass", "Detects files that changed since.", answer="goal"
)
async def get_goal(session: Session) -> GoalView | None:
    return await session.goal.check_goal_staleness()


@session_command(
    "Set a goal with a check",
    "The agent works until the check passes. Sends the text, unless `start` is false.",
    answer="goal",
)
async def set_goal(
    session: Session, text: str, checks: Sequence[GoalCheck], start: bool = True
) -> GoalView | None:
    await session.goal.set_goal(text, checks)
    if start:
        await session.prompt(text, while_running="steer", source="rpc", expand=False)
    return session.goal.goal_view


@session_command(
    "Run the check of the goal now",
    "Does not start the agent. Responds when the check has ended.",
    answer="goal",
)
async def check_goal(session: Session) -> GoalView | None:
    await session.send(goal_check_result_message(await session.goal.check_goal_now()), deliver_as="aside")
    return session.goal.goal_view


@session_command("Continue work on the goal", "Resets the count of failed checks.", answer="goal")
async def continue_goal(session: Session) -> GoalView | None:
    goal = await session.goal.resume_goal()
    if not session.is_running:
        message = CustomMessage(custom_type=GOAL_CONTINUE_MESSAGE_TYPE, content=continue_goal_prompt(goal))
        await session.send(message, deliver_as="follow_up", trigger=True)
    return session.goal.goal_view


@session_command("Remove the goal", "A running check is stopped; the agent is not.")
async def clear_goal(session: Session) -> None:
    await session.goal.clear_goal()
