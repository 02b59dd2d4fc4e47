"""Path patterns as models write them, as regular expressions over paths with forward slashes."""

import re
from typing import Final

from tools.patterns import late

_SPECIAL: Final = late(r"[*?\[{]")


def is_glob(pattern: str) -> bool:
    return bool(_SPECIAL.search(pattern))


def glob_regex(pattern: str, *, ignore_case: bool = False) -> "re.Pattern[str]":
    """`*`, `?`, `[...]`, `{a,b}` within a name; `**` across directories."""
    return re.compile(_translate(pattern), re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def path_regex(pattern: str, *, ignore_case: bool = False) -> "re.Pattern[str]":
    """For relative paths: a pattern without a slash means names anywhere, one with slashes may begin anywhere."""
    return glob_regex(f"**/{pattern}" if not pattern.startswith("**/") else pattern, ignore_case=ignore_case)


def basename_glob(pattern: str) -> str | None:
    """What the last part of a path must look like, where that narrows anything and braces are closed in it."""
    last = pattern.rsplit("/", 1)[-1]
    if (
        not last
        or last == "**"
        or last.count("{") != last.count("}")
        or pattern.count("{") != last.count("{")
    ):
        return None
    return last


def _translate(pattern: str) -> str:
    out: list[str] = []
    index = depth = 0
    while index < len(pattern):
        char = pattern[index]
        if pattern.startswith("**/", index) and (index == 0 or pattern[index - 1] == "/"):
            out.append("(?:[^/]*/)*")
            index += 3
            continue
        if pattern.startswith("**", index):
            out.append(".*")
            index += 2
            continue
        if char == "[":
            end = _class_end(pattern, index)
            if end:
                body = pattern[index + 1 : end].replace("\\", "\\\\")
                body = f"^/{body[1:]}" if body[0] in "!^" else body
                out.append(f"[{body}]")
                index = end + 1
                continue
        if char == "\\" and index + 1 < len(pattern):
            out.append(re.escape(pattern[index + 1]))
            index += 2
            continue
        if char == "{" and "}" in pattern[index:]:
            depth += 1
            out.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            out.append(")")
        elif char == "," and depth:
            out.append("|")
        else:
            out.append({"*": "[^/]*", "?": "[^/]"}.get(char) or re.escape(char))
        index += 1
    return "".join(out) + ")" * depth


def _class_end(pattern: str, start: int) -> int:
    """The index of the bracket that closes a character class, or 0."""
    first = start + (2 if pattern[start + 1 : start + 2] in ("!", "^") else 1)
    end = pattern.find("]", first + 1)
    return max(end, 0)
