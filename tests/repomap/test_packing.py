"""What the index keeps of a file comes back as it was, takes little, and is known to be damaged when it is."""

import zlib

import msgspec
import pytest

from tools.filemap.file_map import Symbol
from tools.repomap.index.outline_packing import StoredOutline, pack_outline, unpack_outline

SYMBOLS = (
    Symbol(name="Boat", kind="class", start_line=1, end_line=9, modifiers=("exported",)),
    Symbol(
        name="läuft", kind="method", start_line=3, end_line=4, parent=0, doc="Läuft aus.", decorator_line=2
    ),
)


def test_an_outline_comes_back() -> None:
    assert unpack_outline(pack_outline(12, SYMBOLS)) == StoredOutline(12, SYMBOLS)
    assert unpack_outline(pack_outline(0, ())) == StoredOutline(0, ())


def test_a_small_file_takes_half_of_what_plain_compression_gives() -> None:
    named = [msgspec.structs.asdict(symbol) for symbol in SYMBOLS]
    plainly = len(zlib.compress(msgspec.msgpack.encode(named)))
    assert len(pack_outline(12, SYMBOLS)) <= plainly / 2


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_truncated_pack_is_damaged(cut: int) -> None:
    with pytest.raises(zlib.error):
        unpack_outline(pack_outline(12, SYMBOLS)[:-cut])
