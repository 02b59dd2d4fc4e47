"""Where in a stream a rule's condition is looked for: `text`, `thinking`, `tool`, `tool:edit(src/**)`."""

import re
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Literal

import msgspec

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
_TOKEN = re.compile(r"(?P<part>text|thinking|toolcall|tool)(?::(?P<tool>[\w.-]+))?(?:\((?P<glob>.*)\))?\Z")


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


def compile_condition(text: str) -> str:
    """What is wrong with a regular expression; empty when nothing is."""
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as problem:
        return str(problem)
    return ""


def matches_glob(path: str, glob: str) -> bool:
    """`**` crosses folders, `*` does not, `{a,b}` chooses; a glob without a slash is matched against the name."""
    name = path.replace("\\", "/")
    if "/" not in glob:
        name = PurePosixPath(name).name
    pattern = _glob_pattern(glob)
    if pattern.fullmatch(name):
        return True
    # Calls often name absolute paths, globs are written from the project's top: any tail of folders may fit.
    parts = name.split("/")
    return "/" in glob and any(pattern.fullmatch("/".join(parts[at:])) for at in range(1, len(parts)))


@lru_cache(maxsize=256)
def _glob_pattern(glob: str) -> re.Pattern[str]:
    out = ""
    at = 0
    while at < len(glob):
        rest = glob[at:]
        if rest.startswith("**/"):
            out, at = out + "(?:.*/)?", at + 3
        elif rest.startswith("**"):
            out, at = out + ".*", at + 2
        elif (brace := re.match(r"\{([^{}]*)\}", rest)) is not None:
            out += "(?:" + "|".join(re.escape(part) for part in brace[1].split(",")) + ")"
            at += brace.end()
        elif (group := re.match(r"\[(!?)([^\]]+)\]", rest)) is not None:
            out += f"[{'^' if group[1] else ''}{re.escape(group[2]).replace(chr(92) + '-', '-')}]"
            at += group.end()
        else:
            out += {"*": "[^/]*", "?": "[^/]"}.get(glob[at]) or re.escape(glob[at])
            at += 1
    return re.compile(out)
