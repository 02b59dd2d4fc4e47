"""The settings of single tools that have more than a switch. Like those beside it, composed in `settings`."""

from typing import Annotated

from msgspec import Meta

from app.resources.settings_agent import Group


class EvalSettings(Group, frozen=True, kw_only=True):
    """Python that stays: the eval tool, and `$` in the editor."""

    python: Annotated[
        str | None,
        Meta(
            description="Interpreter of cells, a path or a name; null takes VIRTUAL_ENV, `.venv` or `venv` of the "
            "folder, then python3. 3.8 is the oldest that works.",
            extra={"runs": True},
        ),
    ] = None
    default_timeout_seconds: Annotated[
        int, Meta(ge=0, le=3600, description="Time limit of the model's cells that name none; 0 means none.")
    ] = 600
    idle_minutes: Annotated[
        int, Meta(ge=0, le=1440, description="The kernel ends when no cell ran for so long; 0 never.")
    ] = 15


class MermaidSettings(Group, frozen=True, kw_only=True):
    """Diagrams drawn by the agent."""

    enabled: Annotated[
        bool, Meta(description="Give the model the tool `render_mermaid`, which draws Mermaid as text.")
    ] = False
