"""The smallest application around a transcript, and one block of every kind in every state."""

import base64
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from PIL import Image
from textual import on
from textual.app import App, ComposeResult
from textual.message import Message
from textual.widgets import Input

from tools.tool_result_values import (
    Card,
    CommandBlock,
    DiffBlock,
    FileBlock,
    ImageBlock,
    ListBlock,
    MapBlock,
    MapSymbol,
    MarkdownBlock,
    TableBlock,
    TextBlock,
    TreeBlock,
    TreeNode,
)
from widgets.themes import default_style_variables, parse_theme, to_textual_theme
from widgets.transcript.transcript_blocks import (
    AppNoteBlock,
    AppNoteKind,
    Block,
    CardState,
    CustomBlock,
    CustomBlockKind,
    FailureToShow,
    ReplyBlock,
    ReplyProse,
    ReplyState,
    ReplyThinking,
    ToolCallBlock,
    UserPromptBlock,
)
from widgets.transcript.view import Transcript

M = TypeVar("M", bound=Message)
STYLES = Path(__file__).parents[3] / "styles"


def sunset() -> str:
    """A small image that is made here."""
    image = Image.new("RGB", (96, 48))
    for y in range(48):
        for x in range(96):
            is_sun = (x - 48) ** 2 + (y - 26) ** 2 < 120
            sky = (40 + 4 * y, 60 + 2 * y, 140 - y)
            image.putpixel((x, y), (30, 50, 70) if y > 30 else (250, 200, 90) if is_sun else sky)
    out = io.BytesIO()
    image.save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()


class Page(App[None]):
    CSS_PATH = STYLES / "transcript.tcss"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, fill: Callable[[Transcript], None] | None = None, theme: str = "bayou-dark") -> None:
        super().__init__()
        self.animation_level = "none"
        self.now = 100.0
        self.heard: list[Message] = []
        self._fill = fill
        self._wanted = theme

    def compose(self) -> ComposeResult:
        yield Transcript(clock=lambda: self.now)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return default_style_variables()

    def on_mount(self) -> None:
        for path in (STYLES / "themes").glob("*.json"):
            self.register_theme(to_textual_theme(parse_theme(path.read_bytes(), path.name)))
        self.theme = self._wanted
        if self._fill is not None:
            self._fill(self.transcript)

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    @on(Transcript.CopyRequested)
    @on(Transcript.BranchRequested)
    @on(Transcript.FullScreenRequested)
    @on(Transcript.SymbolChosen)
    @on(Transcript.RetryRequested)
    @on(Transcript.LinkChosen)
    @on(Transcript.SearchChanged)
    @on(Transcript.FocusModeChanged)
    def hear(self, message: Message) -> None:
        self.heard.append(message)

    def last(self, kind: type[M]) -> M:
        return next(message for message in reversed(self.heard) if isinstance(message, kind))


class PageWithLine(Page):
    """With something else that takes the keys."""

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield Input()

    def on_mount(self) -> None:
        line = self.query_one(Input)
        line.cursor_blink = False
        line.styles.dock = "bottom"
        line.focus()
        super().on_mount()


SUNSET: dict[str, Any] = {"mime_type": "image/png", "byte_count": 52_000, "data": sunset()}
MARKDOWN = """# Plan

Some *soft*, **strong** and ~~wrong~~ words, `code`, a [link](https://example.org) and $x_i^2$.

1. First
2. Second
   - nested
     - deeper

> Quoted words
> that go on.

| name | lines | what |
|------|------:|:----:|
| `a.py` | 120 | **core** |
| b.py | 7 | rest |

```python
def greet(name: str) -> str:
    return f"Hello {name}"  # a comment
```

---

Wide: 日本語 한국어 👩‍👩‍👧 🇩🇪 e\u0301 שלום
"""

DIFF = """--- a/app.py
+++ b/app.py
@@ -7,4 +7,5 @@
 def run():
-    count = old_total + 1
+    count = new_total + 1
+    log(count)
     return count
"""

MAP = MapBlock(
    path="src/app.py",
    text="class App 1-80",
    language="python",
    total_lines=120,
    symbols=(
        MapSymbol(label="App", kind="class", first_line=1, last_line=80),
        MapSymbol(label="run(self)", kind="def", first_line=12, last_line=40, depth=1),
    ),
)

READ = Card(
    title="read",
    subject="src/app.py:10-12",
    summary="3 of 120 lines",
    blocks=(
        FileBlock(
            path="src/app.py", text="import os\n\nprint(os.name)\n", first_line=10, note="108 more lines"
        ),
    ),
)
EDIT = Card(
    title="edit",
    subject="app.py",
    summary="+2 −1",
    blocks=(DiffBlock(path="app.py", diff=DIFF, added=2, removed=1),),
)
BASH = Card(
    title="bash",
    subject="make test",
    summary="exit 2",
    blocks=(
        CommandBlock(
            command="make test",
            output="\x1b[32mok\x1b[0m one\n\x1b[1;31mFAILED\x1b[0m two\r\n",
            exit_code=2,
            note="full output in a file",
        ),
    ),
)

PROSE: list[Block] = [
    UserPromptBlock(
        id="user",
        text="Please fix it.\n[red]not markup[/red]",
        images=(ImageBlock(mime_type="image/png", byte_count=52_000, width=640, height=480),),
    ),
    ReplyBlock(
        id="reply",
        parts=(ReplyThinking(text="I should *look* first.", seconds=12.0), ReplyProse(text=MARKDOWN)),
    ),
]
WIDE = (
    """A table that has to be shared out, one that has to be scrolled, code that is wrapped:

| option | what it does | default |
|---|---|---|
| `follow` | keeps the end of the conversation in view until somebody scrolls up, and again from the end on | on |

| """
    + " | ".join(f"a heading {number}" for number in range(16))
    + """ |
|"""
    + "---|" * 16
    + """
| """
    + " | ".join(f"a value {number}" for number in range(16))
    + """ |

```python
    total = sum(item.price * item.count for item in basket if item.is_in_stock and not item.is_gift) + shipping
```

- [x] done
- [ ] to do

$$\\int_0^1 x^2\\,dx = \\frac{1}{3}$$

```mermaid
graph LR
  A[Prompt] --> B[Model]
  B --> C[Tools]
  C --> B
```
"""
)
MEDIA: list[Block] = [
    UserPromptBlock(id="picture", text="What is this?", images=(ImageBlock(**SUNSET),)),
    ReplyBlock(id="wide", parts=(ReplyProse(text=WIDE),)),
]
ENDINGS: list[Block] = [
    ReplyBlock(id="aborted", parts=(ReplyProse(text="It begins"),), state=ReplyState.ABORTED),
    ReplyBlock(id="cut", parts=(ReplyProse(text="It was going to"),), state=ReplyState.TRUNCATED),
    ReplyBlock(
        id="error",
        state=ReplyState.ERROR,
        failure=FailureToShow(
            message="The server is overloaded (529).",
            next_step="Wait a minute, or choose another model.",
            retry_key="alt+r",
        ),
    ),
    *(AppNoteBlock(id=f"note-{kind}", text=f"A note: {kind}", kind=kind) for kind in AppNoteKind),
]
STATES: list[Block] = [
    *(ToolCallBlock(id=f"card-{state}", card=READ, state=state, timing="0.3 s") for state in CardState),
    ToolCallBlock(
        id="tail",
        card=Card(
            title="bash",
            subject="make",
            blocks=(CommandBlock(command="make", output="\n".join(f"compiling {n}.c" for n in range(40))),),
        ),
        state=CardState.RUNNING,
        timing="7 s",
    ),
    ToolCallBlock(
        id="missing",
        card=Card(
            title="read",
            subject="src/nowhere.py",
            summary="failed",
            blocks=(TextBlock(text="src/nowhere.py does not exist.\nThe nearest name is src/now.py."),),
        ),
        state=CardState.FAILED,
    ),
    ToolCallBlock(
        id="arguments",
        card=Card(
            title="write",
            subject="notes.md",
            summary="1 line",
            blocks=(FileBlock(path="notes.md", text="# No"),),
        ),
        state=CardState.PENDING,
    ),
]
CARDS: list[Block] = [
    ToolCallBlock(id="read", card=READ, timing="0.1 s"),
    ToolCallBlock(id="edit", card=EDIT),
    ToolCallBlock(
        id="bash",
        card=BASH,
        state=CardState.FAILED,
        timing="3 s",
    ),
    ToolCallBlock(
        id="find",
        card=Card(
            title="find",
            subject="*.py",
            summary="2 files",
            blocks=(ListBlock(items=("a.py", "b.py"), note="limit not reached"),),
        ),
    ),
    ToolCallBlock(
        id="tree",
        card=Card(
            title="ls",
            blocks=(
                TreeBlock(
                    roots=(
                        TreeNode(
                            label="src",
                            children=(
                                TreeNode(label="app.py"),
                                TreeNode(label="ui", children=(TreeNode(label="main.py"),)),
                            ),
                        ),
                    )
                ),
            ),
        ),
    ),
    ToolCallBlock(
        id="other",
        card=Card(
            title="other",
            blocks=(
                TextBlock(text="plain [bold]text"),
                MarkdownBlock(text="some **bold**"),
                TableBlock(header=("a", "b"), rows=(("1", "2"),)),
                ImageBlock(mime_type="image/png", byte_count=900),
            ),
        ),
    ),
]
CUSTOM: list[Block] = [
    CustomBlock(
        id="map",
        kind=CustomBlockKind.FILE_MAP,
        card=Card(title="map", subject="src/app.py", summary="2 symbols", blocks=(MAP,)),
    ),
    CustomBlock(
        id="recovery",
        kind=CustomBlockKind.READ_RECOVERY,
        card=Card(title="read again", subject="src/app.py", summary="skipped before"),
    ),
    CustomBlock(
        id="job",
        kind=CustomBlockKind.JOB,
        card=Card(title="job", subject="npm run build", blocks=(TextBlock(text="done"),)),
        state=CardState.RUNNING,
        timing="2 m",
    ),
    CustomBlock(
        id="delivered",
        kind=CustomBlockKind.JOB,
        card=Card(title="job2", subject="npm test"),
        state=CardState.DONE,
        label="delivered",
    ),
    CustomBlock(
        id="pending",
        kind=CustomBlockKind.JOB,
        card=Card(title="job3", subject="npm run lint", summary="failed"),
        state=CardState.FAILED,
        label="pending",
    ),
    CustomBlock(
        id="command",
        kind=CustomBlockKind.COMMAND,
        card=Card(
            title="git status",
            summary="exit 0",
            blocks=(CommandBlock(command="git status", output="clean", exit_code=0),),
        ),
    ),
    CustomBlock(
        id="compaction",
        kind=CustomBlockKind.COMPACTION,
        card=Card(
            title="Compacted",
            summary="120k → 9k tokens",
            blocks=(MarkdownBlock(text="## Goal\nFix it."),),
        ),
    ),
    CustomBlock(
        id="branch",
        kind=CustomBlockKind.BRANCH_SUMMARY,
        card=Card(title="Branch summary", blocks=(MarkdownBlock(text="Tried *that*."),)),
    ),
    CustomBlock(id="extension", kind=CustomBlockKind.EXTENSION, card=Card(title="weather", summary="sunny")),
]
EVERYTHING = {
    "prose": PROSE,
    "media": MEDIA,
    "endings": ENDINGS,
    "states": STATES,
    "cards": CARDS,
    "custom": CUSTOM,
}
