"""What is pasted: cleaned, kept small, recognised when it is a picture."""

import struct
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from widgets.editor import commands
from widgets.editor.editor_model import EditorModel
from widgets.editor.image_attachments import image_from_bytes, read_image_file
from widgets.editor.paste_cleaning import (
    clean_pasted_text,
    clean_pasted_text_in_chunks,
    find_dropped_image_paths,
    is_long_paste,
    pasted_path_needs_space,
)
from widgets.editor.prompt_chips import PasteChip


@given(st.text(alphabet=st.characters(), max_size=200))
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    cleaned = clean_pasted_text(text)
    assert not any(ord(char) < 32 and char not in "\n\t" for char in cleaned)
    assert "\x7f" not in cleaned
    assert clean_pasted_text(cleaned) == cleaned


def test_line_breaks_become_one_kind_and_tabs_stay() -> None:
    assert clean_pasted_text("a\r\nb\rc\td") == "a\nb\nc\td"


def test_whole_escape_sequences_go_not_just_their_first_byte() -> None:
    assert clean_pasted_text("\x1b[31mred\x1b[0m \x1b]0;title\x07x\x1b]8;;http://a\x1b\\link") == "red xlink"


def test_pasted_text_cannot_pretend_to_be_a_chip() -> None:
    model = EditorModel()
    commands.insert_chip(model, PasteChip(text="secret"))
    assert clean_pasted_text(model.text + "x") == "x"


def test_length_and_lines_decide_about_a_chip() -> None:
    assert not is_long_paste("one line")
    assert is_long_paste("a\n" * 10)
    assert is_long_paste("x" * 1001)


def test_binary_leaves_only_its_printable_part() -> None:
    data = bytes(range(256)).decode("latin-1") * 4
    assert clean_pasted_text(data).isprintable() or "\n" in clean_pasted_text(data)


def test_dropped_files_in_the_ways_that_terminals_write_them() -> None:
    assert find_dropped_image_paths("/tmp/a.png") == (Path("/tmp/a.png"),)
    assert find_dropped_image_paths(r"/tmp/my\ shot.png ") == (Path("/tmp/my shot.png"),)
    assert find_dropped_image_paths("'/tmp/my shot.png' '/tmp/b.jpg'") == (
        Path("/tmp/my shot.png"),
        Path("/tmp/b.jpg"),
    )
    assert find_dropped_image_paths("file:///tmp/my%20shot.png") == (Path("/tmp/my shot.png"),)
    assert find_dropped_image_paths("/tmp/my shot.png") == (Path("/tmp/my shot.png"),)


def test_a_sentence_about_a_picture_is_a_sentence() -> None:
    assert find_dropped_image_paths("look at /tmp/a.png") == ()
    assert find_dropped_image_paths("a.png") == ()


def test_a_path_behind_a_word_gets_a_blank() -> None:
    assert pasted_path_needs_space("/etc/hosts", "see")
    assert not pasted_path_needs_space("/etc/hosts", "see ")
    assert not pasted_path_needs_space("word", "see")


def test_a_picture_tells_its_size(tmp_path: Path) -> None:
    header = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480) + b"\x08\x02\x00\x00\x00"
    path = tmp_path / "shot.png"
    path.write_bytes(header)
    image = read_image_file(path)
    assert image is not None
    assert (image.mime_type, image.width, image.height) == ("image/png", 640, 480)
    assert read_image_file(tmp_path / "missing.png") is None


def test_a_gif_from_the_clipboard_tells_its_size() -> None:
    image = image_from_bytes(b"GIF89a" + struct.pack("<HH", 12, 34) + b"\0" * 10, "clipboard")
    assert image is not None
    assert (image.width, image.height) == (12, 34)
    assert image_from_bytes(b"no image at all", "clipboard") is None


async def test_megabytes_are_cleaned_alike_in_pieces() -> None:
    text = "one \x1b[31mred\x1b[0m line\r\n" * 20_000
    assert await clean_pasted_text_in_chunks(text, 1000) == clean_pasted_text(text)
    assert await clean_pasted_text_in_chunks("x" * 50_000, 1000) == "x" * 50_000
