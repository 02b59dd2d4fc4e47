"""Parses the eight requests that the guide understands into tool calls."""

import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from app.values.content import ToolCall


class GuideHelpRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the offline guide's help: a request, an example and its effect."""

    syntax: str
    example: str
    effect: str


GUIDE_HELP_ROWS = (
    GuideHelpRow(syntax="list", example="list src", effect="lists this folder, or the one named"),
    GuideHelpRow(syntax="read FILE", example="read README.md", effect="reads a file"),
    GuideHelpRow(syntax="grep TEXT", example="grep main", effect="searches the files (regular expressions)"),
    GuideHelpRow(syntax="find PATTERN", example="find *.toml", effect="finds files by name"),
    GuideHelpRow(
        syntax="change A to B in FILE",
        example='change "one" to "two" in notes.txt',
        effect="changes a file; texts may stand in quotation marks",
    ),
    GuideHelpRow(syntax="run COMMAND", example="run git status", effect="runs a command in the shell"),
    GuideHelpRow(syntax="help", example="help", effect="shows this"),
    GuideHelpRow(syntax="tour", example="tour", effect="shows bayou, one step each time"),
)


class PlannedCall(msgspec.Struct, frozen=True):
    """A tool call that a request to the offline guide asks for."""

    tool: str
    arguments: Mapping[str, object]
    purpose: str
    """The purpose of the call, which completes the sentence "I will …"."""

    @property
    def to_tool_call(self) -> ToolCall:
        return ToolCall(id="", name=self.tool, arguments=dict(self.arguments))


GuideRequest = PlannedCall | Literal["help", "tour"]

_VERB_AND_REST_PATTERN = re.compile(r"(?P<verb>[a-z]+)(?:\s+(?P<rest>.+))?", re.IGNORECASE | re.DOTALL)
_RUN_REQUEST_PATTERN = re.compile(r"run\s+\S", re.IGNORECASE)
_CHANGE_REQUEST_PATTERN = re.compile(r"""(?P<old>"[^"]+"|.+?) to (?P<new>"[^"]*"|.+) in (?P<file>.+)""")
_QUOTED_TEXT_PATTERN = re.compile(r"""(["'`])(.*)\1""", re.DOTALL)


def parse_guide_requests(request: str) -> tuple[GuideRequest, ...]:
    """Parses the requests to the offline guide, one a line, into tool calls; a command continues to the end of the
    text. Returns none if any line is not understood."""
    rest, found = request.strip(), list[GuideRequest]()
    while rest:
        line, _, rest = (rest, "", "") if _RUN_REQUEST_PATTERN.match(rest) else rest.partition("\n")
        if not line.strip():
            continue
        meant = _parse_request_line(line.strip())
        if meant is None:
            return ()
        found.append(meant)
    return tuple(found)


def _parse_request_line(line: str) -> GuideRequest | None:
    said = _VERB_AND_REST_PATTERN.fullmatch(line)
    if said is None:
        return None
    rest = _strip_quotes(said["rest"] or "")
    match said["verb"].lower(), rest:
        case "help", "":
            return "help"
        case "tour", "":
            return "tour"
        case "list", "":
            return PlannedCall("ls", {}, "list `.`")
        case "list", folder:
            return PlannedCall("ls", {"path": folder}, f"list `{folder}`")
        case _, "":
            return None
        case "read", file:
            return PlannedCall("read", {"path": file.removeprefix("@")}, f"read `{file}`")
        case "grep", text:
            return PlannedCall("grep", {"pattern": text}, f"search for `{text}`")
        case "find", pattern:
            glob = pattern if set(pattern) & set("*?[{/.") else f"*{pattern}*"
            return PlannedCall("find", {"pattern": glob}, f"find `{glob}`")
        case "run", command:
            return PlannedCall("bash", {"command": command}, f"run `{command}`")
        case "change", _:
            return _parse_change_request(said["rest"])
        case _:
            return None


def _parse_change_request(text: str) -> PlannedCall | None:
    said = _CHANGE_REQUEST_PATTERN.fullmatch(text)
    if said is None:
        return None
    file = _strip_quotes(said["file"])
    edit = {"oldText": _strip_quotes(said["old"]), "newText": _strip_quotes(said["new"])}
    return PlannedCall("edit", {"path": file, "edits": [edit]}, f"change `{file}`")


def _strip_quotes(text: str) -> str:
    text = text.strip()
    quoted = _QUOTED_TEXT_PATTERN.fullmatch(text)
    return quoted[2] if quoted is not None and quoted[1] not in quoted[2] else text
