"""What the shell shows goes through `app.printing`, which lets no escape sequence of foreign text through."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import files, name, nodes

BARE = {
    "app/printing.py": "prints",
    "app/cli/commands/map_folder_command.py": "the progress line, which moves the cursor",
    "app/tui/run.py": "the goodbye, whose text is cleaned and styled",
}
_STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}


def bare_writes(path: Path) -> Iterator[int]:
    """Lines with `print(…)`, or `sys.stdout.write(…)` and the like."""
    for call in nodes(path, ast.Call):
        match call.func:
            case ast.Name(id="print"):
                yield call.lineno
            case ast.Attribute(attr="write" | "writelines", value=ast.Attribute() as stream):
                if _STREAMS & {node.attr for node in ast.walk(stream) if isinstance(node, ast.Attribute)}:
                    yield call.lineno


def test_nothing_is_printed_past_the_module_that_makes_text_safe() -> None:
    found = {name(path) for path in files("app") if any(bare_writes(path))}
    assert found == BARE.keys(), "Use app.printing."
