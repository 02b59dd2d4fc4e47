"""The parts of the exported page that come from the session: its facts, its tree, its entries."""

import re
from html import escape
from typing import Any, assert_never

from markdown_it import MarkdownIt

from app.sessions.export.text import ChangeEntry, as_it_is, calls_line, clean, pretty
from app.sessions.log import SessionLog
from app.sessions.tree import is_leaf_mark
from app.values.content import Content, Image, Text, Thinking, ToolCall, UnknownContent, text_of
from app.values.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomEntry,
    CustomMessageEntry,
    Entry,
    LabelEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
    ThinkingLevelChangeEntry,
    UnknownEntry,
    UsageEntry,
)
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    CustomMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)

_IMAGE_TYPES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
OPEN_LINES = 12
"""Results up to this many lines are shown open."""


class HtmlBody:
    """Everything it returns is escaped."""

    def __init__(self, log: SessionLog, change: ChangeEntry = as_it_is) -> None:
        self._log = log
        self._change = change
        self._on_path = {entry.id for entry in log.path_to()}
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")

    def facts(self, title: str) -> str:
        log = self._log
        stats = log.stats()
        rows = (
            ("Folder", log.header.cwd),
            ("Started", log.header.timestamp),
            ("Messages", str(stats.messages)),
            ("Branches", str(stats.branches)),
            ("Cost", f"${stats.cost:.4f}"),
            ("Id", log.session_id),
        )
        terms = "".join(f"<div><dt>{name}</dt><dd>{escape(clean(value))}</dd></div>" for name, value in rows)
        return f"<header><h1>{title}</h1><dl>{terms}</dl></header>"

    def tree(self) -> str:
        """Nested lists; a chain without branches stays on one level."""
        out = ["<ol>"]
        waiting: list[Entry | str] = list(reversed(self._log.children(None)))
        shown: set[str] = set()  # a damaged file may have an id twice
        while waiting:
            entry = waiting.pop()
            if isinstance(entry, str):
                out.append(entry)
                continue
            out.append(self._row(entry))
            children = self._log.children(entry.id) if entry.id and entry.id not in shown else []
            shown.add(entry.id)
            if len(children) > 1:
                out.append("<li><ol>")
                waiting.append("</ol></li>")
                for child in reversed(children):
                    waiting.append("</ol></li>")
                    waiting.append(child)
                    waiting.append("<li><ol>")
            else:
                waiting.extend(children)
        return "".join([*out, "</ol>"])

    def _row(self, entry: Entry) -> str:
        entry = self._change(entry)
        label = self._log.label(entry.id)
        mark = f' <span class="label">{escape(clean(label))}</span>' if label else ""
        kind, line = _kind(entry), escape(clean(_line(entry))[:100])
        on = " on" if entry.id in self._on_path else ""
        parent = self._log.parent(entry.id) if entry.id in self._log else None
        return (
            f'<li><a class="{kind}{on}" href="#e-{_attribute(entry.id)}" data-id="{_attribute(entry.id)}"'
            f' data-parent="{_attribute(parent or "")}">{line}{mark}</a></li>'
        )

    def articles(self) -> str:
        return "\n".join(self._article(entry) for entry in self._log.entries if not is_leaf_mark(entry))

    def _article(self, entry: Entry) -> str:
        entry = self._change(entry)
        inner = self._inner(entry)
        if not inner:
            return ""
        off = "" if entry.id in self._on_path else " off"
        bad = " bad" if _is_bad(entry) else ""
        name = _attribute(entry.id)
        return (
            f'<article id="e-{name}" data-id="{name}" class="{_kind(entry)}{off}{bad}">'
            f"<h2>{escape(clean(_heading(entry)))}</h2>{inner}</article>"
        )

    def _inner(self, entry: Entry) -> str:
        match entry:
            case MessageEntry(message=UserMessage(content=content)):
                return self._blocks(content)
            case MessageEntry(message=AssistantMessage() as message):
                note = (
                    f'<p class="bad">{escape(clean(message.error_message))}</p>'
                    if message.error_message
                    else ""
                )
                return self._blocks(message.content) + note
            case MessageEntry(message=ToolResultMessage() as message):
                return _folded("result", message.content)
            case MessageEntry(message=BashExecutionMessage() as message):
                return _pre(f"$ {message.command}") + _folded("output", message.output)
            case MessageEntry(message=CustomMessage(content=content)) | CustomMessageEntry(content=content):
                return _folded("content", content)
            case MessageEntry(message=SystemMessage() as message):
                sections = "\n\n".join(text or "" for text in (message.sections or {}).values())
                return _folded("system prompt", f"{text_of(message.content)}{sections}", is_open=False)
            case CompactionEntry() | BranchSummaryEntry():
                return self._markdown_of(entry.summary)
            case ModelChangeEntry() | ThinkingLevelChangeEntry():
                return f"<p>{escape(clean(_line(entry)))}</p>"
            case UnknownEntry():
                return _folded("unknown entry", pretty(entry.raw), is_open=False)
            case (
                MessageEntry()
                | UsageEntry()
                | CustomEntry()
                | ContextEditEntry()
                | LabelEntry()
                | SessionInfoEntry()
            ):
                return ""
            case _:
                assert_never(entry)

    def _blocks(self, content: str | tuple[Any, ...]) -> str:
        if isinstance(content, str):
            return self._markdown_of(content)
        return "".join(self._block(block) for block in content)

    def _block(self, block: Content) -> str:
        match block:
            case Text():
                return self._markdown_of(block.text)
            case Thinking():
                words = escape(clean(block.thinking))
                return (
                    f'<details class="thinking"><summary>thinking</summary><p>{words}</p></details>'
                    if words
                    else ""
                )
            case ToolCall():
                name = escape(calls_line(block))
                return f"<details><summary>{name}</summary>{_pre(pretty(block.arguments))}</details>"
            case Image():
                return _image(block)
            case UnknownContent():
                return ""
            case _:
                assert_never(block)

    def _markdown_of(self, text: str) -> str:
        return self._markdown.render(clean(text))


def _folded(name: str, content: str | tuple[Any, ...], *, is_open: bool | None = None) -> str:
    text = clean(text_of(content))
    images = (
        "" if isinstance(content, str) else "".join(_image(one) for one in content if isinstance(one, Image))
    )
    lines = text.count("\n") + 1
    if not text.strip():
        return images
    shown = " open" if (lines <= OPEN_LINES if is_open is None else is_open) else ""
    return f"<details{shown}><summary>{name}, {lines} lines</summary>{_pre(text)}</details>{images}"


def _pre(text: str) -> str:
    return f"<pre>{escape(clean(text))}</pre>"


def _image(image: Image) -> str:
    if image.mime_type not in _IMAGE_TYPES or not _BASE64.fullmatch(image.data):
        return f"<p>(image of type {escape(clean(image.mime_type))})</p>"
    data = "".join(image.data.split())
    return f'<img alt="image" src="data:{image.mime_type};base64,{data}">'


def _attribute(text: str) -> str:
    return escape(clean(text), quote=True)


def _is_bad(entry: Entry) -> bool:
    message = entry.message if isinstance(entry, MessageEntry) else None
    if isinstance(message, AssistantMessage):
        return message.stop_reason in ("error", "aborted")
    return isinstance(message, ToolResultMessage) and message.is_error


def _kind(entry: Entry) -> str:
    message = entry.message if isinstance(entry, MessageEntry) else None
    if isinstance(message, UserMessage):
        return "user"
    if isinstance(message, AssistantMessage):
        return "assistant"
    return "tool" if isinstance(message, ToolResultMessage | BashExecutionMessage) else "state"


def _heading(entry: Entry) -> str:
    said = entry.message if isinstance(entry, MessageEntry) else entry
    if isinstance(said, UserMessage):
        return "You"
    if isinstance(said, AssistantMessage):
        return said.model or "Assistant"
    if isinstance(said, ToolResultMessage):
        return f"{said.tool_name}{' (error)' if said.is_error else ''}"
    if isinstance(said, BashExecutionMessage):
        return "You ran"
    return said.custom_type if isinstance(said, CustomMessage | CustomMessageEntry) else _line(entry)


def _line(entry: Entry) -> str:
    """An entry in one line."""
    match entry:
        case MessageEntry(message=UserMessage(content=content) | CustomMessage(content=content)):
            return " ".join(text_of(content).split()) or "(no text)"
        case MessageEntry(message=AssistantMessage() as message):
            words = " ".join(message.text.split())
            return words or ", ".join(calls_line(call) for call in message.tool_calls) or message.stop_reason
        case MessageEntry(message=ToolResultMessage() as message):
            return f"↳ {message.tool_name}"
        case MessageEntry(message=BashExecutionMessage(command=command)):
            return f"$ {command}"
        case MessageEntry(message=SystemMessage()):
            return "System prompt"
        case CustomMessageEntry() | CustomEntry():
            return entry.custom_type
        case CompactionEntry():
            return "Summary of what was before"
        case BranchSummaryEntry():
            return "Summary of another branch"
        case ModelChangeEntry():
            return f"Model {entry.provider}/{entry.model_id}"
        case ThinkingLevelChangeEntry():
            return f"Thinking {entry.thinking_level}"
        case LabelEntry():
            return f"Label {entry.label or '(taken away)'}"
        case MessageEntry() | UsageEntry() | ContextEditEntry() | SessionInfoEntry() | UnknownEntry():
            return "Name, cost or state"
        case _:
            assert_never(entry)
