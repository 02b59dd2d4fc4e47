"""Patches: commits, files and hunks."""

import re

from tools.filemap.language import FoundSymbol
from tools.filemap.scanners.lines import source_lines, text_of
from tools.filemap.scanners.nesting import Nesting
from tools.filemap.scanners.result import Scanned
from tools.filemap.watch import Deadline

_DIFF_GIT = re.compile(rb"diff --git (?:\"?a/)?(.*?)\"? \"?b/(.*?)\"?\r?$")
_DIFF_NEW = re.compile(rb"\+\+\+ (?:b/)?([^\t\r\n]+)")
_DIFF_OLD = re.compile(rb"--- (?:a/)?([^\t\r\n]+)")
_HUNK = re.compile(rb"@@+ -(\d+)(?:,(\d+))?.*? \+(\d+)(?:,(\d+))? @@+ ?(.*)")
_COMMIT = re.compile(rb"(?:From ([0-9a-f]{40}) |commit ([0-9a-f]{40}))")
_SUBJECT = re.compile(rb"Subject: (?:\[[^\]]*\] )?(.*)")


def scan_diff(source: bytes, watch: Deadline) -> Scanned:
    """Commits, files and hunks; files with their counts of added and removed lines."""
    found = Nesting()
    file: FoundSymbol | None = None
    commit: FoundSymbol | None = None
    counts: dict[int, list[int]] = {}
    old, row = b"", 0
    left = [0, 0]
    for row, start, line in source_lines(source, watch):
        mark = line[:1]
        if left[0] > 0 or left[1] > 0:
            _count(line, left, counts.setdefault(id(file), [0, 0]) if file is not None else [0, 0])
            if mark in (b" ", b"+", b"-", b"\\", b""):
                continue
            left = [0, 0]
        if mark == b"@" and (hunk := _HUNK.match(line)) is not None:
            name = f"lines {int(hunk[3])}-{int(hunk[3]) + max(0, int(hunk[4] or 1) - 1)}"
            found.open(2, name, "hunk", row, start, text_of(hunk[5], 100))
            left = [int(hunk[2] or 1), int(hunk[4] or 1)]
        elif mark == b"d" and (git := _DIFF_GIT.match(line)) is not None:
            file = found.open(1, text_of(git[2]), "file", row, start)
        elif mark == b"-" and (before := _DIFF_OLD.match(line)) is not None:
            old = before[1]
        elif mark == b"+" and (new := _DIFF_NEW.match(line)) is not None:
            name = text_of(old if new[1].strip() == b"/dev/null" else new[1])
            if file is None or file.name != name or id(file) in counts:
                file = found.open(1, name, "file", row, start)
        elif mark in (b"F", b"c") and (made := _COMMIT.match(line)) is not None:
            commit = found.open(0, text_of((made[1] or made[2])[:12]), "commit", row, start)
            file = None
        elif mark == b"S" and commit is not None and (subject := _SUBJECT.match(line)) is not None:
            commit.signature = text_of(subject[1], 120)
    found.close(0, row)
    for draft in found.drafts:
        added = counts.get(id(draft))
        if added is not None:
            draft.signature = f"+{added[0]} -{added[1]}"
    return Scanned(found.drafts)


def _count(line: bytes, left: list[int], counts: list[int]) -> None:
    mark = line[:1]
    if mark == b"+":
        counts[0] += 1
        left[1] -= 1
    elif mark == b"-":
        counts[1] += 1
        left[0] -= 1
    elif mark in (b" ", b"", b"\r"):
        left[0] -= 1
        left[1] -= 1
