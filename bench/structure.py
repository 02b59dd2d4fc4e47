"""Checks structural rewriting: eight rewrites of many valid files, each compiled afterwards."""

import asyncio
import re
import shutil
import sysconfig
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bench.table import Row
from tools.argument_schema import validate_tool_arguments
from tools.builtin.ast_grep import make_ast_edit_tool
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolContext

_FILES: Final = 400
REWRITES: Final = (
    ("len($A)", "size($A)"),
    ("isinstance($A, $B)", "is_a($B, $A)"),
    ("self.$A", "this.$A"),
    ("$A == $B", "same($A, $B)"),
    ("if $C:\n    $$$BODY", "if not ($C):\n    pass\nelse:\n    $$$BODY"),
    ("for $X in $Y:\n    $$$BODY", "for $X in list($Y):\n    if True:\n        $$$BODY"),
    ("with $X:\n    $$$BODY", "if True:\n    with $X:\n        $$$BODY"),
    (
        "try:\n    $$$BODY\nexcept $E:\n    $$$REST",
        "try:\n    if True:\n        $$$BODY\nexcept $E:\n    $$$REST",
    ),
)
"""Four rewrites of expressions, and four of statements with a body, which must be indented again."""


def rows() -> Iterable[Row]:
    with tempfile.TemporaryDirectory() as folder:
        files = write_sources(Path(folder), _FILES)
        broken, places, left_out = asyncio.run(count_broken_rewrites(Path(folder)))
    yield Row(
        name=f"files that do not compile after 8 rewrites of {files} ({places:,} places; {left_out} files left out)",
        figure=broken,
        unit="files",
        limit="0",
    )


def write_sources(folder: Path, count: int) -> int:
    """Copies valid files of the standard library into the folder; returns their number."""
    found = 0
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        parts = path.parts
        if (
            found < count
            and "site-packages" not in parts
            and "lib2to3" not in parts
            and compiles(path.read_bytes())
        ):
            shutil.copy(path, folder / f"f{found}.py")
            found += 1
    return found


def compiles(source: bytes) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "file", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


async def count_broken_rewrites(folder: Path) -> tuple[int, int, int]:
    """Returns the number of rewritten files that do not compile, of all matches, and of files that
    the preview left out."""
    tool = make_ast_edit_tool()
    broken = places = left_out = 0
    for pattern, replacement in REWRITES:
        workspace = SessionWorkspace(folder)
        arguments = validate_tool_arguments(
            tool, {"rewrites": [{"pattern": pattern, "replacement": replacement}]}
        )
        result = await tool.run(arguments, ToolContext(call_id="bench", cwd=folder, workspace=workspace))
        for action in workspace.staged_actions.pending_staged_actions:
            broken += sum(not compiles(file.new_content or b"") for file in action.files)
            places += int(action.label.split()[2].replace(",", ""))
        left_out += result.text.count("Left out, as it would have")
        more = re.search(r"… and (\d+) more files left out", result.text)
        left_out += int(more[1]) if more else 0
        workspace.close()
    return broken, places, left_out
