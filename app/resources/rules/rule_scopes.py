"""Where in a stream a rule's condition is looked for: `text`, `thinking`, `tool`, `tool:edit(src/**)`."""

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Literal

import msgspec

from tools.patterns import late

Part = Literal["text", "thinking", "tool"]


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    part: Part
    tool: str = ""
    """Empty: any tool."""
    glob: str = ""
    """Only calls whose path fits; empty: any call."""

    def covers(self, part: Part, tool: str, path: str) -> bool:
        if self.part != part or (self.tool and self.tool != tool):
            return False
        return not self.glob or (bool(path) and matches_glob(path, self.glob))


DEFAULT_SCOPES = (Scope(part="text"), Scope(part="tool"))
_TOKEN = late(r"(?P<part>text|thinking|toolcall|tool)(?::(?P<tool>[\w.-]+))?(?:\((?P<glob>.*)\))?\Z")
_MOST_CHOICES = 64


def parse_scopes(text: str) -> tuple[Scope, ...]:
    """Tokens between commas, those inside quotes and brackets excepted. Unknown tokens are passed over."""
    found: list[Scope] = []
    for token in split_outside_brackets(text):
        match = _TOKEN.match(token)
        if match:
            part: Part = "tool" if match["part"].startswith("tool") else match["part"]  # pyright: ignore[reportAssignmentType]  (one of the pattern's words)
            found.append(Scope(part=part, tool=match["tool"] or "", glob=(match["glob"] or "").strip("\"' ")))
    return tuple(found)


def split_outside_brackets(text: str) -> tuple[str, ...]:
    parts: list[str] = []
    depth, quote, start = 0, "", 0
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth = max(0, depth - 1)
        elif character == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return tuple(part.strip() for part in parts if part.strip())


def scopes_of_glob(text: str) -> tuple[Scope, ...]:
    """The scopes that a condition means which is really a file glob (`*.py`, `src/**/*.ts`); empty if it is not one."""
    has_glob = any(character in text for character in "*?[{")
    has_place = "/" in text or re.search(r"\*\.\w+", text) is not None
    is_regex_only = re.search(r"[\\^$|+()]", text) is not None or ".*" in text
    if not (has_glob and has_place) or is_regex_only or " " in text:
        return ()
    return (Scope(part="tool", tool="edit", glob=text), Scope(part="tool", tool="write", glob=text))


def wrong_with_glob(glob: str) -> str:
    """Nothing, if it can fit what it seems to be meant for."""
    for begin, end in ("[]", "{}"):
        if glob.count(begin) > glob.count(end):
            return f"has a {begin} that is never closed: it fits only what is called like that"
    return ""


def matches_glob(path: str, glob: str) -> bool:
    """`**` crosses folders, `*` does not, `{a,b}` chooses; a glob without a slash is matched against the name."""
    name = path.replace("\\", "/")
    if "/" not in glob:
        return any(fnmatchcase(PurePosixPath(name).name, one) for one in _choices(glob))
    # Calls often name absolute paths, globs are written from the project's top: any tail of folders may fit.
    parts = name.split("/")
    return any(_matches(parts, one.split("/")) for one in _choices(glob))


@lru_cache(maxsize=256)
def _choices(glob: str) -> tuple[str, ...]:
    """`{a,b}` as globs without braces, as many as anybody would write."""
    found, waiting = [], [glob]
    while waiting and len(found) + len(waiting) <= _MOST_CHOICES:
        one = waiting.pop()
        brace = re.search(r"\{([^{}]*)\}", one)
        if brace is None:
            found.append(one)
        else:
            waiting += [one[: brace.start()] + part + one[brace.end() :] for part in brace[1].split(",")]
    return tuple(found)


def _matches(parts: list[str], globs: list[str]) -> bool:
    """Whether any tail of the folders fits: in steps, so that no glob costs more than its length times the path's."""
    reached = set(range(len(parts)))
    for glob in globs:
        if glob == "**":
            first = min(reached, default=len(parts) + 1)
            reached = set(range(first, len(parts) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(parts) and fnmatchcase(parts[at], glob)}
    return len(parts) in reached
