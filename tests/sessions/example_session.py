"""A session with every kind of content that an exported page shows, including hostile text."""

from pathlib import Path

from app.sessions.session_log import SessionLog
from app.values.content import Text, Thinking, ToolCall
from app.values.entries import MessageEntry
from app.values.messages import AssistantMessage, ToolResultMessage
from app.values.usage import Cost, Usage
from tests.sessions.make_entries import assistant_entry, user_entry

PATCH = """--- a/src/area.py
+++ b/src/area.py
@@ -1,3 +1,4 @@
 def area(width, height):
-    return width + height
+    # of a rectangle
+    return width * height
 print(area(2, 3))
"""
ANSWER = """The sum was a product. **Measured**:

| case | before | after |
|:-----|-------:|:-----:|
| 2 x 3 | 5 | 6 |
| 20 x 30 | 50 | 600 |

```python
def area(width: int, height: int) -> int:
    return width * height  # "of a rectangle"
```

```mermaid
graph LR
  A[read] --> B[edit]
  B --> C[test]
```

See [the page](https://example.org/x) and [not this](javascript:alert(1)).
"""
HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(1)> \x1b]8;;https://e.vil\x07\x1b[31mred"
)


def asked(*calls: ToolCall, text: str = "", thinking: str = "") -> MessageEntry:
    content = (
        *((Thinking(thinking=thinking),) if thinking else ()),
        *((Text(text=text),) if text else ()),
        *calls,
    )
    used = Usage(input=1_200, output=340, cache_read=20_000, cost=Cost(total=0.0123))
    message = AssistantMessage(
        content=content,
        provider="p",
        model="opus-x",
        api="a",
        usage=used,
        duration_ms=4_200,
        stop_reason="toolUse",
    )
    return MessageEntry(parent_id=None, message=message)


def came(call: str, tool: str, text: str, *, details: object = None, is_error: bool = False) -> MessageEntry:
    message = ToolResultMessage(
        tool_call_id=call,
        tool_name=tool,
        content=(Text(text=text),),
        details=details,
        is_error=is_error,
        duration_ms=1_300,
    )
    return MessageEntry(parent_id=None, message=message)


def example_session(folder: Path) -> SessionLog:
    log = SessionLog.in_memory(folder)
    log.append(user_entry("Why is the area wrong?"))
    log.append(
        asked(ToolCall(id="1", name="read", arguments={"path": "src/area.py"}), thinking="Look first.")
    )
    log.append(
        came("1", "read", "def area(width, height):\n    return width + height\n\nprint(area(2, 3))\n")
    )
    arguments = {"path": "src/area.py", "edits": [{"oldText": "+", "newText": "*"}]}
    log.append(asked(ToolCall(id="2", name="edit", arguments=arguments), text="A sum, not a product."))
    log.append(came("2", "edit", "Edited.", details={"patch": PATCH, "added": 2, "removed": 1}))
    log.append(asked(ToolCall(id="3", name="bash", arguments={"command": "pytest -q && echo done"})))
    log.append(
        came("3", "bash", "1 failed\n\nCommand exited with code 1", details={"exitCode": 1}, is_error=True)
    )
    told = log.append(MessageEntry(parent_id=None, message=assistant_entry(ANSWER).message))
    log.append(user_entry(f"Another way: {HOSTILE}"))
    log.append(assistant_entry(f"On the other branch. {HOSTILE}"))
    log.move_leaf(told.id)
    log.append(user_entry("Thanks. And this one?"))
    log.append(assistant_entry("On this branch. " + "x" * 200))
    log.rename("Areas & products")
    return log
