"""The session's working folder, with the parts that follow when it changes.

Tools and commands, the prompt with its context files and skills, the settings and the trust of the project,
extensions and themes belong to the folder. Options of the command line stay, with paths relative to the
folder where they were given (`options.resolve_option_paths`).
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from app.assembly.command_line_options import CommandLineOptions
from app.assembly.session_opening import OpenedSession
from app.resources.paths import BayouPaths
from app.resources.trust.project_trust import TrustDecision, decide_project_trust
from tools.session_workspace import SessionWorkspace

FolderListener = Callable[[], Awaitable[None]]


class WorkingFolder:
    """Changes the session's working folder, and notifies the parts that follow."""

    def __init__(
        self,
        options: CommandLineOptions,
        paths: BayouPaths,
        opened: OpenedSession,
        workspace: SessionWorkspace,
        *,
        can_ask: bool,
    ) -> None:
        self._options = options
        self._paths = paths
        self._in_force = opened.effective_settings
        self._project = opened.project_trust
        self._places = opened.session_paths
        self._workspace = workspace
        self._can_ask = can_ask
        self._followers: list[FolderListener] = []
        self.tell: Callable[[str], None] = lambda text: None
        """A function that is called with the problems in the folder's settings."""

    def subscribe(self, follower: FolderListener) -> None:
        """Adds a function that is called after the working folder has changed, in the order of subscription;
        parts that others depend on come first."""
        self._followers.append(follower)

    async def switch_to(self, folder: Path) -> None:
        os.chdir(folder)
        self._paths.switch_to(folder)
        self._places.switch_to(folder)
        self._workspace.change_directory(folder)
        self._in_force.set_trusted(False)
        decision = await asyncio.to_thread(self._decide_trust)
        self._project.set_decision(decision)
        for problem in self._in_force.set_trusted(decision.is_trusted):
            self.tell(str(problem))
        for follower in self._followers:
            await follower()

    def _decide_trust(self) -> TrustDecision:
        """Decides whether the new working folder is trusted. `--approve` applies only to the folder for which
        bayou was started."""
        return decide_project_trust(
            self._paths,
            flag=False if self._options.no_approve else None,
            default=self._in_force.settings.interaction.default_project_trust,
            can_ask=self._can_ask,
        )
