"""The review desk, as scenes of the gallery."""

from app.tui.features.review.rows import ReviewDeskContent, ReviewDeskFileRow
from app.tui.features.review.screen import ReviewScreen
from tools.tool_result_values import Card, DiffBlock, TextBlock
from widgets.transcript.transcript_blocks import AppNoteKind, CustomBlock, CustomBlockKind

WORDS = """\
@@ -11,4 +11,4 @@ def parse(text: str) -> Tree:
 def words(line: str) -> list[str]:
     \"\"\"The words of a line.\"\"\"
-    return line.split(" ")
+    return [word for word in line.split() if word]
 # trees
"""
DEPTH = """\
@@ -40,4 +40,6 @@
 # trees
-def depth(tree: Tree) -> int:
-    return 0
+def depth(tree: Tree, limit: int = 100) -> int:
+    \"\"\"How deep it is, as far as anybody looks.\"\"\"
+    inner = max((depth(child, limit - 1) for child in tree.children), default=0)
+    return min(limit, 1 + inner)
 # trees
"""
LAST = """\
@@ -71,3 +73,2 @@
 # trees
-print(depth(parse("a b")))
 # trees
"""


def differences() -> ReviewScreen:
    files = (
        ReviewDeskFileRow(
            path="README.md",
            change="changed",
            added_lines=2,
            removed_lines=1,
            changed_by="edit",
            progress="✓",
        ),
        ReviewDeskFileRow(
            path="src/parser.py",
            change="changed",
            added_lines=5,
            removed_lines=4,
            changed_by="2 × edit",
            progress="2/3",
        ),
        ReviewDeskFileRow(
            path="src/trees.py", change="moved", added_lines=1, changed_by="bash", why="from src/old_trees.py"
        ),
        ReviewDeskFileRow(path="tests/test_parser.py", change="new", added_lines=14, changed_by="write"),
        ReviewDeskFileRow(
            path="uv.lock",
            change="changed",
            added_lines=41,
            removed_lines=40,
            why="lock file",
            changed_by="bash",
        ),
        ReviewDeskFileRow(path="build/", change="unknown", why="its contents are not stored"),
    )
    screen = ReviewScreen(
        ReviewDeskContent(title="Changed by “rename the parser”", files=files, note="prompt 2 of 3 · +63 −45")
    )
    screen.files.move_to(1)
    path = "src/parser.py"
    comment = TextBlock(text="❯ Say in the docstring what an empty tree is.")
    blocks = (
        CustomBlock(
            id="1",
            kind=CustomBlockKind.HUNK,
            card=Card(title="line 13", blocks=(DiffBlock(path=path, diff=WORDS, added=1, removed=1),)),
            label="kept",
            tone=AppNoteKind.SUCCESS,
        ),
        CustomBlock(
            id="2",
            kind=CustomBlockKind.HUNK,
            card=Card(
                title="lines 41–44",
                blocks=(DiffBlock(path=path, diff=DEPTH, added=4, removed=2), comment),
            ),
            label="comment",
        ),
        CustomBlock(
            id="3",
            kind=CustomBlockKind.HUNK,
            card=Card(title="line 74", blocks=(DiffBlock(path=path, diff=LAST, removed=1),)),
            label="you changed these lines since",
            tone=AppNoteKind.ERROR,
        ),
    )
    screen.call_after_refresh(screen.show_file, path, blocks, "2")
    return screen


def no_differences() -> ReviewScreen:
    return ReviewScreen(
        ReviewDeskContent(
            title="Changed since the last commit", files=(), empty_text="~/notes is not in a git repository."
        )
    )
