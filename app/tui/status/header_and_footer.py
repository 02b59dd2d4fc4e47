"""Computes the status segments of header and footer from the session; widgets draw them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, assert_never

import msgspec

from app.engine.session import Session
from app.engine.session_state import SessionState
from app.resources.settings.settings_display import FooterSegmentSettings
from app.sessions.index.session_digest import session_title_from_entries, session_title_from_prompt
from app.values.models import Model
from app.values.todos import count_closed_todos
from app.values.usage import format_dollars
from tools.number_formatting import format_elapsed, format_percentage, format_token_count
from widgets.lists.list_rows import RowTone
from widgets.row_builder import clean_single_line
from widgets.status.status_segments import StatusSegment

_MIN_COLUMNS_OF_WIDE_FOOTER = 120


class FooterContext(msgspec.Struct, frozen=True, kw_only=True):
    """What the footer shows besides the session's state: branch, retry, progress, width."""

    home: Path
    git: str = ""
    """The branch, with a star if there are uncommitted changes."""
    retry: str = ""
    """The number of the next attempt and when it starts."""
    silence_text: str = ""
    """The message that the model has sent nothing for a while."""
    activity_text: str = ""
    indexing: tuple[int, int] | None = None
    """Indexed files and total while the repository map is built."""
    host: str = ""
    width: int = 0
    """The width in columns."""
    branch: str = ""
    """The label of the current branch of the session tree."""
    prompts: tuple[str, ...] = ()
    """The user's prompts that begin in the visible part of the transcript."""


def footer_segments(
    session: Session,
    around: FooterContext,
    wanted: Sequence[str],
    looks: Mapping[Any, FooterSegmentSettings] = {},
) -> list[StatusSegment]:
    """Returns the footer's segments that the setting names, in their order, with the user's colours; without those that
    have nothing to show."""
    found: list[StatusSegment] = []
    state = session.state
    for name in wanted:
        look = looks.get(name)
        if look is not None and not _is_segment_shown(look, session, around):
            continue
        for segment in (
            _FOOTER_SEGMENT_FUNCTIONS[name](session, state, around)
            if name in _FOOTER_SEGMENT_FUNCTIONS
            else ()
        ):
            if segment.text:
                tone = look.tone if look is not None else None
                found.append(segment if tone is None else msgspec.structs.replace(segment, tone=tone))
    return found


def _is_segment_shown(look: FooterSegmentSettings, session: Session, around: FooterContext) -> bool:
    match look.show:
        case "always":
            return True
        case "running":
            return session.is_running
        case "idle":
            return not session.is_running
        case "wide":
            return around.width >= _MIN_COLUMNS_OF_WIDE_FOOTER
        case _:
            assert_never(look.show)


def _path_segment(session: Session, state: SessionState, around: FooterContext) -> list[StatusSegment]:
    text, added = short_path(session.cwd, around.home), session.folders.all_folders
    more = f" + {short_path(added[0], around.home)}" if len(added) == 1 else f" + {len(added)} folders"
    return [
        StatusSegment(
            id="path",
            text=f"{text}{more if added else ''}",
            short=f"{session.cwd.name}{f' +{len(added)}' if added else ''}",
            importance=6,
        )
    ]


def _git_segment(session: Session, state: SessionState, around: FooterContext) -> list[StatusSegment]:
    branch, star, _ = around.git.partition("*")
    short = _shorten_text(branch, 16) + star  # the star is never cut
    return [StatusSegment(id="git", text=around.git, short=short, importance=5)]


def _shorten_text(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _session_name_segment(
    session: Session, state: SessionState, around: FooterContext
) -> list[StatusSegment]:
    name = state.name or ""
    return [
        StatusSegment(id="session", text=_shorten_text(name, 40), short=_shorten_text(name, 12), importance=3)
    ]


def _tokens_segment(session: Session, state: SessionState, around: FooterContext) -> list[StatusSegment]:
    usage = session.stats.usage
    parts = [
        f"↑{format_token_count(usage.input)}" if usage.input else "",
        f"↓{format_token_count(usage.output)}" if usage.output else "",
    ]
    return [StatusSegment(id="tokens", text=" ".join(filter(None, parts)), importance=4)]


def _cache_read_segment(session: Session, state: SessionState, around: FooterContext) -> list[StatusSegment]:
    count = session.stats.usage.cache_read
    return [
        StatusSegment(
            id="cacheRead", text=f"cache ↑{format_token_count(count)}" if count else "", importance=2
        )
    ]


def _cache_write_segment(session: Session, state: SessionState, around: FooterContext) -> list[StatusSegment]:
    count = session.stats.usage.cache_write
    return [
        StatusSegment(
            id="cacheWrite", text=f"cache ↓{format_token_count(count)}" if count else "", importance=1
        )
    ]


def _cost_segment(session: Session, state: SessionState, around: FooterContext) -> list[StatusSegment]:
    total = session.stats.usage.cost.total
    return [StatusSegment(id="cost", text=format_dollars(total) if total else "", importance=5)]


def _queue_segment(session: Session, state: SessionState, around: FooterContext) -> list[StatusSegment]:
    count = state.queued_count
    return [StatusSegment(id="queue", text=f"{count} queued" if count else "", tone="accent", importance=7)]


def _jobs_segment(session: Session, state: SessionState, around: FooterContext) -> list[StatusSegment]:
    running = state.running_jobs
    text = f"{running} job{'s' if running > 1 else ''}" if running else ""
    return [StatusSegment(id="jobs", text=text, tone="accent", importance=7)]


def _todos_segment(session: Session, state: SessionState, around: FooterContext) -> list[StatusSegment]:
    closed, total = count_closed_todos(session.todos.phases)
    text = f"{closed}/{total} done" if closed < total else ""
    return [StatusSegment(id="todos", text=text, tone="accent", importance=6)]


def _goal_segment(session: Session, state: SessionState, around: FooterContext) -> list[StatusSegment]:
    """Returns the footer segment with the goal's status, in grey if files changed since its check
    passed."""
    view = session.goal.goal_view
    if view is None:
        return []
    goal, tone, short = view.goal, "accent", "goal"
    if view.is_checking:
        text = "checking the goal"
    elif goal.status == "done":
        tone = "dim" if view.is_stale else "success"
        short = "goal outdated" if view.is_stale else "✓ goal"
        text = f"{short} {goal.proof.at_clock}" if goal.proof is not None and not view.is_stale else short
    elif goal.status == "active":
        text = f"goal, {goal.failed} failed" if goal.failed else "goal"
    else:
        tone, text = "warning", "goal blocked" if goal.status == "blocked" else "goal paused"
        short = text
    return [StatusSegment(id="goal", text=text, short=short, tone=tone, importance=7)]


def _session_id_segment(session: Session, state: SessionState, around: FooterContext) -> list[StatusSegment]:
    whole = state.session_id
    return [StatusSegment(id="sessionId", text=whole, short=whole[-8:], tone="dim", importance=1)]


def _indexing_segment(session: Session, state: SessionState, around: FooterContext) -> list[StatusSegment]:
    """Returns the footer segment with the progress of the repository map while it is built."""
    done = around.indexing
    return [
        StatusSegment(id="indexing", text=f"indexing {done[0]:,}/{done[1]:,}" if done else "", importance=3)
    ]


def _context_segment(session: Session, state: SessionState, around: FooterContext) -> list[StatusSegment]:
    context = session.context_usage()
    if context is None or context.tokens is None or not context.tokens:
        return []
    percent = context.percent or 0
    tone = "error" if percent > 90 else "warning" if percent > 70 else "muted"
    text = f"{format_percentage(percent)} of {format_token_count(context.context_window)}"
    is_reminder = state.is_context_full and state.compaction_mode == "remind"
    reminder = StatusSegment(
        id="remind", text="context nearly full: /compact" if is_reminder else "", tone="warning", importance=7
    )
    return [
        reminder,
        StatusSegment(
            id="context",
            text=text,
            short=format_percentage(percent),
            bar=percent / 100,
            tone=tone,
            importance=6,
        ),
    ]


def _model_segment(session: Session, state: SessionState, around: FooterContext) -> list[StatusSegment]:
    model = state.model
    if model is None:
        return [StatusSegment(id="model", text="no model", tone="warning", importance=9, is_right=True)]
    return [StatusSegment(id="model", text=model.id, tone="text", importance=9, is_right=True)]


def _thinking_segment(session: Session, state: SessionState, around: FooterContext) -> list[StatusSegment]:
    model, level = state.model, state.thinking
    if model is None or not model.reasoning:
        return []
    text = "thinking off" if level == "off" else level
    return [StatusSegment(id="thinking", text=text, importance=5, is_right=True)]


def _permissions_segment(session: Session, state: SessionState, around: FooterContext) -> list[StatusSegment]:
    """Returns the footer segment with the permission mode, if the user can be asked."""
    if not state.can_ask_person:
        return []
    mode = state.permission_mode
    tones: dict[str, RowTone] = {"ask": "warning", "full": "error"}
    tone = "accent" if state.is_planning else tones.get(mode, "muted")
    shown = "plan" if state.is_planning else mode
    text = f"{shown}, {state.sandbox_warning}" if state.sandbox_warning else shown
    return [StatusSegment(id="permissions", text=text, tone=tone, importance=7, is_right=True)]


_FOOTER_SEGMENT_FUNCTIONS: dict[
    str, Callable[[Session, SessionState, FooterContext], list[StatusSegment]]
] = {
    "path": _path_segment,
    "git": _git_segment,
    "session": _session_name_segment,
    "tokens": _tokens_segment,
    "cacheRead": _cache_read_segment,
    "cacheWrite": _cache_write_segment,
    "cacheHit": lambda session, *_: [
        StatusSegment(id="cacheHit", text=_cache_hit_text(session), importance=2)
    ],
    "cost": _cost_segment,
    "context": _context_segment,
    "permissions": _permissions_segment,
    "model": _model_segment,
    "thinking": _thinking_segment,
    "queue": _queue_segment,
    "jobs": _jobs_segment,
    "time": lambda session, state, around: [
        StatusSegment(id="time", text=around.activity_text, tone="dim", importance=1)
    ],
    "retry": lambda session, state, around: [
        StatusSegment(id="retry", text=around.retry, tone="warning", importance=8)
    ],
    "watchdog": lambda session, state, around: [
        StatusSegment(id="watchdog", text=around.silence_text, tone="warning", importance=8)
    ],
    "indexing": _indexing_segment,
    "todos": _todos_segment,
    "goal": _goal_segment,
    "host": lambda session, state, around: [StatusSegment(id="host", text=around.host, importance=4)],
    "sessionId": _session_id_segment,
}


def header_segments(session: Session, around: FooterContext) -> list[StatusSegment]:
    """Returns the header's segments: the project and, unless it is visible below, the session's topic; at the right the
    current branch, the agent's time and the cost."""
    state = session.state
    model = state.model
    title = clean_single_line(state.name or _first_prompt_title(session, around))
    cost, worked = session.stats.usage.cost.total, session.stats.worked_ms / 1000
    [path] = _path_segment(session, state, around)
    segments = [msgspec.structs.replace(path, tone="accent", importance=7)]
    if title:
        segments.append(
            StatusSegment(
                id="title",
                text=_shorten_text(title, 200),
                short=_shorten_text(title, 24),
                is_elastic=True,
                tone="text",
                importance=6,
            )
        )
    if model is not None and is_offline(model):
        text, short = "offline guide, not a language model", "offline guide"
        segments.append(
            StatusSegment(id="offline", text=text, short=short, tone="warning", importance=8, is_right=True)
        )
    if state.is_read_only:
        segments.append(
            StatusSegment(id="readOnly", text="read-only", tone="warning", importance=9, is_right=True)
        )
    branch = f"├ {_shorten_text(around.branch, 24)}" if around.branch else ""
    segments.append(StatusSegment(id="branch", text=branch, importance=5, is_right=True))
    segments.append(
        StatusSegment(
            id="worked", text=format_elapsed(worked) if worked >= 1 else "", importance=4, is_right=True
        )
    )
    segments.append(
        StatusSegment(id="cost", text=format_dollars(cost) if cost else "", importance=5, is_right=True)
    )
    return segments


def _first_prompt_title(session: Session, around: FooterContext) -> str:
    """Returns the session's first prompt as the header's title; empty while the prompt is visible."""
    log = session.log
    title = session_title_from_entries(log.entries) or ""
    return "" if any(session_title_from_prompt(text) == title for text in around.prompts) else title


def current_branch_label(session: Session) -> str:
    """Returns the label nearest to the current entry on the session's branch; empty if there is none."""
    log = session.log
    labels = log.labels
    if not labels:
        return ""
    return next((labels[entry.id] for entry in reversed(log.path_to()) if entry.id in labels), "")


def is_offline(model: Model) -> bool:
    return model.api == "offline"


def _cache_hit_text(session: Session) -> str:
    usage = session.stats.last_usage
    if usage is None or not (usage.cache_read or usage.cache_write):
        return ""
    total = usage.input + usage.cache_read + usage.cache_write
    return f"cache {format_percentage(100 * usage.cache_read / total)}" if total else ""


def short_path(path: Path, home: Path) -> str:
    try:
        inside = path.relative_to(home)
    except ValueError:
        return str(path)
    return "~" if inside == Path() else f"~/{inside}"
