"""The page for `/goal`: sets a goal with the command that checks it, shows its status, and notices when files changed
since the check passed."""

import asyncio
import time
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from app.engine.goals.goal_commands import check_goal, continue_goal
from app.engine.goals.goal_texts import goal_state_text, parse_goal
from app.engine.session import Session
from app.tui.features.shared_dialogs import ask_text
from app.tui.page_protocols import AskOnScreen, ShowMessage, SpawnTask
from app.values.events import Event, GoalChanged
from app.values.todos import CheckResult, GoalCheck, GoalView
from app.values.user_errors import UserError
from tools.number_formatting import format_seconds
from widgets.lists.list_rows import ListRow
from widgets.screens.dialogs import TextInputDialog
from widgets.screens.picker import PickerAction, PickerResult, PickerScreen, picker_bindings
from widgets.transcript.transcript_blocks import AppNoteKind

GOAL_FILES_POLL_SECONDS = 3.0
"""Seconds between two looks at the files while a proof holds; each costs one `lstat` per file."""
MIN_GOAL_POLL_PAUSE_FACTOR = 100
"""How many times as long as a look the pause after it is at least."""
_GOAL_WITHOUT_CHECK_TEXT = "a goal needs a command that checks it"


class GoalScreen(PickerScreen):
    """The screen with the goal's checks and their results."""

    IS_SEARCHED: ClassVar[bool] = False  # single letters are keys here
    IS_COUNTED: ClassVar[bool] = False
    ACTIONS = (
        PickerAction(
            id="app.goal.check",
            keys="c",
            label="check now",
            help="Run the goal's check now",
            needs_row=False,
            importance=8,
        ),
        PickerAction(
            id="app.goal.continue",
            keys="g",
            label="continue",
            help="Let the agent continue with the goal",
            needs_row=False,
            importance=7,
        ),
        PickerAction(
            id="app.goal.clear",
            keys="x",
            label="remove goal",
            help="Remove the goal",
            needs_row=False,
            importance=6,
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)


class GoalPage:
    """Sets, shows and checks the goal of one session."""

    def __init__(self, session: Session, ask: AskOnScreen, say: ShowMessage, *, spawn: SpawnTask) -> None:
        self._session = session
        self._ask = ask
        self._show_message = say
        self._spawn = spawn
        self._is_polling = False

    async def run_goal_command(self, words: str) -> None:
        match words.strip():
            case "":
                await (self._open_goal_screen() if self._session.goal.is_set else self._set_goal(""))
            case "continue":
                await continue_goal(self._session)
            case "check":
                self._run_check()
            case "clear":
                await self._remove_goal()
            case text:
                await self._set_goal(text)

    async def _set_goal(self, words: str) -> None:
        """Sets the goal of the session from the typed text, asks for a missing goal or check, and sends the goal as a
        prompt."""
        text, checks = parse_goal(words)
        if not text:
            text = (await ask_text(self._ask, "What is the goal?") or "").strip()
        if text and not checks:
            screen = TextInputDialog(
                "Which command checks it?",
                "bayou runs it when the agent says that it is done. Exit code 0 means that the goal is met.",
                placeholder="pytest -q",
                check=lambda command: "" if command.strip() else _GOAL_WITHOUT_CHECK_TEXT,
            )
            command: str | None = await self._ask(screen)
            checks = (GoalCheck(command=command),) if command else ()
        if not text or not checks:
            self._show_message("No goal was set.")
            return
        await self._session.goal.set_goal(text, checks)
        await self._session.prompt(text, while_running="steer", expand=False)

    async def _open_goal_screen(self) -> None:
        view = await self._session.goal.check_goal_staleness()
        if view is None:
            return
        screen = GoalScreen(
            view.goal.text.split("\n", 1)[0],
            _check_rows(view),
            order="given",
            choose="close",
            note=goal_state_text(view),
        )

        def follow(event: Event) -> None:
            if isinstance(event, GoalChanged) and event.view is not None:
                screen.show_rows(_check_rows(event.view), note=goal_state_text(event.view))

        leave = self._session.subscribe(follow, hears=("goal_changed",))
        try:
            picked: PickerResult | None = await self._ask(screen)
        finally:
            leave()
        match picked.action if picked is not None else None:
            case "app.goal.check":
                self._run_check()
            case "app.goal.continue":
                await continue_goal(self._session)
            case "app.goal.clear":
                await self._remove_goal()
            case _:
                return

    def _run_check(self) -> None:
        """Runs the goal's check in the background, so that the goal page stays usable."""
        self._spawn(self._show_check_result())

    async def _show_check_result(self) -> None:
        try:
            await check_goal(self._session)
        except UserError as problem:
            self._show_message(str(problem), AppNoteKind.WARNING)

    async def _remove_goal(self) -> None:
        await self._session.goal.clear_goal()
        self._show_message("The goal was removed.")

    # The proof

    def poll_goal_files(self) -> None:
        """Checks regularly whether files changed since the goal's check passed."""
        if not self._is_polling and _proof_holds(self._session.goal.goal_view):
            self._is_polling = True
            self._spawn(self._poll_repeatedly())

    async def _poll_repeatedly(self) -> None:
        try:
            began = time.monotonic()
            while _proof_holds(await self._session.goal.check_goal_staleness()):  # (files have no event)
                await asyncio.sleep(
                    max(GOAL_FILES_POLL_SECONDS, MIN_GOAL_POLL_PAUSE_FACTOR * (time.monotonic() - began))
                )
                began = time.monotonic()
        finally:
            self._is_polling = False


def _proof_holds(view: GoalView | None) -> bool:
    return view is not None and view.goal.status == "done" and not view.is_stale


def _check_rows(view: GoalView) -> Sequence[ListRow]:
    proof = view.goal.proof
    results = proof.results if proof is not None else ()
    return [
        _check_row(number, check, results[number] if number < len(results) else None, is_stale=view.is_stale)
        for number, check in enumerate(view.goal.checks)
    ]


def _check_row(number: int, check: GoalCheck, result: CheckResult | None, *, is_stale: bool) -> ListRow:
    title = f"{check.name}: {check.command}" if check.name else check.command
    if result is None:
        return ListRow(id=str(number), title=title, prefix="○ ", detail="not checked yet")
    ending = f"exit {result.exit_code}" if result.exit_code is not None else result.problem.split("\n", 1)[0]
    detail = ", ".join(filter(None, (ending, format_seconds(result.seconds), "stale" if is_stale else "")))
    tone = "dim" if is_stale else "text" if result.has_passed else "warning"
    return ListRow(
        id=str(number), title=title, prefix="✓ " if result.has_passed else "✗ ", tone=tone, detail=detail
    )
