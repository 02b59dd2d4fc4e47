"""What header and footer say, computed from the session. How it is drawn is the widgets' business."""

from pathlib import Path

import msgspec

from app.engine.session import Session
from app.values.models import Model


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a bar. The higher `weight`, the longer it stays when the bar gets narrow."""

    name: str
    text: str
    weight: int
    tone: str = "muted"


def footer_left(session: Session, home: Path) -> list[Segment]:
    usage = session.stats.usage
    context = session.context_usage()
    segments = [
        Segment(name="path", text=short_path(session.cwd, home), weight=60),
        Segment(name="name", text=session.log.name or "", weight=30),
        Segment(name="input", text=f"↑{amount(usage.input)}" if usage.input else "", weight=40),
        Segment(name="output", text=f"↓{amount(usage.output)}" if usage.output else "", weight=40),
        Segment(name="cache", text=_cache(session), weight=20),
        Segment(name="cost", text=f"${usage.cost.total:.3f}" if usage.cost.total else "", weight=45),
    ]
    if context is not None and context.tokens is not None:
        percent = context.percent or 0
        tone = "error" if percent > 90 else "warning" if percent > 70 else "muted"
        text = f"{percent:.1f}%/{amount(context.context_window)}"
        segments.append(Segment(name="context", text=text, weight=50, tone=tone))
    running = len(session.jobs.running())
    segments.append(
        Segment(name="jobs", text=f"{running} job{'s' if running > 1 else ''}" if running else "", weight=55)
    )
    return [segment for segment in segments if segment.text]


def footer_right(session: Session) -> list[Segment]:
    model = session.choice.model
    if model is None:
        return [Segment(name="model", text="no model", weight=90, tone="warning")]
    segments = [Segment(name="model", text=model.id, weight=90)]
    if model.reasoning:
        level = session.choice.thinking
        text = "thinking off" if level == "off" else level
        segments.append(Segment(name="thinking", text=text, weight=70))
    return segments


def header_text(session: Session) -> str:
    """The offline model says plainly what it is."""
    model = session.choice.model
    if model is not None and is_offline(model):
        return "offline guide: no language model is connected. /help shows what it understands"
    return session.log.name or ""


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


def fit(left: list[Segment], right: list[Segment], width: int) -> tuple[list[Segment], list[Segment]]:
    """Drops the least important until the rest fits."""
    kept = sorted([*left, *right], key=lambda segment: segment.weight)
    while kept and _length(kept) > width:
        kept.pop(0)
    names = {segment.name for segment in kept}
    return (
        [segment for segment in left if segment.name in names],
        [segment for segment in right if segment.name in names],
    )


def _length(segments: list[Segment]) -> int:
    return sum(len(segment.text) for segment in segments) + 2 * max(0, len(segments) - 1) + 2
