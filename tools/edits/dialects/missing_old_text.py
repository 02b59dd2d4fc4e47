"""Explains why an old text was not found, so that the next attempt succeeds: the nearest region of the file, with
white space made visible."""

import difflib
from collections import Counter
from collections.abc import Mapping
from typing import Final

from tools.result_limits import clip_result_line
from tools.text_sanitizing import escape_controls

_MAX_QUOTED_LINES_OF_NEAREST_REGION: Final = 12
_MAX_COMPARED_LINES: Final = 20_000
_MAX_QUOTED_LINE_CHARS: Final = 300


def make_white_space_visible(line: str) -> str:
    """Makes white space visible: marks all tabs, and spaces at line ends and in runs, where they are easily
    overlooked."""
    body = line.strip(" \t")
    if not body:
        return line.replace("\t", "→").replace(" ", "·")
    start = line.index(body)
    before, after = line[:start], line[start + len(body) :]
    middle = body.replace("\t", "→").replace("\u00a0", "⍽")
    return escape_controls(
        before.replace("\t", "→").replace(" ", "·") + middle + after.replace("\t", "→").replace(" ", "·")
    )


def explain_missing_old_text(lines: list[str], old: str, seen: Mapping[int, str]) -> str:
    """Returns the explanation why an old text was not found: the nearest region of the file and the first
    difference."""
    wanted = old.split("\n")
    if wanted and not wanted[-1]:
        wanted.pop()
    parts: list[str] = []
    stale = _find_stale_lines(lines, wanted, seen)
    if stale:
        first, last = stale
        parts.append(
            f"The file has changed since you read it: this text was at lines {first}-{last}. Read those lines again."
        )
    start = _find_nearest_region(lines, wanted)
    if start is None:
        parts.append("Nothing like it is in the file. Read the file before editing it.")
        return "\n".join(parts)
    count = min(len(wanted), _MAX_QUOTED_LINES_OF_NEAREST_REGION, len(lines) - start)
    parts.append(f"Nearest text, lines {start + 1}-{start + count} (→ is a tab, · a space):")
    for offset in range(count):
        same = lines[start + offset] == wanted[offset]
        mark = " " if same else "≠"
        shown, _ = clip_result_line(make_white_space_visible(lines[start + offset]), _MAX_QUOTED_LINE_CHARS)
        parts.append(f"{mark} {start + offset + 1}: {shown}")
    parts.append(_describe_first_difference(lines, wanted, start, count))
    return "\n".join(part for part in parts if part)


def _describe_first_difference(lines: list[str], wanted: list[str], start: int, count: int) -> str:
    for offset in range(count):
        if lines[start + offset] != wanted[offset]:
            shown, _ = clip_result_line(make_white_space_visible(wanted[offset]), _MAX_QUOTED_LINE_CHARS)
            return f"Line {offset + 1} of oldText is: {shown}"
    return ""


def _find_stale_lines(lines: list[str], wanted: list[str], seen: Mapping[int, str]) -> tuple[int, int] | None:
    """Returns the lines at which the model was shown the old text, if the file differs there now; None otherwise."""
    if not wanted:
        return None
    needle = wanted[0].strip()
    for number, text in seen.items():
        if text.strip() != needle:
            continue
        if all(seen.get(number + offset, "").strip() == line.strip() for offset, line in enumerate(wanted)):
            now = lines[number - 1 : number - 1 + len(wanted)]
            if [line.strip() for line in now] != [line.strip() for line in wanted]:
                return number, number + len(wanted) - 1
    return None


def _find_nearest_region(lines: list[str], wanted: list[str]) -> int | None:
    """Returns the region of the file that most resembles the old text: where most of its lines occur, or else where
    its longest line matches best."""
    rare = {line.strip(): index for index, line in enumerate(wanted) if len(line.strip()) > 2}
    votes: Counter[int] = Counter()
    for number, line in enumerate(lines):
        index = rare.get(line.strip())
        if index is not None and number >= index:
            votes[number - index] += 1
    if votes:
        return votes.most_common(1)[0][0]
    longest = max(rare, key=len, default="")
    if not longest:
        return None
    best, best_ratio = None, 0.5
    matcher = difflib.SequenceMatcher(None, "", longest[:_MAX_QUOTED_LINE_CHARS], autojunk=False)
    for number, line in enumerate(lines[:_MAX_COMPARED_LINES]):
        candidate = line.strip()[:_MAX_QUOTED_LINE_CHARS]
        if not candidate or abs(len(candidate) - len(longest[:_MAX_QUOTED_LINE_CHARS])) > len(candidate) + 10:
            continue
        matcher.set_seq1(candidate)
        if matcher.real_quick_ratio() > best_ratio and matcher.quick_ratio() > best_ratio:
            ratio = matcher.ratio()
            if ratio > best_ratio:
                best, best_ratio = number, ratio
    return None if best is None else max(0, best - rare[longest])
