"""The dependencies that a front end passes to a session."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from app.engine.core.hooks import Hooks
from app.engine.core.model_choice import ModelChoice
from app.engine.core.request_budget import SessionUsageBudget
from app.engine.core.session_core import ClassifyFailure
from app.engine.core.session_options import SessionOptions
from app.engine.core.toolbox import Toolbox
from app.engine.helpers.helper_run import HelperAgentSource
from app.engine.mcp.session_servers import McpServerSources
from app.engine.models.model_requests import BuildPromptSections
from app.engine.permissions.permission_context import PermissionContext
from app.engine.secrets.known_secrets import SecretSources
from app.engine.tree.session_paths import SessionPaths
from app.providers.adapter_registry import AdapterRegistry
from app.sessions.session_log import SessionLog
from app.undo.content_store import UndoStoreSettings


async def _do_not_enter_folder(folder: Path) -> None:
    """Does nothing, for a front end whose session stays in one folder."""


class SessionDependencies(msgspec.Struct, kw_only=True):
    """The dependencies of a session: its record and model, and the sources of everything else."""

    session_log: SessionLog
    session_paths: SessionPaths
    registry: AdapterRegistry
    model_choice: ModelChoice
    toolbox: Toolbox
    build_sections: BuildPromptSections
    classify_failure: ClassifyFailure
    options: SessionOptions
    budget: SessionUsageBudget = msgspec.field(default_factory=SessionUsageBudget)
    """The limits on the usage of the session's requests."""
    hooks: Hooks = msgspec.field(default_factory=Hooks)
    permission_context: PermissionContext = msgspec.field(default_factory=PermissionContext)
    """The facts on which permissions depend: whether a user or a program can approve calls, and whether the project
    is trusted."""
    enter_folder: Callable[[Path], Awaitable[None]] = _do_not_enter_folder
    """A function that changes the session's working folder."""
    secret_sources: SecretSources = msgspec.field(default_factory=SecretSources)
    """The sources of known secrets."""
    server_sources: McpServerSources | None = None
    """The sources of MCP servers; None: no servers."""
    helper_source: HelperAgentSource | None = None
    """The source that makes the sessions of helper agents; None: the session can start none."""
    undo_config: UndoStoreSettings | None = None
    """The place where the contents of changed files are stored; None: they are not stored, so that undo is off."""
