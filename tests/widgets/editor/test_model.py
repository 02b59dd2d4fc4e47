"""The editor's text against a simple model of it: a string, a place, a list of kills, a list of past texts."""

import string

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from widgets.editor.chips import Draft, PasteChip
from widgets.editor.graphemes import graphemes
from widgets.editor.model import EditorModel, is_word

TEXTS = st.text(alphabet=string.ascii_letters + "  \n_-é漢👩‍🚀👍🏽🇩🇪\u0301", max_size=12)


def typed(model: EditorModel, text: str) -> None:
    for char in text:
        model.type(char)


def offset(model: EditorModel) -> int:
    row, column = model.cursor
    return sum(len(line) + 1 for line in model.lines[:row]) + column


def boundaries(text: str) -> list[int]:
    """Where a cursor may stand, as places in the whole text."""
    found: list[int] = []
    start = 0
    for line in text.split("\n"):
        found.extend(start + grapheme.start for grapheme in graphemes(line))
        found.append(start + len(line))
        start += len(line) + 1
    return found


class EditorMachine(RuleBasedStateMachine):
    """Every command on the model and on a plain string: text, cursor, kill ring and undo must agree."""

    @initialize(text=TEXTS)
    def begin(self, text: str) -> None:
        self.model = EditorModel(text)
        self.text = self.model.text
        self.at = len(self.text)
        self.kills: list[str] = []
        self.last = ""
        self.yanked = (0, 0)

    def put(self, start: int, end: int, new: str) -> None:
        self.text = self.text[:start] + new + self.text[end:]
        self.at = next(place for place in boundaries(self.text) if place >= start + len(new))

    def left(self) -> int:
        return max((place for place in boundaries(self.text) if place < self.at), default=0)

    def right(self) -> int:
        return min((place for place in boundaries(self.text) if place > self.at), default=self.at)

    def kill(self, start: int, end: int, *, is_forward: bool) -> None:
        if start == end:
            return
        killed = self.text[start:end]
        if self.last == "kill":
            self.kills[0] = self.kills[0] + killed if is_forward else killed + self.kills[0]
        else:
            self.kills.insert(0, killed)
        self.put(start, end, "")
        self.last = "kill"

    def moved(self) -> None:
        self.last = ""

    @rule(char=st.sampled_from("ab _é漢👍"))
    def type(self, char: str) -> None:
        self.model.type(char)
        self.put(self.at, self.at, char)
        self.moved()

    @rule(text=TEXTS.filter(bool))
    def insert(self, text: str) -> None:
        self.model.insert(text)
        self.put(self.at, self.at, text)
        self.moved()

    @rule()
    def delete_backward(self) -> None:
        self.model.delete_backward()
        start = self.left()
        if start != self.at:
            self.put(start, self.at, "")
            self.moved()

    @rule()
    def delete_forward(self) -> None:
        self.model.delete_forward()
        end = self.right()
        if end != self.at:
            self.put(self.at, end, "")
            self.moved()

    @rule()
    def kill_to_line_end(self) -> None:
        self.model.kill_to_line_end()
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        self.kill(self.at, end if end > self.at else min(len(self.text), self.at + 1), is_forward=True)

    @rule()
    def kill_to_line_start(self) -> None:
        self.model.kill_to_line_start()
        start = self.text.rfind("\n", 0, self.at) + 1
        self.kill(start if start < self.at else max(0, self.at - 1), self.at, is_forward=False)

    @rule()
    def kill_word_forward(self) -> None:
        self.model.kill_word_forward()
        at = self.at
        line_end = self.text.find("\n", at)
        line_end = len(self.text) if line_end < 0 else line_end
        if at == line_end:
            at = self.right()
        else:
            while at < line_end and not is_word(self.text[at]):
                at += 1
            while at < line_end and is_word(self.text[at]):
                at += 1
            at = next(place for place in boundaries(self.text) if place >= at)
        self.kill(self.at, at, is_forward=True)

    @rule()
    def move_left(self) -> None:
        self.model.move_left()
        self.at = self.left()
        self.moved()

    @rule()
    def move_right(self) -> None:
        self.model.move_right()
        self.at = self.right()
        self.moved()

    @rule()
    def line_ends(self) -> None:
        self.model.move_line_end()
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end
        self.moved()

    @rule()
    def yank(self) -> None:
        self.model.yank()
        if self.kills:
            start = self.at
            self.put(start, start, self.kills[0])
            self.yanked = (start, self.at)
            self.last = "yank"

    @precondition(lambda self: self.last == "yank" and len(self.kills) > 1)
    @rule()
    def yank_pop(self) -> None:
        self.model.yank_pop()
        self.kills.append(self.kills.pop(0))
        start, end = self.yanked
        self.put(start, end, self.kills[0])
        self.yanked = (start, self.at)

    @rule()
    def undo_everything_and_redo_it(self) -> None:
        text, cursor = self.model.text, self.model.cursor
        steps = 0
        while self.model.can_undo:
            self.model.undo()
            steps += 1
        for _ in range(steps):
            self.model.redo()
        assert self.model.text == text
        if steps == 0:
            assert self.model.cursor == cursor
        self.at = offset(self.model)
        self.moved()

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "model"):
            return
        assert self.model.text == self.text
        assert offset(self.model) == self.at
        assert self.at in boundaries(self.text)
        assert self.model.kills.entries == self.kills[:60]


TestEditor = EditorMachine.TestCase
TestEditor.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_undo_takes_back_word_by_word() -> None:
    model = EditorModel()
    typed(model, "fix the parser")
    model.undo()
    assert model.text == "fix the"
    model.undo()
    assert model.text == "fix"
    model.redo()
    assert model.text == "fix the"


def test_typing_after_undo_forgets_what_could_be_redone() -> None:
    model = EditorModel()
    typed(model, "one two")
    model.undo()
    typed(model, "!")
    model.redo()
    assert model.text == "one!"


def test_a_run_of_backspaces_is_one_unit() -> None:
    model = EditorModel()
    typed(model, "abcdef")
    for _ in range(3):
        model.delete_backward()
    model.undo()
    assert model.text == "abcdef"


def test_kills_in_a_row_are_yanked_together_in_order() -> None:
    model = EditorModel("one two three")
    model.kill_word_backward()
    model.kill_word_backward()
    assert model.text == "one "
    model.yank()
    assert model.text == "one two three"


def test_yank_pop_goes_round_the_ring() -> None:
    model = EditorModel("a b")
    model.kill_word_backward()
    model.move_line_start()
    model.kill_word_forward()
    model.yank()
    assert model.text == "a "
    model.yank_pop()
    assert model.text == "b "
    model.yank_pop()
    assert model.text == "a "


def test_a_cleared_text_is_one_undo_away() -> None:
    model = EditorModel()
    typed(model, "two hours of work")
    model.clear()
    assert model.text == ""
    model.undo()
    assert model.text == "two hours of work"


def test_a_chip_is_one_character_and_opens_in_place() -> None:
    model = EditorModel("see ")
    model.insert_chip(PasteChip(text="line\n" * 20))
    typed(model, " there")
    assert model.chips.expand(model.text) == "see " + "line\n" * 20 + " there"
    model.move_to((0, 5))
    model.expand_chip()
    assert model.text.count("line") == 20
    model.undo()
    model.delete_backward()
    assert model.text == "see  there"


def test_deleting_a_chip_renumbers_those_behind_it() -> None:
    model = EditorModel()
    model.insert_chip(PasteChip(text="a\n" * 20))
    model.insert_chip(PasteChip(text="b\n" * 30))
    model.move_to((0, 1))
    model.delete_backward()
    assert list(model.chips.labels(model.text).values()) == ["[paste #1 +31 lines]"]


def test_jumping_goes_over_lines_both_ways() -> None:
    model = EditorModel("alpha\nbeta\ngamma")
    model.move_to((0, 0))
    assert model.jump("g", is_forward=True)
    assert model.cursor == (2, 0)
    assert model.jump("b", is_forward=False)
    assert model.cursor == (1, 0)
    assert not model.jump("z", is_forward=True)


def test_a_draft_comes_back_with_its_chips() -> None:
    model = EditorModel("x ")
    model.insert_chip(PasteChip(text="long\n" * 12))
    draft = model.draft()
    other = EditorModel()
    other.reset(draft)
    assert other.chips.expand(other.text) == "x " + "long\n" * 12


@given(TEXTS)
def test_word_moves_never_leave_the_text_and_always_progress(text: str) -> None:
    model = EditorModel(text)
    model.move_to((0, 0))
    places = [offset(model)]
    while model.cursor != model.end:
        model.move_word_right()
        assert offset(model) > places[-1]
        places.append(offset(model))
    while model.cursor != (0, 0):
        before = offset(model)
        model.move_word_left()
        assert offset(model) < before


def test_a_reset_has_no_past() -> None:
    model = EditorModel()
    typed(model, "sent")
    model.reset(Draft(text="next"))
    assert not model.can_undo
    assert model.text == "next"


def test_a_draft_of_another_day_does_not_change_the_chips_that_are_there() -> None:
    other = EditorModel()
    other.insert_chip(PasteChip(text="old\n" * 20))
    model = EditorModel()
    model.insert_chip(PasteChip(text="new\n" * 20))
    model.restore(other.draft())
    assert model.chips.expand(model.text) == "old\n" * 20
    model.undo()
    assert model.chips.expand(model.text) == "new\n" * 20


def test_a_killed_chip_is_yanked_into_the_next_prompt() -> None:
    model = EditorModel()
    model.insert_chip(PasteChip(text="log\n" * 20))
    model.kill_to_line_start()
    model.reset()
    model.yank()
    assert model.chips.expand(model.text) == "log\n" * 20


def test_a_draft_without_its_chips_leaves_nothing_behind() -> None:
    model = EditorModel()
    model.reset(Draft(text="a\U00100000b"))
    assert model.text == "ab"
