"""What a session is given by whoever assembles it."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from app.engine.core.hooks import Hooks
from app.engine.core.model_choice import ModelChoice
from app.engine.core.options import SessionOptions
from app.engine.core.request_budget import Budget
from app.engine.core.session_core import Classify
from app.engine.core.toolbox import Toolbox
from app.engine.mcp.servers import ServerSources
from app.engine.models.model_requests import Sections
from app.engine.permissions.permission_context import PermissionContext
from app.engine.secrets.known_secrets import SecretSources
from app.engine.tree.session_paths import SessionPaths
from app.providers.registry import Registry
from app.sessions.log import SessionLog
from app.undo.blobs import UndoConfig


async def _stay(folder: Path) -> None:
    """For a session whose face has one folder only."""


class Dependencies(msgspec.Struct, kw_only=True):
    """What a session is made of, and where it finds the rest."""

    log: SessionLog
    places: SessionPaths
    registry: Registry
    choice: ModelChoice
    toolbox: Toolbox
    sections: Sections
    classify: Classify
    options: SessionOptions
    budget: Budget = msgspec.field(default_factory=Budget)
    """Limits of what its requests use."""
    hooks: Hooks = msgspec.field(default_factory=Hooks)
    standing: PermissionContext = msgspec.field(default_factory=PermissionContext)
    """Who can be asked whether a call may run, and what the project's word counts."""
    enter: Callable[[Path], Awaitable[None]] = _stay
    """Makes a folder the one that the session works in."""
    secrets: SecretSources = msgspec.field(default_factory=SecretSources)
    """Where what is known to be secret comes from."""
    servers: ServerSources | None = None
    """Where MCP servers are found; None: there are none."""
    undo: UndoConfig | None = None
    """Where what happens to files is kept; None: nowhere."""
