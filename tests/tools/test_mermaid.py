"""`render_mermaid`: a picture made of text, saved; what cannot be drawn is an error with its line."""

import math
from pathlib import Path

import pytest

from tools.argument_schema import validate_tool_arguments
from tools.builtin.mermaid import make_mermaid_tool
from tools.files.output_artifacts import OutputArtifacts
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolContext, ToolError
from tools.tool_result_values import ToolResult

pytest.importorskip("termaid")
GRAPH = "graph TD\n  A[Start] --> B[Stop]\n"


async def drawn(folder: Path, **given: object) -> ToolResult:
    tool = make_mermaid_tool()
    workspace = SessionWorkspace(folder, artifacts=OutputArtifacts(folder / "session"))
    context = ToolContext(call_id="c", cwd=folder, workspace=workspace)
    result = await tool.run(validate_tool_arguments(tool, dict(given)), context)
    tool.card(given, result)
    return result


async def test_a_picture_and_its_artifact(tmp_path: Path) -> None:
    result = await drawn(tmp_path, mermaid=GRAPH)
    picture, _, rest = result.text.rpartition("\n\n")
    assert "Start" in picture and "│" in picture and rest == "Saved artifact: artifact://0"
    assert next((tmp_path / "session").glob("0.*")).read_text() == picture + "\n"


async def test_its_options(tmp_path: Path) -> None:
    plain = await drawn(tmp_path, mermaid=GRAPH, config={"useAscii": True, "paddingX": 2.9, "paddingY": 1})
    assert "│" not in plain.text and "Start" in plain.text
    assert "[Ignored: paddingY, which the text drawing does not support.]" in plain.text
    tight = await drawn(tmp_path, mermaid=GRAPH, config={"boxBorderPadding": -3})
    wide = await drawn(tmp_path, mermaid=GRAPH, config={"boxBorderPadding": 9})
    assert max(map(len, tight.text.splitlines()[:3])) < max(map(len, wide.text.splitlines()[:3]))
    assert (await drawn(tmp_path, mermaid=GRAPH, config={"paddingX": 1e300})).text
    assert (await drawn(tmp_path, mermaid=GRAPH, config={"paddingX": math.inf})).text


@pytest.mark.parametrize(
    ("source", "words"),
    [("\n\nnonsense here", "Line 3: nonsense here"), ("  ", "empty"), ("graph TD\n" + "x" * 70_000, "64 KB")],
)
async def test_what_cannot_be_drawn(tmp_path: Path, source: str, words: str) -> None:
    with pytest.raises(ToolError, match=words):
        await drawn(tmp_path, mermaid=source)
