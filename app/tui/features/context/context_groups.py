"""The names and colours for the kinds of content in the context window, wherever they are shown."""

from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from app.engine.context_breakdown import BreakdownGroup

GroupTone = Literal["text", "muted", "dim", "accent", "secondary", "success", "warning"]
CONTEXT_GROUP_TONES: tuple[GroupTone, ...] = get_args(GroupTone)
CONTEXT_GROUPS: "dict[BreakdownGroup, tuple[str, GroupTone]]" = {
    "prompt": ("prompt", "dim"),
    "files": ("context files", "success"),
    "skills": ("skills", "secondary"),
    "tools": ("tools", "text"),
    "messages": ("messages", "accent"),
    "results": ("results", "warning"),
}
