"""Becomes the program of its words on a system that has neither namespaces nor Landlock."""

import ctypes
import os
import struct
import sys

_UNSHARE = {"x86_64": 272, "aarch64": 97}
_RULES = 444
_LOAD, _EQUAL, _RETURN, _ALLOW, _REFUSE = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000
_NOT_PERMITTED, _NOT_THERE = 1, 38


def main() -> None:
    number = _UNSHARE[os.uname().machine]
    lines = [
        (_LOAD, 0, 0, 0),
        (_EQUAL, 0, 1, number),
        (_RETURN, 0, 0, _REFUSE | _NOT_PERMITTED),
        (_EQUAL, 0, 1, _RULES),
        (_RETURN, 0, 0, _REFUSE | _NOT_THERE),
        (_RETURN, 0, 0, _ALLOW),
    ]
    code = b"".join(struct.pack("HBBI", *line) for line in lines)
    held = ctypes.create_string_buffer(code, len(code))
    system = ctypes.CDLL(None, use_errno=True)
    fields = struct.pack("HxxxxxxP", len(lines), ctypes.addressof(held))
    if system.prctl(38, 1, 0, 0, 0) or system.prctl(22, 2, fields, 0, 0):
        raise OSError(ctypes.get_errno(), "no filter")
    os.execv(sys.argv[1], sys.argv[1:])


main()
