"""The sections of the side panel: what a session has changed, planned, started, been asked and used, as frozen rows."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from app.engine.commands.review_texts import review_command_of_prompt
from app.engine.jobs.background_jobs import BackgroundJob
from app.engine.session import Session
from app.tui.features.context.context_groups import CONTEXT_GROUPS
from app.tui.features.todos.todo_list import TODO_STATE_GLYPHS, TODO_STATE_TONES, todo_state
from app.tui.page_protocols import KeyLabel
from app.undo.file_history import (
    count_file_changes,
    entry_has_file_changes,
    restore_by_undone_entry,
    title_of_prompt_message,
)
from app.values.content import text_of
from app.values.entries import Entry, MessageEntry
from app.values.messages import UserMessage
from app.values.todos import count_closed_todos
from app.values.usage import format_dollars
from tools.number_formatting import (
    MINUS_SIGN,
    format_changed_files,
    format_elapsed,
    format_percentage,
    format_token_count,
)
from widgets.status.side_panel import SidePanelRow, SidePanelSection, SidePanelTone

if TYPE_CHECKING:
    from app.engine.context_breakdown import ContextBreakdown
    from app.engine.helpers.helper_run import HelperAgentRun
    from app.undo.change_lists import ChangedFileList, ChangedFileRow

_HELPER_STATE_MARKS: dict[str, tuple[str, SidePanelTone]] = {
    "waiting": ("○", "muted"),
    "running": ("●", "accent"),
    "done": ("✓", "success"),
    "stopped": ("⊘", "warning"),
    "asking": ("?", "warning"),
}
_MAX_LISTED_LARGE_RESULTS = 4
_SIDE_PANEL_KEYS = (
    ("app.palette", "Ctrl+K", "all commands"),
    ("app.context.show", "Alt+C", "what fills the context"),
    ("app.side.toggle", "Alt+I", "hide this panel"),
)


def prompts_side_section(path: Sequence[Entry]) -> SidePanelSection | None:
    """Returns the side panel's section with the conversation's prompts and what each changed in files, without what is
    undone; None if there are none. A single prompt has no counts, because another section shows them."""
    undone = restore_by_undone_entry(path)
    found: list[tuple[str, list[Entry]]] = []
    for entry in path:
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            typed = review_command_of_prompt(text_of(entry.message.content))
            found.append((typed or title_of_prompt_message(entry.message), []))
        elif found and entry_has_file_changes(entry) and entry.id not in undone:
            found[-1][1].append(entry)
    last = len(found) - 1
    rows: list[SidePanelRow] = []
    for at, (title, entries) in enumerate(found):
        counts = count_file_changes(entries)
        rows.append(
            SidePanelRow(
                text=title,
                mark="›",
                mark_tone="accent" if at == last else "muted",
                tone="text" if at == last else "muted",
                figures=changed_line_counts(counts.added, counts.removed) if last else (),
            )
        )
    note = f"{len(rows):,}" if last > 0 else ""
    return (
        SidePanelSection(title="Prompts", note=note, rows=tuple(rows), important_row=last) if rows else None
    )


def changed_line_counts(added: int, removed: int) -> tuple[tuple[str, SidePanelTone], ...]:
    """Returns the counts of added and removed lines in their colours."""
    figures: list[tuple[str, SidePanelTone]] = []
    if added:
        figures.append((f"+{added:,}", "success"))
    if removed:
        figures.append((f"{MINUS_SIGN}{removed:,}", "error"))
    return tuple(figures)


def keys_side_section(key_label: KeyLabel) -> SidePanelSection | None:
    """Returns the side panel's optional section with keys that no other row shows."""
    found = [(key, words) for action, usual, words in _SIDE_PANEL_KEYS if (key := key_label(action, usual))]
    width = max((len(key) for key, _ in found), default=0)
    rows = tuple(
        SidePanelRow(text=words, tone="muted", mark=f"{key:<{width}} ", mark_tone="accent")
        for key, words in found
    )
    return SidePanelSection(title="Keys", rows=rows, is_optional=True) if rows else None


def changed_files_side_section(found: "ChangedFileList") -> SidePanelSection:
    """Returns the side panel's section with the changed files, and their sum if there are several."""
    total = format_changed_files(len(found.files), found.added, found.removed)
    return SidePanelSection(
        title="Changed", note=total if len(found.files) > 1 else "", rows=tuple(map(_file_row, found.files))
    )


def _file_row(file: "ChangedFileRow") -> SidePanelRow:
    tone: SidePanelTone = "muted" if file.deed == "removed" else "text"
    return SidePanelRow(
        text=file.path, is_path=True, tone=tone, figures=changed_line_counts(file.added, file.removed)
    )


def context_side_sections(session: Session, breakdown: "ContextBreakdown | None") -> list[SidePanelSection]:
    context = session.context_usage()
    if context is None or not context.tokens:
        return []
    percent = context.percent or 0
    window = format_token_count(context.context_window)
    note = f"{format_token_count(context.tokens)} of {window} · {format_percentage(percent)}"
    tone: SidePanelTone = "error" if percent > 90 else "warning" if percent > 70 else "accent"
    groups: list[tuple[str, SidePanelTone, int]] = [
        (name, group_tone, count)
        for group, (name, group_tone) in CONTEXT_GROUPS.items()
        if breakdown is not None and (count := breakdown.count_items(group))
    ]
    bar: list[tuple[float, SidePanelTone]] = [
        (count / max(1, context.context_window), group_tone) for _, group_tone, count in groups
    ]
    rows = [SidePanelRow(text="", bar=tuple(bar) or ((percent / 100, tone),))]
    rows += [
        SidePanelRow(
            text=name,
            mark="■",
            mark_tone=group_tone,
            tone="muted",
            figures=((format_token_count(count), "text"),),
        )
        for name, group_tone, count in groups
    ]
    return [
        SidePanelSection(title="Context", note=note, rows=tuple(rows)),
        *_large_results(breakdown),
    ]


def _large_results(breakdown: "ContextBreakdown | None") -> list[SidePanelSection]:
    """Returns the side panel's section with the largest results in the context, which the user can drop; none if there
    are none."""
    found = breakdown.large_results if breakdown is not None else ()
    rows = tuple(
        SidePanelRow(text=one.title, tone="muted", figures=((format_token_count(one.tokens), "text"),))
        for one in found
        if not one.is_dropped
    )[:_MAX_LISTED_LARGE_RESULTS]
    return [SidePanelSection(title="Large results", rows=rows)] if rows else []


def usage_side_sections(session: Session) -> list[SidePanelSection]:
    """Returns the side panel's sections for what the session used: the agent's time, the cost, and the tokens."""
    stats = session.stats
    usage = stats.usage
    prompt_tokens = usage.input + usage.cache_read + usage.cache_write
    facts = (
        ("time", format_elapsed(stats.worked_ms / 1000) if stats.worked_ms >= 1000 else ""),
        ("cost", format_dollars(usage.cost.total) if usage.cost.total else ""),
        ("input tokens", format_token_count(prompt_tokens) if prompt_tokens else ""),
        (
            "from the cache",
            format_percentage(100 * usage.cache_read / prompt_tokens) if usage.cache_read else "",
        ),
        ("output tokens", format_token_count(usage.output) if usage.output else ""),
    )
    rows = tuple(
        SidePanelRow(text=label, tone="muted", figures=((figure, "text"),))
        for label, figure in facts
        if figure
    )
    return [SidePanelSection(title="Session", rows=rows)] if rows else []


def todo_side_section(session: Session) -> SidePanelSection | None:
    phases = session.todos.phases
    closed, total = count_closed_todos(phases)
    if not total:
        return None
    rows: list[SidePanelRow] = []
    at = 0
    for phase in phases:
        if len(phases) > 1 and phase.tasks:
            rows.append(SidePanelRow(text=phase.name, tone="muted"))
        for item in phase.tasks:
            state = todo_state(item)
            at = len(rows) if state == "current" else at
            rows.append(
                SidePanelRow(text=item.content, mark=TODO_STATE_GLYPHS[state], tone=TODO_STATE_TONES[state])
            )
    return SidePanelSection(title="Todos", note=f"{closed}/{total}", rows=tuple(rows), important_row=at)


def jobs_side_section(
    jobs: Iterable[BackgroundJob], helpers: "Sequence[HelperAgentRun]"
) -> SidePanelSection | None:
    """Returns the side panel's section with the background jobs that are no helpers; None if there are none."""
    of_helpers = {helper.job_id for helper in helpers}
    return _work_section("Jobs", [(job.title, job.state, job.id) for job in jobs if job.id not in of_helpers])


def helpers_side_section(helpers: "Iterable[HelperAgentRun]") -> SidePanelSection | None:
    return _work_section(
        "Helpers", [(one.label, "asking" if one.is_asking else one.state, "") for one in helpers]
    )


def _work_section(title: str, work: Sequence[tuple[str, str, str]]) -> SidePanelSection | None:
    """Returns a side panel's section of helpers or jobs, the newest first, each with name, state and id; None if there
    are none."""
    rows: list[SidePanelRow] = []
    for name, state, id in work:
        mark, tone = _HELPER_STATE_MARKS.get(state, ("✗", "error"))
        figures: tuple[tuple[str, SidePanelTone], ...] = ((id, "dim"),) if id else ()
        rows.append(
            SidePanelRow(
                text=name,
                mark=mark,
                mark_tone=tone,
                tone="text" if state in ("running", "asking") else "muted",
                figures=figures,
            )
        )
    counts = Counter(state for _, state, _ in work)
    note = ", ".join(f"{counts[state]} {state}" for state in ("running", "asking") if counts[state])
    return SidePanelSection(title=title, note=note, rows=tuple(reversed(rows))) if rows else None
