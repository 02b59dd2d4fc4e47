"""The result of `session_builder.assemble_session`: a session with all parts that a user interface needs."""

from pathlib import Path

import msgspec

from app.assembly.initial_model import InitialModel
from app.assembly.project_trust_checker import ProjectTrustChecker
from app.assembly.working_folder import WorkingFolder
from app.engine.core.model_choice import ModelChoice
from app.engine.models.prompt_sources import SystemPromptSource
from app.engine.session import Session
from app.engine.tree.session_paths import SessionPaths
from app.extensions.extension_runner import Extensions
from app.extensions.hooks.session_hooks import ExtensionHooks
from app.extensions.loading.extension_sources import ChosenExtensions
from app.providers.adapter_registry import AdapterRegistry
from app.resources.settings.effective_settings import EffectiveSettings
from app.resources.themes import Themes
from app.sessions.errors import SessionLocked
from tools.session_workspace import SessionWorkspace


class AssembledSession(msgspec.Struct, kw_only=True):
    """A session with all parts that a user interface needs."""

    session: Session
    model_choice: ModelChoice
    """The session's model choice, with the catalogue and the credentials that it chooses from."""
    initial_model: InitialModel
    """The models that the command line and settings name; they are looked up again after extensions have added
    theirs."""
    registry: AdapterRegistry
    effective_settings: EffectiveSettings
    extensions: Extensions
    """The session's extensions, none of which is loaded yet; `extension_setup` loads them."""
    hooks: ExtensionHooks
    """The object that answers the session's hooks through the extensions."""
    prompt: SystemPromptSource
    session_paths: SessionPaths
    project_trust: ProjectTrustChecker
    workspace: SessionWorkspace
    """The workspace that the session's tools share."""
    working_folder: WorkingFolder
    """The session's working folder; its subscribers are notified when it changes."""
    start_folder: Path | None = None
    """The folder where bayou was started, if the opened session works in another one; None otherwise."""
    chosen_extensions: ChosenExtensions
    """The chosen extensions and additional folders of resources, from settings, command line and packages."""
    themes: Themes
    theme_name: str
    """The theme's name from settings or command line; may be `system`."""
    lock_error: SessionLocked | None = None
    """The error that another process writes the session, so that it is open read-only here; None if none does."""
    problems: tuple[str, ...] = ()
    """Problems that are shown to the user at the start."""
