"""The page for `/todos`, which edits the todo list (Enter saves all changes at once and informs the agent), and for
`/plan`, which switches plan mode and shows the plan."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from app.engine.planning.plan_mode import PlanApprovalReply
from app.engine.planning.todo_changes import TodoChange, TodoRefused, apply_todo_change, normalise_todo_phases
from app.engine.session import Session
from app.tui.features.todos.todo_list import TODO_STATE_GLYPHS, TODO_STATE_TONES, todo_state
from app.tui.page_protocols import AskOnScreen, NotifyWaiting, ShowMessage
from app.values.events import PlanProposed, QuestionAsked
from app.values.todos import Phases, TodoItem, TodoStatus, count_closed_todos, todo_items_of_phases
from widgets.key_labels import key_label
from widgets.lists.list_rows import ListRow, RowBadge
from widgets.lists.row_filter import MatchedListRow
from widgets.lists.row_list import RowList
from widgets.row_builder import cells
from widgets.screens.block import SingleBlockTranscript
from widgets.screens.dialogs import TextEditScreen, TextInputDialog
from widgets.screens.picker import PickerAction, PickerResult, PickerScreen, picker_bindings
from widgets.screens.screen_parts import KeyHint, KeyHints, QuestionEdge, RuleTitle
from widgets.status.input_guard import QuestionInputGuard
from widgets.textual_internals import ClosableModalScreen, app_keymap
from widgets.transcript.transcript_blocks import AppNoteKind, ReplyBlock, ReplyProse


class TodosScreen(PickerScreen):
    """The screen to edit the todo list; each key sends a request, and the application answers with `show_rows`."""

    IS_SEARCHED: ClassVar[bool] = False  # single letters are keys here
    IS_COUNTED: ClassVar[bool] = False
    ACTIONS = (
        PickerAction(
            id="app.todos.cycle",
            keys="space",
            label="status",
            help="Next status of the todo",
            closes=False,
            importance=8,
        ),
        PickerAction(
            id="app.todos.edit", keys="e", label="edit", help="Edit the todo", closes=False, importance=6
        ),
        PickerAction(
            id="app.todos.add",
            keys="a",
            label="add",
            help="Add a todo",
            closes=False,
            needs_row=False,
            importance=7,
        ),
        PickerAction(
            id="app.todos.drop",
            keys="d",
            label="drop",
            help="Mark the todo as dropped",
            closes=False,
            importance=5,
        ),
        PickerAction(
            id="app.todos.clear", keys="c", label="clear all", help="Remove all todos", importance=4
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)

    def __init__(self, rows: Sequence[ListRow], note: str = "") -> None:
        super().__init__(
            "Todos",
            rows,
            order="given",
            choose="save",
            note=note,
            empty="no items; a adds one",
        )

    def hints(self) -> list[KeyHint]:
        own = [KeyHint(action.keys, action.label, action.importance, action.id) for action in self.ACTIONS]
        return [
            KeyHint("enter", "save", 9, "tui.select.confirm"),
            *own,
            KeyHint("escape", "cancel", 9, "tui.select.cancel"),
        ]


_NEXT_TODO_STATUS: dict[TodoStatus, TodoStatus] = {
    "pending": "in_progress",
    "in_progress": "completed",
    "completed": "abandoned",
    "abandoned": "pending",
}


class TodosPage:
    """Shows and edits the todo list of one session."""

    def __init__(self, session: Session, ask: AskOnScreen, say: ShowMessage) -> None:
        self._session = session
        self._ask = ask
        self._show_message = say
        self._draft: Phases = ()

    async def open(self) -> None:
        before = self._draft = self._session.todos.phases
        screen = TodosScreen(_todo_rows(before), _progress_text(before))
        picked: PickerResult | None = await self._ask(screen, on_request=self._handle_request)
        if picked is not None and picked.action == "app.todos.clear":
            self._draft = ()
        if picked is None or self._draft == before:
            return
        if self._session.todos.phases != before:
            self._show_message(
                "The agent changed the list in the meantime, so your change was not saved. /todos shows it.",
                AppNoteKind.WARNING,
            )
            return
        await self._session.todos.replace_by_user(self._draft)

    async def _handle_request(self, request: TodosScreen.ActionRequested) -> None:
        screen, row = request.screen, request.row
        if not isinstance(screen, TodosScreen):
            return
        item = next(
            (one for one in todo_items_of_phases(self._draft) if row is not None and one.id == row.id), None
        )
        note = ""
        try:
            match request.action:
                case "app.todos.add":
                    await self._add_item(item)
                case "app.todos.edit" if item is not None:
                    await self._edit_item(item)
                case "app.todos.cycle" if item is not None:
                    self._set_status(item, _NEXT_TODO_STATUS[item.status])
                case "app.todos.drop" if item is not None:
                    self._set_status(item, "pending" if item.status == "abandoned" else "abandoned")
                case _:
                    return
        except TodoRefused as problem:
            note = str(problem)
        current = row.id if row is not None else ""
        screen.show_rows(_todo_rows(self._draft), current=current, note=note or _progress_text(self._draft))

    async def _add_item(self, item: TodoItem | None) -> None:
        """Asks for the text of a todo item and adds it to the phase of the current row."""
        text: str | None = await self._ask(TextInputDialog("Add an item", placeholder="text of the item"))
        if text and text.strip():
            phase = next((one.name for one in self._draft if item in one.tasks), None)
            self._draft = apply_todo_change(self._draft, TodoChange(op="add", tasks=(text,), phase=phase))

    async def _edit_item(self, item: TodoItem) -> None:
        text: str | None = await self._ask(TextInputDialog("Edit the item", prefill=item.content))
        if text and text.strip():
            self._replace_item(item, msgspec.structs.replace(item, content=text))

    def _set_status(self, item: TodoItem, status: TodoStatus) -> None:
        if status == "in_progress":
            self._draft = apply_todo_change(self._draft, TodoChange(op="start", tasks=(item.content,)))
        else:
            self._replace_item(item, msgspec.structs.replace(item, status=status, blocked=None))

    def _replace_item(self, item: TodoItem, other: TodoItem) -> None:
        self._draft = normalise_todo_phases(
            [
                msgspec.structs.replace(
                    phase, tasks=tuple(other if one.id == item.id else one for one in phase.tasks)
                )
                for phase in self._draft
            ]
        )


def _todo_rows(phases: Phases) -> list[ListRow]:
    rows: list[ListRow] = []
    for phase in phases:
        rows.append(ListRow(id=f"phase {phase.id}", title=phase.name, is_heading=True))
        rows += map(_todo_row, phase.tasks)
    return rows


def _todo_row(item: TodoItem) -> ListRow:
    state = todo_state(item)
    return ListRow(
        id=item.id,
        title=item.content,
        prefix=f"{TODO_STATE_GLYPHS[state]} ",
        tone=TODO_STATE_TONES[state],
        detail=f"blocked by: {item.blocked}" if item.blocked else "",
    )


def _progress_text(phases: Phases) -> str:
    closed, total = count_closed_todos(phases)
    return f"{closed} of {total} closed" if total else ""


# Plans

PlanAnswer = Literal["accept", "edit", "remark", "stay"]
_PLAN_ANSWERS: tuple[tuple[PlanAnswer, str, str, str], ...] = (
    ("accept", "Accept and begin", "app.plan.accept", "y"),
    ("edit", "Edit, then accept…", "app.plan.edit", "e"),
    ("remark", "Request changes…", "app.plan.remark", "r"),
    ("stay", "Stay in plan mode", "app.plan.stay", "Escape"),
)
"""The answers to a plan: what each is called, its key's action, and the usual key."""
_MOVING_KEYS = ("up", "down", "pageup", "pagedown")
_PLAN_SCREEN_VISIBLE_POLL_SECONDS = 0.2


class ProposedPlanScreen(ClosableModalScreen[PlanAnswer | None]):
    """The question whether a plan proposed by the agent is accepted: the plan, and the answers below it."""

    AUTO_FOCUS: ClassVar[str | None] = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Choose", show=False, id="tui.select.confirm"),
        Binding("y", "answer('accept')", "Accept", show=False, id="app.plan.accept"),
        Binding("e", "answer('edit')", "Edit", show=False, id="app.plan.edit"),
        Binding("r", "answer('remark')", "Request changes", show=False, id="app.plan.remark"),
        Binding("escape", "answer('stay')", "Stay", show=False, id="app.plan.stay"),
        Binding("up,k", "move(-1)", "Up", show=False, id="tui.select.up"),
        Binding("down,j", "move(1)", "Down", show=False, id="tui.select.down"),
        Binding("pageup,b", "page(-1)", "Page up", show=False, id="tui.select.pageUp"),
        Binding("pagedown,space", "page(1)", "Page down", show=False, id="tui.select.pageDown"),
    ]

    def __init__(self, title: str, plan: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(classes="full-height question card")
        self._heading = title
        self._clock = clock
        self._input_guard = QuestionInputGuard()
        self._answers = RowList(title_cells=max(cells(words) for _, words, _, _ in _PLAN_ANSWERS), id="rows")
        self._answers.styles.height = len(_PLAN_ANSWERS)
        self.transcript = SingleBlockTranscript(ReplyBlock(id="plan", parts=(ReplyProse(text=plan),)))
        self.transcript.can_focus = False

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield QuestionEdge()
            yield RuleTitle("Accept this plan?", self._heading, indent=0, id="title")
            yield self.transcript
            yield self._answers
            yield KeyHints(
                (
                    KeyHint("enter", "choose", 9, "tui.select.confirm"),
                    KeyHint(f"1-{len(_PLAN_ANSWERS)}", "pick", 7),
                    KeyHint("pageup/pagedown", "scroll", 6, "tui.select.pageUp/tui.select.pageDown"),
                ),
                id="keys",
            )

    def on_mount(self) -> None:
        self._answers.show_rows(self._answer_rows())
        self._input_guard.note_shown(self._clock())
        self.set_interval(_PLAN_SCREEN_VISIBLE_POLL_SECONDS, self.start_ignoring_keys_when_visible)

    def start_ignoring_keys_when_visible(self) -> None:
        """Called while the screen is visible: starts the pause after which keys are accepted."""
        self._input_guard.update_armed(self._clock())

    def on_key(self, event: events.Key) -> None:
        """Ignores a key that came so early that it was meant for the editor."""
        now = self._clock()
        if event.key in _MOVING_KEYS and self._input_guard.is_armed(now):
            return  # it decides nothing, and the Enter behind it answers at once
        self._input_guard.note_key_press(now)
        if event.is_printable and not (self._input_guard.was_armed and event.key in self.active_bindings):
            self._input_guard.note_letter(now)
        is_number = event.key.isdigit() and 1 <= int(event.key) <= len(_PLAN_ANSWERS)
        if not self._input_guard.was_armed or is_number:
            event.stop()
            event.prevent_default()
        if self._input_guard.was_armed and is_number:
            self.dismiss(_PLAN_ANSWERS[int(event.key) - 1][0])

    def _answer_rows(self) -> list[MatchedListRow]:
        keys = app_keymap(self.app)
        return [
            MatchedListRow(
                ListRow(
                    id=answer,
                    title=words,
                    prefix=f"{number}  ",
                    badges=(RowBadge(text=key_label(keys, action, usual), tone="accent"),),
                )
            )
            for number, (answer, words, action, usual) in enumerate(_PLAN_ANSWERS, 1)
        ]

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        self.action_choose()

    def action_choose(self) -> None:
        self.dismiss(_PLAN_ANSWERS[max(0, self._answers.index)][0])

    def action_move(self, delta: int) -> None:
        self._answers.action_move(delta)

    def action_answer(self, deed: PlanAnswer) -> None:
        self.dismiss(deed)

    def action_page(self, pages: int) -> None:
        self.transcript.keyboard.page(pages)


class PlansPage(msgspec.Struct, frozen=True):
    """Shows the plans of one session and switches plan mode."""

    session: Session
    ask: AskOnScreen
    show_message: ShowMessage
    notify_waiting: NotifyWaiting
    clock: Callable[[], float]

    async def toggle_plan_mode(self, prompt: str = "") -> None:
        """Switches plan mode on or off; with a prompt, switches it on and sends the prompt."""
        is_on = bool(prompt) or not self.session.state.is_planning
        self.session.plan.set_active(is_on)
        if is_on:
            self.show_message("Plan mode: nothing changes until you accept a plan. /plan ends it.")
        else:
            self.show_message(f"Plan mode is off. Permission mode: {self.session.state.permission_mode}.")
        if prompt:
            await self.session.prompt(prompt)

    async def show_proposed_plan(self, event: QuestionAsked) -> None:
        """Shows a plan that the agent proposes until it is answered, on the screen or by another client."""
        plan, answer = event.plan, event.answer
        if plan is None or answer is None:
            return
        self.notify_waiting(f"Plan: {plan.title}", answer)
        while not answer.done():
            reply = await self._ask_about_plan(plan, answer)
            if reply is not None and not answer.done():
                answer.set_result(reply)

    async def _ask_about_plan(
        self, plan: PlanProposed, answer: "asyncio.Future[Any]"
    ) -> PlanApprovalReply | None:
        screen = ProposedPlanScreen(plan.title, plan.plan, clock=self.clock)
        answer.add_done_callback(lambda _: screen.dismiss(None) if screen.is_current else None)
        deed: PlanAnswer | None = await self.ask(screen)
        match deed:
            case "accept":
                return PlanApprovalReply(is_accepted=True)
            case "stay":
                return PlanApprovalReply(is_accepted=False)
            case "edit":
                text = await self.ask(TextEditScreen("Edit the plan", prefill=plan.plan, is_for_reading=True))
                return PlanApprovalReply(is_accepted=True, plan=text) if text and text.strip() else None
            case "remark":
                words = await self.ask(TextInputDialog("What should change?"))
                return (
                    PlanApprovalReply(is_accepted=False, remark=words.strip())
                    if words and words.strip()
                    else None
                )
            case None:
                return None
