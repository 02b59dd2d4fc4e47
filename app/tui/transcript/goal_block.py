"""Draws the checks of a goal in the transcript: a command of it while it runs, and the results."""

from typing import Any

import msgspec

from app.agent.tool_results import tool_result_from_outcome
from app.engine.goals.goal_texts import goal_check_headline, goal_proof_warnings
from app.values.events import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from app.values.todos import CheckResult, Goal, is_goal_check_call
from app.values.wire import from_wire
from tools.number_formatting import format_seconds
from tools.running.command_card import make_command_card
from tools.tool_result_values import Block, Card, CommandBlock, TextBlock
from widgets.transcript.transcript_blocks import AppNoteKind, CardState, CustomBlock, CustomBlockKind
from widgets.transcript.view import Transcript

GOAL_CHECK_PREVIEW_LINES = 6
"""The number of lines of a failed check shown without opening the block."""


def goal_check_block(block_id: str, text: str, details: Any) -> CustomBlock:
    """Returns the transcript block for the result of a goal's check; `text`: what the model reads about it."""
    try:
        goal = from_wire(details, Goal)
    except (TypeError, msgspec.ValidationError):  # an entry of another program
        goal = None
    if goal is None or goal.proof is None:
        card = Card(title="goal", subject=text.split("\n", 1)[0], blocks=(TextBlock(text=text),))
        return CustomBlock(id=block_id, kind=CustomBlockKind.GOAL, card=card)
    proof = goal.proof
    shown = next((one for one in proof.results if not one.has_passed), proof.results[0])
    notes = [
        *goal_proof_warnings(goal),
        *([f"Work on the goal stops: {goal.reason}."] if goal.reason else []),
    ]
    blocks: list[Block] = [TextBlock(text="\n".join(notes))] if notes else []
    blocks += map(_command_block, proof.results)
    return CustomBlock(
        id=block_id,
        kind=CustomBlockKind.GOAL,
        card=Card(
            title=goal_check_headline(goal),
            subject=shown.command.split("\n", 1)[0],
            summary=_exit_text(shown),
            blocks=tuple(blocks),
        ),
        state=CardState.DONE if proof.has_passed else CardState.FAILED,
        tone=AppNoteKind.WARNING if proof.tampered or goal.reason else None,
        timing=format_seconds(sum(one.seconds for one in proof.results)),
        preview_lines=len(notes) or (0 if proof.has_passed else GOAL_CHECK_PREVIEW_LINES),
    )


def _command_block(result: CheckResult) -> CommandBlock:
    return CommandBlock(
        command=result.command, output=result.output, exit_code=result.exit_code, note=result.problem
    )


def _exit_text(result: CheckResult) -> str:
    return f"exit {result.exit_code}" if result.exit_code is not None else result.problem.split("\n", 1)[0]


class RunningGoalChecks:
    """Shows the commands of a goal's check while they run. Their events are tool events, although no answer of the
    model calls them; the message about the check follows."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def handle_event(self, event: ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd) -> bool:
        """Shows a tool event of a goal's check; returns False for any other event."""
        if not is_goal_check_call(event.tool_call_id):
            return False
        if isinstance(event, ToolExecutionEnd):
            self._transcript.remove_block(event.tool_call_id)
            return True
        result = (
            tool_result_from_outcome(event.partial_result) if isinstance(event, ToolExecutionUpdate) else None
        )
        card = make_command_card(event.args if isinstance(event.args, dict) else {}, result)
        self._transcript.add(
            CustomBlock(
                id=event.tool_call_id,
                kind=CustomBlockKind.GOAL,
                card=msgspec.structs.replace(card, title="checking the goal"),
                state=CardState.RUNNING,
                preview_lines=GOAL_CHECK_PREVIEW_LINES,
            )
        )
        return True
