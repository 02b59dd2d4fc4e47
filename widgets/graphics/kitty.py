"""kitty's graphics protocol: an image is sent once with an id, and shown where placeholder cells
represent it.

A cell shows a part of an image if it holds U+10EEEE with the part's row and column as
combining marks and the image's id as its colour. Moving, covering or clipping the cells
(scrolling, a dialog, tmux) does the same to the image, without painting it again. Terminals
without placeholder cells get placements, which are put on the page and removed (`over_cells`)."""

from collections.abc import Iterator

KITTY_PLACEHOLDER_CHARACTER = "\U0010eeee"
_KITTY_DIACRITIC_RANGES = (
    "305 30d-30e 310 312 33d-33f 346 34a-34c 350-352 357 35b 363-36f 483-487 592-595 597-599 59c-5a1 "
    "5a8-5a9 5ab-5ac 5af 5c4 610-617 657-65b 65d-65e 6d6-6dc 6df-6e2 6e4 6e7-6e8 6eb-6ec 730 732-733 "
    "735-736 73a 73d 73f-741 743 745 747 749-74a 7eb-7f1 7f3 816-819 81b-823 825-827 829-82d 951 "
    "953-954 f82-f83 f86-f87 135d-135f 17dd 193a 1a17 1a75-1a7c 1b6b 1b6d-1b73 1cd0-1cd2 1cda-1cdb "
    "1ce0 1dc0-1dc1 1dc3-1dc9 1dcb-1dcc 1dd1-1de6 1dfe 20d0-20d1 20d4-20d7 20db-20dc 20e1 20e7 20e9 "
    "20f0 2cef-2cf1 2de0-2dff a66f a67c-a67d a6f0-a6f1 a8e0-a8f1 aab0 aab2-aab3 aab7-aab8 aabe-aabf "
    "aac1 fe20-fe26 10a0f 10a38 1d185-1d189 1d1aa-1d1ad 1d242-1d244 "
)
_KITTY_ROW_COLUMN_DIACRITICS = "".join(
    chr(code)
    for first, _, last in (part.partition("-") for part in _KITTY_DIACRITIC_RANGES.split())
    for code in range(int(first, 16), int(last or first, 16) + 1)
)
"""The combining marks that encode numbers, in the protocol's order."""
_KITTY_CHUNK_CHARS = 4096
KITTY_IMAGE_ID_COLOURS = range(16, 256)
"""The part of an image's id that its cells encode as a palette colour, which every tmux passes
unchanged."""


def make_kitty_image_id(family: int, colour: int) -> int:
    """Returns the id of an image in kitty's protocol. Its high byte, the family, separates two programs on one
    terminal."""
    return family << 24 | colour


def make_kitty_placeholder_cells(number: int, row: int, columns: int) -> str:
    """Returns the placeholder characters for one row of an image in kitty's protocol; their colour has to encode the
    rest of the image's id."""
    ends = _KITTY_ROW_COLUMN_DIACRITICS[number >> 24]
    return "".join(
        f"{KITTY_PLACEHOLDER_CHARACTER}{_KITTY_ROW_COLUMN_DIACRITICS[row]}{_KITTY_ROW_COLUMN_DIACRITICS[column]}{ends}"
        for column in range(columns)
    )


def kitty_support_query(number: int) -> str:
    """Returns the sequence that asks whether a terminal supports kitty's image protocol: an image of one pixel that is
    not stored."""
    return f"\x1b_Gi={number},s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"


def kitty_image_upload_sequences(
    number: int, png: str, columns: int, rows: int, *, has_cells: bool, is_answered: bool = False
) -> Iterator[str]:
    """Yields the sequences that send an image in base64 to the terminal, which stores it. For placeholder cells its
    size in cells is sent too. The terminal always reports failures, and success only if `is_answered`."""
    how = f"a=T,U=1,c={columns},r={rows}" if has_cells else "a=t"
    quiet = 0 if is_answered else 1
    for at in range(0, len(png), _KITTY_CHUNK_CHARS):
        rest = f"m={0 if at + _KITTY_CHUNK_CHARS >= len(png) else 1},q={quiet}"
        head = rest if at else f"{how},i={number},f=100,t=d,{rest}"
        yield f"\x1b_G{head};{png[at : at + _KITTY_CHUNK_CHARS]}\x1b\\"


def kitty_show_image_sequence(number: int, place: int, columns: int, rows: int) -> str:
    """Returns the sequence that shows a stored image at the cursor, without moving the cursor."""
    return f"\x1b_Ga=p,i={number},p={place},c={columns},r={rows},C=1,q=2\x1b\\"


def kitty_hide_image_sequence(number: int, place: int) -> str:
    return f"\x1b_Ga=d,d=i,i={number},p={place},q=2\x1b\\"


def kitty_delete_image_sequence(number: int) -> str:
    """Returns the sequence that deletes a stored image from the terminal, everywhere it is shown."""
    return f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\"


def kitty_delete_image_family_sequence(family: int) -> str:
    """Returns the sequence that deletes all images of a family, such as those of a killed program."""
    first, last = (
        make_kitty_image_id(family, KITTY_IMAGE_ID_COLOURS[0]),
        make_kitty_image_id(family, KITTY_IMAGE_ID_COLOURS[-1]),
    )
    return f"\x1b_Ga=d,d=R,x={first},y={last},q=2\x1b\\"
