"""What the index keeps of a file comes back as it was, takes little, and is known to be damaged when it is."""

import zlib

import msgspec
import pytest

from tools.filemap.symbols import Symbol
from tools.repomap.packing import (
    KeptOutline,
    by_count,
    counts_in,
    outline_in,
    packed_outline,
    packed_words,
    words_in,
)

SYMBOLS = (
    Symbol(name="Boat", kind="class", start_line=1, end_line=9, modifiers=("exported",)),
    Symbol(name="läuft", kind="method", start_line=3, end_line=4, parent=0, doc="Läuft aus.", lead_line=2),
)
COUNTS = {"boat": 3, "launch": 1, "harbour": 1, "läuf": 6}


def test_an_outline_comes_back() -> None:
    assert outline_in(packed_outline(12, SYMBOLS)) == KeptOutline(12, SYMBOLS)
    assert outline_in(packed_outline(0, ())) == KeptOutline(0, ())


def test_words_come_back_with_their_counts() -> None:
    assert dict(counts_in(words_in(packed_words(by_count(COUNTS))))) == COUNTS
    assert words_in(packed_words(by_count({}))) == ()


def test_a_small_file_takes_half_of_what_plain_compression_gives() -> None:
    named = [msgspec.structs.asdict(symbol) for symbol in SYMBOLS]
    plainly = len(zlib.compress(msgspec.msgpack.encode(named)))
    assert len(packed_outline(12, SYMBOLS)) <= plainly / 2


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_what_has_no_end_is_damaged(cut: int) -> None:
    with pytest.raises(zlib.error):
        outline_in(packed_outline(12, SYMBOLS)[:-cut])
    with pytest.raises(zlib.error):
        words_in(packed_words(by_count(COUNTS))[:-cut])
