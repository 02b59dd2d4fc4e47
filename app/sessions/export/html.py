"""A session as one self-contained page: tree at the side, all branches, search, light and dark.

Nothing in it that comes from the session can run: text is escaped, Markdown allows no HTML and no images from
elsewhere, and the page's policy admits only its own script and style by their hashes.
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Set
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any, assert_never

from app.agent.tool_results import tool_result_from_message
from app.sessions.entry_tree import is_leaf_mark_entry
from app.sessions.export.entry_dispatch import (
    AnyCustomMessage,
    SettingEntry,
    StateEntry,
    SummaryEntry,
    TransformEntry,
    UnsupportedMessage,
    keep_entry_unchanged,
    summary_entry_heading,
    write_exported_entry,
)
from app.sessions.export.export_texts import indented_json, remove_control_characters, tool_call_summary_line
from app.sessions.export.html_blocks import (
    MAX_UNFOLDED_RESULT_CHARACTERS,
    MAX_UNFOLDED_RESULT_LINES,
    DrawCard,
    HtmlToolCards,
    builtin_tool_card_drawer,
    preformatted_html,
)
from app.sessions.export.html_code import HtmlCodeHighlighter, HtmlMarkdownRenderer
from app.sessions.export.html_tree import branch_links_by_entry, escape_html_attribute, session_tree_html
from app.sessions.session_log import SessionLog
from app.sessions.session_stats import SessionCounts
from app.values.content import Content, Image, Text, Thinking, ToolCall, UnknownContent, text_of
from app.values.entries import (
    CustomEntry,
    CustomMessageEntry,
    Entry,
    LabelEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
    UnknownEntry,
)
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    CustomMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from app.values.usage import Usage, format_dollars
from tools.number_formatting import format_seconds, format_token_count
from tools.tool_result_values import CommandBlock, ImageBlock

_HTML_EXPORT_ASSET_FOLDER = Path(__file__).parent
_EXPORTED_IMAGE_TYPES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_BASE64_PATTERN = re.compile(r"[A-Za-z0-9+/=\s]*")
MAX_EXPORTED_TITLE_CHARACTERS = 80
_EMPTY_BODY = " "
"""The body of an article that consists of its heading alone; not empty, so that the article is shown."""


def export_html(
    log: SessionLog,
    *,
    change: TransformEntry = keep_entry_unchanged,
    draw: DrawCard | None = None,
) -> str:
    """Returns the session as one HTML page. `draw` draws the cards of tool calls, by default with the
    built-in tools."""
    style = _read_asset("page.css")
    script = _read_asset("page.js")
    body = _PageContent(log, change, draw or builtin_tool_card_drawer())
    title = escape(body.title())
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_content_hash(style)}'; script-src '{_content_hash(script)}';"
        " base-uri 'none'; form-action 'none'"
    )
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>",
            '<nav aria-label="Session"><div class="tools">'
            '<input id="search" type="search" placeholder="Search (/)" aria-label="Search">',
            '<button id="theme" type="button">Light or dark</button>'
            '<button id="open" type="button">Open or close all</button> <span id="count" role="status"></span></div>',
            body.tree(),
            f"</nav>\n<main>\n{body.session_facts()}",
            *body.articles(),
            "</main>",
            f"<script>{script}</script>\n</body>\n</html>\n",
        )
    )


def _read_asset(name: str) -> str:
    return (_HTML_EXPORT_ASSET_FOLDER / name).read_text(encoding="utf-8")


def _content_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


class _PageContent:
    """Builds the parts of the exported page that contain text of the session. All returned HTML is escaped."""

    def __init__(self, log: SessionLog, change: TransformEntry, draw: DrawCard) -> None:
        self._log = log
        self._change = change
        self._on_path = {entry.id for entry in log.path_to()}
        # The session may continue meanwhile; later entries are not on the page.
        self._entries = tuple(log.entries)
        self._changed = {id(entry): change(entry) for entry in self._entries}
        said = [entry.message for entry in self._changed.values() if isinstance(entry, MessageEntry)]
        calls = {
            call.id: call for one in said if isinstance(one, AssistantMessage) for call in one.tool_calls
        }
        self._answered = {one.tool_call_id for one in said if isinstance(one, ToolResultMessage)}
        self._calls = {call_id: place for place, call_id in enumerate(calls)}
        code = HtmlCodeHighlighter()
        markdown = HtmlMarkdownRenderer(code)
        self._rows = _TreeRowWriter(calls, markdown)
        articles = _ArticleBodyWriter(calls, self._answered, draw, code, markdown)
        self._inners = {
            id(entry): write_exported_entry(self._changed[id(entry)], articles) for entry in self._entries
        }

    def title(self) -> str:
        """The title of the exported page: the session's name, or else its first prompt."""
        named = self._change(SessionInfoEntry(parent_id=None, name=self._log.name))
        if isinstance(named, SessionInfoEntry) and named.name:
            return remove_control_characters(named.name)
        for entry in self._changed.values():
            if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
                words = " ".join(remove_control_characters(text_of(entry.message.content)).split())
                if words:
                    return (
                        words
                        if len(words) <= MAX_EXPORTED_TITLE_CHARACTERS
                        else f"{words[:MAX_EXPORTED_TITLE_CHARACTERS]}…"
                    )
        return f"Session {remove_control_characters(self._log.session_id)}"

    def session_facts(self) -> str:
        log = self._log
        stats = log.stats()
        used = SessionCounts()
        used.add_all([*self._changed.values()])
        models = dict.fromkeys(
            entry.message.model
            for entry in self._changed.values()
            if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage)
        )
        rows = (
            ("Folder", escape(remove_control_characters(log.header.cwd))),
            ("Started", _timestamp_html(log.header.timestamp)),
            (
                "Model" if len(models) == 1 else "Models",
                escape(remove_control_characters(", ".join(filter(None, models)))),
            ),
            ("Messages", str(stats.messages)),
            ("Branches", str(stats.branches) if stats.branches > 1 else ""),
            ("Tokens", _usage_text(used.usage)),
            ("Cost", format_dollars(stats.cost)),
            ("Id", escape(remove_control_characters(log.session_id))),
        )
        terms = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows if value)
        return f"<header><h1>{escape(self.title())}</h1><dl>{terms}</dl></header>"

    def tree(self) -> str:
        return session_tree_html(self._log, self._tree_row)

    def _tree_row(self, stored: Entry) -> str:
        entry = self._changed.get(id(stored))
        if entry is None:
            return ""
        label = self._log.label(entry.id)
        if label:
            told = self._change(LabelEntry(parent_id=None, target_id=entry.id, label=label))
            label = told.label if isinstance(told, LabelEntry) else ""
        mark = f' <span class="label">{escape(remove_control_characters(label))}</span>' if label else ""
        on = " on" if entry.id in self._on_path else ""
        parent = self._log.parent(entry.id) if entry.id in self._log else None
        quiet = "" if mark or self._is_visible(entry, stored) else ' class="quiet"'
        return (
            f'<li{quiet}><a class="{_css_class(entry)}{on}" href="#e-{escape_html_attribute(entry.id)}"'
            f' data-id="{escape_html_attribute(entry.id)}" data-parent="{escape_html_attribute(parent or "")}">'
            f"{escape(remove_control_characters(write_exported_entry(entry, self._rows))[:100])}{mark}</a></li>"
        )

    def _is_visible(self, entry: Entry, stored: Entry) -> bool:
        """Whether a session entry gets a visible row in the exported page's tree. An answer that only carries
        calls gets none, since their results have rows."""
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
            message = entry.message
            has_open_calls = any(call.id not in self._answered for call in message.tool_calls)
            return bool(message.text.strip() or message.error_message or has_open_calls)
        return bool(self._inners[id(stored)])

    def articles(self) -> Iterator[str]:
        steps = branch_links_by_entry(self._log, lambda entry: bool(self._inners.get(id(entry))))
        results: list[Entry] = []
        """The results of the current answer's calls, collected to be shown in the order of the calls, as in the
        terminal."""
        for entry in (*self._entries, None):
            if entry is not None and (not self._inners[id(entry)] or is_leaf_mark_entry(entry)):
                continue
            if entry is not None and _result_of(self._changed[id(entry)]) is not None:
                results.append(entry)
                continue
            results.sort(key=lambda one: self._position_of_call(self._changed[id(one)]))
            for one in (*results, *([entry] if entry is not None else [])):
                yield self._article(self._changed[id(one)], self._inners[id(one)], steps.get(one.id, ""))
            results.clear()

    def _position_of_call(self, entry: Entry) -> int:
        result = _result_of(entry)
        return self._calls.get(result.tool_call_id, -1) if result is not None else -1

    def _article(self, entry: Entry, inner: str, steps: str) -> str:
        off = "" if entry.id in self._on_path else " off"
        bad = " bad" if _has_failed(entry) else ""
        name = escape_html_attribute(entry.id)
        is_result = isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage)
        head = (
            ""
            if is_result
            else f'<h2 class="who">{escape(remove_control_characters(self._heading(entry)))} '
            f"{_time_and_cost_html(entry)}</h2>"
        )
        kind = f"{_css_class(entry)} result" if is_result else _css_class(entry)
        return (
            f'<article id="e-{name}" data-id="{name}" class="{kind}{off}{bad}">{steps}{head}{inner}</article>'
        )

    def _heading(self, entry: Entry) -> str:
        said = entry.message if isinstance(entry, MessageEntry) else entry
        if isinstance(said, UserMessage):
            return "You"
        if isinstance(said, AssistantMessage):
            return said.model or "Assistant"
        if isinstance(said, BashExecutionMessage):
            return "You ran"
        is_custom = isinstance(said, CustomMessage | CustomMessageEntry)
        return said.custom_type if is_custom else write_exported_entry(entry, self._rows)


def _result_of(entry: Entry) -> ToolResultMessage | None:
    message = entry.message if isinstance(entry, MessageEntry) else None
    return message if isinstance(message, ToolResultMessage) else None


class _TreeRowWriter:
    """Writes a session entry as one line, for its row in the exported page's tree."""

    def __init__(self, calls: Mapping[str, ToolCall], markdown: HtmlMarkdownRenderer) -> None:
        self._calls = calls
        self._markdown = markdown

    def prompt(self, message: UserMessage | CustomMessage) -> str:
        return self._markdown.one_line(text_of(message.content)) or "(no text)"

    def answer(self, message: AssistantMessage) -> str:
        words = self._markdown.one_line(message.text)
        return words or ", ".join(map(tool_call_summary_line, message.tool_calls)) or message.stop_reason

    def result(self, message: ToolResultMessage) -> str:
        return tool_call_summary_line(_call_of(message, self._calls))

    def command(self, message: BashExecutionMessage) -> str:
        return f"$ {message.command}"

    def custom(self, message: AnyCustomMessage) -> str:
        return self.prompt(message) if isinstance(message, CustomMessage) else message.custom_type

    def system(self, message: SystemMessage) -> str:
        return "System prompt"

    def summary(self, entry: SummaryEntry) -> str:
        return summary_entry_heading(entry)

    def setting(self, entry: SettingEntry) -> str:
        if isinstance(entry, ModelChangeEntry):
            return f"Model {entry.provider}/{entry.model_id}"
        return f"Thinking {entry.thinking_level}"

    def state(self, entry: StateEntry | UnsupportedMessage) -> str:
        if isinstance(entry, LabelEntry):
            return f"Label {entry.label or '(taken away)'}"
        return entry.custom_type if isinstance(entry, CustomEntry) else "Name, cost or state"


class _ArticleBodyWriter:
    """Writes the body of a session entry's article on the exported page, below its heading. All returned HTML is
    escaped."""

    def __init__(
        self,
        calls: Mapping[str, ToolCall],
        answered: Set[str],
        draw: DrawCard,
        code: HtmlCodeHighlighter,
        markdown: HtmlMarkdownRenderer,
    ) -> None:
        """Creates the writer. `answered` has the ids of the calls that have a result."""
        self._calls = calls
        self._answered = answered
        self._draw = draw
        self._markdown = markdown
        self._cards = HtmlToolCards(
            code, markdown, lambda kind, data: _image_html(Image(mime_type=kind, data=data))
        )

    def prompt(self, message: UserMessage) -> str:
        return self._blocks(message.content)

    def answer(self, message: AssistantMessage) -> str:
        wrong = message.error_message
        note = f'<p class="bad">{escape(remove_control_characters(wrong))}</p>' if wrong else ""
        return self._blocks(message.content) + note or (_EMPTY_BODY if message.tool_calls else "")

    def result(self, message: ToolResultMessage) -> str:
        card = self._draw(_call_of(message, self._calls), tool_result_from_message(message))
        note = format_seconds((message.duration_ms or 0) / 1000)
        shown = self._cards.card(card, note=note, is_bad=message.is_error)
        if any(isinstance(block, ImageBlock) for block in card.blocks):
            return shown
        return shown + "".join(_image_html(one) for one in message.content if isinstance(one, Image))

    def command(self, message: BashExecutionMessage) -> str:
        block = CommandBlock(command=message.command, output=message.output, exit_code=message.exit_code)
        return self._cards.block(block)

    def custom(self, message: AnyCustomMessage) -> str:
        return _foldable_block("content", message.content)

    def system(self, message: SystemMessage) -> str:
        sections = "\n\n".join(text or "" for text in (message.sections or {}).values())
        return _foldable_block("system prompt", f"{text_of(message.content)}{sections}", is_open=False)

    def summary(self, entry: SummaryEntry) -> str:
        return self._markdown(entry.summary)

    def setting(self, entry: SettingEntry) -> str:
        return _EMPTY_BODY

    def state(self, entry: StateEntry | UnsupportedMessage) -> str:
        is_unknown = isinstance(entry, UnknownEntry)
        return _foldable_block("unknown entry", indented_json(entry.raw), is_open=False) if is_unknown else ""

    def _blocks(self, content: str | tuple[Any, ...]) -> str:
        if isinstance(content, str):
            return self._markdown(content)
        return "".join(self._block(block) for block in content)

    def _block(self, block: Content) -> str:
        match block:
            case Text():
                return self._markdown(block.text) if block.text.strip() else ""
            case Thinking():
                words = escape(remove_control_characters(block.thinking))
                return (
                    f'<details class="thinking"><summary>thinking</summary><p>{words}</p></details>'
                    if words
                    else ""
                )
            case ToolCall():
                # A call that was answered is shown with its result.
                return (
                    ""
                    if block.id in self._answered
                    else self._cards.card(self._draw(block, None), note="no result")
                )
            case Image():
                return _image_html(block)
            case UnknownContent():
                return ""
            case _:
                assert_never(block)


def _call_of(message: ToolResultMessage, calls: Mapping[str, ToolCall]) -> ToolCall:
    """Returns the tool call that a result belongs to; an empty call when the file has lost it."""
    known = calls.get(message.tool_call_id)
    return known or ToolCall(id=message.tool_call_id, name=message.tool_name, arguments={})


def _usage_text(usage: Usage) -> str:
    given = usage.input + usage.cache_read + usage.cache_write
    return (
        f"{format_token_count(given)} in, {format_token_count(usage.output)} out"
        if given or usage.output
        else ""
    )


def _time_and_cost_html(entry: Entry) -> str:
    """Returns a session entry's time, duration and cost as HTML."""
    message = entry.message if isinstance(entry, MessageEntry) else None
    parts = [_timestamp_html(entry.timestamp)]
    if isinstance(message, AssistantMessage):
        cost = message.usage.cost.total
        parts += [
            format_seconds((message.duration_ms or 0) / 1000),
            _usage_text(message.usage),
            format_dollars(cost) if cost else "",
        ]
    return f"<small>{' · '.join(filter(None, parts))}</small>"


def _timestamp_html(stamp: str) -> str:
    """Returns a timestamp in UTC as HTML; the page's script converts it to the reader's time zone."""
    try:
        at = datetime.fromisoformat(stamp).astimezone(UTC)
    except (ValueError, OverflowError):
        return escape(remove_control_characters(stamp))
    return f'<time datetime="{at:%Y-%m-%dT%H:%M:%SZ}">{at:%Y-%m-%d %H:%M} UTC</time>'


def _foldable_block(name: str, content: str | tuple[Any, ...], *, is_open: bool | None = None) -> str:
    text = remove_control_characters(text_of(content))
    images = (
        ""
        if isinstance(content, str)
        else "".join(_image_html(one) for one in content if isinstance(one, Image))
    )
    lines = text.count("\n") + 1
    if not text.strip():
        return images
    shown = (
        " open"
        if (
            lines <= MAX_UNFOLDED_RESULT_LINES and len(text) <= MAX_UNFOLDED_RESULT_CHARACTERS
            if is_open is None
            else is_open
        )
        else ""
    )
    return (
        f"<details{shown}><summary>{name}, {lines} lines</summary>{preformatted_html(text)}</details>{images}"
    )


def _image_html(image: Image) -> str:
    if image.mime_type not in _EXPORTED_IMAGE_TYPES or not _BASE64_PATTERN.fullmatch(image.data):
        return f"<p>(image of type {escape(remove_control_characters(image.mime_type))})</p>"
    data = "".join(image.data.split())
    return f'<img alt="image" src="data:{image.mime_type};base64,{data}">'


def _has_failed(entry: Entry) -> bool:
    message = entry.message if isinstance(entry, MessageEntry) else None
    if isinstance(message, AssistantMessage):
        return message.stop_reason in ("error", "aborted")
    return isinstance(message, ToolResultMessage) and message.is_error


def _css_class(entry: Entry) -> str:
    message = entry.message if isinstance(entry, MessageEntry) else None
    if isinstance(message, UserMessage):
        return "user"
    if isinstance(message, AssistantMessage):
        return "assistant"
    return "tool" if isinstance(message, ToolResultMessage | BashExecutionMessage) else "state"
