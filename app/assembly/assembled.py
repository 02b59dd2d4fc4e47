"""What `build.assemble` makes: a session with what the face that shows it needs to know."""

from pathlib import Path

import msgspec

from app.assembly.ground import Ground
from app.assembly.model_wishes import ModelWishes
from app.assembly.trusting import TrustInProject
from app.engine.core.model_choice import ModelChoice
from app.engine.models.prompt_sources import SystemPromptSource
from app.engine.session import Session
from app.engine.tree.session_paths import SessionPaths
from app.extensions.hooks.session_hooks import ExtensionHooks
from app.extensions.loading.choosing import Chosen
from app.extensions.runner import Extensions
from app.providers.registry import Registry
from app.resources.settings.in_force import InForce
from app.resources.themes import Themes
from app.sessions.errors import SessionLocked
from tools.workspace import Workspace


class Assembled(msgspec.Struct, kw_only=True):
    """A session with what the face that shows it needs to know."""

    session: Session
    choice: ModelChoice
    """The session's, with the catalogue and the credentials that it chooses from."""
    wishes: ModelWishes
    """What is named of models, looked up again when extensions have brought theirs."""
    registry: Registry
    in_force: InForce
    extensions: Extensions
    """None is loaded yet; `extending` does that."""
    hooks: ExtensionHooks
    """By which they are asked."""
    prompt: SystemPromptSource
    places: SessionPaths
    project: TrustInProject
    workspace: Workspace
    """What its tools share."""
    ground: Ground
    """The folder that the session works in; what goes by it follows when that becomes another."""
    left: Path | None = None
    """Where the person stood, if the session that they opened is about another folder: it works in its own."""
    chosen: Chosen
    """Extensions and more places of resources, of settings, command line and packages."""
    themes: Themes
    theme: str
    """The name that settings or command line want; may be `system`."""
    locked: SessionLocked | None = None
    """Another process writes the session; it is open read-only here."""
    problems: tuple[str, ...] = ()
    """What a person should be told at the start."""
