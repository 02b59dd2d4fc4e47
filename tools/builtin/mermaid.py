"""The `render_mermaid` tool: draws a diagram's source as text. Off until its setting is on."""

import asyncio
import os
from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from tools.argument_schema import make_arguments_schema
from tools.session_workspace import SessionWorkspace, workspace_of_context
from tools.streaming_arguments import first_text_argument
from tools.text_sanitizing import escape_controls, one_line, render_plain_output
from tools.tool_definition import Tool, ToolContext, ToolError, declare_no_effects
from tools.tool_result_values import Card, FileBlock, TextBlock, ToolResult, text_result

_MAX_MERMAID_SOURCE_CHARS: Final = 64 * 1024
_MAX_MERMAID_SPACING_CELLS: Final = 60
"""Maximum spacing in cells; larger values make the diagram unreadable."""
_MERMAID_DRAWING_TIMEOUT: Final = 2.0
_FOLDED_MERMAID_LINES: Final = 6


class MermaidConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    use_ascii: Annotated[bool | None, msgspec.Meta(description="Plain ASCII instead of box drawing")] = None
    padding_x: Annotated[float | None, msgspec.Meta(description="Space between nodes")] = None
    padding_y: Annotated[float | None, msgspec.Meta(description="Space between rows of nodes")] = None
    box_border_padding: Annotated[float | None, msgspec.Meta(description="Space inside boxes")] = None


class MermaidArguments(msgspec.Struct, frozen=True, kw_only=True):
    mermaid: Annotated[str, msgspec.Meta(description="Mermaid source")]
    config: MermaidConfig | None = None


def make_mermaid_tool() -> Tool:
    return Tool(
        name="render_mermaid",
        description="Draw a Mermaid diagram as text. Returns the picture; all of it is also saved as an artifact.",
        schema=make_arguments_schema(MermaidArguments),
        arguments=MermaidArguments,
        effects=declare_no_effects,
        run=_run_mermaid_call,
        show=_make_mermaid_card,
        snippet="Draw Mermaid diagrams as text",
        is_read_only=True,
    )


async def _run_mermaid_call(arguments: MermaidArguments, context: ToolContext) -> ToolResult:
    source, config = arguments.mermaid, arguments.config or MermaidConfig()
    if not source.strip():
        raise ToolError("The source is empty. Pass Mermaid source, beginning with the kind: graph TD.")
    if len(source.encode("utf-8", "replace")) > _MAX_MERMAID_SOURCE_CHARS:
        raise ToolError("The source is longer than 64 KB, the maximum. Draw a part of it.")
    options, ignored = _renderer_options(config)
    try:
        # A thread cannot be stopped: the result is abandoned after the timeout.
        picture = await asyncio.wait_for(
            asyncio.to_thread(_draw_diagram, source, options), _MERMAID_DRAWING_TIMEOUT
        )
    except TimeoutError:
        raise ToolError("The diagram takes too long to draw. Draw a part of it.") from None
    told = [f"[Ignored: {name}, which the text drawing does not support.]" for name in ignored]
    uri = await asyncio.to_thread(_save_diagram_artifact, workspace_of_context(context), picture)
    return text_result(
        "\n".join([picture, "", *told, f"Saved artifact: {uri}"]),
        details={"lines": picture.count("\n") + 1, "artifact": uri, "ignored": list(ignored)},
    )


def _renderer_options(config: MermaidConfig) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns the drawing library's options for a mermaid call, and the names of unsupported ones."""
    options: dict[str, Any] = {"use_ascii": bool(config.use_ascii)}
    if config.padding_x is not None:
        options["gap"] = _clamp_spacing(config.padding_x)
    if config.box_border_padding is not None:
        options["padding_x"] = options["padding_y"] = _clamp_spacing(config.box_border_padding)
    return options, ("paddingY",) if config.padding_y is not None else ()


def _clamp_spacing(number: float) -> int:
    return int(max(0, min(_MAX_MERMAID_SPACING_CELLS, number))) if number == number else 0


def _draw_diagram(source: str, options: Mapping[str, Any]) -> str:
    try:
        import termaid  # noqa: PLC0415  (optional, and costs 60 ms)  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ToolError("Diagrams cannot be drawn here: the library termaid is not installed.") from None
    try:
        drawn = str(termaid.render(source, **options))
    except Exception as problem:  # noqa: BLE001  (a foreign reader meets a model's text)
        raise ToolError(
            f"This diagram cannot be drawn. {_find_diagram_type_line(source)} ({one_line(str(problem))[:200]})"
        ) from None
    lines = [line.rstrip() for line in render_plain_output(drawn).split("\n")]
    picture = "\n".join(lines).strip("\n")
    if not picture.strip():
        raise ToolError(f"This diagram cannot be drawn. {_find_diagram_type_line(source)}")
    return picture


def _find_diagram_type_line(source: str) -> str:
    """Returns the line of a mermaid source that declares the type of diagram."""
    number, line = next((number, line) for number, line in enumerate(source.split("\n"), 1) if line.strip())
    return f"Line {number}: {one_line(line.strip())[:120]}"


def _save_diagram_artifact(workspace: SessionWorkspace, picture: str) -> str:
    try:
        artifact, descriptor = workspace.artifacts.create("render_mermaid")
    except OSError as problem:
        return f"(it could not be kept: {problem.strerror or problem})"
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(picture.encode() + b"\n")
    finally:
        workspace.artifacts.mark_artifact_complete(artifact)
    return artifact.uri


def _make_mermaid_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    source = arguments.get("mermaid")
    source = escape_controls(source).strip("\n") if isinstance(source, str) else ""
    blocks: tuple[FileBlock | TextBlock, ...] = (
        FileBlock(path="diagram.mmd", text=source, folds=_FOLDED_MERMAID_LINES),
    )
    if result is not None:
        blocks = (*blocks, TextBlock(text=escape_controls(result.text)))
    return Card(title="render mermaid", subject=first_text_argument(arguments, "mermaid"), blocks=blocks)
