"""What changed in files, as scenes of the gallery."""

from app.tui.features.diff.screen import DiffFile, DiffScreen, DiffView
from tools.results import Card, DiffBlock
from widgets.transcript.blocks import CardBlock

PATCH = """\
diff --git a/src/parser.py b/src/parser.py
--- a/src/parser.py
+++ b/src/parser.py
@@ -11,5 +11,7 @@ def parse(text: str) -> Tree:
 def words(line: str) -> list[str]:
     \"\"\"The words of a line.\"\"\"
-    return line.split(" ")
+    return [word for word in line.split() if word]
-def depth(tree: Tree) -> int:
-    return 0
+def depth(tree: Tree, limit: int = 100) -> int:
+    \"\"\"How deep it is, as far as anybody looks.\"\"\"
+    inner = max((depth(child, limit - 1) for child in tree.children), default=0)
+    return min(limit, 1 + inner)
"""


def differences() -> DiffScreen:
    files = (
        DiffFile(
            path="README.md", deed="changed", added="+2", removed="−1", by="edit", why="you changed it since"
        ),
        DiffFile(path="src/parser.py", deed="changed", added="+5", removed="−3", by="write, 2 × edit"),
        DiffFile(path="src/old_parser.py", deed="removed", removed="−96", by="bash"),
        DiffFile(path="tests/test_parser.py", deed="new", added="+14", by="write"),
        DiffFile(path="build/", deed="not held", why="what is in it is not held"),
    )
    screen = DiffScreen(
        DiffView(title="Changed by “rename the parser”", files=files, note="prompt 2 of 3 · +21 −100")
    )
    screen.files.move_to(1)
    part = DiffBlock(path="src/parser.py", diff=PATCH, added=5, removed=3)
    card = Card(title="src/parser.py", summary="changed · write, 2 × edit", blocks=(part,))
    screen.call_after_refresh(screen.show_file, "src/parser.py", CardBlock(id="src/parser.py", card=card))
    return screen


def no_differences() -> DiffScreen:
    return DiffScreen(
        DiffView(title="Changed since the last commit", files=(), empty="~/notes is in no git repository.")
    )
