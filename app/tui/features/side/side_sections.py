"""The sections of the side panel: what a session has changed, planned, started, been asked and used, as frozen rows."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from app.engine.commands.review_texts import typed_command
from app.engine.jobs.background_jobs import BackgroundJob
from app.engine.session import Session
from app.tui.features.context.context_groups import CONTEXT_GROUPS
from app.tui.features.todos.todo_list import GLYPHS, TONES, todo_state
from app.tui.page_protocols import KeyLabel
from app.undo.file_history import count_changes, has_changes, title_of
from app.values.content import text_of
from app.values.entries import Entry, MessageEntry
from app.values.messages import UserMessage
from app.values.todos import count_closed
from app.values.usage import format_dollars
from tools.amounts import MINUS_SIGN, format_changed_files, format_elapsed, format_percentage, tokens
from widgets.status.side_panel import SideRow, SideSection, SideTone

if TYPE_CHECKING:
    from app.engine.context_breakdown import ContextBreakdown
    from app.engine.helpers.helper_run import HelperRun
    from app.undo.change_lists import Differences, FileDifference

_STATE_MARKS: dict[str, tuple[str, SideTone]] = {
    "waiting": ("○", "muted"),
    "running": ("●", "accent"),
    "done": ("✓", "success"),
    "stopped": ("⊘", "warning"),
    "asking": ("?", "warning"),
}
_MAX_LARGE_RESULTS = 4
_KEYS = (
    ("app.palette", "Ctrl+K", "all commands"),
    ("app.context.show", "Alt+C", "what fills the context"),
    ("app.side.toggle", "Alt+I", "hide this panel"),
)


def prompt_section(path: Iterable[Entry]) -> SideSection | None:
    """Returns the side panel's section with the conversation's prompts and what each changed in files; None if there
    are none. A single prompt has no counts, because another section shows them."""
    found: list[tuple[str, list[Entry]]] = []
    for entry in path:
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            typed = typed_command(text_of(entry.message.content))
            found.append((typed or title_of(entry.message), []))
        elif found and has_changes(entry):
            found[-1][1].append(entry)
    last = len(found) - 1
    rows: list[SideRow] = []
    for at, (title, entries) in enumerate(found):
        counts = count_changes(entries)
        rows.append(
            SideRow(
                text=title,
                mark="›",
                mark_tone="accent" if at == last else "muted",
                tone="text" if at == last else "muted",
                figures=line_figures(counts.added, counts.removed) if last else (),
            )
        )
    note = f"{len(rows):,}" if last > 0 else ""
    return SideSection(title="Prompts", note=note, rows=tuple(rows), important_row=last) if rows else None


def line_figures(added: int, removed: int) -> tuple[tuple[str, SideTone], ...]:
    """Returns the counts of added and removed lines in their colours."""
    figures: list[tuple[str, SideTone]] = []
    if added:
        figures.append((f"+{added:,}", "success"))
    if removed:
        figures.append((f"{MINUS_SIGN}{removed:,}", "error"))
    return tuple(figures)


def key_section(key_label: KeyLabel) -> SideSection | None:
    """Returns the side panel's optional section with keys that no other row shows."""
    found = [(key, words) for action, usual, words in _KEYS if (key := key_label(action, usual))]
    width = max((len(key) for key, _ in found), default=0)
    rows = tuple(
        SideRow(text=words, tone="muted", mark=f"{key:<{width}} ", mark_tone="accent") for key, words in found
    )
    return SideSection(title="Keys", rows=rows, is_optional=True) if rows else None


def file_section(found: "Differences") -> SideSection:
    """Returns the side panel's section with the changed files, and their sum if there are several."""
    total = format_changed_files(len(found.files), found.added, found.removed)
    return SideSection(
        title="Changed", note=total if len(found.files) > 1 else "", rows=tuple(map(_file_row, found.files))
    )


def _file_row(file: "FileDifference") -> SideRow:
    tone: SideTone = "muted" if file.deed == "removed" else "text"
    return SideRow(text=file.path, is_path=True, tone=tone, figures=line_figures(file.added, file.removed))


def context_sections(session: Session, breakdown: "ContextBreakdown | None") -> list[SideSection]:
    context = session.context_usage()
    if context is None or not context.tokens:
        return []
    percent = context.percent or 0
    note = f"{tokens(context.tokens)} of {tokens(context.context_window)} · {format_percentage(percent)}"
    tone: SideTone = "error" if percent > 90 else "warning" if percent > 70 else "accent"
    groups: list[tuple[str, SideTone, int]] = [
        (name, group_tone, count)
        for group, (name, group_tone) in CONTEXT_GROUPS.items()
        if breakdown is not None and (count := breakdown.count_items(group))
    ]
    bar: list[tuple[float, SideTone]] = [
        (count / max(1, context.context_window), group_tone) for _, group_tone, count in groups
    ]
    rows = [SideRow(text="", bar=tuple(bar) or ((percent / 100, tone),))]
    rows += [
        SideRow(text=name, mark="■", mark_tone=group_tone, tone="muted", figures=((tokens(count), "text"),))
        for name, group_tone, count in groups
    ]
    return [
        SideSection(title="Context", note=note, rows=tuple(rows)),
        *_large_results(breakdown),
    ]


def _large_results(breakdown: "ContextBreakdown | None") -> list[SideSection]:
    """Returns the side panel's section with the largest results in the context, which the user can drop; none if there
    are none."""
    found = breakdown.large_results if breakdown is not None else ()
    rows = tuple(
        SideRow(text=one.title, tone="muted", figures=((tokens(one.tokens), "text"),))
        for one in found
        if not one.is_dropped
    )[:_MAX_LARGE_RESULTS]
    return [SideSection(title="Large results", rows=rows)] if rows else []


def usage_sections(session: Session) -> list[SideSection]:
    """Returns the side panel's sections for what the session used: the agent's time, the cost, and the tokens."""
    stats = session.stats
    usage = stats.usage
    prompt_tokens = usage.input + usage.cache_read + usage.cache_write
    facts = (
        ("time", format_elapsed(stats.worked_ms / 1000) if stats.worked_ms >= 1000 else ""),
        ("cost", format_dollars(usage.cost.total) if usage.cost.total else ""),
        ("input tokens", tokens(prompt_tokens) if prompt_tokens else ""),
        (
            "from the cache",
            format_percentage(100 * usage.cache_read / prompt_tokens) if usage.cache_read else "",
        ),
        ("output tokens", tokens(usage.output) if usage.output else ""),
    )
    rows = tuple(
        SideRow(text=label, tone="muted", figures=((figure, "text"),)) for label, figure in facts if figure
    )
    return [SideSection(title="Session", rows=rows)] if rows else []


def todo_section(session: Session) -> SideSection | None:
    phases = session.todos.phases
    closed, total = count_closed(phases)
    if not total:
        return None
    rows: list[SideRow] = []
    at = 0
    for phase in phases:
        if len(phases) > 1 and phase.tasks:
            rows.append(SideRow(text=phase.name, tone="muted"))
        for item in phase.tasks:
            state = todo_state(item)
            at = len(rows) if state == "current" else at
            rows.append(SideRow(text=item.content, mark=GLYPHS[state], tone=TONES[state]))
    return SideSection(title="Todos", note=f"{closed}/{total}", rows=tuple(rows), important_row=at)


def job_section(jobs: Iterable[BackgroundJob], helpers: "Sequence[HelperRun]") -> SideSection | None:
    """Returns the side panel's section with the background jobs that are no helpers; None if there are none."""
    of_helpers = {helper.job_id for helper in helpers}
    return _work_section("Jobs", [(job.title, job.state, job.id) for job in jobs if job.id not in of_helpers])


def helper_section(helpers: "Iterable[HelperRun]") -> SideSection | None:
    return _work_section(
        "Helpers", [(one.label, "asking" if one.is_asking else one.state, "") for one in helpers]
    )


def _work_section(title: str, work: Sequence[tuple[str, str, str]]) -> SideSection | None:
    """Returns a side panel's section of helpers or jobs, the newest first, each with name, state and id; None if there
    are none."""
    rows: list[SideRow] = []
    for name, state, id in work:
        mark, tone = _STATE_MARKS.get(state, ("✗", "error"))
        figures: tuple[tuple[str, SideTone], ...] = ((id, "dim"),) if id else ()
        rows.append(
            SideRow(
                text=name,
                mark=mark,
                mark_tone=tone,
                tone="text" if state in ("running", "asking") else "muted",
                figures=figures,
            )
        )
    counts = Counter(state for _, state, _ in work)
    note = ", ".join(f"{counts[state]} {state}" for state in ("running", "asking") if counts[state])
    return SideSection(title=title, note=note, rows=tuple(reversed(rows))) if rows else None
