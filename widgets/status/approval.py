"""The approval question above the editor: may this call run? It does not take the focus.

While the editor is empty, single letters, numbers, arrows and Enter answer; with text in it, and after Escape on the
page of the card or the end of the focus, only keys with Ctrl, Alt or F do, and only after the question was visible for
a while (`input_guard`). A letter, a number or Enter counts once no other key follows it at once, so no part of a text
is an answer. F8 focuses the question; then the word for a dangerous command is typed. Clicks do nothing."""

import math
import time
from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from widgets.row_builder import RIGHT_MARGIN_CELLS, RowBuilder
from widgets.status.approval_keys import (
    APPROVAL_DETAILS_LETTER,
    ENTER_CHARACTER,
    LETTER_BY_MAC_OPTION_CHARACTER,
    AmbiguousAltKeys,
    HeldAnswerKey,
    advice_for,
    is_approval_key,
    is_text_typing_key,
)
from widgets.status.approval_painting import APPROVAL_CARD_COMPONENT_CLASS_NAMES, paint_approval_row
from widgets.status.approval_request import (
    ApprovalAnswerOption,
    ApprovalKeyLabels,
    ApprovalRequest,
    ChangedFile,
    RuleScope,
    index_of_typed_approval_answer,
    make_approval_answers,
    make_rule_answers,
    neighbouring_scope,
)
from widgets.status.approval_rows import (
    ApprovalCardState,
    ProposedChange,
    StyledApprovalRow,
    approval_card_rows,
)
from widgets.status.input_guard import MIN_KEY_QUIET_SECONDS, QuestionInputGuard
from widgets.terminal.terminal_driver import AmbiguousAltKey
from widgets.transcript.painting.style_lookup import COMPONENT_NAMES, CurrentStyles

EARLY_ANSWER_NOTICE_SECONDS = 1.5
"""Seconds for which the card says that a key came too early."""
_APPROVAL_TICK_SECONDS = 0.1


class ApprovalBar(Widget, can_focus=False):
    """The card above the editor that asks the user whether a tool call may run, or asks a question of an extension."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {*APPROVAL_CARD_COMPONENT_CLASS_NAMES, *COMPONENT_NAMES}
    DEFAULT_CSS = "ApprovalBar { height: 0; display: none; }"

    class Answered(Message):
        """Message: the user answered the approval question."""

        def __init__(
            self, id: str, allows: bool, rule: str | None = None, scope: RuleScope = "session"
        ) -> None:
            super().__init__()
            self.id = id
            self.allows = allows
            self.rule = rule
            self.scope: RuleScope = scope

    class DetailsRequested(Message):
        """Message: the user wants all details of the call on a separate screen."""

    class EditRequested(Message):
        """Message: the user wants to edit the call before it runs."""

    class Left(Message):
        """Message: the approval card wants the keyboard focus to return to the editor."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        give_back: Callable[[str], object] = lambda text: None,
        id: str | None = None,
    ) -> None:
        """Creates the approval card without a question. `give_back`: writes keys into the editor that were held back
        and turned out to be no answer."""
        super().__init__(id=id)
        self.asked: ApprovalRequest | None = None
        self.keys = ApprovalKeyLabels()
        self.arming = QuestionInputGuard()
        self._clock = clock
        self._return_focus = give_back
        self._change: ProposedChange | None = None
        self._diff_styles = CurrentStyles(self)
        self._confirmation_text: str | None = None
        self._rejected_word = ""
        """The word that was sent for a dangerous command and is not its own."""
        self._lists_rules = False
        self._rule_scope: RuleScope = "session"
        self._opened_by = ""
        """The letter that opened the list of rules; it is text if more text follows."""
        self._chosen_index = 0
        self._is_in_use = False
        """Whether the last key moved the cursor of the card, so that the next one is meant for it too."""
        self._is_editor_blank = True
        self.asks_reason = False
        """Whether the editor takes the reason of a no, which Enter sends."""
        self._is_left = False
        """Whether plain keys are text until the card is focused again, because the person may have wanted to stop the
        run and goes on typing: after Escape, after an Alt key that may be an Escape and a letter, and when the focus
        left the card."""
        self.is_in_doubt = False
        """Whether an Alt key was pressed that may be an Escape and a letter, and the card was not focused since; until
        then nothing allows the call, on a page over the card neither."""
        self._typed_at = -math.inf
        """When a key of a text was last left to the editor, which may not have written it yet."""
        self._held = HeldAnswerKey(self.set_timer)
        """A letter that counts as an answer unless another key follows at once."""
        self._too_early_until = -math.inf
        self._was_armed = False
        self.ambiguous_keys = AmbiguousAltKeys()
        self._shown_refused = ""
        self._check_timer: Timer | None = None
        """A timer that runs only while a question is open, so that an idle program does nothing."""
        self.shown_rows: list[StyledApprovalRow] = []
        self._shown_size = Size()

    def on_mount(self) -> None:
        is_paused = self.asked is None
        self._check_timer = self.set_interval(_APPROVAL_TICK_SECONDS, self._check_armed, pause=is_paused)

    @property
    def has_approval_card_focus(self) -> bool:
        """Whether the approval card has the keyboard focus."""
        return self.has_focus

    @property
    def accepts_keys(self) -> bool:
        """Whether the approval question accepts keys now; its card shows them as active then."""
        return self._was_armed and self.arming.is_armed(self._clock())

    @property
    def answers(self) -> Sequence[ApprovalAnswerOption]:
        if self.asked is None:
            return ()
        return (
            make_rule_answers(self.asked, self._rule_scope)
            if self._lists_rules
            else make_approval_answers(self.asked)
        )

    def show(self, asked: ApprovalRequest | None) -> None:
        """Shows an approval question with its answers in the card, or hides the card if there is none."""
        self.arming.note_hidden()
        self._write_held_key()
        if asked is None and self.has_focus:
            self.return_to_editor()
        self.asked = asked
        self._shown_size = Size()
        self._change, self._was_armed, self._is_in_use = None, False, False
        self.asks_reason = False
        self._too_early_until, self._is_left, self.is_in_doubt = -math.inf, False, False
        self._close_rule_list()
        self.ambiguous_keys.resolve()
        self.display = asked is not None
        self._update_rows()
        if self._check_timer is not None:
            (self._check_timer.pause if asked is None else self._check_timer.resume)()
        if asked is not None:
            self.call_after_refresh(self._note_painted)

    def show_proposed_change(self, id: str, change: Sequence[ChangedFile], *, question: str = "") -> None:
        """Shows the change of files that the open approval question is about, unless the question is closed by now.
        `question`, if given, replaces its text."""
        if self.asked is not None and self.asked.id == id:
            self._change = ProposedChange(change) if change else None
            if question:
                self.asked = msgspec.structs.replace(self.asked, question=question)
            self._update_rows()

    def note_editor_text(self, is_blank: bool) -> None:
        """Called when the editor becomes empty or gets a text: single letters answer the approval question only while
        it is empty."""
        if is_blank != self._is_editor_blank:
            self._is_editor_blank = is_blank
            self._update_rows()

    def note_user_input(self, event: events.Event) -> bool:
        """Called for every key, paste or click before it is handled. Returns True if the run is to be stopped, because
        a text right behind an ambiguous Alt key shows that it was an Escape and a letter."""
        now = self._clock()
        if self.asked is not None:
            self.arming.note_key_press(now)
        if self.ambiguous_keys.is_overdue(now):
            self.ambiguous_keys.resolve()
        if not isinstance(event, events.Key):
            self._write_held_key()
        elif self.asked is not None and self.app.screen is not self.screen and is_text_typing_key(event):
            self.arming.note_letter(now)
        self.ambiguous_keys.current = event.key if isinstance(event, AmbiguousAltKey) else ""
        is_escape = isinstance(event, events.Key) and event.key == "escape"
        is_on_card = self.has_focus or self.app.screen is self.screen
        if self.ambiguous_keys.current or (
            is_escape and is_on_card
        ):  # otherwise it closes a page over the card
            self._stop_taking_letters()
        if not (self.ambiguous_keys.refused and isinstance(event, events.Key) and self._is_text(event)):
            return False
        self.ambiguous_keys.resolve()
        return True

    def _is_text(self, event: events.Key) -> bool:
        """Returns whether a key is part of a text: it types something, and is not a single key that answers."""
        is_asking = self.asked is not None and not self._held.character
        return event.is_printable and not (is_asking and is_approval_key(event, self.answers))

    @property
    def refusal(self) -> str:
        """What the card says about an unclear Alt key that was just pressed; empty if none was."""
        in_doubt = f"the last Alt key was unclear in this terminal: press {self.keys.focus}"
        return self.ambiguous_keys.refusal or (in_doubt if self.is_in_doubt else "")

    # Keys from the editor

    def answer_by_page_key(self, allows: bool) -> bool:
        """Allows or denies the call by a key of the page; returns False if the question was not ready, the key is
        unclear in this terminal, or a word must be typed."""
        asked = self.asked
        if asked is None or (allows and not self.is_intended_answer_key("y")) or not self._check_ready():
            return False
        if allows and (asked.is_dangerous or self.is_in_doubt):
            return False
        if allows and asked.kind == "select":
            self._open_card()
            return False
        self.post_message(self.Answered(asked.id, allows))
        return True

    def focus_approval_card(self, *, lists_rules: bool = False) -> None:
        """Moves the keyboard focus to the approval card if the question already accepts keys; `lists_rules` also opens
        the list of rules."""
        letter = "a" if lists_rules and any(one.letter == "a" for one in self.answers) else "y"
        if self.asked is not None and self.is_intended_answer_key(letter) and self._check_ready():
            self._open_card(lists_rules=lists_rules)

    def handle_editor_key(self, event: events.Key, *, is_blank: bool) -> bool:
        """Handles a key of the editor that answers the approval question or may begin a text; returns False if the
        editor should handle it."""
        if self.asked is None or self.has_focus:
            return False
        if self.asks_reason:
            return self._handle_reason_key(event, is_blank=is_blank)
        now = self._clock()
        is_blank = is_blank and not self._is_left and now - self._typed_at >= MIN_KEY_QUIET_SECONDS
        held = self._held.character
        is_again = self._held.is_early and event.character == held
        if held and (is_again or event.key in ("enter", "backspace", "escape")):
            self._held.take()
            if is_again or event.key == "enter":
                self._hold_key(held, is_early=self._held.is_early)
            return event.key != "escape"
        self._write_held_key()
        if (letter := LETTER_BY_MAC_OPTION_CHARACTER.get(event.character or "")) is not None:
            return self._answer_by_mac_option(letter, event.character or "", is_blank=is_blank and not held)
        if not is_blank or held or not is_approval_key(event, self.answers):
            self._is_in_use = False
            self._typed_at = now if event.is_printable else self._typed_at
            return False
        is_early = not self.arming.was_armed and not self._is_in_use
        if is_early and event.key in ("up", "down", "enter"):
            self._show_too_early()
        elif event.key in ("up", "down"):
            self._is_in_use = True
            self._move_choice(event.key)
        else:
            character = ENTER_CHARACTER if event.key == "enter" else event.character or ""
            self._hold_key(character, is_early=is_early)
        return True

    def _answer_by_mac_option(self, letter: str, character: str, *, is_blank: bool) -> bool:
        """Answers by the character that Option with A, X, W or V types on a Mac; returns False if the character is
        text. `å` also occurs in words, so it allows only like a plain letter."""
        if (letter == "y" and not is_blank) or (letter != "n" and self._is_left):
            return False
        if not self.arming.was_armed and not is_blank:
            return False
        if letter == "y" or not self.arming.was_armed:
            self._hold_key(character, is_early=not self.arming.was_armed)
        elif letter == "n":
            self.answer_by_page_key(False)
        elif letter == "a":
            self.focus_approval_card(lists_rules=True)
        else:
            self.post_message(self.DetailsRequested())
        return True

    def move_cursor_to_named_answer(self, text: str) -> bool:
        """Moves the card's cursor to the answer that a text sent from the editor names, such as "yes"; Enter then
        chooses it. Returns False if the text names none."""
        asked = self.asked
        if asked is None or not self.display or self.has_focus or self._is_left:
            return False
        if asked.is_dangerous and text.strip() == asked.confirmation_word:
            self._open_card()
            self._confirmation_text = asked.confirmation_word
        elif (index := index_of_typed_approval_answer(asked, text)) is not None:
            self._close_rule_list()
            self._chosen_index = index
        else:
            return False
        self._update_rows()
        return True

    def _hold_key(self, character: str, *, is_early: bool) -> None:
        self._held.hold(character, self._on_hold_timeout, is_early=is_early)

    def _on_hold_timeout(self) -> None:
        held = self._held.take()
        if held and self.asked is not None:
            if self._held.is_early:
                self._show_too_early()
            else:
                self._answer_by_letter(held)

    def _write_held_key(self) -> None:
        """Writes the letter that was held back as a possible answer into the editor, because another key followed: the
        user is typing a text."""
        if (held := self._held.take()) and held != ENTER_CHARACTER:
            self._return_focus(held)

    def _answer_by_letter(self, character: str) -> None:
        character = LETTER_BY_MAC_OPTION_CHARACTER.get(character, character)
        if character == APPROVAL_DETAILS_LETTER:
            self.arming.note_letter(self._clock())
            self.post_message(self.DetailsRequested())
            return
        if not character:  # as of Alt with a letter: an answer may have no letter either
            return
        if character == ENTER_CHARACTER:
            self._choose_answer(self._chosen_index)
            return
        for index, answer in enumerate(self.answers):
            if character in (answer.letter, str(index + 1)):
                self._choose_answer(index, opened_by=character)
                return

    def _choose_answer(self, index: int, *, opened_by: str = "") -> None:
        asked = self.asked
        if asked is None:
            return
        answer = self.answers[index]
        self._chosen_index = index
        match answer.action:
            case "yes" | "rule":
                self.post_message(self.Answered(asked.id, True, answer.rule, answer.scope))
            case "no":
                self.post_message(self.Answered(asked.id, False))
            case "why":
                self._ask_reason()
            case "word":
                self._open_card()
            case "rules":
                self._open_card(lists_rules=True)
                self._opened_by = opened_by

    def _move_choice(self, key: str) -> None:
        step = 1 if key in ("down", "j") else -1
        self._chosen_index = min(max(0, self._chosen_index + step), len(self.answers) - 1)
        self._update_rows()

    def _open_card(self, *, lists_rules: bool = False) -> None:
        asked = self.asked
        if asked is None:
            return
        self._close_rule_list()
        if lists_rules and asked.rules:
            self._lists_rules, self._chosen_index, self._rule_scope = True, 0, asked.rules[0].scope
        if asked.is_dangerous:
            self._confirmation_text = ""
            self._chosen_index = next(i for i, one in enumerate(self.answers) if one.action == "word")
        self._is_left = self.is_in_doubt = False
        self.can_focus = True
        self.focus()
        self._update_rows()

    def _stop_taking_letters(self) -> None:
        """Makes plain letters text instead of answers until the card is focused again."""
        if self.asked is None:
            return
        if self.ambiguous_keys.current:
            self.is_in_doubt = True
            self._held.take()
        if self.has_focus and (self.ambiguous_keys.current or self.app.screen is not self.screen):
            self.return_to_editor()
        if not self._is_left and not self.asked.is_dangerous:  # no plain key lets a dangerous call run
            self._is_left, self._is_in_use = True, False
            self._update_rows()

    def accept_letters_again(self) -> None:
        """Makes plain letters answers again after the user came back from the call's details, unless the key that
        opened them may be an Escape and a letter."""
        self._is_left = self.is_in_doubt
        self._update_rows()

    def _ask_reason(self) -> None:
        """Returns the focus to the editor, whose text becomes the reason of a denial."""
        if self.has_focus:
            self.return_to_editor()
        self.asks_reason, self._is_in_use = True, False
        self._update_rows()

    def _handle_reason_key(self, event: events.Key, *, is_blank: bool) -> bool:
        """Handles a key while the editor takes the reason of a denial: Escape goes back to the answers, Enter in an
        empty editor denies without a reason. Returns False for other keys."""
        asked = self.asked
        if event.key == "escape":
            self.asks_reason, self._is_in_use = False, is_blank
            self._is_left = self.is_in_doubt or not is_blank
            self._update_rows()
        elif event.key == "enter" and is_blank and asked is not None:
            self.post_message(self.Answered(asked.id, False))
        else:
            return False
        return True

    def _close_rule_list(self) -> None:
        self._confirmation_text, self._lists_rules, self._opened_by, self._chosen_index = None, False, "", 0
        self._rejected_word = ""

    def _check_ready(self) -> bool:
        """Returns whether the question accepts answers yet; if not, the card says that the key came too early."""
        if not self.arming.was_armed:
            self._show_too_early()
        return self.arming.was_armed

    def _show_too_early(self) -> None:
        self._too_early_until = self._clock() + EARLY_ANSWER_NOTICE_SECONDS
        self._update_rows()

    def is_intended_answer_key(self, plain_key: str) -> bool:
        """Returns whether the current key may answer the question. An Alt key that may be an Escape and a letter does
        not: the card then names `plain_key` in its place. Without a question it counts when it is pressed again."""
        asked = self.asked
        advice = "" if asked is None else advice_for(plain_key, asked, focus_key=self.keys.focus)
        if self.ambiguous_keys.is_intended(self._clock(), advice=advice):
            return True
        self._update_rows()
        return False

    def return_to_editor(self) -> None:
        self._close_rule_list()
        self.post_message(self.Left())

    def on_blur(self) -> None:
        self.can_focus = False
        self._close_rule_list()
        self._stop_taking_letters()
        self._update_rows()

    # Keys with the focus here

    def on_key(self, event: events.Key) -> None:
        asked = self.asked
        if asked is None:
            return
        event.stop()
        event.prevent_default()
        if event.key == "escape" or isinstance(event, AmbiguousAltKey):  # in doubt it was an Escape
            self.return_to_editor()
        elif self._confirmation_text is not None and event.key not in ("up", "down"):
            self._handle_confirmation_key(event, asked, self._confirmation_text)
        elif self.arming.is_question_visible_long_enough(self._clock()):
            self._handle_focused_key(event, asked)
        else:
            self._show_too_early()

    def _handle_confirmation_key(self, event: events.Key, asked: ApprovalRequest, typed: str) -> None:
        """Handles a key while the user types the word that confirms a dangerous command: letters are added, Enter
        allows the call if the word is right; a wrong word is asked for again."""
        if event.key == "enter" and typed == asked.confirmation_word:
            self.post_message(self.Answered(asked.id, True))
        elif event.key == "enter":
            self._rejected_word, self._confirmation_text = typed, ""
        elif event.key == "backspace":
            self._confirmation_text = typed[:-1]
        elif event.is_printable and event.character:
            self._confirmation_text = typed + event.character
        self._update_rows()

    def _handle_focused_key(self, event: events.Key, asked: ApprovalRequest) -> None:
        """Handles a key while the approval card has the focus; no text is being typed then, so the key counts at
        once."""
        key, character = event.key, event.character or ""
        if key in ("up", "down", "j", "k"):
            self._confirmation_text = None
            self._move_choice(key)
        elif key in ("left", "right") and self._lists_rules:
            self._rule_scope = neighbouring_scope(self._rule_scope, 1 if key == "right" else -1)
            self._update_rows()
        elif key == "enter":
            self._choose_answer(self._chosen_index)
        elif self._lists_rules and character and not character.isdecimal():
            if self._opened_by and event.is_printable:
                self._return_focus(self._opened_by + character)
                self.return_to_editor()
        elif key in (APPROVAL_DETAILS_LETTER, "v"):
            self.post_message(self.DetailsRequested())
        elif key == "e" and asked.kind == "call":
            self.post_message(self.EditRequested())
        else:
            self._answer_by_letter({"x": "n", "w": "a"}.get(character, character))

    # Drawing

    def _check_armed(self) -> None:
        if self.asked is None:
            return
        now = self._clock()
        self.arming.update_armed(now)
        is_armed = self.arming.is_armed(now)
        if self.ambiguous_keys.is_overdue(now):
            self.ambiguous_keys.resolve()
        was_too_early = self._too_early_until > -math.inf
        if was_too_early and now >= self._too_early_until:
            self._too_early_until, self._was_armed = -math.inf, not is_armed
        refused = self.ambiguous_keys.refused
        if (is_armed, refused) != (self._was_armed, self._shown_refused):
            self._was_armed, self._shown_refused = is_armed, refused
            self._update_rows()  # the keys change their colour

    def _note_painted(self) -> None:
        """Notes that the approval question is now completely visible, from which on it counts the time until it accepts
        keys; again if the terminal's size changed."""
        is_shown = self.asked is not None and self.is_attached and self.region.height >= len(self.shown_rows)
        if is_shown and self._shown_size != self.app.size:
            self._shown_size = self.app.size
            self.arming.note_shown(self._clock())

    def on_resize(self) -> None:
        self._update_rows()
        if self.asked is not None:
            self.call_after_refresh(self._note_painted)

    def _update_rows(self) -> None:
        asked = self.asked
        self.shown_rows = [] if asked is None else approval_card_rows(asked, self._card_state())
        height = len(self.shown_rows)
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        self.refresh()

    def _card_state(self) -> ApprovalCardState:
        is_answering = bool(self._held.character) and not self._held.is_early
        return ApprovalCardState(
            width=max(20, (self.size.width or 80) - 2 - RIGHT_MARGIN_CELLS),
            screen_height=self.app.size.height,
            keys=self.keys,
            answers=self.answers,
            chosen_index=self._chosen_index,
            change=self._change,
            typed=self._confirmation_text,
            lists_rules=self._lists_rules,
            has_focus=self.has_focus,
            is_armed=self._was_armed or self._is_in_use or is_answering,
            takes_letters=self._is_editor_blank and not self._is_left,
            has_text=not self._is_editor_blank,
            asks_reason=self.asks_reason,
            refused_key=self.ambiguous_keys.refused,
            advice=self.ambiguous_keys.advice,
            rejected_word=self._rejected_word,
            is_too_early=self._clock() < self._too_early_until,
        )

    def render_line(self, y: int) -> Strip:
        line = RowBuilder(self.size.width, self.rich_style, edge=RIGHT_MARGIN_CELLS)
        if self.asked is None or y >= len(self.shown_rows):
            return line.strip()
        return paint_approval_row(
            self.shown_rows[y],
            line,
            self.get_component_rich_style,
            self._diff_styles.current.style,
            is_head=y == 0,
            is_dangerous=self.asked.is_dangerous,
        )

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._diff_styles.forget()
