"""Compresses the outlines in the index, quickly and small.

Most files are small and compress badly by themselves, so a dictionary of common source text comes first. A change
here invalidates every index (`index_store.REPOSITORY_INDEX_VERSION`).
"""

import zlib
from collections.abc import Sequence

import msgspec

from tools.filemap.file_map import Symbol

_COMPRESSION_DICTIONARY = (
    b"interface\xa9exception\xa9extension\xa6moduleconstructor\xa4enum\xa4impl\xa9namespace\xa6struct\xa8variable"
    b"enum member\xa8constant\xa4test\xa4type\xa5macro\x91\xa6static\x91\xa7private\x92\xa8exported\xa6public"
    b"\x92\xa8exported\xa3pub\x92\xa8exported\xa6export\xa5field\xa8property\xa5class\xa6method\xa8function"
    b"\x91\xa8exported\xa0\xc0\x90\xa0\xc0\x99"
)
_COMPRESSION_LEVEL = 6


class StoredOutline(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The part of a file's map that the index stores: the number of lines and the symbols."""

    lines: int
    symbols: tuple[Symbol, ...]


_OUTLINE_DECODER = msgspec.msgpack.Decoder(StoredOutline)


def pack_outline(lines: int, symbols: Sequence[Symbol]) -> bytes:
    packing = zlib.compressobj(_COMPRESSION_LEVEL, zdict=_COMPRESSION_DICTIONARY)
    return packing.compress(msgspec.msgpack.encode((lines, symbols))) + packing.flush()


def unpack_outline(packed: bytes) -> StoredOutline:
    """Decompresses a file's outline from the index. Raises `zlib.error`, also for truncated data."""
    unpacking = zlib.decompressobj(zdict=_COMPRESSION_DICTIONARY)
    made = unpacking.decompress(packed)
    if not unpacking.eof:
        raise zlib.error("the end is missing")
    return _OUTLINE_DECODER.decode(made)
