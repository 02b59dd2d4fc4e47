"""The exported page's tree, and the links between branches at the places where they part."""

from collections.abc import Callable
from html import escape

from app.sessions.entry_tree import is_leaf_mark_entry
from app.sessions.export.export_texts import remove_control_characters
from app.sessions.session_log import SessionLog
from app.values.entries import Entry

RenderRow = Callable[[Entry], str]
"""A function that writes an entry as a row of the tree."""


def escape_html_attribute(text: str) -> str:
    return escape(remove_control_characters(text), quote=True)


def session_tree_html(log: SessionLog, row: RenderRow) -> str:
    """Returns the session's tree as nested HTML lists; a chain without branches stays on one level."""
    out = ["<ol>"]
    waiting: list[Entry | str] = list(reversed(log.children(None)))
    shown: set[str] = set()  # a damaged file may have an id twice
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, str):
            out.append(entry)
            continue
        out.append(row(entry))
        children = log.children(entry.id) if entry.id and entry.id not in shown else []
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


def branch_links_by_entry(log: SessionLog, is_shown: Callable[[Entry], bool]) -> dict[str, str]:
    """Returns, for the first shown entry of each branch by its id, the branch's number and links to neighbouring
    branches."""
    steps: dict[str, str] = {}
    for parent in (None, *(entry.id for entry in log.entries if entry.id)):
        children = log.children(parent)
        if len(children) < 2:
            continue
        heads = [head for child in children if (head := _first_shown(log, child, is_shown))]
        if len(heads) < 2:
            continue
        for index, head in enumerate(heads):
            steps[head] = (
                f'<p class="branches">branch {index + 1} of {len(heads)}'
                f"{_branch_link('‹ previous', heads[index - 1]) if index else ''}"
                f"{_branch_link('next ›', heads[index + 1]) if index + 1 < len(heads) else ''}</p>"
            )
    return steps


def _branch_link(words: str, head: str) -> str:
    return f' <a href="#e-{escape_html_attribute(head)}" data-id="{escape_html_attribute(head)}">{words}</a>'


def _first_shown(log: SessionLog, entry: Entry, is_shown: Callable[[Entry], bool]) -> str:
    """Returns the id of the first entry of a branch that the exported page shows, following first children; empty
    if it shows none."""
    seen: set[str] = set()
    while entry.id and entry.id not in seen:
        if not is_leaf_mark_entry(entry) and is_shown(entry):
            return entry.id
        seen.add(entry.id)
        children = log.children(entry.id)
        if not children:
            return ""
        entry = children[0]
    return ""
