"""What header and footer say, computed from the session. How it is drawn is the widgets' business."""

from pathlib import Path

from app.engine.session import Session
from app.values.models import Model
from widgets.status.segments import Segment


def footer(session: Session, home: Path) -> list[Segment]:
    """Where one is and what it costs on the left, who answers on the right."""
    usage = session.stats.usage
    running = len(session.jobs.running())
    left = [
        Segment(id="path", text=short_path(session.cwd, home), short=session.cwd.name, importance=6),
        Segment(id="name", text=session.log.name or "", importance=3),
        Segment(id="input", text=f"↑{amount(usage.input)}" if usage.input else "", importance=4),
        Segment(id="output", text=f"↓{amount(usage.output)}" if usage.output else "", importance=4),
        Segment(id="cache", text=_cache(session), importance=2),
        Segment(id="cost", text=f"${usage.cost.total:.3f}" if usage.cost.total else "", importance=5),
        Segment(
            id="jobs",
            text=f"{running} job{'s' if running > 1 else ''}" if running else "",
            tone="accent",
            importance=7,
        ),
    ]
    return [*left, *_context(session), *_model(session)]


def _context(session: Session) -> list[Segment]:
    context = session.context_usage()
    if context is None or context.tokens is None or not context.tokens:
        return []
    percent = context.percent or 0
    tone = "error" if percent > 90 else "warning" if percent > 70 else "muted"
    text = f"{percent:.1f}% of {amount(context.context_window)}"
    return [
        Segment(id="context", text=text, short=f"{percent:.0f}%", bar=percent / 100, tone=tone, importance=6)
    ]


def _model(session: Session) -> list[Segment]:
    model = session.choice.model
    if model is None:
        return [Segment(id="model", text="no model", tone="warning", importance=9, is_right=True)]
    segments = [Segment(id="model", text=model.id, tone="text", importance=9, is_right=True)]
    if model.reasoning:
        level = session.choice.thinking
        text = "thinking off" if level == "off" else level
        segments.append(Segment(id="thinking", text=text, importance=5, is_right=True))
    return segments


def header(session: Session) -> list[Segment]:
    """The offline model says plainly what it is."""
    model = session.choice.model
    segments = [Segment(id="bayou", text="bayou", tone="accent", importance=9)]
    if model is not None and is_offline(model):
        segments.append(
            Segment(
                id="offline",
                text="offline guide: not a language model; type help to see what it understands",
                short="offline guide",
                tone="warning",
                importance=8,
            )
        )
    if session.log.is_read_only:
        segments.append(Segment(id="readOnly", text="read-only", tone="warning", importance=9))
    segments.append(Segment(id="name", text=session.log.name or "", importance=4))
    return segments


def is_offline_session(session: Session) -> bool:
    """A first start: nothing is connected and nothing has been said."""
    model = session.choice.model
    return model is not None and is_offline(model) and not session.messages


def is_offline(model: Model) -> bool:
    return model.api == "offline"


def _cache(session: Session) -> str:
    usage = session.stats.last_usage
    if usage is None or not (usage.cache_read or usage.cache_write):
        return ""
    total = usage.input + usage.cache_read + usage.cache_write
    return f"cache {100 * usage.cache_read / total:.0f}%" if total else ""


def amount(count: int) -> str:
    """1200 → 1.2k."""
    if count < 1_000:
        return str(count)
    if count < 10_000:
        return f"{count / 1_000:.1f}k"
    if count < 1_000_000:
        return f"{count // 1_000}k"
    return f"{count / 1_000_000:.1f}M" if count < 10_000_000 else f"{count // 1_000_000}M"


def short_path(path: Path, home: Path) -> str:
    try:
        inside = path.relative_to(home)
    except ValueError:
        return str(path)
    return "~" if inside == Path() else f"~/{inside}"
