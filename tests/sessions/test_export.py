"""Exports: readable, complete, and with nothing in them that a session could run."""

import base64
import hashlib
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.sessions.export.html import export_html
from app.sessions.export.markdown import export_markdown, fenced_block
from app.sessions.session_log import SessionLog
from app.values.content import Image, Text
from app.values.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
)
from app.values.messages import AssistantMessage, BashExecutionMessage, ToolResultMessage, UserMessage
from tests.sessions.make_entries import assistant_entry, tool_result_entry, user_entry

FIXTURES = Path(__file__).parent / "fixtures"
EVIL = (
    "</pre></script><script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1))"
    " ![y](https://e.vil/y.png) \"'> \x1b]8;;https://e.vil\x07\x1b[31m"
)


class Page(HTMLParser):
    """Collects everything that a browser could act on."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text: list[str] = []
        self._in: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in = tag

    def handle_endtag(self, tag: str) -> None:
        self._in = None

    def handle_data(self, data: str) -> None:
        (self.scripts if self._in == "script" else self.text).append(data)


def check_harmless(html: str) -> Page:
    page = Page(html)
    assert [tag for tag, _ in page.tags if tag == "script"] == ["script"]
    policy = next(
        a["content"] for t, a in page.tags if t == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    )
    digest = base64.b64encode(hashlib.sha256("".join(page.scripts).encode()).digest()).decode()
    assert policy and f"script-src 'sha256-{digest}'" in policy and "default-src 'none'" in policy
    forbidden = {"iframe", "object", "embed", "base", "form", "link", "svg", "math", "style2"}
    for tag, attributes in page.tags:
        assert tag not in forbidden
        assert not [
            name for name in attributes if name.startswith("on") or name in ("style", "srcdoc", "srcset")
        ]
        assert not re.match(r"\s*(javascript|vbscript|data):", attributes.get("href") or "", re.IGNORECASE)
        if tag == "img":
            assert re.match(
                r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*$", attributes.get("src") or ""
            )
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", html)
    return page


def everything_evil() -> SessionLog:
    log = SessionLog.in_memory(Path("/x" + EVIL))
    entries: list[Entry] = [
        ModelChangeEntry(parent_id=None, provider=EVIL, model_id=EVIL),
        user_entry(EVIL),
        MessageEntry(
            parent_id=None,
            message=UserMessage(content=(Text(text=EVIL), Image(data='"><script>', mime_type='"><script>'))),
        ),
        MessageEntry(
            parent_id=None, message=UserMessage(content=(Image(data="QQ==", mime_type="image/svg+xml"),))
        ),
        assistant_entry(EVIL, EVIL),
        tool_result_entry(EVIL, EVIL),
        MessageEntry(
            parent_id=None, message=AssistantMessage(model=EVIL, error_message=EVIL, stop_reason="error")
        ),
        MessageEntry(
            parent_id=None, message=ToolResultMessage(tool_call_id="1", tool_name=EVIL, is_error=True)
        ),
        MessageEntry(parent_id=None, message=BashExecutionMessage(command=EVIL, output=EVIL)),
        CustomMessageEntry(parent_id=None, custom_type=EVIL, content=EVIL),
        CompactionEntry(id=EVIL, parent_id=None, summary=EVIL, first_kept_entry_id="x"),
        BranchSummaryEntry(parent_id=None, summary=EVIL, from_id=EVIL),
    ]
    for entry in entries:
        log.append(entry)
    log.set_label(log.entries[1].id, EVIL)
    log.rename(EVIL)
    return log


def test_nothing_of_the_content_can_run() -> None:
    page = check_harmless(export_html(everything_evil()))
    assert "alert(1)" in "".join(page.text)


@settings(max_examples=60)
@given(st.text(max_size=60), st.text(max_size=20))
def test_no_text_at_all_becomes_markup(text: str, name: str) -> None:
    log = SessionLog.in_memory(Path("/x"))
    for entry in (user_entry(text), assistant_entry(text, name), tool_result_entry(name, text)):
        log.append(entry)
    check_harmless(export_html(log))


def test_the_page_has_every_branch_and_shows_the_active_one(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path, tmp_path)
    first = log.append(user_entry("first"))
    left = log.append(assistant_entry("left branch"))
    log.move_leaf(first.id)
    right = log.append(assistant_entry("right branch"))
    log.set_label(first.id, "start here")
    page = check_harmless(export_html(log))
    articles = {a["data-id"]: str(a["class"]) for tag, a in page.tags if tag == "article"}
    assert "off" in articles[left.id].split() and "off" not in articles[right.id].split()
    rows = [a["data-id"] for tag, a in page.tags if tag == "a" and "data-id" in a]
    assert {first.id, left.id, right.id} <= set(rows)
    assert "start here" in "".join(page.text)


def test_messages_during_an_export_are_not_in_it(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path, tmp_path)
    log.append(user_entry("first"))

    def change(entry: Entry) -> Entry:
        if isinstance(
            entry, SessionInfoEntry
        ):  # the title, which is asked for when the entries have been looked at
            log.append(user_entry("later"))
        return entry

    page = "".join(check_harmless(export_html(log, change=change)).text)
    assert "first" in page and "later" not in page


@pytest.mark.parametrize(
    "name", ["02-tools-fa", "17-images", "21-codemode", "08-tree-summary-asst", "05-compaction"]
)
def test_samples_can_be_exported(name: str, sample: Callable[[str], Path]) -> None:
    log = SessionLog.open(sample(name))
    check_harmless(export_html(log))
    text = export_markdown(log)
    assert text.startswith("# ") and "## You" in text


def test_markdown_fences_are_longer_than_those_inside() -> None:
    assert fenced_block("a\n````\nb").startswith("`````\n")
    log = SessionLog.in_memory(Path("/x"))
    log.append(user_entry("look"))
    log.append(assistant_entry("ok", "1"))
    log.append(tool_result_entry("1", "```\n# not a heading of ours\n```"))
    assert "````\n```\n# not a heading" in export_markdown(log)


def test_damaged_trees_can_be_exported(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    line = '{"type":"custom","id":"%s","parentId":"%s","timestamp":"t","customType":"c"}\n'
    path.write_text(
        '{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/"}\n'
        + line % ("a", "b")
        + line % ("b", "a")
        + line % ("a", "b")
    )
    check_harmless(export_html(SessionLog.open(path)))
