"""What the index keeps of each file, in as few bytes as are quickly made and read: outline and words.

Small files are most of a large folder, and of those a plain compression saves little: it has seen nothing yet. So it
begins with what nearly every source has. What is changed here makes every index anew (`store.VERSION`).
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tools.filemap.symbols import Symbol
from tools.repomap.parts import MOST_OF_A_WORD

_WORDS_OF_SOURCES = b"""
level async dir extend input user enum action limit connection block debug param url serv load method numb exampl array
size throw found init line util modul context byte output format pars follow expect config fail info event messag const
static used try struct handl run json request content check self assert first time contain null empty start def call
text read object other out key except match unless privat creat data var option map int when path result add nil sourc
one express function public includ but softwar case list under packag are see end default condition fals kind version
may code distribut you writ valu requir test else error without import that copy class all true set type name http any
new get licens from return copyright use not file str thi with and for the
"""
_OF_WORDS = b" ".join(_WORDS_OF_SOURCES.split())
_OF_OUTLINES = (
    b"interface\xa9exception\xa9extension\xa6moduleconstructor\xa4enum\xa4impl\xa9namespace\xa6struct\xa8variable"
    b"enum member\xa8constant\xa4test\xa4type\xa5macro\x91\xa6static\x91\xa7private\x92\xa8exported\xa6public"
    b"\x92\xa8exported\xa3pub\x92\xa8exported\xa6export\xa5field\xa8property\xa5class\xa6method\xa8function"
    b"\x91\xa8exported\xa0\xc0\x90\xa0\xc0\x99"
)
_LEVEL = 6


class KeptOutline(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What is kept of a map."""

    lines: int
    symbols: tuple[Symbol, ...]


Words = tuple[str, ...]
"""Of a text: at each place those that stand there once more often than those before, with blanks between."""

_OUTLINES = msgspec.msgpack.Decoder(KeptOutline)
_WORDS = msgspec.msgpack.Decoder(Words)


def by_count(words: Mapping[str, int]) -> Words:
    groups: list[list[str]] = [[] for _ in range(MOST_OF_A_WORD)]
    for word, count in words.items():
        groups[count - 1].append(word)
    while groups and not groups[-1]:
        groups.pop()
    return tuple(map(" ".join, groups))


def counts_in(words: Words) -> Iterable[tuple[str, int]]:
    return ((word, count) for count, group in enumerate(words, 1) for word in group.split())


def packed_outline(lines: int, symbols: Sequence[Symbol]) -> bytes:
    return _packed(msgspec.msgpack.encode((lines, symbols)), _OF_OUTLINES)


def outline_in(packed: bytes) -> KeptOutline:
    return _OUTLINES.decode(_unpacked(packed, _OF_OUTLINES))


def packed_words(words: Words) -> bytes:
    return _packed(msgspec.msgpack.encode(words), _OF_WORDS)


def words_in(packed: bytes) -> Words:
    return _WORDS.decode(_unpacked(packed, _OF_WORDS))


def _packed(data: bytes, known: bytes) -> bytes:
    packing = zlib.compressobj(_LEVEL, zdict=known)
    return packing.compress(data) + packing.flush()


def _unpacked(data: bytes, known: bytes) -> bytes:
    """Raises `zlib.error`, also where the end is missing."""
    unpacking = zlib.decompressobj(zdict=known)
    made = unpacking.decompress(data)
    if not unpacking.eof:
        raise zlib.error("the end is missing")
    return made
