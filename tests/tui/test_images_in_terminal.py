"""The real program before a terminal that shows images: what the page shows is on it, and nothing is left behind."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from tests.support.picture_terminal import ITERM, KITTY, PLACING, PLAIN, SIXEL, PictureTerminal, Speaks
from tests.support.terminals import Terminal, terminal

BLOCKS = 48 * 12
"""Cells of the picture, which are half blocks where it is not drawn."""
ENV = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "TMUX": "", "STY": "", "TERM_PROGRAM": ""}
MENU, ESCAPE, DOWN, UP = "\x0b", "\x1b", "\x1b[<65;20;9M", "\x1b[<64;20;9M"
each_kind = pytest.mark.parametrize(
    "speaks", [KITTY, PLACING, ITERM, SIXEL], ids=["cells", "placements", "files", "sixels"]
)


@contextmanager
def opened(
    folder: Path, speaks: Speaks, *words: str, size: tuple[int, int] = (80, 30), **env: str
) -> Iterator[tuple[Terminal, PictureTerminal]]:
    """With a picture in the folder, which a card on the page shows, and `settings` of the person's."""
    Image.radial_gradient("L").resize((320, 160)).convert("RGB").save(folder / "boat.png")
    keep({"expandTools": '"always"'})
    words = words or ("read boat.png",)
    emulator = partial(PictureTerminal, speaks=speaks)
    with terminal(folder, *words, size=size, env={**ENV, **env}, emulator=emulator) as shown:
        assert isinstance(shown.emulator, PictureTerminal)
        yield shown, shown.emulator


def keep(settings: dict[str, str]) -> None:
    file = Path(os.environ["BAYOU_AGENT_DIR"]) / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{" + ", ".join(f'"{name}": {value}' for name, value in settings.items()) + "}")


def until_one(shown: Terminal, screen: PictureTerminal) -> None:
    """The picture is there, whole, and nothing else of one."""
    shown.until("its card above")
    shown.until(lambda: len(screen.pictures) == 1)
    seen = screen.pictures[0]
    assert screen.scraps in (seen.columns * seen.rows, len(screen.placed))


def scroll_past(shown: Terminal, screen: PictureTerminal) -> None:
    """Two answers of the guide bring the picture out of sight; 10 rows up it is whole again."""
    shown.press("help\r")
    shown.until("To say what you want in your own words")
    shown.until(lambda: "esc stop" not in shown.screen)
    shown.press("grep boat\r")
    shown.until("› grep boat")
    shown.until(lambda: "esc stop" not in shown.screen)
    shown.until(lambda: screen.pictures == [] and screen.scraps == 0)


def until_blocks(shown: Terminal, screen: PictureTerminal) -> None:
    shown.until(lambda: screen.scraps == 0 and shown.screen.count("▀") >= BLOCKS)
    assert screen.pictures == [] and screen.held == {}


@each_kind
def test_a_picture_is_covered_and_moved_with_its_cells(tmp_path: Path, speaks: Speaks) -> None:
    with opened(tmp_path, speaks) as (shown, screen):
        shown.until("its card above")
        shown.until(lambda: [seen[:4] for seen in screen.pictures] == [(2, 11, 48, 12)])
        before = screen.pictures
        shown.press(MENU)
        shown.until("search actions and commands")
        shown.until(lambda: screen.pictures == [])
        shown.press(ESCAPE)
        shown.until(lambda: screen.pictures == before)
        scroll_past(shown, screen)
        shown.press(UP * 10)
        shown.until(lambda: len(screen.pictures) == 1)
        assert screen.pictures[0].x == 2
        shown.press(DOWN * 40)
        shown.until(lambda: screen.pictures == [] and screen.scraps == 0)
        assert len(screen.sent) <= 1, "it is sent once"
        assert screen.faults == []


@each_kind
def test_full_screen_an_image_is_as_large_as_fits(tmp_path: Path, speaks: Speaks) -> None:
    with opened(tmp_path, speaks, size=(100, 34)) as (shown, screen):
        until_one(shown, screen)
        shown.press("\x1bt")
        shown.until("esc")
        shown.press("k\r")
        shown.until(lambda: [(seen.columns, seen.rows) for seen in screen.pictures] == [(96, 24)])
        shown.press(ESCAPE)
        shown.until(lambda: [seen.columns for seen in screen.pictures] == [48])
        assert screen.scraps in (48 * 12, 1)
        assert screen.faults == []


@each_kind
def test_a_new_size_and_the_setting_are_heeded_at_once(tmp_path: Path, speaks: Speaks) -> None:
    with opened(tmp_path, speaks) as (shown, screen):
        until_one(shown, screen)
        shown.resize(40, 30)
        shown.until(lambda: [seen.columns for seen in screen.pictures] == [36])
        shown.resize(80, 30)
        shown.until(lambda: [seen.columns for seen in screen.pictures] == [48])
        keep({"expandTools": '"always"', "images": '{"protocol": "blocks"}'})
        shown.press("\x1b[I")  # the terminal comes to the front, and settings are looked at
        until_blocks(shown, screen)
        keep({"expandTools": '"always"'})
        shown.press("\x1b[I")
        until_one(shown, screen)
        shown.press("/new\r")
        shown.until(lambda: screen.pictures == [] and screen.scraps == 0)
        assert screen.faults == []


@each_kind
def test_another_program_and_the_shell_get_a_terminal_without_pictures(
    tmp_path: Path, speaks: Speaks
) -> None:
    seen, editor = tmp_path / "seen", tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\ntouch {seen}\nwhile [ -e {seen} ]; do sleep 0.05; done\n")
    editor.chmod(0o755)
    with opened(tmp_path, speaks, EDITOR=str(editor)) as (shown, screen):
        until_one(shown, screen)
        before = screen.pictures
        shown.press("\x07")
        shown.until(seen.exists)
        shown.until(lambda: screen.left_behind == [])
        seen.unlink()
        shown.until(lambda: screen.pictures == before)
        shown.press("\x04")
        assert shown.ended() == 0
        assert screen.left_behind == [] and shown.left_behind() == []


@each_kind
def test_who_ends_it_gets_a_terminal_without_pictures(tmp_path: Path, speaks: Speaks) -> None:
    with opened(tmp_path, speaks) as (shown, screen):
        until_one(shown, screen)
        shown.process.send_signal(signal.SIGTERM)
        shown.ended()
        assert screen.left_behind == []


def test_what_a_killed_one_has_left_the_next_one_takes_away(tmp_path: Path) -> None:
    with opened(tmp_path, KITTY) as (shown, screen):
        until_one(shown, screen)
        shown.kill()
        held = screen.held
    assert held
    with opened(tmp_path, KITTY, "help") as (shown, screen):
        screen.held |= held
        shown.until(lambda: screen.held == {})


@pytest.mark.parametrize("speaks", [PLAIN, KITTY._replace(answers=False)], ids=["cannot", "does not say"])
def test_where_images_are_not_understood_half_blocks_stand_for_them(tmp_path: Path, speaks: Speaks) -> None:
    with opened(tmp_path, speaks) as (shown, screen):
        until_blocks(shown, screen)
        assert screen.sent == [] and screen.drawn == [] and screen.faults == []


def test_late_answers_are_heeded_and_take_no_keys(tmp_path: Path) -> None:
    """In the midst of what is typed, a byte at a time."""
    with opened(tmp_path, KITTY._replace(answers=False)) as (shown, screen):
        until_blocks(shown, screen)
        shown.press("never ")
        for byte in b"\x1bP>|kitty(0.35.2)\x1b\\\x1b_Gi=3190;OK\x1b\\":
            shown.press(bytes([byte]))
            shown.read()
        shown.press("mind")
        until_one(shown, screen)
        shown.until("› never mind")


def test_answers_that_are_lies_are_not_typed_and_cost_no_keys(tmp_path: Path) -> None:
    """OK at first, then nonsense, failures, and an answer that never ends."""
    nonsense = b"\x1b_Gi=99999999999999;OK\x1b\\\x1b_G;;;\x1b\\\x1b_Gq\x1b\\\x1bP>|" + b"x" * 90 + b"\x1b\\"
    with opened(tmp_path, KITTY) as (shown, screen):
        until_one(shown, screen)
        shown.press(nonsense)
        shown.press("still \x1b[6;0;0t\x1b[6;9999;9999t\x1b]1337;ReportCellSize=x;y\x07here")
        shown.until("› still here")
        until_one(shown, screen)
        shown.press(f"\x1b_Gi={screen.sent[-1]};ENOENT:it is not there\x1b\\")
        shown.until(lambda: screen.pictures == [] and shown.screen.count("▀") >= BLOCKS)
        shown.press(b" and\x1b_Gi=3190;O")
        shown.until("› still here and")
        shown.press(" well")
        shown.until("› still here and well")
