"""Shows approval questions in the bar, one at a time, and applies the answers."""

import asyncio
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol

import msgspec
from textual.screen import Screen

from app.engine.core.user_questions import ApprovalReply
from app.engine.permissions.permission_gate import PermissionGate
from app.permits.permission_decisions import PERMISSION_MODES
from app.permits.sandbox_exceptions import SANDBOX_REQUEST, rule_words
from app.permits.verdicts import RISK_MEANINGS
from app.tui.page_protocols import AskPerson, KeyLabel, NotifyWaiting, ShowMessage, Spawn
from app.values.approvals import Approval
from app.values.events import Event, QuestionAsked
from tools.amounts import MINUS
from tools.diff_lines import parse_diff
from tools.edits.card import file_diffs
from tools.results import Block, Card, DiffBlock, TextBlock, ToolResult
from widgets.editor.prompt import PromptEditor
from widgets.status.approval import ApprovalBar
from widgets.status.approval_request import (
    ApprovalKeys,
    ApprovalPart,
    ApprovalRequest,
    ApprovalRule,
    ChangeRow,
)
from widgets.textual_internals import SheetScreen
from widgets.transcript.blocks import NoteKind

_ASKER = "An extension"
_STAGED: Final = "staged"
_MODE_SECONDS: Final = 3.0


class PreviewCall(Protocol):
    """Returns the diffs that a call would produce, in the form of a result's details."""

    async def __call__(
        self, name: str, arguments: Mapping[str, Any], *, is_for_person: bool = False
    ) -> ToolResult | None: ...


class Approvals(msgspec.Struct):
    """Manages the approval questions of one session, and shows them in the bar."""

    permits: PermissionGate
    bar: ApprovalBar
    editor: PromptEditor
    preview: PreviewCall
    has_preview: Callable[[str], bool]
    """Returns whether calls of this tool have diffs."""
    spawn: Spawn
    screens: Callable[[], Sequence[Screen[Any]]]
    """Returns the open screens."""
    show_screen: AskPerson
    say: ShowMessage
    tell: Callable[[str, float], None]
    """Shows a text above the editor for some seconds: a change of mode is no part of the conversation."""
    told: NotifyWaiting
    key_label: KeyLabel
    is_busy: Callable[[], bool]
    """Returns whether the agent works."""
    _open: list[QuestionAsked] = []
    _staged: dict[str, tuple[int, Card]] = {}
    """For questions about staged changes, by id: the number of staged changes and a card with all
    of them."""

    @property
    def _first(self) -> QuestionAsked | None:
        """Returns the next question; questions about staged changes come last, because the agent does
        not wait for them."""
        return next((one for one in self._open if one.method != _STAGED), next(iter(self._open), None))

    def note(self, event: Event) -> None:
        if isinstance(event, QuestionAsked) and event.approval is not None and event.answer is not None:
            self._begin(event)
            self.told(event.title or "", event.answer)

    async def ask(
        self,
        kind: Literal["confirm", "select", "open"],
        title: str,
        text: str = "",
        options: Sequence[str] = (),
    ) -> Any:
        """Asks a question of an extension: yes or no, or one of several options; None without an answer.

        It is queued behind earlier questions in the bar, and protected from keys meant for the editor."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        event = QuestionAsked(
            id=str(uuid.uuid4()),
            method=kind,
            title=title,
            message=text,
            options=tuple(options),
            answer=answer,
        )
        self._begin(event)
        self.told(title)
        return await answer

    def ask_about_staged(
        self, tool: str, text: str, *, of: int, whole: Card
    ) -> "asyncio.Future[ApprovalReply]":
        """Asks about staged changes; the future is cancelled if they are no longer staged."""
        answer: asyncio.Future[ApprovalReply] = asyncio.get_running_loop().create_future()
        event = QuestionAsked(id=str(uuid.uuid4()), method=_STAGED, title=tool, message=text, answer=answer)
        self._staged[event.id] = (of, whole)
        self._begin(event)
        return answer

    def _begin(self, event: QuestionAsked) -> None:
        self._open.append(event)
        event.answer.add_done_callback(lambda _: self._answered(event))
        self._show()

    def _answered(self, event: QuestionAsked) -> None:
        """Removes a question that was answered anywhere or cancelled."""
        self._open = [one for one in self._open if one is not event]
        self._staged.pop(event.id, None)
        self._show()

    def _show(self) -> None:
        first = self._first
        now = self.bar.asked
        if (now.id if now else None) == (first.id if first else None):
            return
        self.bar.keys = self._keys()
        self.bar.show(self._shown(first) if first is not None else None)
        for screen in self.screens():
            self.mark(screen)
        if first is None:
            return
        if first.method == _STAGED:
            diffs = [one for one in self._staged[first.id][1].blocks if isinstance(one, DiffBlock)]
            self.bar.show_change(first.id, _change_rows(diffs, names_files=True))
        elif first.approval is not None and self.has_preview(first.approval.tool_name):
            self.spawn(self._show_change(first.id, first.approval))

    def mark(self, screen: Screen[Any]) -> None:
        """Says on a page over the main one that a question waits behind it."""
        if not isinstance(screen, SheetScreen):
            return
        from widgets.screens.block import AskedBlockScreen  # noqa: PLC0415  (screens come with the first of them)
        from widgets.screens.screen_parts import show_banner  # noqa: PLC0415  (as above)

        if isinstance(screen, AskedBlockScreen):
            return
        asked, key = self.bar.asked, self.key_label("tui.select.cancel", "esc")
        back = f" · {key} back to it" if key else ""
        show_banner(screen, f"? Waiting for your answer: {asked.question}{back}" if asked is not None else "")

    async def _show_change(self, question_id: str, approval: Approval) -> None:
        """Shows the change inside the question, as soon as the files have been read."""
        changes = await self.preview(approval.tool_name, approval.arguments, is_for_person=True)
        if changes is not None:
            diffs = file_diffs(changes.details)
            self.bar.show_change(question_id, _change_rows(diffs, names_files=len(diffs) > 1))

    def _keys(self) -> ApprovalKeys:
        told = self.key_label
        return ApprovalKeys(
            once=told("app.approval.once", "alt+a"),
            deny=told("app.approval.deny", "alt+x"),
            always=told("app.approval.always", "alt+w"),
            whole=told("app.approval.whole", "alt+v"),
            enter=told("app.approval.enter", "f8"),
        )

    def _shown(self, event: QuestionAsked) -> ApprovalRequest:
        if event.method == _STAGED:
            of, _ = self._staged[event.id]
            tool, text = event.title or "", event.message or ""
            question = f"Apply what {tool} staged?"
            return ApprovalRequest(id=event.id, tool=tool, text=text, question=question, of=of, kind=_STAGED)
        approval = event.approval
        if approval is None:
            return _other(event)
        command = approval.arguments.get("command")
        text = command if isinstance(command, str) else approval.parts[0].text
        if approval.decided_by == SANDBOX_REQUEST:
            text = "\n".join([*(one.text for one in approval.parts if one.text.startswith("allow ")), text])
        return ApprovalRequest(
            id=event.id,
            tool=approval.tool_name,
            text=text,
            question=self._question(approval),
            parts=tuple(
                ApprovalPart(
                    text=part.text,
                    does=part.why or _risk_text(part.letter),
                    is_harmless=part.letter == "safe",
                    is_dangerous=part.letter == "forbidden",
                )
                for part in approval.parts
            ),
            does=_risk_text(approval.letter),
            why=_reason_text(approval),
            mode=approval.mode,
            number=approval.number,
            of=approval.of,
            confirmation_word=approval.confirmation_word,
            rules=tuple(
                ApprovalRule(text=rule.text, answers=rule.answers, words=words, hosts=hosts)
                for rule in approval.rules
                for words, hosts in (rule_words(rule.text),)
            ),
            asked=approval.asked,
        )

    def _question(self, approval: Approval) -> str:
        asked = self._question_title(approval)
        return f"Helper {approval.helper}: {asked[0].lower()}{asked[1:]}" if approval.helper else asked

    def _question_title(self, approval: Approval) -> str:
        if isinstance(approval.arguments.get("command"), str):
            return "Run this command?"
        if isinstance(approval.arguments.get("code"), str):
            return "Run this code?"
        if self.has_preview(approval.tool_name):
            files = list(dict.fromkeys(part.text.partition(" ")[2] for part in approval.parts))
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            return f"Change {files[0]}{more}?"
        return f"Allow {approval.tool_name}?"

    # Keys

    def once(self) -> None:
        self.bar.answer(True)

    def deny(self) -> None:
        """Denies the call; the editor's text is sent as the reason."""
        self.bar.answer(False)

    def always(self) -> None:
        self.bar.enter(lists_rules=True)

    def enter(self) -> None:
        self.bar.enter()

    def offers(self, text: str) -> bool:
        """Whether a sent text is an answer to the question, which Enter then gives; it is not sent."""
        return self.bar.offer(text)

    def editor_changed(self) -> None:
        self.bar.note_editor(self.editor.model.is_blank)

    async def whole(self) -> None:
        """Shows the whole command or the whole change."""
        event = self._first
        if event is None:
            return
        from widgets.screens.block import AskedBlockScreen  # noqa: PLC0415  (a screen that few questions open)

        if event.method == _STAGED:
            title, card = event.title or "", self._staged[event.id][1]
        elif event.approval is None:
            title, card = _ASKER, Card(title="asks", blocks=(TextBlock(text=_full_text(event)),))
        else:
            title = self._question(event.approval)
            changes = await self.preview(
                event.approval.tool_name, event.approval.arguments, is_for_person=True
            )
            card = _full_card(event.approval, changes)
        labels = ("", "deny") if event.approval is not None else ("yes", "no")
        if event.method == _STAGED:
            labels = ("apply", "discard")
        elif event.approval is not None and event.approval.confirmation_word is None:
            labels = ("allow", "deny")
        await self.show_screen(AskedBlockScreen(title, card, self.bar.answer, labels=labels))

    def cycle_mode(self) -> None:
        """Switches to the next mode for this session. While the agent works, a chord that may be a
        typed Escape does not loosen the mode."""
        if self.is_busy() and not self.bar.is_intended():
            if self.bar.asked is None:
                self.tell("Press the same key again for the next mode.", _MODE_SECONDS)
            return
        now = self.permits.rules.mode
        self.permits.rules.set_mode(
            PERMISSION_MODES[(PERMISSION_MODES.index(now) + 1) % len(PERMISSION_MODES)]
        )
        self.tell(f"Permissions: {self.permits.rules.mode}", _MODE_SECONDS)

    # Answers

    def answered(self, message: ApprovalBar.Answered) -> None:
        event = next((one for one in self._open if one.id == message.id), None)
        if event is None:
            return
        if event.approval is None and event.method != _STAGED:
            if not event.answer.done():
                chosen = message.rule if event.method == "select" else message.allows
                event.answer.set_result(
                    chosen if message.allows else False if event.method == "confirm" else None
                )
            return
        reason = ""
        if not message.allows and not self.bar.is_inside:
            reason = self.editor.text.strip()
            if reason:
                self.editor.set_text("")
        self._reply(
            event,
            ApprovalReply(allows=message.allows, reason=reason, rule=message.rule, keeps=message.scope),
        )

    async def edit(self) -> None:
        """Lets the user edit the call, which is then checked again."""
        event = self._first
        approval = event.approval if event is not None else None
        if event is None or approval is None:
            return
        from widgets.screens.dialogs import TextScreen  # noqa: PLC0415  (a screen that few questions open)

        command = approval.arguments.get("command")
        is_command = isinstance(command, str)
        prefill = command if is_command else json.dumps(approval.arguments, indent=2, ensure_ascii=False)
        text = await self.show_screen(TextScreen(f"{approval.tool_name} with", "", prefill=prefill))
        changed: Any = None
        if isinstance(text, str) and is_command:
            changed = {**approval.arguments, "command": text}
        elif isinstance(text, str):
            try:
                changed = json.loads(text)
            except ValueError as problem:
                self.say(f"Invalid arguments: {problem}. The call was not changed.", NoteKind.WARNING)
                return
        if isinstance(changed, dict) and changed != approval.arguments and event in self._open:
            self._reply(event, ApprovalReply(allows=True, arguments=changed))

    def _reply(self, event: QuestionAsked, reply: ApprovalReply) -> None:
        answer: asyncio.Future[Any] = event.answer
        if not answer.done():
            answer.set_result(reply)


def _other(event: QuestionAsked) -> ApprovalRequest:
    """Converts a question that is not about a tool call into an approval request for the bar."""
    kind: Any = event.method
    return ApprovalRequest(
        id=event.id,
        tool=_ASKER,
        text=event.message or "",
        question=f"{_ASKER} asks: {event.title}" if event.title else f"{_ASKER} asks",
        kind=kind,
        options=event.options or (),
    )


def _change_rows(diffs: Sequence[DiffBlock], *, names_files: bool) -> list[ChangeRow]:
    """Returns the rows of a change; each file begins with its name, unless the question names it."""
    kinds: dict[str, Literal["added", "removed", "context"]] = {"+": "added", "-": "removed"}
    rows: list[ChangeRow] = []
    for diff in diffs:
        if names_files:
            rows.append(ChangeRow(kind="file", text=f"{diff.path}  +{diff.added} {MINUS}{diff.removed}"))
        code, lines = parse_diff(diff.diff)
        rows += [
            ChangeRow(kind=kinds.get(one.kind, "context"), text=code[one.start : one.end]) for one in lines
        ]
    return rows


def _full_text(event: QuestionAsked) -> str:
    return "\n".join(filter(None, (event.title, event.message, "", *(event.options or ()))))


def _full_card(approval: Approval, changes: ToolResult | None) -> Card:
    """Returns a card with everything that would run, and the reason for each part; the search (`/`)
    finds each of several files."""
    told = "\n".join(f"{_risk_text(part.letter)}: {part.text}\n   {part.why}" for part in approval.parts)
    blocks: list[Block] = []
    diffs = file_diffs(changes.details) if changes is not None else ()
    for name, value in () if diffs else approval.arguments.items():
        plain = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
        blocks.append(TextBlock(text=f"{name}: {plain}"))
    return Card(title=approval.tool_name, blocks=(*blocks, *diffs, TextBlock(text=told)))


def _reason_text(approval: Approval) -> str:
    is_decided_by_mode = approval.decided_by.startswith("mode ")
    return approval.why if is_decided_by_mode else f"{approval.why} · asked by {approval.decided_by}"


def _risk_text(risk: str) -> str:
    return RISK_MEANINGS.get(risk, risk)  # type: ignore[call-overload]
