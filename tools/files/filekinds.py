"""What a file that is no text is, by its first bytes, so that a refusal can name it."""

from typing import Final

_KINDS: Final[tuple[tuple[int, bytes, str], ...]] = (
    (0, b"\x7fELF", "ELF executable or library"),
    (0, b"MZ", "Windows executable"),
    (0, b"\xcf\xfa\xed\xfe", "Mach-O executable"),
    (0, b"\xca\xfe\xba\xbe", "Java class or universal binary"),
    (0, b"\0asm", "WebAssembly module"),
    (0, b"%PDF-", "PDF document"),
    (0, b"PK\x03\x04", "zip archive (or a document made as one)"),
    (0, b"\x1f\x8b", "gzip data"),
    (0, b"BZh", "bzip2 data"),
    (0, b"\xfd7zXZ\0", "xz data"),
    (0, b"\x28\xb5\x2f\xfd", "zstd data"),
    (0, b"7z\xbc\xaf\x27\x1c", "7-zip archive"),
    (0, b"Rar!", "rar archive"),
    (257, b"ustar", "tar archive"),
    (0, b"SQLite format 3\0", "SQLite database"),
    (0, b"\xd0\xcf\x11\xe0", "old Office document"),
    (0, b"OggS", "Ogg audio or video"),
    (0, b"ID3", "MP3 audio"),
    (0, b"fLaC", "FLAC audio"),
    (4, b"ftyp", "MP4 or QuickTime video"),
    (0, b"\x1aE\xdf\xa3", "Matroska or WebM video"),
    (0, b"II*\0", "TIFF image"),
    (0, b"MM\0*", "TIFF image"),
    (0, b"\0\0\x01\0", "icon"),
    (0, b"\0\x01\0\0", "font"),
    (0, b"OTTO", "font"),
    (0, b"wOF", "web font"),
)


def binary_kind(head: bytes) -> str:
    for offset, magic, name in _KINDS:
        if head[offset : offset + len(magic)] == magic:
            return name
    return "binary data"
