"""The parts of the exported page that come from the session: its facts, its rows, its entries."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from typing import Any, assert_never

from app.agent.outcomes import from_message
from app.sessions.export.html_blocks import OPEN_CHARACTERS, OPEN_LINES, DrawCard, HtmlCards, preformatted
from app.sessions.export.html_code import ColouredCode
from app.sessions.export.html_markdown import HtmlMarkdown
from app.sessions.export.html_tree import attribute, branch_steps, tree
from app.sessions.export.text import ChangeEntry, calls_line, clean, pretty
from app.sessions.log import SessionLog
from app.sessions.stats import Stats
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
from app.values.usage import Usage, dollars
from tools.amounts import duration, tokens
from tools.results import CommandBlock, ImageBlock

_IMAGE_TYPES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
LONGEST_TITLE = 80
_HEADING_ONLY = " "
"""Of an entry that is told, and says no more than its heading does."""


class HtmlBody:
    """Everything it returns is escaped."""

    def __init__(self, log: SessionLog, change: ChangeEntry, draw: DrawCard) -> None:
        self._log = log
        self._change = change
        self._draw = draw
        self._on_path = {entry.id for entry in log.path_to()}
        code = ColouredCode()
        self._markdown = HtmlMarkdown(code)
        self._cards = HtmlCards(
            code, self._markdown, lambda kind, data: _image(Image(mime_type=kind, data=data))
        )
        self._entries = tuple(
            log.entries
        )  # the session may go on meanwhile: what comes later is not on the page
        self._changed = {id(entry): change(entry) for entry in self._entries}
        said = [entry.message for entry in self._changed.values() if isinstance(entry, MessageEntry)]
        self._calls = {
            call.id: call for one in said if isinstance(one, AssistantMessage) for call in one.tool_calls
        }
        self._answered = {one.tool_call_id for one in said if isinstance(one, ToolResultMessage)}
        self._inners = {id(entry): self._inner(self._changed[id(entry)]) for entry in self._entries}

    def title(self) -> str:
        """The session's name, or what was asked first."""
        named = self._change(SessionInfoEntry(parent_id=None, name=self._log.name))
        if isinstance(named, SessionInfoEntry) and named.name:
            return clean(named.name)
        for entry in self._changed.values():
            if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
                words = " ".join(clean(text_of(entry.message.content)).split())
                if words:
                    return words if len(words) <= LONGEST_TITLE else f"{words[:LONGEST_TITLE]}…"
        return f"Session {clean(self._log.session_id)}"

    def facts(self) -> str:
        log = self._log
        stats = log.stats()
        used = Stats()
        used.add_all([*self._changed.values()])
        models = dict.fromkeys(
            entry.message.model
            for entry in self._changed.values()
            if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage)
        )
        rows = (
            ("Folder", escape(clean(log.header.cwd))),
            ("Started", _time(log.header.timestamp)),
            ("Model" if len(models) == 1 else "Models", escape(clean(", ".join(filter(None, models))))),
            ("Messages", str(stats.messages)),
            ("Branches", str(stats.branches) if stats.branches > 1 else ""),
            ("Tokens", _used(used.usage)),
            ("Cost", dollars(stats.cost)),
            ("Id", escape(clean(log.session_id))),
        )
        terms = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows if value)
        return f"<header><h1>{escape(self.title())}</h1><dl>{terms}</dl></header>"

    def tree(self) -> str:
        return tree(self._log, self._row)

    def _row(self, stored: Entry) -> str:
        entry = self._changed.get(id(stored))
        if entry is None:
            return ""
        label = self._log.label(entry.id)
        if label:
            told = self._change(LabelEntry(parent_id=None, target_id=entry.id, label=label))
            label = told.label if isinstance(told, LabelEntry) else ""
        mark = f' <span class="label">{escape(clean(label))}</span>' if label else ""
        on = " on" if entry.id in self._on_path else ""
        parent = self._log.parent(entry.id) if entry.id in self._log else None
        quiet = "" if mark or self._is_told(entry, stored) else ' class="quiet"'
        return (
            f'<li{quiet}><a class="{_kind(entry)}{on}" href="#e-{attribute(entry.id)}"'
            f' data-id="{attribute(entry.id)}" data-parent="{attribute(parent or "")}">'
            f"{escape(clean(self._line(entry))[:100])}{mark}</a></li>"
        )

    def _is_told(self, entry: Entry, stored: Entry) -> bool:
        """Whether it is worth a row: not what only carries calls, whose results have rows."""
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
            message = entry.message
            has_open_calls = any(call.id not in self._answered for call in message.tool_calls)
            return bool(message.text.strip() or message.error_message or has_open_calls)
        return bool(self._inners[id(stored)])

    def _line(self, entry: Entry) -> str:
        if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage):
            return calls_line(self._call_of(entry.message))
        return _line(entry)

    def articles(self) -> Iterator[str]:
        steps = branch_steps(self._log, lambda entry: bool(self._inners.get(id(entry))))
        for entry in self._entries:
            inner = self._inners[id(entry)]
            if inner and not is_leaf_mark(entry):
                yield self._article(self._changed[id(entry)], inner, steps.get(entry.id, ""))

    def _article(self, entry: Entry, inner: str, steps: str) -> str:
        off = "" if entry.id in self._on_path else " off"
        bad = " bad" if _is_bad(entry) else ""
        name = attribute(entry.id)
        is_result = isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage)
        head = "" if is_result else f'<h2 class="who">{escape(clean(_heading(entry)))} {_figures(entry)}</h2>'
        kind = f"{_kind(entry)} result" if is_result else _kind(entry)
        return (
            f'<article id="e-{name}" data-id="{name}" class="{kind}{off}{bad}">{steps}{head}{inner}</article>'
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
                return self._blocks(message.content) + note or (_HEADING_ONLY if message.tool_calls else "")
            case MessageEntry(message=ToolResultMessage() as message):
                return self._result(message)
            case MessageEntry(message=BashExecutionMessage() as message):
                block = CommandBlock(
                    command=message.command, output=message.output, exit_code=message.exit_code
                )
                return self._cards.block(block)
            case MessageEntry(message=CustomMessage(content=content)) | CustomMessageEntry(content=content):
                return _folded("content", content)
            case MessageEntry(message=SystemMessage() as message):
                sections = "\n\n".join(text or "" for text in (message.sections or {}).values())
                return _folded("system prompt", f"{text_of(message.content)}{sections}", is_open=False)
            case CompactionEntry() | BranchSummaryEntry():
                return self._markdown(entry.summary)
            case ModelChangeEntry() | ThinkingLevelChangeEntry():
                return _HEADING_ONLY
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

    def _call_of(self, message: ToolResultMessage) -> ToolCall:
        """What was asked; of a damaged file it may be lost."""
        known = self._calls.get(message.tool_call_id)
        return known or ToolCall(id=message.tool_call_id, name=message.tool_name, arguments={})

    def _result(self, message: ToolResultMessage) -> str:
        card = self._draw(self._call_of(message), from_message(message))
        note = duration((message.duration_ms or 0) / 1000)
        shown = self._cards.card(card, note=note, is_bad=message.is_error)
        if any(isinstance(block, ImageBlock) for block in card.blocks):
            return shown
        return shown + "".join(_image(one) for one in message.content if isinstance(one, Image))

    def _blocks(self, content: str | tuple[Any, ...]) -> str:
        if isinstance(content, str):
            return self._markdown(content)
        return "".join(self._block(block) for block in content)

    def _block(self, block: Content) -> str:
        match block:
            case Text():
                return self._markdown(block.text) if block.text.strip() else ""
            case Thinking():
                words = escape(clean(block.thinking))
                return (
                    f'<details class="thinking"><summary>thinking</summary><p>{words}</p></details>'
                    if words
                    else ""
                )
            case ToolCall():
                # One that was answered stands where its result does.
                return (
                    ""
                    if block.id in self._answered
                    else self._cards.card(self._draw(block, None), note="no result")
                )
            case Image():
                return _image(block)
            case UnknownContent():
                return ""
            case _:
                assert_never(block)


def _used(usage: Usage) -> str:
    given = usage.input + usage.cache_read + usage.cache_write
    return f"{tokens(given)} in, {tokens(usage.output)} out" if given or usage.output else ""


def _figures(entry: Entry) -> str:
    """When it was, how long it took, what it cost."""
    message = entry.message if isinstance(entry, MessageEntry) else None
    parts = [_time(entry.timestamp)]
    if isinstance(message, AssistantMessage):
        cost = message.usage.cost.total
        parts += [
            duration((message.duration_ms or 0) / 1000),
            _used(message.usage),
            dollars(cost) if cost else "",
        ]
    return f"<small>{' · '.join(filter(None, parts))}</small>"


def _time(stamp: str) -> str:
    """As it was in UTC; the page's script says it in the reader's own time."""
    try:
        at = datetime.fromisoformat(stamp).astimezone(UTC)
    except (ValueError, OverflowError):
        return escape(clean(stamp))
    return f'<time datetime="{at:%Y-%m-%dT%H:%M:%SZ}">{at:%Y-%m-%d %H:%M} UTC</time>'


def _folded(name: str, content: str | tuple[Any, ...], *, is_open: bool | None = None) -> str:
    text = clean(text_of(content))
    images = (
        "" if isinstance(content, str) else "".join(_image(one) for one in content if isinstance(one, Image))
    )
    lines = text.count("\n") + 1
    if not text.strip():
        return images
    shown = (
        " open"
        if (lines <= OPEN_LINES and len(text) <= OPEN_CHARACTERS if is_open is None else is_open)
        else ""
    )
    return f"<details{shown}><summary>{name}, {lines} lines</summary>{preformatted(text)}</details>{images}"


def _image(image: Image) -> str:
    if image.mime_type not in _IMAGE_TYPES or not _BASE64.fullmatch(image.data):
        return f"<p>(image of type {escape(clean(image.mime_type))})</p>"
    data = "".join(image.data.split())
    return f'<img alt="image" src="data:{image.mime_type};base64,{data}">'


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
