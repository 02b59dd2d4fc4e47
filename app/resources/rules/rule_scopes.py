"""The scopes of a rule's condition, the parts of a stream it applies to: `text`, `thinking`, `tool`,
`tool:edit(src/**)`."""

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Literal

import msgspec

from tools.lazy_patterns import lazy_regex

StreamPart = Literal["text", "thinking", "tool"]


class RuleScope(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a stream: text, thinking, or the calls of a tool."""

    part: StreamPart
    tool: str = ""
    """The name of the tool; empty means any tool."""
    glob: str = ""
    """A glob that restricts the scope to calls with a matching path; empty means any call."""

    def covers(self, part: StreamPart, tool: str, path: str) -> bool:
        if self.part != part or (self.tool and self.tool != tool):
            return False
        return not self.glob or (bool(path) and path_matches_glob(path, self.glob))


DEFAULT_RULE_SCOPES = (RuleScope(part="text"), RuleScope(part="tool"))
_RULE_SCOPE_TOKEN = lazy_regex(
    r"(?P<part>text|thinking|toolcall|tool)(?::(?P<tool>[\w.-]+))?(?:\((?P<glob>.*)\))?\Z"
)
_MAX_GLOB_ALTERNATIVES = 64


def parse_rule_scopes(text: str) -> tuple[RuleScope, ...]:
    """Parses comma-separated tokens; commas inside quotes and brackets do not separate. Unknown tokens are
    ignored."""
    found: list[RuleScope] = []
    for token in split_at_commas_outside_brackets(text):
        match = _RULE_SCOPE_TOKEN.match(token)
        if match:
            part: StreamPart = "tool" if match["part"].startswith("tool") else match["part"]  # pyright: ignore[reportAssignmentType]  (one of the pattern's words)
            found.append(
                RuleScope(part=part, tool=match["tool"] or "", glob=(match["glob"] or "").strip("\"' "))
            )
    return tuple(found)


def split_at_commas_outside_brackets(text: str) -> tuple[str, ...]:
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


def rule_scopes_of_glob(text: str) -> tuple[RuleScope, ...]:
    """Returns the scopes for a condition that is a file glob (`*.py`, `src/**/*.ts`); empty if it is not a
    glob."""
    has_glob = any(character in text for character in "*?[{")
    has_place = "/" in text or re.search(r"\*\.\w+", text) is not None
    is_regex_only = re.search(r"[\\^$|+()]", text) is not None or ".*" in text
    if not (has_glob and has_place) or is_regex_only or " " in text:
        return ()
    return (RuleScope(part="tool", tool="edit", glob=text), RuleScope(part="tool", tool="write", glob=text))


def unclosed_glob_bracket_error(glob: str) -> str:
    """Returns the fault of a glob with an unclosed bracket; empty if there is none."""
    for begin, end in ("[]", "{}"):
        if glob.count(begin) > glob.count(end):
            return f"has an unclosed {begin}, so it is matched literally"
    return ""


def path_matches_glob(path: str, glob: str) -> bool:
    """Matches a path against a glob: `**` crosses folders, `*` does not, `{a,b}` chooses. A glob without a
    slash is matched against the file's name."""
    name = path.replace("\\", "/")
    if "/" not in glob:
        return any(fnmatchcase(PurePosixPath(name).name, one) for one in _expand_braces(glob))
    # Calls often name absolute paths and globs start at the project's top, so any tail of the path may match.
    parts = name.split("/")
    return any(_tail_matches(parts, one.split("/")) for one in _expand_braces(glob))


@lru_cache(maxsize=256)
def _expand_braces(glob: str) -> tuple[str, ...]:
    """Expands `{a,b}` to globs without braces, up to a limit."""
    found, waiting = [], [glob]
    while waiting and len(found) + len(waiting) <= _MAX_GLOB_ALTERNATIVES:
        one = waiting.pop()
        brace = re.search(r"\{([^{}]*)\}", one)
        if brace is None:
            found.append(one)
        else:
            waiting += [one[: brace.start()] + part + one[brace.end() :] for part in brace[1].split(",")]
    return tuple(found)


def _tail_matches(parts: list[str], globs: list[str]) -> bool:
    """Says whether any tail of the folders matches; the cost is at most the glob's length times the path's."""
    reached = set(range(len(parts)))
    for glob in globs:
        if glob == "**":
            first = min(reached, default=len(parts) + 1)
            reached = set(range(first, len(parts) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(parts) and fnmatchcase(parts[at], glob)}
    return len(parts) in reached
