"""vi's commands: what a person who writes so expects, what vim itself does, and that nothing breaks the text."""

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.widgets.editor.vi_cases import CASES
from widgets.editor.editor_model import EditorModel
from widgets.editor.prompt_chips import PasteChip
from widgets.editor.vi.vi_mode import ViMode

PLAIN = (
    *"hjklwbeWBE0^$xXDpPJ~YG-+_", "gg", "ge", "g_", "fa", "Fb", "ta", "Tb", "dd", "dw", "db", "de", "d$",
    "d0", "d^", "dj", "dk", "dG", "dgg", "diw", "daw", 'di"', "dip", "yy", "yw", "yj", "rx", "gUiw", "guu",
    "g~w", ">>", "<<", "ciwQ\x1b", "cwQ\x1b", "ccQ\x1b", "CQ\x1b", "iQ\x1b", "aQ\x1b", "IQ\x1b", "AQ\x1b",
    "oQ\x1b", "OQ\x1b", "3iQ\x1b", "d2w", "3x", "2p", "xp", "Vd", "vd", "viwd",
    "/a\n", "?b\n", "/ab\n", "2/b\n", "/a\nn", "/a\nN", "?a\nn", "?a\n2n", "/b\nNN", "*", "#", "2*", "*n", "#N",
    "d/b\n", "d?a\n", "c/b\nQ\x1b", "y/b\nP", "/[ab]b\n", "/a.b\n", "/ab*\n", "/\\<ab\\>\n", "/(\n",
    "/a\\+\n", "/b$\n", "/\\(ab\\|,\\)\n", "/nothing\n", "d/nothing\n", "v/b\nd", "V/ab\nd",
    "vlyjvlgv~", "viwyjvgvd", "Vygvd", "vjJ", "2J", "gUw", "gue", "g~iw", "gUj", "guG", "gU$", "~.",
    "3~.",
    "gUiww.", "dw.", "xj.", "ciwQ\x1bw.", "A!\x1bj.", ">>.", "J.", "d/b\n.", "2dw.", "rxl.", "oQ\x1b.",

)  # fmt: skip
"""What vim and this do alike; `.`, finds and undo remember what came before."""


def typed(model: EditorModel, keys: str, vi: ViMode | None = None) -> ViMode:
    if vi is None:
        vi = ViMode(model)
        vi.enter_insert_mode_for_new_prompt()
        place = model.cursor
        vi.handle_escape()
        model.move_to(place)
    for key in keys:
        if key == "\x1b":
            vi.handle_escape()
        elif vi.mode == "insert":
            model.type_text(key)
        else:
            vi.handle_key(key)
    return vi


def model_of(text: str) -> EditorModel:
    before, _, after = text.partition("|")
    model = EditorModel(before + after)
    model.move_to((before.count("\n"), len(before.rpartition("\n")[2])))
    return model


def told(model: EditorModel) -> str:
    row, column = model.cursor
    lines = list(model.lines)
    lines[row] = lines[row][:column] + "|" + lines[row][column:]
    return "\n".join(lines)


@pytest.mark.parametrize(("before", "keys", "after"), CASES)
def test_a_command_does_what_hands_expect(before: str, keys: str, after: str) -> None:
    model = model_of(before)
    typed(model, keys)
    assert told(model) == after


def test_what_is_written_in_one_go_is_taken_back_in_one() -> None:
    model = EditorModel()
    vi = ViMode(model)
    vi.enter_insert_mode_for_new_prompt()
    for char in "three words here":
        model.type_text(char)
    vi.handle_escape()
    typed(model, "u", vi)
    assert model.text == ""
    typed(model, "\x12", vi)
    assert model.text == "three words here"


def test_a_search_that_finds_nothing_says_so_until_the_next_key() -> None:
    model = model_of("|one two")
    vi = typed(model, "/no such\n")
    assert vi.status == "normal · no match found"
    typed(model, "w", vi)
    assert (vi.status, told(model)) == ("normal", "one |two")


def test_what_is_looked_for_can_be_taken_back() -> None:
    model = model_of("|one two")
    vi = typed(model, "/to")
    vi.erase_search_character()
    assert vi.status == "normal · /t"
    vi.erase_search_character()
    vi.erase_search_character()
    assert vi.status == "normal" and not vi.is_next_key_literal
    typed(model, "x", vi)
    assert told(model) == "|ne two"


def test_a_chip_is_a_word_that_the_register_keeps() -> None:
    model = EditorModel()
    chip = model.chips.add_chip(PasteChip(text="many lines"))
    model.insert(f"see {chip} now")
    model.move_to((0, 4))
    typed(model, "dw$p")
    assert model.chips.expand_chips(model.text) == "see nowmany lines "
    model.reset()
    typed(model, "p")
    assert "many lines" in model.chips.expand_chips(model.text)


def test_after_random_keys_the_cursor_is_on_a_character_and_undo_works() -> None:
    chance = random.Random(3)
    alphabet = 'hjklwbeWBE0^$xXDCSpPJ~YGddccyyuiaoOIAvV.;,%{}gfFtTr"123<> ()a\x1b\x12漢👩/?nN*#\n'
    for _ in range(400):
        model = EditorModel('one (two)\n\n  漢字 👩‍🚀 three\n"four" five')
        vi = typed(model, "".join(chance.choice(alphabet) for _ in range(40)))
        vi.handle_escape()
        vi.handle_escape()
        row, column = model.cursor
        assert 0 <= row < len(model.lines)
        assert column < max(1, len(model.lines[row]))
        for _ in range(200):
            model.undo()
        assert model.text == 'one (two)\n\n  漢字 👩‍🚀 three\n"four" five'


@pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not installed")
def test_vim_does_the_same(tmp_path: Path) -> None:
    chance = random.Random(5)
    cases: list[tuple[list[str], int, int, str]] = []
    for _ in range(4_000):
        lines = [
            "x" + "".join(chance.choice('ab(ab) "ab" ab .,') for _ in range(chance.randrange(12))) + "b"
            for _ in range(4)
        ]
        row = chance.randrange(1, 3)
        cases.append((lines, row, chance.randrange(len(lines[row])), chance.choice(PLAIN)))
    (tmp_path / "cases.json").write_text(
        json.dumps([[lines, row + 1, column + 1, keys] for lines, row, column, keys in cases])
    )
    (tmp_path / "script.vim").write_text(
        "set nocompatible sw=4 et noai nojs sol\nlet out=[]\n"
        "for c in json_decode(join(readfile('cases.json')))\n  enew!\n  call setline(1,c[0])\n"
        "  call setreg('\"','')\n  call cursor(c[1],c[2])\n"
        "  try\n    exe 'normal! '.substitute(c[3],'\\n','\\r','g')\n  catch\n  endtry\n"
        "  call add(out,[getline(1,'$'),line('.'),col('.')])\nendfor\n"
        "call writefile([json_encode(out)],'out.json')\nqa!\n"
    )
    command = ["vim", "-u", "NONE", "-i", "NONE", "-n", "-es", "-S", "script.vim"]
    subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, timeout=120, check=False)
    different = []
    for (lines, row, column, keys), (text, at, place) in zip(
        cases, json.loads((tmp_path / "out.json").read_text()), strict=True
    ):
        model = EditorModel("\n".join(lines))
        model.move_to((row, column))
        typed(model, keys)
        if (model.lines, model.cursor) != (text, (at - 1, max(1, place) - 1)):
            different.append((lines, (row, column), keys, (text, at, place), (model.lines, model.cursor)))
    assert different == []
