"""Shows approval questions about tool calls in the approval bar, one at a time, and applies the answers."""

import asyncio
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import msgspec
from textual.screen import Screen

from app.engine.core.user_questions import ApprovalReply
from app.engine.permissions.permission_gate import PermissionGate
from app.permits.permission_decisions import PERMISSION_MODES
from app.permits.risk_classes import RISK_DESCRIPTIONS
from app.permits.sandbox_exceptions import DECIDED_BY_SANDBOX_REQUEST, describe_rule
from app.tui.page_protocols import AskOnScreen, KeyLabel, NotifyWaiting, ShowMessage, SpawnTask
from app.values.approvals import Approval
from app.values.events import Event, QuestionAsked
from tools.edits.edit_card import make_file_diffs
from tools.edits.staged_actions import StagedAction
from tools.number_formatting import MINUS_SIGN
from tools.tool_result_values import Block, Card, DiffBlock, TextBlock, ToolResult
from widgets.editor.prompt_editor import PromptEditor
from widgets.status.approval import ApprovalBar
from widgets.status.approval_request import (
    ApprovalCallPart,
    ApprovalKeyLabels,
    ApprovalRequest,
    ApprovalRule,
    ChangedFile,
)
from widgets.status.approval_rows import split_command_at_operators
from widgets.textual_internals import ClosableModalScreen
from widgets.transcript.transcript_blocks import AppNoteKind

if TYPE_CHECKING:
    from app.engine.files.proposed_review import ProposedCallReview
    from app.tui.features.review.desk import ReviewDeskQuestion
    from app.tui.features.review.page import ChangeReviewPage

_DEFAULT_QUESTION_SOURCE = "An extension"
_STAGED_CHANGES_QUESTION_METHOD: Final = "staged"
_PERMISSION_MODE_NOTICE_SECONDS: Final = 3.0


class PreviewCallDiffs(Protocol):
    """The protocol of a function that returns what a tool call would change in files, as diffs in the form of a tool
    result."""

    async def __call__(
        self, name: str, arguments: Mapping[str, Any], *, is_for_person: bool = False
    ) -> ToolResult | None: ...


class ApprovalQuestionQueue(msgspec.Struct):
    """Holds the open approval questions of one session, shows them in the bar one after the other, and sends the
    answers."""

    permits: PermissionGate
    bar: ApprovalBar
    editor: PromptEditor
    preview_call: PreviewCallDiffs
    has_preview: Callable[[str], bool]
    """Returns whether calls of this tool have diffs."""
    spawn: SpawnTask
    screens: Callable[[], Sequence[Screen[Any]]]
    """Returns the open screens."""
    show_screen: AskOnScreen
    show_message: ShowMessage
    show_temporary_text: Callable[[str, float], None]
    """Shows a text above the editor for some seconds: a change of mode is no part of the conversation."""
    notify_waiting: NotifyWaiting
    key_label: KeyLabel
    reports_alt_separately: Callable[[], bool]
    """Returns whether the terminal tells Alt from an Escape before a key."""
    is_busy: Callable[[], bool]
    """Returns whether the agent works."""
    review_page: "Callable[[], ChangeReviewPage]"
    """Returns the review desk, on which a change of files is shown and answered."""
    _review_by_question: dict[str, "ProposedCallReview"] = {}
    """What a person decided on the desk about an open question, by its id."""
    _open_questions: list[QuestionAsked] = []
    _staged_by_question: dict[str, tuple[int, Card, StagedAction]] = {}
    """For questions about staged changes, by id: the number of staged changes, a card with all of them, and them."""

    @property
    def _next_question(self) -> QuestionAsked | None:
        """The open question to show next; questions about staged changes come last, because the agent does not wait for
        them."""
        return next(
            (one for one in self._open_questions if one.method != _STAGED_CHANGES_QUESTION_METHOD),
            next(iter(self._open_questions), None),
        )

    def handle_event(self, event: Event) -> None:
        if isinstance(event, QuestionAsked) and event.approval is not None and event.answer is not None:
            self._queue_question(event)
            self.notify_waiting(event.title or "", event.answer)

    async def ask(
        self,
        kind: Literal["confirm", "select", "open"],
        title: str,
        text: str = "",
        options: Sequence[str] = (),
    ) -> Any:
        """Asks an extension's question in the approval bar: yes or no, or one of several options; returns None without
        an answer. It is queued behind earlier questions, and protected from keys meant for the editor."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        event = QuestionAsked(
            id=str(uuid.uuid4()),
            method=kind,
            title=title,
            message=text,
            options=tuple(options),
            answer=answer,
        )
        self._queue_question(event)
        self.notify_waiting(title)
        return await answer

    def ask_about_staged(
        self, tool: str, text: str, *, of: int, whole: Card, staged: StagedAction
    ) -> "asyncio.Future[ApprovalReply]":
        """Asks in the approval bar whether staged changes are applied; returns a future of the answer, which is
        cancelled if they are no longer staged."""
        answer: asyncio.Future[ApprovalReply] = asyncio.get_running_loop().create_future()
        event = QuestionAsked(
            id=str(uuid.uuid4()),
            method=_STAGED_CHANGES_QUESTION_METHOD,
            title=tool,
            message=text,
            answer=answer,
        )
        self._staged_by_question[event.id] = (of, whole, staged)
        self._queue_question(event)
        return answer

    def _queue_question(self, event: QuestionAsked) -> None:
        self._open_questions.append(event)
        event.answer.add_done_callback(lambda _: self._remove_answered(event))
        self._show_next_question()

    def _remove_answered(self, event: QuestionAsked) -> None:
        """Removes an approval question that was answered somewhere or cancelled, and shows the next one."""
        self._open_questions = [one for one in self._open_questions if one is not event]
        self._staged_by_question.pop(event.id, None)
        self._review_by_question.pop(event.id, None)
        self._show_next_question()

    def _show_next_question(self) -> None:
        first = self._next_question
        now = self.bar.asked
        if (now.id if now else None) == (first.id if first else None):
            return
        self.bar.keys = self._key_labels()
        self.bar.show(self._make_request(first) if first is not None else None)
        for screen in self.screens():
            self.show_waiting_banner(screen)
        if first is None:
            return
        if first.method == _STAGED_CHANGES_QUESTION_METHOD:
            diffs = [
                one for one in self._staged_by_question[first.id][1].blocks if isinstance(one, DiffBlock)
            ]
            self.bar.show_proposed_change(first.id, _changed_files(diffs, names_files=True))
        elif first.approval is not None and self.has_preview(first.approval.tool_name):
            self.spawn(self._show_preview(first.id, first.approval))

    def show_waiting_banner(self, screen: Screen[Any]) -> None:
        """Shows a row at the top of a screen over the page that says that an approval question waits behind it."""
        if not isinstance(screen, ClosableModalScreen):
            return
        from app.tui.features.review.screen import ReviewQuestionScreen  # noqa: PLC0415  (as below)
        from widgets.screens.block import BlockApprovalScreen  # noqa: PLC0415  (screens come with the first of them)
        from widgets.screens.screen_parts import show_screen_banner  # noqa: PLC0415  (as above)

        if isinstance(screen, BlockApprovalScreen | ReviewQuestionScreen):
            return
        asked, key = self.bar.asked, self.key_label("tui.select.cancel", "esc")
        back = f" · {key} back to the question" if key else ""
        show_screen_banner(
            screen, f"? Waiting for your answer: {asked.question}{back}" if asked is not None else ""
        )

    async def _show_preview(self, question_id: str, approval: Approval) -> None:
        """Shows the diffs of the change inside the approval question as soon as the files have been read."""
        changes = await self.preview_call(approval.tool_name, approval.arguments, is_for_person=True)
        content = approval.arguments.get("content")
        if changes is not None:
            diffs = make_file_diffs(changes.details, str(approval.arguments.get("path", "")))
            self.bar.show_proposed_change(question_id, _changed_files(diffs, names_files=len(diffs) > 1))
        elif isinstance(content, str):
            path = str(approval.arguments.get("path", ""))
            added = content.splitlines()
            new = [
                ChangedFile(
                    path=path, diff="\n".join([f"@@ -0,0 +1,{len(added)} @@", *map("+{}".format, added)])
                )
            ]
            review = self.review_page().review_of_approval(approval)
            is_new = await review.load_proposed_files() and review.creates_all_files
            self.bar.show_proposed_change(
                question_id, new, question=self._question_text(approval, creates_file=is_new)
            )

    def _key_labels(self) -> ApprovalKeyLabels:
        told = self.key_label
        return ApprovalKeyLabels(
            once=told("app.approval.once", "alt+a"),
            deny=told("app.approval.deny", "alt+x"),
            always=told("app.approval.always", "alt+w"),
            details=told("app.approval.whole", "alt+v"),
            focus=told("app.approval.enter", "f8"),
            reports_alt_separately=self.reports_alt_separately(),
        )

    def _make_request(self, event: QuestionAsked) -> ApprovalRequest:
        if event.method == _STAGED_CHANGES_QUESTION_METHOD:
            of, _, _ = self._staged_by_question[event.id]
            tool, text = event.title or "", event.message or ""
            question = f"Apply the changes staged by {tool}?"
            return ApprovalRequest(
                id=event.id,
                tool=tool,
                text=text,
                question=question,
                total=of,
                kind=_STAGED_CHANGES_QUESTION_METHOD,
            )
        approval = event.approval
        if approval is None:
            return _make_extension_request(event)
        command = approval.arguments.get("command")
        text = command if isinstance(command, str) else approval.parts[0].text
        if approval.decided_by == DECIDED_BY_SANDBOX_REQUEST:
            text = "\n".join([*(one.text for one in approval.parts if one.text.startswith("allow ")), text])
        return ApprovalRequest(
            id=event.id,
            tool=approval.tool_name,
            text=text,
            question=self._question_text(approval),
            parts=tuple(
                ApprovalCallPart(
                    text=part.text,
                    effect=part.why or _risk_text(part.letter),
                    is_harmless=part.letter == "safe",
                    is_dangerous=part.letter == "forbidden",
                )
                for part in approval.parts
            ),
            effect=_risk_text(approval.letter),
            why=_reason_text(approval),
            mode=approval.mode,
            number=approval.number,
            total=approval.of,
            confirmation_word=approval.confirmation_word,
            rules=tuple(
                ApprovalRule(
                    text=rule.text,
                    matched_questions=rule.answers,
                    words=told.words,
                    scope="project" if told.is_about_sandbox else "session",
                    hosts=told.hosts,
                )
                for rule in approval.rules
                for told in (describe_rule(rule.text),)
            ),
            earlier_questions=approval.asked,
        )

    def _question_text(self, approval: Approval, *, creates_file: bool = False) -> str:
        asked = self._question_title(approval, "Create" if creates_file else "Change")
        return f"Helper {approval.helper}: {asked[0].lower()}{asked[1:]}" if approval.helper else asked

    def _question_title(self, approval: Approval, verb: str) -> str:
        if isinstance(approval.arguments.get("command"), str):
            return "Run this command?"
        if isinstance(approval.arguments.get("code"), str):
            return "Run this code?"
        if self.has_preview(approval.tool_name):
            files = list(dict.fromkeys(part.text.partition(" ")[2] for part in approval.parts))
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            return f"{verb} {files[0]}{more}?"
        return f"Allow {approval.tool_name}?"

    # Keys

    def allow_once(self) -> None:
        self.bar.answer_by_page_key(True)

    def deny(self) -> None:
        """Denies the call of the open approval question; a text in the editor is sent as the reason."""
        self.bar.answer_by_page_key(False)

    def always_allow(self) -> None:
        self.bar.focus_approval_card(lists_rules=True)

    def focus_approval_card(self) -> None:
        self.bar.focus_approval_card()

    def answers_open_question(self, text: str) -> bool:
        """Handles a text sent from the editor that answers the open approval question: moves to the answer that it
        names, or denies with it as the reason. Returns False if the text is a prompt."""
        event = self._next_question
        if self.bar.asks_reason and event is not None:
            self._deny(event, text.strip())
            return True
        return self.bar.move_cursor_to_named_answer(text)

    def leaves_text_to_the_agent(self) -> bool:
        """Returns whether the editor has a text that is no answer to the open question."""
        return not (self.editor.model.is_blank or self.bar.asks_reason)

    def screen_resized(self) -> None:
        """Lays an open approval question out again for the terminal's new height."""
        if self._next_question is not None:
            self.bar.on_resize()

    def editor_changed(self) -> None:
        self.bar.note_editor_text(self.editor.model.is_blank)

    async def show_details(self) -> None:
        """Opens all of what an approval question is about on a separate screen: the whole command, or a change of files
        on the review desk."""
        event, had_card_focus = self._next_question, self.bar.has_approval_card_focus
        if event is None:
            return
        if not await self._open_review(event):
            await self._open_details(event)
        if not had_card_focus:
            self.bar.accept_letters_again()

    async def _open_details(self, event: QuestionAsked) -> None:
        from widgets.screens.block import BlockApprovalScreen  # noqa: PLC0415  (a screen that few questions open)

        if event.method == _STAGED_CHANGES_QUESTION_METHOD:
            title, card = event.title or "", self._staged_by_question[event.id][1]
        elif event.approval is None:
            title, card = (
                _DEFAULT_QUESTION_SOURCE,
                Card(title="question", blocks=(TextBlock(text=_full_text(event)),)),
            )
        else:
            title = self._question_text(event.approval)
            changes = await self.preview_call(
                event.approval.tool_name, event.approval.arguments, is_for_person=True
            )
            card = _full_card(event.approval, changes)
        labels = ("", "deny") if event.approval is not None else ("yes", "no")
        if event.method == _STAGED_CHANGES_QUESTION_METHOD:
            labels = ("apply", "discard")
        elif event.approval is not None and event.approval.confirmation_word is None:
            labels = ("allow", "deny")
        if self.bar.is_in_doubt:
            labels = ("", labels[1])
        await self.show_screen(BlockApprovalScreen(title, card, self.bar.answer_by_page_key, labels=labels))

    async def _open_review(self, event: QuestionAsked) -> bool:
        """Opens the files' change that an approval question is about on the review desk, where it can be answered;
        returns False if it is about no such change."""
        staged = (
            self._staged_by_question[event.id][2] if event.method == _STAGED_CHANGES_QUESTION_METHOD else None
        )
        if staged is not None and staged.files:
            title = f"Apply the changes staged by {event.title}?"
            labels = ("" if self.bar.is_in_doubt else "apply", "", "discard")
            await self.review_page().open_staged_changes(staged, self._desk_question(title, labels))
            return True
        approval = event.approval
        if approval is None or not self.has_preview(approval.tool_name):
            return False
        review = self._review_by_question.get(event.id) or self.review_page().review_of_approval(approval)
        if not await review.load_proposed_files():
            return False
        self._review_by_question[event.id] = review
        can_allow = approval.confirmation_word is None and not self.bar.is_in_doubt
        always = "always…" if approval.rules and can_allow else ""
        question = self._desk_question(
            self._question_text(approval, creates_file=review.creates_all_files),
            ("allow" if can_allow else "", always, "deny"),
            review,
        )
        await self.review_page().open_proposed_changes(review, question)
        if review.is_call_changed and event in self._open_questions:
            diffs = await asyncio.to_thread(review.reviewed_diffs)
            self.bar.show_proposed_change(event.id, _changed_files(diffs, names_files=len(diffs) > 1))
        return True

    def _desk_question(
        self, title: str, labels: tuple[str, str, str], review: "ProposedCallReview | None" = None
    ) -> "ReviewDeskQuestion":
        from app.tui.features.review.desk import ReviewDeskQuestion  # noqa: PLC0415  (a screen that few questions open)

        def answer(chosen: Literal["yes", "always", "no"]) -> str | None:
            if (
                chosen == "yes"
                and review is not None
                and review.is_call_changed
                and review.reviewed_arguments() is None
            ):
                return "all changes of this call are excluded: n denies it"
            if chosen == "always":
                self.bar.call_later(self.bar.focus_approval_card, lists_rules=True)
                return None
            is_answered = self.bar.answer_by_page_key(chosen == "yes")
            return None if is_answered else self.bar.refusal or "too early: press the key again"

        return ReviewDeskQuestion(title, labels, answer)

    def cycle_mode(self) -> None:
        """Switches to the next permission mode for this session. While the agent works, a key that may be a typed
        Escape and a letter counts only when it is pressed again, and never while a question is open."""
        if self.is_busy() and not self.bar.is_intended_answer_key("/permissions"):
            if self.bar.asked is None:
                self.show_temporary_text(
                    "This key is unclear in this terminal: press it again for the next mode.",
                    _PERMISSION_MODE_NOTICE_SECONDS,
                )
            return
        now = self.permits.rules.mode
        self.permits.rules.set_mode(
            PERMISSION_MODES[(PERMISSION_MODES.index(now) + 1) % len(PERMISSION_MODES)]
        )
        self.show_temporary_text(
            f"Permission mode: {self.permits.rules.mode}", _PERMISSION_MODE_NOTICE_SECONDS
        )

    # Answers

    def handle_answer(self, message: ApprovalBar.Answered) -> None:
        event = next((one for one in self._open_questions if one.id == message.id), None)
        if event is None:
            return
        if event.approval is None and event.method != _STAGED_CHANGES_QUESTION_METHOD:
            if not event.answer.done():
                chosen = message.rule if event.method == "select" else message.allows
                event.answer.set_result(
                    chosen if message.allows else False if event.method == "confirm" else None
                )
            return
        reason = ""
        if not message.allows and not self.bar.has_approval_card_focus:
            reason = self.editor.text.strip()
            if reason:
                self.editor.set_text("")
        reply = ApprovalReply(is_allowed=message.allows, rule=message.rule, rule_scope=message.scope)
        review = self._review_by_question.get(event.id)
        if not reply.is_allowed:
            self._deny(event, reason)
        elif review is None or not review.is_call_changed:
            self._send_reply(event, reply)
        else:
            self.spawn(self._allow_edited_call(event, reply, review))

    def _deny(self, event: QuestionAsked, reason: str) -> None:
        """Answers an approval question with no, with the person's reason and the remarks on the change."""
        review = self._review_by_question.get(event.id)
        reason = "\n\n".join(filter(None, (reason, review.message() if review is not None else "")))
        self._send_reply(event, ApprovalReply(is_allowed=False, reason=reason))

    async def _allow_edited_call(
        self, event: QuestionAsked, reply: ApprovalReply, review: "ProposedCallReview"
    ) -> None:
        """Allows a call as the person edited it on the review desk; not if its files have changed since then or all
        changes were left out."""
        stale = await review.stale_files()
        arguments = await asyncio.to_thread(review.reviewed_arguments)
        if stale:
            self._review_by_question.pop(event.id, None)
            self.show_message(
                f"{', '.join(stale)} changed after you edited the call, so the call was not allowed. Review it again.",
                AppNoteKind.WARNING,
            )
            if event.approval is not None:
                await self._show_preview(event.id, event.approval)
        elif arguments is None:
            self._send_reply(
                event, ApprovalReply(is_allowed=False, reason="All of its changes were left out.")
            )
        else:
            self._send_reply(
                event, msgspec.structs.replace(reply, arguments=arguments, is_changed_call_allowed=True)
            )

    async def edit_waiting_call(self) -> None:
        """Lets the user edit the command or arguments of the call that waits for approval; the edited call is then
        judged again."""
        event = self._next_question
        approval = event.approval if event is not None else None
        if event is None or approval is None:
            return
        from widgets.screens.dialogs import TextEditScreen  # noqa: PLC0415  (a screen that few questions open)

        command = approval.arguments.get("command")
        is_command = isinstance(command, str)
        prefill = command if is_command else json.dumps(approval.arguments, indent=2, ensure_ascii=False)
        text = await self.show_screen(
            TextEditScreen(f"Edit the {approval.tool_name} call", "", prefill=prefill)
        )
        changed: Any = None
        if isinstance(text, str) and is_command:
            changed = {**approval.arguments, "command": text}
        elif isinstance(text, str):
            try:
                changed = json.loads(text)
            except ValueError as problem:
                self.show_message(
                    f"Invalid arguments: {problem}. The call was not changed.", AppNoteKind.WARNING
                )
                return
        if isinstance(changed, dict) and changed != approval.arguments and event in self._open_questions:
            self._send_reply(event, ApprovalReply(is_allowed=True, arguments=changed))

    def _send_reply(self, event: QuestionAsked, reply: ApprovalReply) -> None:
        answer: asyncio.Future[Any] = event.answer
        if not answer.done():
            answer.set_result(reply)


def _make_extension_request(event: QuestionAsked) -> ApprovalRequest:
    """Converts an extension's question, which is not about a tool call, into an approval request for the bar."""
    kind: Any = event.method
    return ApprovalRequest(
        id=event.id,
        tool=_DEFAULT_QUESTION_SOURCE,
        text=event.message or "",
        question=f"{_DEFAULT_QUESTION_SOURCE} asks: {event.title}"
        if event.title
        else f"{_DEFAULT_QUESTION_SOURCE} asks",
        kind=kind,
        options=event.options or (),
    )


def _changed_files(diffs: Sequence[DiffBlock], *, names_files: bool) -> list[ChangedFile]:
    """Converts a change into files with diffs for the approval question; each has a heading, unless the question names
    it."""
    return [
        ChangedFile(
            path=diff.path,
            diff=diff.diff,
            heading=f"{diff.path}  +{diff.added} {MINUS_SIGN}{diff.removed}" if names_files else "",
        )
        for diff in diffs
    ]


def _full_text(event: QuestionAsked) -> str:
    return "\n".join(filter(None, (event.title, event.message, "", *(event.options or ()))))


def _full_card(approval: Approval, changes: ToolResult | None) -> Card:
    """Returns a card with all that a call would run and the reason for each part. A command is shown once: as its
    parts, if these are all of it."""
    blocks: list[Block] = []
    diffs = make_file_diffs(changes.details) if changes is not None else ()
    texts = tuple(part.text for part in approval.parts)
    shown: set[str] = set()
    for name, value in () if diffs else approval.arguments.items():
        plain = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
        if pieces := split_command_at_operators(plain, texts):
            texts = tuple(pieces)
        else:
            blocks.append(TextBlock(text=f"{name}: {plain}"))
            shown.add(plain)
    rows: list[str] = []
    for text, part in zip(texts, approval.parts, strict=True):
        reason = f"{_risk_text(part.letter)}: {part.why}"
        rows += [reason] if text in shown else [text, f"   {reason}"]
    return Card(title=approval.tool_name, blocks=(*blocks, *diffs, TextBlock(text="\n".join(rows))))


def _reason_text(approval: Approval) -> str:
    is_decided_by_mode = approval.decided_by.startswith("mode ")
    return approval.why if is_decided_by_mode else f"{approval.why} · required by {approval.decided_by}"


def _risk_text(risk: str) -> str:
    return RISK_DESCRIPTIONS.get(risk, risk)  # type: ignore[call-overload]
