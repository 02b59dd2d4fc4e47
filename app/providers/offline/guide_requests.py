"""Parses the eight requests that the guide understands into tool calls."""

import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from app.values.content import ToolCall


class HelpRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the guide's help: a request, an example and its effect."""

    syntax: str
    example: str
    effect: str


HELP_ROWS = (
    HelpRow(syntax="list", example="list src", effect="lists this folder, or the one named"),
    HelpRow(syntax="read FILE", example="read README.md", effect="reads a file"),
    HelpRow(syntax="grep TEXT", example="grep main", effect="searches the files (regular expressions)"),
    HelpRow(syntax="find PATTERN", example="find *.toml", effect="finds files by name"),
    HelpRow(
        syntax="change A to B in FILE",
        example='change "one" to "two" in notes.txt',
        effect="changes a file; texts may stand in quotation marks",
    ),
    HelpRow(syntax="run COMMAND", example="run git status", effect="runs a command in the shell"),
    HelpRow(syntax="help", example="help", effect="shows this"),
    HelpRow(syntax="tour", example="tour", effect="shows bayou, one step each time"),
)


class PlannedCall(msgspec.Struct, frozen=True):
    """A tool call that a request asks for."""

    tool: str
    arguments: Mapping[str, object]
    purpose: str
    """Completes the sentence "I will …"."""

    @property
    def tool_call(self) -> ToolCall:
        return ToolCall(id="", name=self.tool, arguments=dict(self.arguments))


GuideRequest = PlannedCall | Literal["help", "tour"]

_REQUEST_PATTERN = re.compile(r"(?P<verb>[a-z]+)(?:\s+(?P<rest>.+))?", re.IGNORECASE | re.DOTALL)
_RUN_PATTERN = re.compile(r"run\s+\S", re.IGNORECASE)
_CHANGE_PATTERN = re.compile(r"""(?P<old>"[^"]+"|.+?) to (?P<new>"[^"]*"|.+) in (?P<file>.+)""")
_QUOTED_PATTERN = re.compile(r"""(["'`])(.*)\1""", re.DOTALL)


def parse_requests(request: str) -> tuple[GuideRequest, ...]:
    """Parses one request per line; a command continues to the end of the text. Empty if a line is not
    understood."""
    rest, found = request.strip(), list[GuideRequest]()
    while rest:
        line, _, rest = (rest, "", "") if _RUN_PATTERN.match(rest) else rest.partition("\n")
        if not line.strip():
            continue
        meant = _parse_line(line.strip())
        if meant is None:
            return ()
        found.append(meant)
    return tuple(found)


def _parse_line(line: str) -> GuideRequest | None:
    said = _REQUEST_PATTERN.fullmatch(line)
    if said is None:
        return None
    rest = _without_quotes(said["rest"] or "")
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
            return _parse_change(said["rest"])
        case _:
            return None


def _parse_change(text: str) -> PlannedCall | None:
    said = _CHANGE_PATTERN.fullmatch(text)
    if said is None:
        return None
    file = _without_quotes(said["file"])
    edit = {"oldText": _without_quotes(said["old"]), "newText": _without_quotes(said["new"])}
    return PlannedCall("edit", {"path": file, "edits": [edit]}, f"change `{file}`")


def _without_quotes(text: str) -> str:
    text = text.strip()
    quoted = _QUOTED_PATTERN.fullmatch(text)
    return quoted[2] if quoted is not None and quoted[1] not in quoted[2] else text
