"""Every command of the editor at random, against a simple model of it.

The model is a string and a place in it, a list of kills, and lists of what stood before and after each unit of undo.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from widgets.editor import commands
from widgets.editor.editor_model import MAX_KILL_RING_ENTRIES, EditorModel
from widgets.editor.graphemes import line_graphemes
from widgets.editor.prompt_chips import ImageAttachment, ImageChip, PasteChip, PromptChip

LETTERS = "abZ  \n_-é漢👩‍🚀👍🏽🇩🇪\u0301\u200dन\u0941"
TEXTS = st.text(alphabet=LETTERS, max_size=12)
FIRST_CHIP = "\U00100000"
State = tuple[str, int]


def offset(model: EditorModel) -> int:
    row, column = model.cursor
    return sum(len(line) + 1 for line in model.lines[:row]) + column


def characters(text: str) -> list[tuple[int, str]]:
    """What a person takes for one character, with its place; a line's end is one too."""
    found: list[tuple[int, str]] = []
    start = 0
    for line in text.split("\n"):
        found.extend((start + one.start, line[one.start : one.end]) for one in line_graphemes(line))
        start += len(line) + 1
        found.append((start - 1, "\n"))
    return found


def boundaries(text: str) -> list[int]:
    return [place for place, _ in characters(text)]


def kind_of(character: str) -> str:
    first = character[0]
    if first >= FIRST_CHIP:
        return "chip"
    return "word" if first.isalnum() or first == "_" else "break" if first == "\n" else "space"


class EditorMachine(RuleBasedStateMachine):
    @initialize(text=TEXTS)
    def begin(self, text: str) -> None:
        self.model = EditorModel(text)
        self.text = text
        self.at = len(text)
        self.kills: list[str] = []
        self.chips: dict[str, PromptChip] = {}
        self.past: list[tuple[State, State]] = []
        self.future: list[tuple[State, State]] = []
        self.last = ""
        self.yanked = (0, 0)

    # What the simple model does

    def put(self, start: int, end: int, new: str, *, joins: bool = False, last: str = "") -> None:
        """Another text in place of a part; the cursor behind it; one unit of undo, or more of the last one."""
        before = (self.text, self.at)
        self.text = self.text[:start] + new + self.text[end:]
        self.at = next(place for place in boundaries(self.text) if place >= start + len(new))
        self.last = last
        if self.text == before[0]:
            return
        if joins and self.past:
            before = self.past.pop()[0]
        self.past.append((before, (self.text, self.at)))
        self.future.clear()

    def go(self, place: int) -> None:
        self.at = place
        self.last = ""

    def left(self) -> int:
        return max((place for place in boundaries(self.text) if place < self.at), default=0)

    def right(self) -> int:
        return min((place for place in boundaries(self.text) if place > self.at), default=self.at)

    def line_start(self) -> int:
        return self.text.rfind("\n", 0, self.at) + 1

    def line_end(self) -> int:
        end = self.text.find("\n", self.at)
        return len(self.text) if end < 0 else end

    def word_left(self) -> int:
        if self.at == self.line_start():
            return self.left()
        before = [one for one in characters(self.text) if self.line_start() <= one[0] < self.at]
        place = self.at
        is_begun = False
        for start, character in reversed(before):
            match kind_of(character):
                case "chip":
                    return place if is_begun else start
                case "word":
                    is_begun = True
                case _ if is_begun:
                    return place
            place = start
        return place

    def word_right(self) -> int:
        if self.at == self.line_end():
            return self.right()
        is_begun = False
        for start, character in characters(self.text):
            if start < self.at:
                continue
            match kind_of(character):
                case "break":
                    return start
                case "chip":
                    return start if is_begun else start + 1
                case "word":
                    is_begun = True
                case _ if is_begun:
                    return start
        raise AssertionError("a text ends in a break")

    def kill(self, start: int, end: int, *, is_forward: bool) -> None:
        if start == end:
            return
        killed = self.text[start:end]
        if self.last == "kill":
            self.kills[0] = self.kills[0] + killed if is_forward else killed + self.kills[0]
        else:
            self.kills = [killed, *self.kills][:MAX_KILL_RING_ENTRIES]
        self.put(start, end, "", last="kill")

    # Writing

    @rule(char=st.sampled_from("ab _é漢👍"))
    def type(self, char: str) -> None:
        self.model.type_text(char)
        is_space = char == " "
        joins = self.last == "space" or (self.last == "type" and not is_space)
        self.put(self.at, self.at, char, joins=joins, last="space" if is_space else "type")

    @rule(text=TEXTS.filter(bool))
    def insert(self, text: str) -> None:
        self.model.insert(text)
        self.put(self.at, self.at, text)

    @rule(text=TEXTS)
    def set_text(self, text: str) -> None:
        self.model.set_text(text)
        self.put(0, len(self.text), text)

    def attach_image(self, chip: PromptChip) -> None:
        before = set(self.model.chips.chip_by_character)
        commands.insert_chip(self.model, chip)
        char = next(iter(set(self.model.chips.chip_by_character) - before))
        self.chips[char] = chip
        self.put(self.at, self.at, char)

    @rule(text=st.text(alphabet="xy\n", min_size=1, max_size=30))
    def paste(self, text: str) -> None:
        self.attach_image(PasteChip(text=text))

    @rule()
    def drop_an_image(self) -> None:
        self.attach_image(
            ImageChip(image=ImageAttachment(name="a.png", mime_type="image/png", byte_count=3, data=b"png"))
        )

    @rule()
    def open_the_paste_at_the_cursor(self) -> None:
        places = (self.at, self.at - 1) if self.at > self.line_start() else (self.at,)
        chips = ((place, self.chips.get(self.text[place : place + 1])) for place in places)
        found = next(((place, chip) for place, chip in chips if isinstance(chip, PasteChip)), None)
        assert commands.expand_chip(self.model) == (found is not None)
        if found is not None:
            self.put(found[0], found[0] + 1, found[1].text)

    # Deleting

    @rule()
    def delete_backward(self) -> None:
        commands.delete_backward(self.model)
        if self.left() != self.at:
            self.put(self.left(), self.at, "", joins=self.last == "rub", last="rub")

    @rule()
    def delete_forward(self) -> None:
        commands.delete_forward(self.model)
        if self.right() != self.at:
            self.put(self.at, self.right(), "", joins=self.last == "rub", last="rub")

    @rule()
    def kill_to_line_end(self) -> None:
        commands.kill_to_line_end(self.model)
        end = self.line_end()
        self.kill(self.at, end if end > self.at else self.right(), is_forward=True)

    @rule()
    def kill_to_line_start(self) -> None:
        commands.kill_to_line_start(self.model)
        start = self.line_start()
        self.kill(start if start < self.at else self.left(), self.at, is_forward=False)

    @rule()
    def kill_word_forward(self) -> None:
        commands.kill_word_forward(self.model)
        self.kill(self.at, self.word_right(), is_forward=True)

    @rule()
    def kill_word_backward(self) -> None:
        commands.kill_word_backward(self.model)
        self.kill(self.word_left(), self.at, is_forward=False)

    @rule()
    def yank(self) -> None:
        self.model.yank()
        if self.kills:
            self.yanked = (self.at, self.at + len(self.kills[0]))
            self.put(self.at, self.at, self.kills[0], last="yank")

    @rule()
    def yank_pop(self) -> None:
        self.model.yank_pop()
        if self.last == "yank":
            self.kills.append(self.kills.pop(0))
            start, end = self.yanked
            self.yanked = (start, start + len(self.kills[0]))
            self.put(start, end, self.kills[0], last="yank")

    # Moving

    @rule()
    def move_left(self) -> None:
        commands.move_left(self.model)
        self.go(self.left())

    @rule()
    def move_right(self) -> None:
        commands.move_right(self.model)
        self.go(self.right())

    @rule()
    def move_word_left(self) -> None:
        commands.move_word_left(self.model)
        self.go(self.word_left())

    @rule()
    def move_word_right(self) -> None:
        commands.move_word_right(self.model)
        self.go(self.word_right())

    @rule()
    def move_to_line_start(self) -> None:
        commands.move_line_start(self.model)
        self.go(self.line_start())

    @rule()
    def move_to_line_end(self) -> None:
        commands.move_line_end(self.model)
        self.go(self.line_end())

    @rule(char=st.sampled_from("ab漢 "))
    def jump_forward(self, char: str) -> None:
        found = self.text.find(char, self.at + 1)
        assert commands.jump_to_character(self.model, char, is_forward=True) == (found >= 0)
        if found >= 0:
            self.go(next(place for place in boundaries(self.text) if place >= found))

    @rule(char=st.sampled_from("ab漢 "))
    def jump_backward(self, char: str) -> None:
        found = self.text.rfind(char, 0, self.at)
        assert commands.jump_to_character(self.model, char, is_forward=False) == (found >= 0)
        if found >= 0:
            self.go(next(place for place in boundaries(self.text) if place >= found))

    # Undo

    @rule()
    def undo(self) -> None:
        self.model.undo()
        if self.past:
            unit = self.past.pop()
            self.future.append(unit)
            self.text, self.at = unit[0]
            self.last = ""

    @precondition(lambda self: self.future)
    @rule()
    def redo(self) -> None:
        self.model.redo()
        unit = self.future.pop()
        self.past.append(unit)
        self.text, self.at = unit[1]
        self.last = ""

    @rule()
    def send_and_begin_anew(self) -> None:
        """Only what was killed outlives it, with its chips."""
        self.model.reset()
        self.text, self.at, self.last = "", 0, ""
        self.past.clear()
        self.future.clear()
        killed = "".join(self.kills)
        self.chips = {char: chip for char, chip in self.chips.items() if char in killed}

    # What must be so after each of them

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "model"):
            return
        assert self.model.text == self.text
        assert offset(self.model) == self.at
        assert self.at in boundaries(self.text)
        assert self.model.kill_ring.entries == self.kills
        assert bool(self.model._undo_units) == bool(self.past)

    @invariant()
    def says_what_its_chips_stand_for(self) -> None:
        if not hasattr(self, "model"):
            return
        images = list(dict.fromkeys(c for c in self.text if isinstance(self.chips.get(c), ImageChip)))
        said = ""
        for char in self.text:
            chip = self.chips.get(char)
            match chip:
                case PasteChip():
                    said += chip.text
                case ImageChip():
                    said += f"[image #{images.index(char) + 1}]"
                case _:
                    said += char
        assert self.model.chips.expand_chips(self.model.text) == said
        assert len(self.model.chips.images_of_chips_in(self.model.text)) == len(images)

    @invariant()
    def its_draft_can_be_shown_again(self) -> None:
        if not hasattr(self, "model"):
            return
        other = EditorModel()
        other.reset(self.model.draft())
        assert (other.text, other.cursor) == (self.model.text, self.model.cursor)
        assert other.chips.expand_chips(other.text) == self.model.chips.expand_chips(self.model.text)


TestEditor = EditorMachine.TestCase
TestEditor.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
