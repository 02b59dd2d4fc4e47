"""Parses the eight requests that the guide understands into tool calls."""

import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from app.values.content import ToolCall

TOUR_PAGE_TITLES = ("looking", "searching", "changing", "undoing", "branching")
"""The titles of the tour's pages, by which a request can name one: `tour searching`."""


class OfflineGuideHelpRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the offline guide's help: a request, an example and its effect."""

    syntax: str
    example: str
    effect: str


OFFLINE_GUIDE_HELP_ROWS = (
    OfflineGuideHelpRow(syntax="list", example="list src", effect="lists this folder, or the one named"),
    OfflineGuideHelpRow(syntax="read FILE", example="read README.md", effect="reads a file"),
    OfflineGuideHelpRow(
        syntax="grep TEXT", example="grep main", effect="searches the files (regular expressions)"
    ),
    OfflineGuideHelpRow(syntax="find PATTERN", example="find *.toml", effect="finds files by name"),
    OfflineGuideHelpRow(
        syntax="change A to B in FILE",
        example='change "one" to "two" in notes.txt',
        effect="changes a file; texts may stand in quotation marks",
    ),
    OfflineGuideHelpRow(syntax="run COMMAND", example="run git status", effect="runs a command in the shell"),
    OfflineGuideHelpRow(syntax="help", example="help", effect="shows this"),
    OfflineGuideHelpRow(syntax="tour", example="tour", effect="shows bayou, one step each time"),
)


class PlannedToolCall(msgspec.Struct, frozen=True):
    """A tool call that a request to the offline guide asks for."""

    tool: str
    arguments: Mapping[str, object]
    purpose: str
    """The purpose of the call, which completes the sentence "I will …"."""

    @property
    def to_tool_call(self) -> ToolCall:
        return ToolCall(id="", name=self.tool, arguments=dict(self.arguments))


GuideRequest = PlannedToolCall | Literal["help", "tour"]

_GUIDE_REQUEST_PATTERN = re.compile(r"(?P<verb>[a-z]+)(?:\s+(?P<rest>.+))?", re.IGNORECASE | re.DOTALL)
_GUIDE_RUN_REQUEST_PATTERN = re.compile(r"run\s+\S", re.IGNORECASE)
_GUIDE_CHANGE_REQUEST_PATTERN = re.compile(r"""(?P<old>"[^"]+"|.+?) to (?P<new>"[^"]*"|.+) in (?P<file>.+)""")
_QUOTED_TEXT_PATTERN = re.compile(r"""(["'`])(.*)\1""", re.DOTALL)


def parse_offline_guide_requests(request: str) -> tuple[GuideRequest, ...]:
    """Parses the requests to the offline guide, one a line, into tool calls; a command continues to the end of the
    text. Returns none if any line is not understood."""
    rest, found = request.strip(), list[GuideRequest]()
    while rest:
        line, _, rest = (rest, "", "") if _GUIDE_RUN_REQUEST_PATTERN.match(rest) else rest.partition("\n")
        if not line.strip():
            continue
        meant = _parse_request_line(line.strip())
        if meant is None:
            return ()
        found.append(meant)
    return tuple(found)


def _parse_request_line(line: str) -> GuideRequest | None:
    said = _GUIDE_REQUEST_PATTERN.fullmatch(line)
    if said is None:
        return None
    rest = _strip_quotes(said["rest"] or "")
    match said["verb"].lower(), rest:
        case "help", "":
            return "help"
        case "tour", page if page in ("", *TOUR_PAGE_TITLES):
            return "tour"
        case "list", "":
            return PlannedToolCall("ls", {}, "list `.`")
        case "list", folder:
            return PlannedToolCall("ls", {"path": folder}, f"list `{folder}`")
        case _, "":
            return None
        case "read", file:
            return PlannedToolCall("read", {"path": file.removeprefix("@")}, f"read `{file}`")
        case "grep", text:
            return PlannedToolCall("grep", {"pattern": text}, f"search for `{text}`")
        case "find", pattern:
            glob = pattern if set(pattern) & set("*?[{/.") else f"*{pattern}*"
            return PlannedToolCall("find", {"pattern": glob}, f"find `{glob}`")
        case "run", command:
            return PlannedToolCall("bash", {"command": command}, f"run `{command}`")
        case "change", _:
            return _parse_change_request(said["rest"])
        case _:
            return None


def _parse_change_request(text: str) -> PlannedToolCall | None:
    said = _GUIDE_CHANGE_REQUEST_PATTERN.fullmatch(text)
    if said is None:
        return None
    file = _strip_quotes(said["file"])
    edit = {"oldText": _strip_quotes(said["old"]), "newText": _strip_quotes(said["new"])}
    return PlannedToolCall("edit", {"path": file, "edits": [edit]}, f"change `{file}`")


def _strip_quotes(text: str) -> str:
    text = text.strip()
    quoted = _QUOTED_TEXT_PATTERN.fullmatch(text)
    return quoted[2] if quoted is not None and quoted[1] not in quoted[2] else text
