"""The texts about a goal: for the model, and for the transcript."""

import re
from typing import assert_never

from app.values.messages import BLOCKED_PREFIX, CustomMessage
from app.values.todos import GOAL_CHECK_MESSAGE_TYPE, CheckResult, Goal, GoalCheck, GoalView
from app.values.wire import to_wire
from tools.lazy_patterns import lazy_regex
from tools.number_formatting import count_with_noun, format_seconds

_GOAL_CHECK_COMMAND_PATTERN = lazy_regex(r"(?:^|(?<=\s))check:[ \t]*(?P<command>.*)$")
_GOAL_LIST_ITEM_PATTERN = lazy_regex(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(?P<name>.*)$")

_GOAL_SECTION_TEMPLATE = (
    "The user set a goal:\n{text}\n\nbayou runs its check each time you end your turn, and only the check "
    "decides: you "
    "go on until it passes.\n{checks}\nWork until you have reason to believe that it passes. The user is "
    "shown every "
    "change of files that the check reads (tests, scripts, configuration): change them only where the goal "
    "says so. If "
    "you cannot go on without something that only the user can give, end your turn with a line that begins "
    "with "
    f"{BLOCKED_PREFIX} and names it."
)


def goal_section_text(goal: Goal) -> str:
    """Returns the section of the system prompt about the goal."""
    return _GOAL_SECTION_TEMPLATE.format(text=goal.text, checks="\n".join(map(_check_line, goal.checks)))


def _check_line(check: GoalCheck) -> str:
    return f"- {check.name}: `{check.command}`" if check.name else f"- `{check.command}`"


def goal_check_result_line(result: CheckResult) -> str:
    """Returns the result of one check command in a line: command, exit code, time."""
    ending = f"exit {result.exit_code}" if result.exit_code is not None else "no exit code"
    mark = "✓" if result.has_passed else "✗"
    name = f"{result.name}: " if result.name else ""
    return f"{mark} {name}{result.command} ({ending}, {format_seconds(result.seconds) or '0 s'})"


def goal_check_headline(goal: Goal) -> str:
    """Returns the result of a goal's last check in a few words."""
    if goal.proof is None:
        return "not checked yet"
    passed = sum(one.has_passed for one in goal.proof.results)
    total = len(goal.proof.results)
    many = f"{passed} of {total} checks pass" if total > 1 else ""
    if goal.proof.has_passed:
        return f"goal met, {many}" if many else "goal met"
    return f"goal not met, {many}" if many else "goal not met"


def goal_state_text(view: GoalView) -> str:
    """Returns the state of a goal as the words behind "goal": `met at 14:32`, `set, not checked yet`."""
    goal = view.goal
    if view.is_checking:
        return "is being checked"
    match goal.status:
        case "done" if goal.proof is not None:
            met = f"met at {goal.proof.at_clock}"
            if not view.is_stale:
                return met
            since = ", ".join(view.changed[:3]) + (", …" if len(view.changed) > 3 else "")
            return f"{met}, stale: {since or 'files'} changed since"
        case "done" | "active":
            return (
                f"not met, {count_with_noun(goal.failed, 'check')} failed"
                if goal.failed
                else "set, not checked yet"
            )
        case "blocked" | "limit" | "refused" | "paused":
            name = {"blocked": "blocked", "refused": "not checked"}.get(goal.status, "paused")
            return f"{name}: {goal.reason}"
        case _:
            assert_never(goal.status)


def goal_proof_warnings(goal: Goal) -> list[str]:
    """Returns what the user should know before believing the result of a goal's check."""
    proof = goal.proof
    if proof is None:
        return []
    found: list[str] = []
    if proof.tampered:
        names = ", ".join(proof.tampered)
        found.append(
            f"Changed since the goal was set, and read by the check: {names}. /diff shows the changes."
        )
    if proof.written:
        found.append(f"Files that changed while the check ran: {', '.join(proof.written)}.")
    if proof.is_unchanged and proof.has_passed:
        found.append("No file changed since the goal was set: the check passes without any work.")
    if not proof.digest:
        found.append("Files are not watched here, so later changes are not detected.")
    return found


def short_goal_check_text(goal: Goal) -> str:
    """Returns the result of a goal's last check without output: a line for each command, and the warnings."""
    results = goal.proof.results if goal.proof is not None else ()
    return "\n".join(
        (
            f"{goal_check_headline(goal).capitalize()}.",
            *map(goal_check_result_line, results),
            *goal_proof_warnings(goal),
        )
    )


def goal_check_result_message(goal: Goal) -> CustomMessage:
    """Returns the message about the last check of the goal, which the agent reads next."""
    return CustomMessage(
        custom_type=GOAL_CHECK_MESSAGE_TYPE, content=full_goal_check_text(goal), details=to_wire(goal)
    )


def full_goal_check_text(goal: Goal) -> str:
    assert goal.proof is not None
    lines = [f"{goal_check_headline(goal).capitalize()}.", *map(goal_check_result_line, goal.proof.results)]
    for result in goal.proof.results:
        if result.has_passed:
            continue
        if result.problem:
            lines.append(f"`{result.command}`: {result.problem}.")
        if result.output:
            lines += ["", f"The end of the output of `{result.command}`:", *_fence_output(result.output)]
    lines += ["", *goal_proof_warnings(goal)] if goal_proof_warnings(goal) else []
    if goal.status == "active":
        lines += [
            "",
            "Continue with the goal; bayou checks again when you end your turn. If you cannot continue "
            "without the user, "
            f"end with a line that begins with {BLOCKED_PREFIX} and names what you need.",
        ]
    elif goal.reason:
        lines += ["", f"Work on the goal stopped: {goal.reason}."]
    return "\n".join(lines)


def _fence_output(output: str) -> list[str]:
    fence = "```"
    while fence in output:
        fence += "`"
    return [fence, output, fence]


def continue_goal_prompt(goal: Goal) -> str:
    """Returns the message that makes the agent continue work on a goal."""
    checks = "\n".join(map(_check_line, goal.checks))
    return f"Go on with the goal: {goal.text}\n\nIt is met when this passes:\n{checks}"


def parse_goal(words: str) -> tuple[str, tuple[GoalCheck, ...]]:
    """Splits what the user typed into the text of the goal and its checks.

    What follows `check:` in a line is a command. In a line of a list it checks that item."""
    lines: list[str] = []
    checks: list[GoalCheck] = []
    for line in words.splitlines():
        found = _GOAL_CHECK_COMMAND_PATTERN.search(line)
        if found is None:
            lines.append(line.rstrip())
            continue
        before = line[: found.start()].rstrip()
        item = _GOAL_LIST_ITEM_PATTERN.match(before)
        checks.append(
            GoalCheck(command=_remove_backticks(found["command"]), name=item["name"].strip() if item else "")
        )
        if before.strip():
            lines.append(before)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip(), tuple(checks)


def _remove_backticks(command: str) -> str:
    command = command.strip()
    is_quoted = len(command) > 2 and command[0] == command[-1] == "`" and "`" not in command[1:-1]
    return command[1:-1].strip() if is_quoted else command
